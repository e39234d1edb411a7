// SPDX-License-Identifier: GPL-2.0-only
/*
 * Settings of the coupled congestion controls, per network namespace:
 *
 *	net.mptcp.coupled_hystart	1: the first slow start of a subflow uses
 *		HyStart++; 0, the default: Reno's, as in the specifications
 *	net.mptcp.coupled_olia_best	OLIA's metric of the best paths, as enum
 *		coupled_olia_rule: 0, the default: l / rtt^2; 1: l^2 / rtt
 *	net.mptcp.coupled_count_idle	1: all established subflows count; 0, the
 *		default: subflows with data acked within their last retransmission timeout
 *
 * Also /proc/net/mptcp_coupled, with lines "NAME NUMBER":
 *
 *	uncoupled	subflows for which the allocation of a group failed, so that
 *		they grow as if they were alone
 */

#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/netns/generic.h>

#include "coupled.h"
#include "coupled_olia.h"
#include "pernet_sysctl.h"

#define COUPLED_SETTINGS	3

struct coupled_pernet {
	u8 hystart;
	u8 olia_best;
	u8 count_idle;
	atomic_t failures;
	struct ctl_table_header *headers[COUPLED_SETTINGS];
};

static unsigned int coupled_pernet_id;

static struct coupled_pernet *coupled_pernet_of(const struct net *net)
{
	return net_generic(net, coupled_pernet_id);
}

bool coupled_hystart(const struct net *net)
{
	return READ_ONCE(coupled_pernet_of(net)->hystart);
}

bool coupled_count_idle(const struct net *net)
{
	return READ_ONCE(coupled_pernet_of(net)->count_idle);
}

/* The setting coupled_olia_best, as an enum coupled_olia_rule. */
u8 coupled_olia_best_rule(const struct net *net)
{
	return READ_ONCE(coupled_pernet_of(net)->olia_best);
}

/* Count a subflow whose allocation failed: it stays uncoupled. */
void coupled_count_failure(const struct net *net)
{
	atomic_inc(&coupled_pernet_of(net)->failures);
}

static int coupled_proc_show(struct seq_file *seq, void *v)
{
	const struct coupled_pernet *pernet = coupled_pernet_of(seq_file_single_net(seq));

	seq_printf(seq, "uncoupled %u\n", atomic_read(&pernet->failures));
	return 0;
}

static void coupled_net_exit(struct net *net)
{
	struct coupled_pernet *pernet = coupled_pernet_of(net);
	u32 i;

	remove_proc_entry("mptcp_coupled", net->proc_net);
	for (i = 0; i < COUPLED_SETTINGS && pernet->headers[i]; i++)
		mptcp_pernet_sysctl_remove(pernet->headers[i]);
}

static int __net_init coupled_net_init(struct net *net)
{
	struct coupled_pernet *pernet = coupled_pernet_of(net);
	const struct {
		const char *name;
		u8 *value;
	} settings[COUPLED_SETTINGS] = {
		{ "coupled_hystart", &pernet->hystart },
		{ "coupled_olia_best", &pernet->olia_best },
		{ "coupled_count_idle", &pernet->count_idle },
	};
	u32 i;

	if (!proc_create_net_single("mptcp_coupled", 0444, net->proc_net,
				    coupled_proc_show, NULL))
		return -ENOMEM;
	for (i = 0; i < COUPLED_SETTINGS; i++) {
		const struct ctl_table entry = {
			.procname = settings[i].name,
			.data = settings[i].value,
			.maxlen = sizeof(u8),
			.mode = 0644,
			.proc_handler = proc_dou8vec_minmax,
			.extra1 = SYSCTL_ZERO,
			.extra2 = SYSCTL_ONE,
		};

		pernet->headers[i] = mptcp_pernet_sysctl_add(net, &entry);
		if (!pernet->headers[i]) {
			coupled_net_exit(net);
			return -ENOMEM;
		}
	}
	return 0;
}

static struct pernet_operations coupled_pernet_ops = {
	.init	= coupled_net_init,
	.exit	= coupled_net_exit,
	.id	= &coupled_pernet_id,
	.size	= sizeof(struct coupled_pernet),
};

/* Before the congestion controls, which register by late_initcall(). */
static int __init coupled_sysctl_register(void)
{
	return register_pernet_subsys(&coupled_pernet_ops);
}
device_initcall(coupled_sysctl_register);
