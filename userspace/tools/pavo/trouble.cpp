// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * trouble.cpp - see trouble.h. The counters are those of kernel/stats.h.
 */
#include "trouble.h"

#include <algorithm>
#include <array>

namespace pavo {
namespace {

struct Entry {
	std::string_view name;
	Meaning meaning;
};

using enum Severity;

constexpr std::array ENTRIES = {
	Entry{"tx_drop_no_memory",
	      {trouble, "the kernel has no memory for packets: free some, or "
			"lower the load"}},
	Entry{"tx_drop_no_route",
	      {trouble, "no route to the other end: ip route get ADDRESS, and "
			"is the address of the GID still there?"}},
	Entry{"tx_drop_congested",
	      {note, "the interface refused packets: its queue is full (tc -s "
		     "qdisc)"}},
	Entry{"tx_drop_filtered",
	      {trouble, "a packet filter forbids what is sent: nft list "
			"ruleset, and let UDP port 4791 out"}},
	Entry{"tx_drop_too_long",
	      {trouble, "packets are longer than the way takes: was the MTU "
			"made smaller under open connections?"}},
	Entry{"tx_retransmits",
	      {note, "packets were lost on the way: look at the drops of both "
		     "ends and of the switches"}},
	Entry{"loss_timer_expired",
	      {note, "answers did not come in time: lost, or the timeout of "
		     "the queue pair is short for this network"}},
	Entry{"rx_implied_nak", {note, "read responses were lost"}},
	Entry{"rx_out_of_sequence", {note, "requests were lost or overtook"}},
	Entry{"rx_drop_out_of_sequence",
	      {note, "packets behind a lost one; they come again"}},
	Entry{"rx_drop_duplicate_read", {note, ""}},
	Entry{"rx_drop_old_response", {note, ""}},
	Entry{"rx_drop_psn_ghost",
	      {trouble, "answers to what was never asked: a stale peer, or "
			"somebody forges packets"}},
	Entry{"retry_exceeded",
	      {trouble, "connections were given up: the other end is gone or "
			"cannot be reached"}},
	Entry{"rnr_retry_exceeded",
	      {trouble, "connections were given up because the receiver had "
			"nothing posted"}},
	Entry{"tx_rnr_naks",
	      {note, "an application here posts receives too late"}},
	Entry{"rx_rnr_naks",
	      {note, "an application at the other end posts receives too "
		     "late"}},
	Entry{"rx_drop_icrc",
	      {trouble, "packets arrive damaged: hardware, or something on the "
			"way that rewrites them"}},
	Entry{"rx_drop_backlog",
	      {note, "a queue pair gets packets faster than it can take them"}},
	Entry{"rx_drop_access",
	      {trouble, "UC: a peer used a key, address or right it does not "
			"have: its application is wrong"}},
	Entry{"odp_fault_errors",
	      {trouble, "memory registered on demand is not there any more: "
			"an application unmapped it too early"}},
	Entry{"rx_drop_no_recv_wqe",
	      {note, "datagrams or UC messages came for which no receive was "
		     "posted"}},
	Entry{"rx_drop_qpn",
	      {note, "packets for queue pairs that do not exist (any more)"}},
	Entry{"rx_drop_qkey",
	      {trouble, "datagrams with a wrong Q_Key: both ends must agree"}},
	Entry{"rx_drop_address",
	      {trouble, "packets from another address than the peer's: two "
			"machines use one address, or somebody forges"}},
	Entry{"rx_nak_sent_remote_access",
	      {trouble, "a peer used a key, address or right it does not "
			"have: its application is wrong"}},
	Entry{"rx_nak_sent_invalid_request",
	      {trouble, "a peer sent what the queue pair does not allow "
			"(access flags, message longer than the receive)"}},
	Entry{"db_bad_qpn",
	      {trouble, "an application rings for a queue pair that is not"}},
	Entry{"db_foreign_qp",
	      {trouble, "an application rings for a queue pair of another "
			"process"}},
	Entry{"wqe_errors",
	      {trouble, "applications posted invalid send requests"}},
	Entry{"cq_overruns",
	      {trouble, "a completion queue is too small for its queue "
			"pairs"}},
	Entry{"qp_errors", {note, "queue pairs moved to Error"}},
	Entry{"sq_errors", {note, "send queues of datagrams moved to SQE"}},
};

} // namespace

Meaning meaning_of(std::string_view counter)
{
	auto entry =
		std::find_if(ENTRIES.begin(), ENTRIES.end(),
			     [&](const Entry &e) { return e.name == counter; });

	if (entry != ENTRIES.end())
		return entry->meaning;
	if (counter.find("_drop_") != counter.npos ||
	    counter.starts_with("db_") || counter.ends_with("_errors"))
		return {trouble, ""};
	return {none, ""};
}

} // namespace pavo
