// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.mptcp.coupled_hystart: whether the first slow start of a subflow is
 * HyStart++ (1) or Reno's (0, the default, which is what the specifications leave
 * it to be). Per network namespace.
 */

#include <net/netns/generic.h>

#include "coupled.h"
#include "pernet_sysctl.h"

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

	pernet->header = mptcp_pernet_sysctl_add(net, &entry);
	return pernet->header ? 0 : -ENOMEM;
}

static void __net_exit coupled_net_exit(struct net *net)
{
	struct coupled_pernet *pernet = net_generic(net, coupled_pernet_id);

	mptcp_pernet_sysctl_remove(pernet->header);
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
