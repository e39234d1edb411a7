// SPDX-License-Identifier: MIT
/*
 * The older of the kernel's two requests, TCPDIAG_GETSOCK, reports the sockets of both families:
 * it needs one walk through the kernel's table instead of two, and one exchange of messages.
 */
#include "sockets.h"
#include "sampler.h"

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* include/net/tcp_states.h: all states in which data was or can be carried. */
#define ESTABLISHED 1
#define FIN_WAIT1 4
#define FIN_WAIT2 5
#define CLOSE_WAIT 8
#define LAST_ACK 9
#define CLOSING 11
#define STATES (1 << ESTABLISHED | 1 << FIN_WAIT1 | 1 << FIN_WAIT2 | 1 << CLOSE_WAIT | \
		1 << LAST_ACK | 1 << CLOSING)

int sockets_open(void)
{
	return netlink_open(NETLINK_SOCK_DIAG);
}

static bool take_socket(void *context, const struct nlmsghdr *answer)
{
	struct rows *rows = context;

	if (answer->nlmsg_type == NLMSG_DONE)
		return true;
	if (rows->count == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 8;
		rows->rows = reallocate(rows->rows, rows->room * sizeof(*rows->rows));
	}
	if (row_read(&rows->rows[rows->count], answer)) {
		rows->rows[rows->count].number = rows->count;
		rows->count++;
	}
	return false;
}

void sockets_read(int fd, struct rows *rows)
{
	const struct {
		struct nlmsghdr header;
		struct inet_diag_req request;
	} dump = {
		.header = {
			.nlmsg_len = sizeof(dump),
			.nlmsg_type = TCPDIAG_GETSOCK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.request = {
			/* The kernel reports MPTCP only with the first of these. */
			.idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
			.idiag_states = STATES,
		},
	};

	rows->count = 0;
	netlink_ask(fd, &dump, sizeof(dump), "the sockets of a node", take_socket, rows);
	if (rows->count)
		qsort(rows->rows, rows->count, sizeof(*rows->rows), row_compare);
}

void sockets_put(struct output *output, const struct rows *rows, const char *node, int64_t time_ns)
{
	for (unsigned int i = 0; i < rows->count; i++) {
		char *at = output_begin(output, ROW_BYTES + strlen(node));

		output_end(output, row_put(at, &rows->rows[i], node, time_ns));
	}
}
