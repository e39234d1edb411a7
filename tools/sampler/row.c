// SPDX-License-Identifier: MIT
#include "row.h"
#include "output.h"
#include "sampler.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <stdio.h>
#include <string.h>

/* include/uapi/linux/inet_diag.h and mptcp.h; older headers lack some of them. */
#define DIAG_ULP_INFO 19
#define ULP_MPTCP 3

#define KEY(name) ", \"" name "\": "

static const struct {
	int type;
	const char *key;
} subflow_fields[SUBFLOW_FIELDS] = {
	[TOKEN] = { 2, KEY("token") },
	[FLAGS] = { 8, KEY("flags") },
	[ID_REMOTE] = { 9, KEY("id_remote") },
	[ID_LOCAL] = { 10, KEY("id_local") },
};

#define FIELD(name, member) \
	{ KEY(name), sizeof(KEY(name)) - 1, offsetof(struct tcp_info, tcpi_##member), \
	  sizeof(((struct tcp_info *)NULL)->tcpi_##member) }

/* All exist since Linux 5.5. */
static const struct {
	const char *key;
	unsigned short key_bytes;
	unsigned short offset;
	unsigned short bytes;
} info_fields[] = {
	FIELD("rto_us", rto),
	FIELD("snd_mss", snd_mss),
	FIELD("unacked", unacked),
	FIELD("lost", lost),
	FIELD("rtt_us", rtt),
	FIELD("rttvar_us", rttvar),
	FIELD("snd_ssthresh", snd_ssthresh),
	FIELD("snd_cwnd", snd_cwnd),
	FIELD("rcv_space", rcv_space),
	FIELD("total_retrans", total_retrans),
	FIELD("pacing_rate", pacing_rate),
	FIELD("bytes_acked", bytes_acked),
	FIELD("bytes_received", bytes_received),
	FIELD("segs_out", segs_out),
	FIELD("segs_in", segs_in),
	FIELD("notsent_bytes", notsent_bytes),
	FIELD("min_rtt_us", min_rtt),
	FIELD("delivery_rate", delivery_rate),
	FIELD("busy_time_us", busy_time),
	FIELD("rwnd_limited_us", rwnd_limited),
	FIELD("sndbuf_limited_us", sndbuf_limited),
	FIELD("bytes_sent", bytes_sent),
	FIELD("bytes_retrans", bytes_retrans),
};

#define INFO_FIELDS ARRAY_SIZE(info_fields)

static char *put_ipv4(char *at, const unsigned char *address)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			*at++ = '.';
		at = put_number(at, address[i]);
	}
	return at;
}

/* IPv4-mapped IPv6 addresses are shown as IPv4. */
static void format_end(char *at, int family, const __be32 *raw, __be16 port)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	const unsigned char *address = (const unsigned char *)raw;

	if (family == AF_INET) {
		at = put_ipv4(at, address);
	} else if (!memcmp(address, mapped, sizeof(mapped))) {
		at = put_ipv4(at, address + sizeof(mapped));
	} else {
		*at++ = '[';
		inet_ntop(AF_INET6, address, at, INET6_ADDRSTRLEN);
		at = put_text(at + strlen(at), "]");
	}
	*at++ = ':';
	at = put_number(at, ntohs(port));
	*at = '\0';
}

static void read_name(char *name, struct value value)
{
	size_t bytes = value.bytes < NAME_BYTES - 1 ? value.bytes : NAME_BYTES - 1;

	memcpy(name, value.data, bytes);
	name[bytes] = '\0';
}

static void read_subflow(struct row *row, struct value rest)
{
	struct value value;
	int type;

	while ((type = netlink_attribute(&rest, &value)) >= 0) {
		for (int i = 0; i < SUBFLOW_FIELDS; i++) {
			if (type != subflow_fields[i].type)
				continue;
			row->has[i] = true;
			row->subflow[i] = netlink_number(value);
		}
	}
}

static void read_ulp(struct row *row, struct value rest)
{
	struct value value;
	int type;

	while ((type = netlink_attribute(&rest, &value)) >= 0) {
		if (type != ULP_MPTCP)
			continue;
		row->mptcp = true;
		read_subflow(row, value);
		return;
	}
}

bool row_read(struct row *row, const struct nlmsghdr *message)
{
	const struct inet_diag_msg *diag = NLMSG_DATA(message);
	struct value rest, value;
	int type;

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*diag)))
		return false;
	memset(row, 0, offsetof(struct row, info));
	row->family = diag->idiag_family;
	row->state = diag->idiag_state;
	format_end(row->local, row->family, diag->id.idiag_src, diag->id.idiag_sport);
	format_end(row->remote, row->family, diag->id.idiag_dst, diag->id.idiag_dport);
	rest = netlink_attributes(message, sizeof(*diag));
	while ((type = netlink_attribute(&rest, &value)) >= 0) {
		if (type == INET_DIAG_INFO) {
			row->info_bytes = value.bytes < sizeof(row->info) ? value.bytes : sizeof(row->info);
			memcpy(&row->info, value.data, row->info_bytes);
		} else if (type == INET_DIAG_CONG) {
			read_name(row->congestion, value);
		} else if (type == DIAG_ULP_INFO) {
			read_ulp(row, value);
		}
	}
	return true;
}

static char *put_info(char *at, const struct row *row)
{
	const unsigned char *info = (const unsigned char *)&row->info;

	for (unsigned int i = 0; i < INFO_FIELDS; i++) {
		struct value value = { info + info_fields[i].offset, info_fields[i].bytes };

		if ((size_t)info_fields[i].offset + info_fields[i].bytes > row->info_bytes)
			continue;
		at = put_bytes(at, info_fields[i].key, info_fields[i].key_bytes);
		at = put_number(at, netlink_number(value));
	}
	return at;
}

char *put_name(char *at, const char *name)
{
	*at++ = '"';
	for (; *name; name++) {
		unsigned char byte = *name;

		if (byte == '"' || byte == '\\')
			*at++ = '\\';
		if (byte < ' ')
			at += sprintf(at, "\\u%04x", byte);
		else
			*at++ = byte;
	}
	*at++ = '"';
	return at;
}

char *row_put(char *at, const struct row *row, const char *node, int64_t time_ns)
{
	at = put_text(at, "{\"time_ns\": ");
	at = put_number(at, time_ns);
	at = put_text(at, ", \"node\": \"");
	at = put_text(at, node);
	at = put_text(at, "\", \"local\": \"");
	at = put_text(at, row->local);
	at = put_text(at, "\", \"remote\": \"");
	at = put_text(at, row->remote);
	at = put_text(at, "\", \"state\": ");
	at = put_number(at, row->state);
	at = put_text(at, row->mptcp ? ", \"protocol\": \"mptcp\"" : ", \"protocol\": \"tcp\"");
	at = put_info(at, row);
	if (*row->congestion) {
		at = put_text(at, ", \"congestion\": ");
		at = put_name(at, row->congestion);
	}
	for (int i = 0; i < SUBFLOW_FIELDS; i++) {
		if (!row->has[i])
			continue;
		at = put_text(at, subflow_fields[i].key);
		at = put_number(at, row->subflow[i]);
	}
	return put_text(at, "}\n");
}

int row_compare(const void *a, const void *b)
{
	const struct row *first = a, *second = b;
	int order = strcmp(first->local, second->local);

	if (!order)
		order = strcmp(first->remote, second->remote);
	if (!order)
		order = (int)first->family - (int)second->family;
	if (!order)
		order = first->number < second->number ? -1 : 1;
	return order;
}
