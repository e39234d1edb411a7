/* SPDX-License-Identifier: MIT */
/*
 * The part of the kernel's MPTCP socket interface that flow uses.
 *
 * The system's <linux/mptcp.h> may be older than the running kernel, so these are our own
 * definitions, with our own names. The kernel reports how much it filled in, and only ever
 * appends fields: a value that it did not fill in is reported as null, never as 0.
 */
#ifndef FLOW_UAPI_H
#define FLOW_UAPI_H

#include <assert.h>
#include <linux/types.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

#define FLOW_MPTCP_INFO 1
#define FLOW_MPTCP_TCPINFO 2
#define FLOW_MPTCP_SUBFLOW_ADDRS 3
#define FLOW_MPTCP_FULL_INFO 4
/* Lab kernels only; far from the numbers that Linux assigns. */
#define FLOW_MPTCP_SCHEDULER 43

#define FLOW_MPTCP_FALLBACK 1
#define FLOW_MPTCP_REMOTE_KEY_RECEIVED 2

struct mptcp_conn_info {
	__u8 mptcpi_subflows;
	__u8 mptcpi_add_addr_signal;
	__u8 mptcpi_add_addr_accepted;
	__u8 mptcpi_subflows_max;
	__u8 mptcpi_add_addr_signal_max;
	__u8 mptcpi_add_addr_accepted_max;
	__u32 mptcpi_flags;
	__u32 mptcpi_token;
	__u64 mptcpi_write_seq;
	__u64 mptcpi_snd_una;
	__u64 mptcpi_rcv_nxt;
	__u8 mptcpi_local_addr_used;
	__u8 mptcpi_local_addr_max;
	__u8 mptcpi_csum_enabled;
	__u32 mptcpi_retransmits;
	__u64 mptcpi_bytes_retrans;
	__u64 mptcpi_bytes_sent;
	__u64 mptcpi_bytes_received;
	__u64 mptcpi_bytes_acked;
	__u8 mptcpi_subflows_total;
	__u8 mptcpi_endp_laminar_max;
	__u8 mptcpi_endp_fullmesh_max;
	__u8 reserved;
	__u32 mptcpi_last_data_sent;
	__u32 mptcpi_last_data_recv;
	__u32 mptcpi_last_ack_recv;
};

/* Head of the buffers of MPTCP_TCPINFO and MPTCP_SUBFLOW_ADDRS. */
struct mptcp_array_head {
	__u32 size_head;
	__u32 num_subflows;
	__u32 size_kernel;
	__u32 size_user;
};

struct mptcp_subflow_addresses {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
};

struct mptcp_subflow_identity {
	__u32 id;
	struct mptcp_subflow_addresses addrs;
};

struct mptcp_everything {
	__u32 size_tcpinfo_kernel;
	__u32 size_tcpinfo_user;
	__u32 size_sfinfo_kernel;
	__u32 size_sfinfo_user;
	__u32 num_subflows;
	__u32 size_arrays_user;
	__aligned_u64 subflow_info;
	__aligned_u64 tcp_info;
	struct mptcp_conn_info info;
};

static_assert(sizeof(struct mptcp_array_head) == 16, "kernel ABI");
static_assert(sizeof(struct mptcp_subflow_identity) == 264, "kernel ABI");
static_assert(offsetof(struct mptcp_everything, info) == 40, "kernel ABI");
static_assert(offsetof(struct mptcp_conn_info, mptcpi_bytes_acked) == 72, "kernel ABI");
static_assert(offsetof(struct mptcp_conn_info, mptcpi_last_ack_recv) == 92, "kernel ABI");

#endif
