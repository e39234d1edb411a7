// SPDX-License-Identifier: MIT
#include "report.h"
#include "conn.h"
#include "loop.h"
#include "snapshot.h"
#include "uapi.h"

#include <linux/tcp.h>
#include <string.h>

/* The kernel's numbers: <netinet/tcp.h>, which names them, conflicts with <linux/tcp.h>. */
#define STATE_CLOSE 7

static const char * const states[] = {
	"unknown", "established", "syn-sent", "syn-recv", "fin-wait-1", "fin-wait-2", "time-wait",
	"close", "close-wait", "last-ack", "listen", "closing", "new-syn-recv",
};

void report_open(const struct conn *c, const char *event, __u64 t_ns)
{
	fprintf(c->flow->out, "{\"event\":\"%s\",\"conn\":%llu,\"role\":\"%s\",\"t_ns\":%llu",
		event, c->number, c->flow->opt->server ? "server" : "client", t_ns);
}

void report_close(const struct conn *c)
{
	fputs("}\n", c->flow->out);
}

/*
 * A sample has forty numbers, and there may be a thousand connections to sample: fprintf() took most of this program's
 * CPU time.
 */
static void put_name(const struct conn *c, const char *name)
{
	fputs_unlocked(",\"", c->flow->out);
	fputs_unlocked(name, c->flow->out);
	fputs_unlocked("\":", c->flow->out);
}

void report_number(const struct conn *c, const char *name, __u64 value)
{
	char digits[21];
	char *first = digits + sizeof(digits);

	do {
		*--first = '0' + value % 10;
		value /= 10;
	} while (value);
	put_name(c, name);
	fwrite_unlocked(first, 1, digits + sizeof(digits) - first, c->flow->out);
}

static void put_null(const struct conn *c, const char *name)
{
	put_name(c, name);
	fputs_unlocked("null", c->flow->out);
}

static void put_number_if(const struct conn *c, const char *name, bool known, __u64 value)
{
	if (known)
		report_number(c, name, value);
	else
		put_null(c, name);
}

static void put_bool(const struct conn *c, const char *name, bool value)
{
	put_name(c, name);
	fputs_unlocked(value ? "true" : "false", c->flow->out);
}

/* An empty string means that the value is not known. */
static void put_text(const struct conn *c, const char *name, const char *value)
{
	if (*value)
		fprintf(c->flow->out, ",\"%s\":\"%s\"", name, value);
	else
		put_null(c, name);
}

static __u64 load(const unsigned char *p, size_t size)
{
	__u64 v64;
	__u32 v32;

	switch (size) {
	case 8:
		memcpy(&v64, p, sizeof(v64));
		return v64;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return v32;
	default:
		return *p;
	}
}

/* The kernel has filled in the first @len bytes at @base. */
static void put_fields(const struct conn *c, const struct field *field, const void *base,
		       size_t len)
{
	const unsigned char *p = base;

	for (; field->name; field++) {
		bool known = (size_t)field->offset + field->size <= len;

		put_number_if(c, field->name, known,
			      known ? load(p + field->offset, field->size) : 0);
	}
}

static void report_mptcp(const struct conn *c, const struct snapshot *snap, __u64 now, bool final)
{
	const struct mptcp_conn_info *info = snap->mptcp;

	report_open(c, "mptcp", now);
	put_bool(c, "final", final);
	put_bool(c, "fallback", snap->fallback);
	if (info)
		put_bool(c, "remote_key_received",
			 info->mptcpi_flags & FLOW_MPTCP_REMOTE_KEY_RECEIVED);
	else
		put_null(c, "remote_key_received");
	put_fields(c, mptcp_fields, info, snap->mptcp_len);
	report_close(c);
}

static void subflow_ends(const struct conn *c, const struct snapshot *snap, unsigned int i,
			 char local[ADDRESS_TEXT], char remote[ADDRESS_TEXT])
{
	struct mptcp_subflow_addresses addrs;

	if (!snap->addrs) {
		memcpy(local, c->local, ADDRESS_TEXT);
		memcpy(remote, c->remote, ADDRESS_TEXT);
		return;
	}
	memcpy(&addrs, snap->addrs + i * snap->addrs_stride, sizeof(addrs));
	net_format(&addrs.local, local);
	net_format(&addrs.remote, remote);
}

/*
 * The kernel keeps the socket of a connection's first subflow after it has closed the subflow,
 * but clears its addresses and counters. It is not a subflow any more.
 */
