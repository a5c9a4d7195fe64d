// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pma.c - performance management (IBA 16.1) for rdma core, which shows the port's counters by it in
 * sysfs: /sys/class/infiniband/ADAPTER/ports/1/counters. Monitoring tools read them there.
 *
 * Only this kernel is answered: a MAD from a queue pair 1, of this machine or another one, has a
 * completion. Counters of what an Ethernet interface has not, such as symbol errors, stay 0.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include "adapter.h"
#include "hw_stats.h"
#include "verbs/pma.h"

/* PortRcvErrors: packets that are no RoCEv2 packets, or are damaged. */
static const enum pavo_counter receive_errors[] = {
	PAVO_CNT_rx_drop_short,	  PAVO_CNT_rx_drop_too_long,
	PAVO_CNT_rx_drop_version, PAVO_CNT_rx_drop_opcode,
	PAVO_CNT_rx_drop_surplus, PAVO_CNT_rx_icrc_encapsulated,
};

/* PortXmitDiscards. */
static const enum pavo_counter transmit_discards[] = {
	PAVO_CNT_tx_drop_no_memory, PAVO_CNT_tx_drop_no_route,
	PAVO_CNT_tx_drop_congested, PAVO_CNT_tx_drop_filtered,
	PAVO_CNT_tx_drop_too_long,
};

static u64 sum_counter(const struct pavo_dev *dev, enum pavo_counter counter)
{
	u64 sum;

	pavo_hw_stats_sum(dev->stats.pcpu, counter, counter + 1, &sum);
	return sum;
}

/* Counters of 16 bits stop at their largest value. */
static __be16 sum_saturated(const struct pavo_dev *dev,
			    const enum pavo_counter *counters, size_t n)
{
	u64 sum = 0;

	while (n--)
		sum += sum_counter(dev, counters[n]);
	return cpu_to_be16(min_t(u64, sum, U16_MAX));
}

static u8 count_link_downed(const struct pavo_dev *dev)
{
	const struct net_device *ndev;
	u8 count = 0;

	rcu_read_lock();
	ndev = rcu_dereference(dev->port.ndev);
	if (ndev)
		count = min(atomic_read(&ndev->carrier_down_count), U8_MAX);
	rcu_read_unlock();
	return count;
}

static void fill_errors(const struct pavo_dev *dev,
			struct ib_pma_portcounters *to)
{
	to->link_downed_counter = count_link_downed(dev);
	to->port_rcv_errors =
		sum_saturated(dev, receive_errors, ARRAY_SIZE(receive_errors));
	to->port_xmit_discards = sum_saturated(dev, transmit_discards,
					       ARRAY_SIZE(transmit_discards));
}

/* Data are in units of four bytes. */
static void fill_traffic(const struct pavo_dev *dev,
			 struct ib_pma_portcounters_ext *counters)
{
	counters->port_xmit_data =
		cpu_to_be64(sum_counter(dev, PAVO_CNT_tx_bytes) / 4);
	counters->port_rcv_data =
		cpu_to_be64(sum_counter(dev, PAVO_CNT_rx_bytes) / 4);
	counters->port_xmit_packets =
		cpu_to_be64(sum_counter(dev, PAVO_CNT_tx_packets));
	counters->port_rcv_packets =
		cpu_to_be64(sum_counter(dev, PAVO_CNT_rx_packets));
}

int pavo_process_mad(struct ib_device *ibdev, int flags, u32 port,
		     const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		     const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index)
{
	struct ib_pma_mad *pma = (struct ib_pma_mad *)out;
	const struct pavo_dev *dev = to_pavo_dev(ibdev);
	struct ib_class_port_info *info = (void *)pma->data;
	u16 status;

	if (in_wc || in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    in->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	out->mad_hdr = in->mad_hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	switch (in->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		/* 64 bits; unicast and multicast are not counted apart. */
		info->capability_mask = IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
		break;
	case IB_PMA_PORT_COUNTERS:
		fill_errors(dev, (void *)pma->data);
		break;
	case IB_PMA_PORT_COUNTERS_EXT:
		fill_traffic(dev, (void *)pma->data);
		break;
	default:
		status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
		out->mad_hdr.status = cpu_to_be16(status);
	}
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
