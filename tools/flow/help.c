// SPDX-License-Identifier: MIT
#include "options.h"
#include "mode.h"

static const char synopsis[] =
"flow - move payload over TCP or Multipath TCP and report what the sockets saw\n"
"\n"
"SYNOPSIS\n"
"  flow server --port P [OPTION]...\n";

static const char description[] =
"  flow pattern --bytes B [--seed N]\n"
"  flow sum\n"
"  flow with [--congestion=NAME] [--scheduler=NAME] [--any-address] PROGRAM [ARGUMENT]...\n"
"\n"
"DESCRIPTION\n"
"  The client opens all its connections at once and tells the server in a small header what\n"
"  each is for: upload (client to server, the default) or download, for a time or a number\n"
"  of bytes. The sender then shuts down writing and waits until the receiver has closed, so\n"
"  that everything sent has been received. ADDR is numeric IPv4 or IPv6; an option's value\n"
"  is the next argument or follows '='.\n"
"\n"
"SERVER\n"
"  --port P              listen here (1 to 65535)\n"
"  --bind ADDR           listen on this address only; default all, IPv6 and IPv4. With MPTCP\n"
"                        a further subflow to another address of the server needs the default.\n"
"  --connections N       end after N connections finished; default: serve until a signal\n"
"\n"
"CLIENT\n"
"  --connect ADDR, --port P\n"
"                        the server\n"
"  --bind ADDR           local source address\n"
"  --connections N       concurrent connections; default 1\n"
"  --seconds S           the sender sends for S seconds (decimal, at most 9 decimals)\n"
"  --bytes B             B bytes of payload per connection\n"
"  --file PATH           upload: send the content of this file on each connection\n"
"  --download            the server sends\n"
"  --seed N              seed of the pseudo-random payload, also of downloads; default 1.\n"
"                        Connections of one client have different payload.\n"
"  --connect-timeout-ms N\n"
"                        give up the handshake after this time; default 10000\n";

static const char both[] =
"\n"
"BOTH\n"
"  --mptcp               open MPTCP sockets; a connection may still fall back to TCP\n"
"  --congestion NAME     congestion control of each socket; on MPTCP, of all its subflows\n"
"  --scheduler NAME      MPTCP scheduler of each socket; needs a kernel of the lab\n"
"  --interval-ms N       time between samples, in exact multiples from the connection's start;\n"
"                        0 = only final samples; default 1000\n"
"  --quantum-us N        a receiver that has read something reads again at the next multiple of N\n"
"                        microseconds of CLOCK_MONOTONIC, then all there is; 0 (default) = as data\n"
"                        comes. It also sees the end of the data only at its next read.\n"
"  --rcvbuf BYTES, --sndbuf BYTES\n"
"                        SO_RCVBUF, SO_SNDBUF; default: the kernel tunes them\n"
"  --checksum            both ends report XXH64 (seed 0) of the payload, which then is a\n"
"                        pseudo-random stream unless --file is given. The client's --checksum\n"
"                        holds for both ends; a server's own covers clients that did not ask.\n"
"  --output FILE         write the events there; default: standard output\n"
"  --help                this text\n"
"\n"
"OUTPUT\n"
"  One JSON object per line. All have event, conn (a number from 0 on: of the client in order\n"
"  of opening, of the server in order of accepting), role and t_ns (CLOCK_MONOTONIC, absolute,\n"
"  in ns). A null says that the kernel does not tell, or that it does not apply.\n"
"  start     local, remote (\"ip:port\"), protocol of the socket (\"mptcp\", \"tcp\"), direction,\n"
"            congestion, scheduler (read back), client_conn (the client's number), target_bytes, target_ns.\n"
"            t_ns is when the connection was established, or accepted.\n"
"  interval  final, bytes (payload since the last interval event), total. A sender counts what\n"
"            the kernel took from it, a receiver what it read. Headers (40 bytes) are left out.\n"
"            Of a receiver also the longest time without data since the last interval event:\n"
"            pause_at_ns (when it began), pause_ns. Not there if data came at most once.\n"
"  mptcp     only with --mptcp: final, fallback, and MPTCP_INFO of the connection\n"
"  subflow   final, id (\"local>remote\"), subflow_id (the kernel's), local, remote, state, and\n"
"            TCP_INFO in the kernel's values (snd_ssthresh 2147483647 is 'not set'); on TCP and\n"
"            after a fallback there is one. A subflow that the kernel has closed is not\n"
"            listed any more: its last event holds its totals. A sender that fell back has\n"
"            no final one, because the kernel empties that socket first.\n"
"  end       bytes, elapsed_ns (receiver: first to last payload; sender: t_ns of start to the\n"
"            peer's close), goodput_bps (8 * bytes / elapsed), connect_ns (client: handshake),\n"
"            first_ns, last_ns (receiver: first and last payload read; sender: sending began,\n"
"            writing was shut down), checksum, error (null or a word). If a system call failed,\n"
"            also errno (its name).\n";

static const char rest[] =
"  Events with \"final\":true are taken just before the socket is closed.\n"
"\n"
"PATTERN AND SUM\n"
"  pattern writes B pseudo-random bytes to standard output, sum reads standard input to its\n"
"  end; both then write {\"event\":\"stream\",\"bytes\":N,\"checksum\":\"XXH64\"} to standard error. They\n"
"  are the two ends of a transfer by another program.\n"
"\n"
"WITH\n"
"  Runs PROGRAM with this congestion control and scheduler on every stream socket that it opens or\n"
"  accepts, by a library that is loaded into it (flow-sockopt.so, beside this program). Options stand\n"
"  before PROGRAM and have their value behind '='. To have MPTCP as well:\n"
"  mptcpize run flow with --scheduler=roundrobin PROGRAM. Programs that ask of MPTCP sockets for urgent\n"
"  data in line (SO_OOBINLINE), which these refuse, are told that they have it.\n"
"  --any-address         MPTCP sockets that the program binds to one address are bound to all: further\n"
"                        subflows to another address can join only where something listens\n"
"\n"
"EXIT STATUS\n"
"  0 all connections did what was asked; 1 the system refused something; 2 the command line is\n"
"  wrong; 3 a connection failed (its end event and stderr say why). SIGTERM and SIGINT end the\n"
"  program with final samples; open connections then end with error \"interrupted\".\n";

static void put(const char *text)
{
	if (text && fputs(text, stdout) == EOF)
		die(EXIT_RUNTIME, "the help text could not be written");
}

/* The help of all modes, with the parts that each mode adds. */
void help_print(void)
{
	const struct mode *const *mode;

	put(synopsis);
	for (mode = modes; *mode; mode++)
		put((*mode)->synopsis);
	put(description);
	for (mode = modes; *mode; mode++)
		put((*mode)->help);
	put(both);
	for (mode = modes; *mode; mode++)
		put((*mode)->output);
	put(rest);
	if (fflush(stdout))
		die(EXIT_RUNTIME, "the help text could not be written");
}
