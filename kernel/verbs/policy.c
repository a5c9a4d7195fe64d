// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * policy.c - the settings by which queue pairs and windows share an adapter: files in sysfs, which
 * take effect at once, and parameters of the module, for new adapters.
 *
 * Called by sysfs and by main.c. The sharing itself is in drr.c and round.c.
 */
#include <linux/ctype.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>
#include "adapter.h"
#include "parameter.h"
#include "net/port.h"
#include "round.h"
#include "verbs/verbs.h"

static unsigned int quantum = PAVO_QUANTUM;
pavo_range_param(quantum, quantum, PAVO_QUANTUM_LEAST, PAVO_QUANTUM_MOST, 0644);
MODULE_PARM_DESC(quantum, "default DRR quantum of new adapters, packets (512)");

static unsigned int send_credits;
pavo_range_param(send_credits, send_credits, 0, PAVO_CREDITS_MOST, 0644);
MODULE_PARM_DESC(send_credits,
		 "unacknowledged packets of a new adapter; 0: no limit (0)");

static unsigned int read_credits;
pavo_range_param(read_credits, read_credits, 0, PAVO_CREDITS_MOST, 0644);
MODULE_PARM_DESC(read_credits,
		 "most unanswered reads of a new adapter; 0: no limit (0)");

void pavo_policy_init(struct pavo_dev *dev)
{
	spin_lock_init(&dev->drr_lock);
	pavo_drr_init(&dev->drr, READ_ONCE(quantum), READ_ONCE(send_credits),
		      READ_ONCE(read_credits));
}

/*
 * Parse a value that was written to a file. Return: 0; -EPERM: the writer is no administrator
 * of the adapter's network; -EINVAL; -ERANGE.
 */
static int parse_value(struct pavo_dev *dev, const char *text, u32 least,
		       u32 most, u32 *value)
{
	int err;

	if (!pavo_port_admin(&dev->port))
		return -EPERM;
	err = kstrtou32(text, 0, value);
	if (err)
		return err;
	return *value < least || *value > most ? -ERANGE : 0;
}

static ssize_t quantum_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(pavo_dev_of_sysfs(device)->drr.quantum));
}

static ssize_t quantum_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t count)
{
	struct pavo_dev *dev = pavo_dev_of_sysfs(device);
	u32 value;
	int err;

	err = parse_value(dev, buf, PAVO_QUANTUM_LEAST, PAVO_QUANTUM_MOST,
			  &value);
	if (err)
		return err;
	WRITE_ONCE(dev->drr.quantum, value);
	return count;
}

DEVICE_ATTR_RW(quantum);

static ssize_t show_limit(struct device *device, enum pavo_pool pool, char *buf)
{
	const struct pavo_dev *dev = pavo_dev_of_sysfs(device);

	return sysfs_emit(buf, "%u\n", READ_ONCE(dev->drr.pool[pool].limit));
}

/* Credits beyond a lower limit are returned one by one; none is granted meanwhile. */
static ssize_t set_limit(struct device *device, enum pavo_pool pool,
			 const char *buf, size_t count)
{
	struct pavo_dev *dev = pavo_dev_of_sysfs(device);
	u32 value;
	int err;

	err = parse_value(dev, buf, 0, PAVO_CREDITS_MOST, &value);
	if (err)
		return err;
	spin_lock_bh(&dev->drr_lock);
	WRITE_ONCE(dev->drr.pool[pool].limit, value);
	dev->drr.pool[pool].most = dev->drr.pool[pool].used;
	pavo_drr_enable(&dev->drr);
	spin_unlock_bh(&dev->drr_lock);
	pavo_rounds_changed(dev);
	return count;
}

static ssize_t send_credits_show(struct device *device,
				 struct device_attribute *attr, char *buf)
{
	return show_limit(device, PAVO_POOL_SENDS, buf);
}

static ssize_t send_credits_store(struct device *device,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return set_limit(device, PAVO_POOL_SENDS, buf, count);
}

DEVICE_ATTR_RW(send_credits);

static ssize_t read_credits_show(struct device *device,
				 struct device_attribute *attr, char *buf)
{
	return show_limit(device, PAVO_POOL_READS, buf);
}

static ssize_t read_credits_store(struct device *device,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return set_limit(device, PAVO_POOL_READS, buf, count);
}

DEVICE_ATTR_RW(read_credits);

