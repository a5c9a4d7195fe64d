/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* connect.h - the three steps of a queue pair from RESET to RTS, for every service. */
#ifndef PAVO_COMMON_CONNECT_H
#define PAVO_COMMON_CONNECT_H

#include <infiniband/verbs.h>

#include "errors.h"

namespace common {

/* The peer of a queue pair, and how the two speak. */
struct Connection {
	ibv_gid gid = {};
	uint8_t gid_index = 0; /* of this end's address */
	uint32_t qpn = 0;
	uint32_t rq_psn = 0;
	uint32_t sq_psn = 0;
	uint32_t qkey = 0; /* of datagrams */
	ibv_mtu mtu = IBV_MTU_1024;
	uint8_t reads = 4; /* that this end has under way */
	uint8_t dest_reads = 4; /* that it answers */
	uint8_t min_rnr_timer = 12; /* 0.64 ms */
	uint8_t timeout = 14; /* 67 ms */
	uint8_t retry_count = 7;
	uint8_t rnr_retry = 7;
	uint8_t hop_limit = 64;
	uint8_t sl = 0;
	uint8_t traffic_class = 0;
	unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC;
};

/* The attributes that RC takes; mask_for() says which of them other services take. */
constexpr int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS;
constexpr int rtr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int rts_mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			 IBV_QP_MAX_QP_RD_ATOMIC;

inline int mask_for(ibv_qp_type type, int rc_mask)
{
	constexpr int answers = IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER;
	constexpr int asks = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_MAX_QP_RD_ATOMIC;
	constexpr int datagrams = IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				  IBV_QP_PORT | IBV_QP_SQ_PSN;

	switch (type) {
	case IBV_QPT_UC:
		return rc_mask & ~(answers | asks | IBV_QP_TIMEOUT);
	case IBV_QPT_XRC_SEND:
		return rc_mask & ~answers;
	case IBV_QPT_XRC_RECV:
		return rc_mask & ~asks;
	case IBV_QPT_UD:
		return (rc_mask & datagrams) |
		       (rc_mask & IBV_QP_ACCESS_FLAGS ? int(IBV_QP_QKEY) : 0);
	default:
		return rc_mask;
	}
}

/* The way to an address from this end's @gid_index. */
inline ibv_ah_attr address_vector(const ibv_gid &gid, uint8_t gid_index,
				  uint8_t hop_limit = 64)
{
	ibv_ah_attr attr = {};

	attr.is_global = 1;
	attr.port_num = 1;
	attr.grh.dgid = gid;
	attr.grh.sgid_index = gid_index;
	attr.grh.hop_limit = hop_limit;
	return attr;
}

inline ibv_qp_attr init_attr(const Connection &to)
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = to.access;
	attr.qkey = to.qkey;
	return attr;
}

inline ibv_qp_attr rtr_attr(const Connection &to)
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = to.mtu;
	attr.dest_qp_num = to.qpn;
	attr.rq_psn = to.rq_psn;
	attr.max_dest_rd_atomic = to.dest_reads;
	attr.min_rnr_timer = to.min_rnr_timer;
	attr.ah_attr = address_vector(to.gid, to.gid_index, to.hop_limit);
	attr.ah_attr.sl = to.sl;
	attr.ah_attr.grh.traffic_class = to.traffic_class;
	return attr;
}

inline ibv_qp_attr rts_attr(const Connection &to)
{
	ibv_qp_attr attr = {};

	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = to.sq_psn;
	attr.timeout = to.timeout;
	attr.retry_cnt = to.retry_count;
	attr.rnr_retry = to.rnr_retry;
	attr.max_rd_atomic = to.reads;
	return attr;
}

inline int mtu_bytes(ibv_mtu code)
{
	return 128 << int(code);
}

/* The smallest that takes so many. */
inline ibv_mtu mtu_code(int bytes)
{
	int code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && mtu_bytes(ibv_mtu(code)) < bytes)
		code++;
	return ibv_mtu(code);
}

/* One step. Return: an error number. */
inline int modify(ibv_qp *qp, ibv_qp_attr attr, int rc_mask)
{
	return ibv_modify_qp(qp, &attr, mask_for(qp->qp_type, rc_mask));
}

/* All three; a queue pair for datagrams needs no peer. Throws std::system_error. */
inline void connect(ibv_qp *qp, const Connection &to)
{
	must_return_0(modify(qp, init_attr(to), init_mask), "QP to INIT");
	must_return_0(modify(qp, rtr_attr(to), rtr_mask), "QP to RTR");
	must_return_0(modify(qp, rts_attr(to), rts_mask), "QP to RTS");
}

} // namespace common

#endif /* PAVO_COMMON_CONNECT_H */
