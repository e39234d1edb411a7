// SPDX-License-Identifier: GPL-2.0-only
/*
 * net.mptcp.scheduler_weights, per network namespace: "ADDRESS=N ADDRESS=N ...",
 * N from 1 to 255. A subflow has the weight of the first entry whose address is its
 * local or remote address, and 1 if no entry matches. An empty string removes all
 * entries.
 *
 * Schedulers look up a weight once per subflow, and again when the generation has
 * changed.
 */

#include <linux/inet.h>
#include <net/netns/generic.h>
#include "pernet_sysctl.h"
#include "sched_common.h"

/* "ADDRESS=255 " */
#define WEIGHTS_TEXT_MAX	(MPTCP_WEIGHTS_MAX * (INET6_ADDRSTRLEN + 5))

struct weights {
	struct rcu_head rcu;
	unsigned int count;
	struct {
		struct in6_addr addr;	/* IPv4 as IPv4-mapped */
		u8 weight;
	} entries[MPTCP_WEIGHTS_MAX];
};

struct weights_pernet {
	struct mutex lock;		/* serialises writers */
	struct weights __rcu *weights;	/* NULL: none */
	u32 generation;
	struct ctl_table_header *header;
};

static unsigned int weights_pernet_id;

static struct weights_pernet *weights_of(const struct net *net)
{
	return net_generic(net, weights_pernet_id);
}

u32 mptcp_weights_generation(const struct net *net)
{
	/* pairs with weights_replace() */
	return smp_load_acquire(&weights_of(net)->generation);
}

bool mptcp_weights_given(const struct net *net)
{
	return rcu_access_pointer(weights_of(net)->weights);
}

static void weights_ends(const struct sock_common *skc, struct in6_addr *local,
			 struct in6_addr *remote)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (skc->skc_family == AF_INET6) {
		*local = skc->skc_v6_rcv_saddr;
		*remote = skc->skc_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(skc->skc_rcv_saddr, local);
	ipv6_addr_set_v4mapped(skc->skc_daddr, remote);
}

u8 mptcp_weight(const struct mptcp_subflow_context *subflow)
{
	struct sock *ssk = mptcp_subflow_tcp_sock(subflow);
	struct in6_addr local, remote;
	const struct weights *weights;
	u8 weight = MPTCP_WEIGHT_DEFAULT;
	unsigned int i;

	weights_ends((struct sock_common *)ssk, &local, &remote);
	rcu_read_lock();
	weights = rcu_dereference(weights_of(sock_net(ssk))->weights);
	for (i = 0; weights && i < weights->count; i++) {
		const struct in6_addr *addr = &weights->entries[i].addr;

		if (ipv6_addr_equal(addr, &local) ||
		    ipv6_addr_equal(addr, &remote)) {
			weight = weights->entries[i].weight;
			break;
		}
	}
	rcu_read_unlock();
	return weight;
}

static int weights_add(struct weights *weights, char *entry)
{
	char *number = strchr(entry, '=');
	struct in6_addr *addr;
	__be32 addr4;
	u8 weight;

	if (!number || weights->count == MPTCP_WEIGHTS_MAX)
		return -EINVAL;
	*number++ = '\0';
	if (kstrtou8(number, 10, &weight) || !weight)
		return -EINVAL;

	addr = &weights->entries[weights->count].addr;
	if (in4_pton(entry, -1, (u8 *)&addr4, '\0', NULL))
		ipv6_addr_set_v4mapped(addr4, addr);
	else if (!in6_pton(entry, -1, (u8 *)addr, '\0', NULL))
		return -EINVAL;
	weights->entries[weights->count++].weight = weight;
	return 0;
}

/* Return NULL for an empty text. */
static struct weights *weights_parse(char *text)
{
	struct weights found = {}, *weights = NULL;
	char *entry;
	int err;

	while ((entry = strsep(&text, " \t\n"))) {
		err = *entry ? weights_add(&found, entry) : 0;
		if (err)
			return ERR_PTR(err);
	}
	if (found.count) {
		weights = kmemdup(&found, sizeof(found), GFP_KERNEL);
		if (!weights)
			return ERR_PTR(-ENOMEM);
	}
	return weights;
}

static void weights_print(const struct weights *weights, char *text, size_t size)
{
	size_t used = 0;
	unsigned int i;

	*text = '\0';
	for (i = 0; weights && i < weights->count; i++) {
		const struct in6_addr *addr = &weights->entries[i].addr;
		const char *blank = i ? " " : "";
		u8 weight = weights->entries[i].weight;

		if (ipv6_addr_v4mapped(addr))
			used += scnprintf(text + used, size - used, "%s%pI4=%u",
					  blank, &addr->s6_addr32[3], weight);
		else
			used += scnprintf(text + used, size - used, "%s%pI6c=%u",
					  blank, addr, weight);
	}
}

static void weights_replace(struct weights_pernet *pernet, struct weights *new)
{
	struct weights *old;

	old = rcu_replace_pointer(pernet->weights, new,
				  lockdep_is_held(&pernet->lock));
	/* Readers that see the new generation also see the new weights. */
	smp_store_release(&pernet->generation, pernet->generation + 1);
	if (old)
		kfree_rcu(old, rcu);
}

static int proc_weights(const struct ctl_table *ctl, int write, void *buffer,
			size_t *lenp, loff_t *ppos)
{
	const struct ctl_table text = {
		.data = kzalloc(WEIGHTS_TEXT_MAX, GFP_KERNEL),
		.maxlen = WEIGHTS_TEXT_MAX,
	};
	struct weights_pernet *pernet = ctl->data;
	struct weights *weights;
	int ret;

	if (!text.data)
		return -ENOMEM;

	/* A second write() would replace the first, not continue it. */
	if (write && *ppos) {
		kfree(text.data);
		return -EINVAL;
	}

	mutex_lock(&pernet->lock);
	if (!write) {
		weights = rcu_dereference_protected(pernet->weights,
						    lockdep_is_held(&pernet->lock));
		weights_print(weights, text.data, text.maxlen);
	}
	ret = proc_dostring(&text, write, buffer, lenp, ppos);
	if (write && !ret) {
		weights = weights_parse(text.data);
		if (IS_ERR(weights))
			ret = PTR_ERR(weights);
		else
			weights_replace(pernet, weights);
	}
	mutex_unlock(&pernet->lock);
	kfree(text.data);
	return ret;
}

static int __net_init weights_net_init(struct net *net)
{
	struct weights_pernet *pernet = weights_of(net);
	const struct ctl_table entry = {
		.procname = "scheduler_weights",
		.data = pernet,
		.maxlen = WEIGHTS_TEXT_MAX,
		.mode = 0644,
		.proc_handler = proc_weights,
	};

	mutex_init(&pernet->lock);
	pernet->header = mptcp_pernet_sysctl_add(net, &entry);
	return pernet->header ? 0 : -ENOMEM;
}

static void __net_exit weights_net_exit(struct net *net)
{
	struct weights_pernet *pernet = weights_of(net);

	mptcp_pernet_sysctl_remove(pernet->header);
	/* This namespace has no sockets any more. */
	kfree(rcu_dereference_protected(pernet->weights, true));
}

static struct pernet_operations weights_pernet_ops = {
	.init	= weights_net_init,
	.exit	= weights_net_exit,
	.id	= &weights_pernet_id,
	.size	= sizeof(struct weights_pernet),
};

/* Before the schedulers, which register by late_initcall(). */
static int __init weights_register(void)
{
	return register_pernet_subsys(&weights_pernet_ops);
}
device_initcall(weights_register);
