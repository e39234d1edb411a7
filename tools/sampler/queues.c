// SPDX-License-Identifier: MIT
#include "queues.h"
#include "netlink.h"
#include "sampler.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <net/if.h>
#include <string.h>

/* More than the maximum length of a row without its place. */
#define QUEUE_BYTES 256

struct batch {
	const struct queue *queues;
	unsigned int count;
	unsigned int taken;
	struct output *output;
	int64_t time_ns;
};

void queues_add(struct queues *queues, const char *device, uint32_t handle, char *place)
{
	unsigned int ifindex = if_nametoindex(device);

	if (!ifindex)
		die(EXIT_RUNTIME, "no interface %s: %s", device, strerror(errno));
	if (!queues->count)
		queues->fd = netlink_open(NETLINK_ROUTE);
	queues->queues = reallocate(queues->queues, (queues->count + 1) * sizeof(*queues->queues));
	queues->queues[queues->count++] = (struct queue){ ifindex, handle, place };
}

/* Returns the value of the first attribute of @type; it has no data if there is none. */
static struct value find(struct value rest, int type)
{
	struct value value;
	int found;

	do {
		found = netlink_attribute(&rest, &value);
	} while (found >= 0 && found != type);
	return found < 0 ? (struct value){ NULL, 0 } : value;
}

char *queue_put(char *at, const struct nlmsghdr *answer, const char *place, int64_t time_ns)
{
	struct value counters = netlink_attributes(answer, sizeof(struct tcmsg));
	struct gnet_stats_queue queue;

	counters = find(find(counters, TCA_STATS2), TCA_STATS_QUEUE);
	if (counters.bytes < sizeof(queue))
		return NULL;
	memcpy(&queue, counters.data, sizeof(queue));
	at = put_text(at, "{\"time_ns\": ");
	at = put_number(at, time_ns);
	at = put_text(at, ", ");
	at = put_text(at, place);
	at = put_text(at, ", \"bytes\": ");
	at = put_number(at, queue.backlog);
	at = put_text(at, ", \"packets\": ");
	at = put_number(at, queue.qlen);
	at = put_text(at, ", \"drops\": ");
	at = put_number(at, queue.drops);
	return put_text(at, "}\n");
}

/* The kernel answers requests in order. */
static bool take_queue(void *context, const struct nlmsghdr *answer)
{
	struct batch *batch = context;
	const char *place = batch->queues[batch->taken].place;
	char *end = queue_put(output_begin(batch->output, QUEUE_BYTES + strlen(place)), answer, place, batch->time_ns);

	if (!end)
		die(EXIT_RUNTIME, "the kernel does not report the state of a queue: %s", place);
	output_end(batch->output, end);
	return ++batch->taken == batch->count;
}

static void ask(int fd, struct batch *batch)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg request;
	} messages[QUEUES_AT_ONCE];

	for (unsigned int i = 0; i < batch->count; i++) {
		messages[i].header = (struct nlmsghdr){
			.nlmsg_len = sizeof(messages[i]),
			.nlmsg_type = RTM_GETQDISC,
			/* Without the last, the answer goes only to sockets that subscribe to all changes. */
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ECHO,
		};
		messages[i].request = (struct tcmsg){
			.tcm_ifindex = batch->queues[i].ifindex,
			.tcm_handle = batch->queues[i].handle << 16,
		};
	}
	netlink_ask(fd, messages, batch->count * sizeof(*messages), "the queues of a node", take_queue, batch);
}

void queues_sample(struct queues *queues, struct output *output, int64_t time_ns)
{
	for (unsigned int i = 0; i < queues->count; i += QUEUES_AT_ONCE) {
		unsigned int left = queues->count - i;
		struct batch batch = {
			.queues = &queues->queues[i],
			.count = left < QUEUES_AT_ONCE ? left : QUEUES_AT_ONCE,
			.output = output,
			.time_ns = time_ns,
		};

		ask(queues->fd, &batch);
	}
}
