// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/net/mptcp_schedulers: the scheduler that each MPTCP connection of this network
 * namespace uses. One line per connection, "TOKEN NAME", the token as %08x.
 *
 * net.mptcp.scheduler only shows the scheduler of new sockets.
 *
 * A token is what a host needs to join a connection. So only a process with
 * CAP_NET_ADMIN over the network namespace may read them; the opener of the file is
 * checked. Socket diagnosis in 6.12 also requires this before it shows a token (in 7.2
 * it shows tokens to all). The mode of the file cannot express this: root of a user
 * namespace has the capability over the network namespaces created in it, and may give
 * it to others; and without the capability not even root may read tokens.
 */

#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>
#include "sched_common.h"

/* Position of mptcp_token_iter_next(). */
struct schedulers_iter {
	struct seq_net_private p;
	long slot;
	long num;
	loff_t pos;		/* of the next connection */
};

static struct mptcp_sock *schedulers_next(struct seq_file *seq)
{
	struct schedulers_iter *iter = seq->private;

	iter->pos++;
	return mptcp_token_iter_next(seq_file_net(seq), &iter->slot,
				     &iter->num);
}

static void *schedulers_seq_start(struct seq_file *seq, loff_t *pos)
{
	struct schedulers_iter *iter = seq->private;
	struct mptcp_sock *msk;

	if (!file_ns_capable(seq->file, seq_file_net(seq)->user_ns,
			     CAP_NET_ADMIN))
		return ERR_PTR(-EPERM);

	iter->slot = 0;
	iter->num = 0;
	iter->pos = 0;
	while ((msk = schedulers_next(seq)) && iter->pos <= *pos)
		sock_put((struct sock *)msk);
	return msk;
}

static void *schedulers_seq_next(struct seq_file *seq, void *v, loff_t *pos)
{
	++*pos;
	sock_put(v);
	return schedulers_next(seq);
}

static void schedulers_seq_stop(struct seq_file *seq, void *v)
{
	if (!IS_ERR_OR_NULL(v))
		sock_put(v);
}

static int schedulers_seq_show(struct seq_file *seq, void *v)
{
	char name[MPTCP_SCHED_NAME_MAX] = "default";
	struct mptcp_sock *msk = v;
	struct sock *sk = v;

	lock_sock(sk);
	if (msk->sched)
		strscpy(name, msk->sched->name, sizeof(name));
	release_sock(sk);

	seq_printf(seq, "%08x %s\n", READ_ONCE(msk->token), name);
	return 0;
}

static const struct seq_operations schedulers_seq_ops = {
	.start	= schedulers_seq_start,
	.next	= schedulers_seq_next,
	.stop	= schedulers_seq_stop,
	.show	= schedulers_seq_show,
};

static int __net_init schedulers_net_init(struct net *net)
{
	if (!proc_create_net("mptcp_schedulers", 0444, net->proc_net,
			     &schedulers_seq_ops,
			     sizeof(struct schedulers_iter)))
		return -ENOMEM;
	return 0;
}

static void __net_exit schedulers_net_exit(struct net *net)
{
	remove_proc_entry("mptcp_schedulers", net->proc_net);
}

static struct pernet_operations schedulers_pernet_ops = {
	.init	= schedulers_net_init,
	.exit	= schedulers_net_exit,
};

static int __init schedulers_register(void)
{
	return register_pernet_subsys(&schedulers_pernet_ops);
}
late_initcall(schedulers_register);