static ssize_t show_weights(struct device *device, enum pavo_drr_kind kind,
			    char *buf)
{
	struct pavo_dev *dev = pavo_dev_of_sysfs(device);
	int len = 0, level;
	u32 weight;

	for (level = 0; level < PAVO_LEVELS; level++) {
		weight = READ_ONCE(dev->drr.weight[kind][level]);
		len += weight == PAVO_WEIGHT_STRICT ?
			       sysfs_emit_at(buf, len, "%d:strict", level) :
			       sysfs_emit_at(buf, len, "%d:%u", level, weight);
		len += sysfs_emit_at(buf, len, "%c",
				     level == PAVO_LEVELS - 1 ? '\n' : ' ');
	}
	return len;
}

/* Read "LEVEL:WEIGHT" or "LEVEL:strict". Return: number of characters; -EINVAL. */
static int parse_weight(const char *text, unsigned int *level, u32 *weight)
{
	int used = 0;

	*weight = PAVO_WEIGHT_STRICT;
	if (sscanf(text, "%u:strict%n", level, &used) == 1 && used)
		return used;
	if (sscanf(text, "%u:%u%n", level, weight, &used) != 2 || !used)
		return -EINVAL;
	/* A weight of 0 is out of range. */
	if (!*weight)
		*weight = PAVO_WEIGHT_MOST + 1;
	return used;
}

/* Read one or more of these. An error leaves @weight half changed. */
static int parse_weights(const char *text, u32 *weight)
{
	unsigned int level;
	u32 value;
	int used;

	for (text = skip_spaces(text); *text; text = skip_spaces(text)) {
		used = parse_weight(text, &level, &value);
		if (used < 0 || (text[used] && !isspace(text[used])))
			return -EINVAL;
		if (level >= PAVO_LEVELS || value > PAVO_WEIGHT_MOST)
			return -ERANGE;
		weight[level] = value;
		text += used;
	}
	return 0;
}

/* The levels that @buf names get these weights in the kinds from @first to @last. */
static ssize_t set_weights(struct device *device, enum pavo_drr_kind first,
			   enum pavo_drr_kind last, const char *buf,
			   size_t count)
{
	struct pavo_dev *dev = pavo_dev_of_sysfs(device);
	u32 weight[PAVO_KINDS][PAVO_LEVELS];
	int err = 0, kind;

	if (!pavo_port_admin(&dev->port))
		return -EPERM;
	spin_lock_bh(&dev->drr_lock);
	memcpy(weight, dev->drr.weight, sizeof(weight));
	for (kind = first; !err && kind <= last; kind++)
		err = parse_weights(buf, weight[kind]);
	if (!err) {
		memcpy(dev->drr.weight, weight, sizeof(weight));
		pavo_drr_enable(&dev->drr);
	}
	spin_unlock_bh(&dev->drr_lock);
	if (err)
		return err;
	pavo_rounds_changed(dev);
	return count;
}

static ssize_t weights_show(struct device *device,
			    struct device_attribute *attr, char *buf)
{
	return show_weights(device, PAVO_KIND_REQUESTS, buf);
}

/* Responses have the weight of requests, until response_weights is written. */
static ssize_t weights_store(struct device *device,
			     struct device_attribute *attr, const char *buf,
			     size_t count)
{
	return set_weights(device, PAVO_KIND_REQUESTS, PAVO_KIND_RESPONSES, buf,
			   count);
}

DEVICE_ATTR_RW(weights);

static ssize_t response_weights_show(struct device *device,
				     struct device_attribute *attr, char *buf)
{
	return show_weights(device, PAVO_KIND_RESPONSES, buf);
}

static ssize_t response_weights_store(struct device *device,
				      struct device_attribute *attr,
				      const char *buf, size_t count)
{
	return set_weights(device, PAVO_KIND_RESPONSES, PAVO_KIND_RESPONSES,
			   buf, count);
}

DEVICE_ATTR_RW(response_weights);

static void show_pool(struct seq_file *file, const char *name,
		      const struct pavo_pool_state *pool)
{
	seq_printf(file, "%s used %u most %u limit %u waits %llu\n", name,
		   pool->used, pool->most, pool->limit, pool->waits);
}

void pavo_policy_show(struct seq_file *file, struct pavo_dev *dev)
{
	struct pavo_drr drr;

	spin_lock_bh(&dev->drr_lock);
	drr = dev->drr;
	spin_unlock_bh(&dev->drr_lock);
	seq_printf(file, "%s rounds %llu %s\n", dev_name(&dev->ib.dev),
		   drr.rounds, drr.on ? "on" : "off");
	show_pool(file, " sends", &drr.pool[PAVO_POOL_SENDS]);
	show_pool(file, " reads", &drr.pool[PAVO_POOL_READS]);
}
