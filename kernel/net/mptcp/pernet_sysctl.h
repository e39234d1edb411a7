/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sysctl below net.mptcp in every network namespace. Each namespace has its own
 * copy of the table, because .data differs.
 */

#ifndef __MPTCP_PERNET_SYSCTL_H
#define __MPTCP_PERNET_SYSCTL_H

#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>

/* NULL if allocation fails. */
static inline struct ctl_table_header *
mptcp_pernet_sysctl_add(struct net *net, const struct ctl_table *entry)
{
	struct ctl_table_header *header;
	void *table;

	table = kmemdup(entry, sizeof(*entry), GFP_KERNEL);
	if (!table)
		return NULL;

	header = register_net_sysctl_sz(net, "net/mptcp", table, 1);
	if (!header)
		kfree(table);
	return header;
}

static inline void mptcp_pernet_sysctl_remove(struct ctl_table_header *header)
{
	const struct ctl_table *table = header->ctl_table_arg;

	unregister_net_sysctl_table(header);
	kfree(table);
}

#endif /* __MPTCP_PERNET_SYSCTL_H */
