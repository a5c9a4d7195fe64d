/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_machine.h - the machine of requester/recovery.h with a peer that sends no SACKs, so with
 * go-back-N, for its tests.
 */
#ifndef PAVO_UNIT_RECOVERY_MACHINE_H
#define PAVO_UNIT_RECOVERY_MACHINE_H

#include <cstdint>
#include <vector>

extern "C" {
#include "requester/selective_repair.h"
}

namespace recovery {

inline constexpr const pavo_recovery_policy *policy = &pavo_selective_repair;
inline constexpr uint64_t timeout = 1000000;
inline constexpr uint64_t rnr_delay = 10000;
inline constexpr uint32_t wqes = 64;

/* First PSNs, so that 24 bits and their halves wrap within a test. */
inline constexpr uint32_t starts[] = {0, 0xfffffe, 0xffffe0, 0x7ffffe,
				      0xffffff};

/* A machine, whose PSNs are told as distances from the first one. */
class Machine {
public:
	explicit Machine(uint32_t start, uint64_t value = timeout,
			 uint8_t retries = 7, uint8_t rnr_retries = 7)
		: start_(start), ring_(2 * wqes)
	{
		pavo_recovery_init(&r, nullptr, ring_.data(), wqes);
		pavo_recovery_start(&r, start);
		pavo_recovery_set_limits(&r, value, retries, rnr_retries);
	}

	uint32_t psn(int64_t at) const { return pavo_psn_add(start_, at); }
	int32_t at(uint32_t psn) const { return pavo_psn_diff(psn, start_); }

	/* Give a message PSNs. */
	void post(uint32_t npkts, bool answered = false)
	{
		uint32_t first = pavo_recovery_assign(&r, npkts);

		pavo_recovery_expect(&r, wqe_++, first, npkts, answered);
	}

	unsigned int send(uint32_t npkts, bool answered = false,
			  bool in_chunk = false, bool ack_req = false)
	{
		const pavo_sent what = {npkts, answered, in_chunk, ack_req};

		return pavo_recovery_sent(&r, policy, &what, now);
	}

	unsigned int ack(int64_t of)
	{
		bool timed = pavo_recovery_ack_needs_time(&r, psn(of + 1));

		return pavo_recovery_ack(&r, policy, psn(of), timed ? now : 0);
	}

	/* A NAK is an ACK of what is before it, and the event that it names. */
	unsigned int nak(int64_t of)
	{
		unsigned int todo = pavo_recovery_nak(&r, policy, psn(of), now);

		if (todo &
		    (PAVO_REC_OLD | PAVO_REC_STRAY | PAVO_REC_IMPLIED_NAK))
			return todo;
		return todo | pavo_recovery_handle_gap(&r, policy, now);
	}

	unsigned int rnr(int64_t of)
	{
		unsigned int todo = pavo_recovery_nak(&r, policy, psn(of), now);

		if (todo & (PAVO_REC_OLD | PAVO_REC_STRAY | PAVO_REC_NO_RETRY))
			return todo;
		return todo | pavo_recovery_handle_rnr(&r, policy, psn(of),
						       rnr_delay, now);
	}

	unsigned int respond(int64_t of)
	{
		return pavo_recovery_handle_response(
			&r, policy, psn(of), psn(of) == r.upsn ? 0 : now);
	}

	unsigned int take(int64_t end, bool ends, bool held = false)
	{
		const pavo_answer what = {psn(end), ends, held};

		return pavo_recovery_answered(&r, policy, &what, now);
	}

	unsigned int expire() { return pavo_recovery_expired(&r, policy, now); }

	pavo_recovery r;
	uint64_t now = 1000;

private:
	uint32_t start_;
	uint32_t wqe_ = 0;
	std::vector<pavo_mq_entry> ring_;
};

} // namespace recovery

#endif /* PAVO_UNIT_RECOVERY_MACHINE_H */
