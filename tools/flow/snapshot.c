// SPDX-License-Identifier: MIT
/*
 * The state of a socket, as the kernel reports it: MPTCP_FULL_INFO (6.5 and later) has all data
 * of one instant; older kernels need three calls. An MPTCP socket that fell back to TCP refuses
 * all of them and answers TCP_INFO.
 */
#include "snapshot.h"
#include "conn.h"
#include "uapi.h"

#include <linux/tcp.h>
#include <string.h>

#define TCP(label, member) \
	{ label, offsetof(struct tcp_info, tcpi_##member), \
	  sizeof(((struct tcp_info *)NULL)->tcpi_##member) }
#define MPTCP(label, member) \
	{ label, offsetof(struct mptcp_conn_info, mptcpi_##member), \
	  sizeof(((struct mptcp_conn_info *)NULL)->mptcpi_##member) }

const struct field tcp_fields[] = {
	TCP("bytes_sent", bytes_sent),
	TCP("bytes_acked", bytes_acked),
	TCP("bytes_received", bytes_received),
	TCP("bytes_retrans", bytes_retrans),
	TCP("segs_out", segs_out),
	TCP("segs_in", segs_in),
	TCP("data_segs_out", data_segs_out),
	TCP("data_segs_in", data_segs_in),
	TCP("retrans", total_retrans),
	TCP("rtt_us", rtt),
	TCP("rttvar_us", rttvar),
	TCP("min_rtt_us", min_rtt),
	TCP("rcv_rtt_us", rcv_rtt),
	TCP("rto_us", rto),
	TCP("ca_state", ca_state),
	TCP("snd_cwnd", snd_cwnd),
	TCP("snd_ssthresh", snd_ssthresh),
	TCP("snd_mss", snd_mss),
	TCP("rcv_mss", rcv_mss),
	TCP("snd_wnd", snd_wnd),
	TCP("rcv_space", rcv_space),
	TCP("rcv_ssthresh", rcv_ssthresh),
	TCP("unacked", unacked),
	TCP("sacked", sacked),
	TCP("lost", lost),
	TCP("reordering", reordering),
	TCP("delivered", delivered),
	TCP("delivered_ce", delivered_ce),
	TCP("delivery_rate", delivery_rate),
	TCP("pacing_rate", pacing_rate),
	TCP("notsent_bytes", notsent_bytes),
	TCP("busy_time_us", busy_time),
	TCP("rwnd_limited_us", rwnd_limited),
	TCP("sndbuf_limited_us", sndbuf_limited),
	TCP("dsack_dups", dsack_dups),
	TCP("reord_seen", reord_seen),
	TCP("rcv_ooopack", rcv_ooopack),
	{ 0 }
};

const struct field mptcp_fields[] = {
	MPTCP("flags", flags),
	MPTCP("token", token),
	MPTCP("subflows", subflows),
	MPTCP("subflows_total", subflows_total),
	MPTCP("subflows_max", subflows_max),
	MPTCP("add_addr_signal", add_addr_signal),
	MPTCP("add_addr_signal_max", add_addr_signal_max),
	MPTCP("add_addr_accepted", add_addr_accepted),
	MPTCP("add_addr_accepted_max", add_addr_accepted_max),
	MPTCP("local_addr_used", local_addr_used),
	MPTCP("local_addr_max", local_addr_max),
	MPTCP("csum_enabled", csum_enabled),
	MPTCP("bytes_sent", bytes_sent),
	MPTCP("bytes_received", bytes_received),
	MPTCP("bytes_acked", bytes_acked),
	MPTCP("bytes_retrans", bytes_retrans),
	MPTCP("retransmits", retransmits),
	MPTCP("write_seq", write_seq),
	MPTCP("snd_una", snd_una),
	MPTCP("rcv_nxt", rcv_nxt),
	MPTCP("last_data_sent_ms", last_data_sent),
	MPTCP("last_data_recv_ms", last_data_recv),
	MPTCP("last_ack_recv_ms", last_ack_recv),
	{ 0 }
};

/* Buffers for the largest answers. They can be static: there is one sample at a time. */
static struct tcp_info tcp[SUBFLOWS_MAX];
static struct mptcp_subflow_identity identities[SUBFLOWS_MAX];
static struct mptcp_everything everything;
static struct mptcp_conn_info conn_info;
static struct {
	struct mptcp_array_head head;
	unsigned char items[SUBFLOWS_MAX * sizeof(struct tcp_info)];
} tcp_array;
static struct {
	struct mptcp_array_head head;
	unsigned char items[SUBFLOWS_MAX * sizeof(struct mptcp_subflow_addresses)];
} address_array;

static bool ask(int fd, int name, void *answer, socklen_t *len)
{
	return !getsockopt(fd, SOL_MPTCP, name, answer, len);
}

/* The kernel packs elements at the size that both sides support, which it returns. */
static bool take_full(int fd, struct snapshot *snap)
{
	socklen_t len = sizeof(everything);

	everything = (struct mptcp_everything){
		.size_tcpinfo_user = sizeof(tcp[0]),
		.size_sfinfo_user = sizeof(identities[0]),
		.size_arrays_user = SUBFLOWS_MAX,
		.subflow_info = (__u64)(unsigned long)identities,
		.tcp_info = (__u64)(unsigned long)tcp,
	};
	if (!ask(fd, FLOW_MPTCP_FULL_INFO, &everything, &len))
		return false;
	snap->mptcp = &everything.info;
	snap->mptcp_len = len - offsetof(struct mptcp_everything, info);
	snap->subflows = everything.num_subflows;
	snap->tcp = (const unsigned char *)tcp;
	snap->tcp_len = everything.size_tcpinfo_user;
	snap->ids = (const unsigned char *)identities;
	snap->ids_stride = everything.size_sfinfo_user;
	snap->addrs = snap->ids + offsetof(struct mptcp_subflow_identity, addrs);
	snap->addrs_stride = everything.size_sfinfo_user;
	return true;
}

static bool take_parts(int fd, struct snapshot *snap)
{
	socklen_t len = sizeof(conn_info);
	socklen_t tcp_len = sizeof(tcp_array), address_len = sizeof(address_array);

	if (!ask(fd, FLOW_MPTCP_INFO, &conn_info, &len))
		return false;
	tcp_array.head = (struct mptcp_array_head){
		.size_head = sizeof(tcp_array.head),
		.size_user = sizeof(struct tcp_info),
	};
	address_array.head = (struct mptcp_array_head){
		.size_head = sizeof(address_array.head),
		.size_user = sizeof(struct mptcp_subflow_addresses),
	};
	if (!ask(fd, FLOW_MPTCP_TCPINFO, &tcp_array, &tcp_len) ||
	    !ask(fd, FLOW_MPTCP_SUBFLOW_ADDRS, &address_array, &address_len))
		return false;
	snap->mptcp = &conn_info;
	snap->mptcp_len = len;
	snap->tcp = tcp_array.items;
	snap->tcp_len = tcp_array.head.size_user;
	snap->addrs = address_array.items;
	snap->addrs_stride = address_array.head.size_user;
	/* A subflow that was added or removed between the two calls is left out. */
	snap->subflows = tcp_array.head.num_subflows;
	if (address_array.head.num_subflows < snap->subflows)
		snap->subflows = address_array.head.num_subflows;
	return true;
}

static void take_tcp(int fd, struct snapshot *snap)
{
	socklen_t len = sizeof(tcp[0]);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, tcp, &len))
		return;
	snap->subflows = 1;
	snap->tcp = (const unsigned char *)tcp;
	snap->tcp_len = len;
}

void snapshot_take(const struct conn *c, struct snapshot *snap)
{
	memset(snap, 0, sizeof(*snap));
	if (c->mptcp && (take_full(c->fd, snap) || take_parts(c->fd, snap))) {
		const struct mptcp_conn_info *info = snap->mptcp;

		snap->fallback = info->mptcpi_flags & FLOW_MPTCP_FALLBACK;
		if (snap->subflows > SUBFLOWS_MAX)
			snap->subflows = SUBFLOWS_MAX;
		return;
	}
	snap->fallback = c->flow->opt->mptcp;
	take_tcp(c->fd, snap);
}