static bool is_shell(const struct snapshot *snap, unsigned int i)
{
	struct tcp_info info = { 0 };

	memcpy(&info, snap->tcp + i * snap->tcp_len,
	       snap->tcp_len < sizeof(info) ? snap->tcp_len : sizeof(info));
	return info.tcpi_state == STATE_CLOSE && !info.tcpi_segs_out;
}

static void report_subflow(const struct conn *c, const struct snapshot *snap, unsigned int i,
			   __u64 now, bool final)
{
	const unsigned char *tcp = snap->tcp + i * snap->tcp_len;
	unsigned char state = tcp[offsetof(struct tcp_info, tcpi_state)];
	char local[ADDRESS_TEXT], remote[ADDRESS_TEXT];
	__u64 id = snap->ids ? load(snap->ids + i * snap->ids_stride, 4) : 0;

	subflow_ends(c, snap, i, local, remote);
	report_open(c, "subflow", now);
	put_bool(c, "final", final);
	fprintf(c->flow->out, ",\"id\":\"%s>%s\"", local, remote);
	put_number_if(c, "subflow_id", snap->ids, id);
	put_text(c, "local", local);
	put_text(c, "remote", remote);
	put_text(c, "state", states[state < ARRAY_SIZE(states) ? state : 0]);
	put_fields(c, tcp_fields, tcp, snap->tcp_len);
	report_close(c);
}

void report_sample(struct conn *c, bool final)
{
	__u64 now = loop_now(c->flow);
	struct snapshot snap;

	report_open(c, "interval", now);
	put_bool(c, "final", final);
	report_number(c, "bytes", c->bytes - c->reported);
	report_number(c, "total", c->bytes);
	if (c->pause_ns) {
		report_number(c, "pause_at_ns", c->pause_at);
		report_number(c, "pause_ns", c->pause_ns);
	}
	report_close(c);
	c->reported = c->bytes;
	c->pause_ns = 0;
	if (c->udp)
		return;
	snapshot_take(c, &snap);
	if (c->flow->opt->mptcp)
		report_mptcp(c, &snap, now, final);
	for (unsigned int i = 0; i < snap.subflows; i++)
		if (!is_shell(&snap, i))
			report_subflow(c, &snap, i, now, final);
}

void report_start(const struct conn *c)
{
	char congestion[32], scheduler[32];

	net_congestion(c->fd, congestion, sizeof(congestion));
	net_scheduler(c->fd, scheduler, sizeof(scheduler));
	report_open(c, "start", c->start_at);
	put_text(c, "local", c->local);
	put_text(c, "remote", c->remote);
	put_text(c, "protocol", c->udp ? "udp" : c->mptcp ? "mptcp" : "tcp");
	put_text(c, "direction", c->wire.download ? "download" : "upload");
	put_text(c, "congestion", congestion);
	put_text(c, "scheduler", scheduler);
	report_number(c, "client_conn", c->wire.number);
	put_number_if(c, "target_bytes", c->wire.bytes != UNLIMITED, c->wire.bytes);
	put_number_if(c, "target_ns", c->wire.duration_ns, c->wire.duration_ns);
	report_close(c);
}

void report_end(const struct conn *c, const char *error)
{
	__u64 now = loop_now(c->flow);
	__u64 elapsed = 0;
	char checksum[17] = "";
	bool shaken = c->connect_at && c->start_at;

	if (c->sender)
		elapsed = now - c->start_at;
	else if (c->started)
		elapsed = c->last_at - c->first_at;
	if (c->started && c->checksum)
		snprintf(checksum, sizeof(checksum), "%016llx", xxh64_digest(&c->hash));
	report_open(c, "end", now);
	report_number(c, "bytes", c->bytes);
	report_number(c, "elapsed_ns", elapsed);
	put_number_if(c, "goodput_bps", elapsed, elapsed ? 8e9 * c->bytes / elapsed + 0.5 : 0);
	put_number_if(c, "connect_ns", shaken, c->start_at - c->connect_at);
	put_number_if(c, "first_ns", c->first_at, c->first_at);
	put_number_if(c, "last_ns", c->last_at, c->last_at);
	put_text(c, "checksum", checksum);
	if (c->own && c->wire.mode->tell_end)
		c->wire.mode->tell_end(c);
	put_text(c, "error", error ? error : "");
	if (c->error)
		put_text(c, "errno", strerrorname_np(c->error));
	report_close(c);
}
