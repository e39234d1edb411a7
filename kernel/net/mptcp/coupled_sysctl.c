// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.mptcp.coupled_hystart: whether the first slow start of a subflow is
 * HyStart++ (1) or Reno's (0, the default, which is what the specifications leave
 * it to be). Per network namespace.
 */

#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "coupled.h"

struct coupled_pernet {
	u8 hystart;
	struct ctl_table_header *header;
};

static unsigned int coupled_pernet_id;

bool coupled_hystart(const struct net *net)
{
	const struct coupled_pernet *pernet = net_generic(net, coupled_pernet_id);

	return READ_ONCE(pernet->hystart);
}

static int __net_init coupled_net_init(struct net *net)
{
	struct coupled_pernet *pernet = net_generic(net, coupled_pernet_id);
	const struct ctl_table entry = {
		.procname = "coupled_hystart",
		.data = &pernet->hystart,
		.maxlen = sizeof(pernet->hystart),
		.mode = 0644,
		.proc_handler = proc_dou8vec_minmax,
		.extra1 = SYSCTL_ZERO,
		.extra2 = SYSCTL_ONE,
	};
	void *table;

	table = kmemdup(&entry, sizeof(entry), GFP_KERNEL);
	if (!table)
		return -ENOMEM;

	pernet->header = register_net_sysctl_sz(net, "net/mptcp", table, 1);
	if (!pernet->header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit coupled_net_exit(struct net *net)
{
	struct coupled_pernet *pernet = net_generic(net, coupled_pernet_id);
	const struct ctl_table *table = pernet->header->ctl_table_arg;

	unregister_net_sysctl_table(pernet->header);
	kfree(table);
}

static struct pernet_operations coupled_pernet_ops = {
	.init	= coupled_net_init,
	.exit	= coupled_net_exit,
	.id	= &coupled_pernet_id,
	.size	= sizeof(struct coupled_pernet),
};

/* Before any control is registered, which is late. */
static int __init coupled_sysctl_register(void)
{
	return register_pernet_subsys(&coupled_pernet_ops);
}
device_initcall(coupled_sysctl_register);
