// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * trouble.cpp - see trouble.h. The counters are those of kernel/stats.h;
 * selftests/lint checks that each has its place here.
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

/* Traffic, its cost, and traces of retransmissions: no value of these is trouble. */
constexpr std::string_view NORMAL[] = {
	"tx_packets",
	"tx_bytes",
	"rx_packets",
	"rx_bytes",
	"tx_acks",
	"rx_acks",
	"tx_naks",
	"rx_naks",
	"rx_write_requests",
	"rx_read_requests",
	"rx_atomic_requests",
	"rx_flush_requests",
	"req_cqe_error",
	"req_cqe_flush_error",
	"resp_cqe_error",
	"resp_cqe_flush_error",
	"rnr_timer_expired",
	"rx_drop_old_response",
	"rx_drop_tid",
	"rx_drop_rdma_again",
	"rx_frames",
	"tx_frames",
	"tx_rdma_packets",
	"rx_rdma_packets",
	"rdma_done",
	"rdma_repeats",
	"window_events",
	"window_no_worker",
	"window_manager",
	"window_held",
	"window_held_cancelled",
	"odp_faults",
	"odp_invalidations",
	"rkm_walks",
	"rkm_requests",
	"rkm_qps",
	"rkm_pd_fail",
	"rkm_keys",
	"rkm_matches",
	"rkm_stalls",
	"rkm_walk_ns",
	"direct_sent",
	"direct_copied",
	"direct_ios",
	"device_pages",
};

constexpr std::array ENTRIES = {
	Entry{"tx_rnr_naks",
	      {note, "an application here posts receives too late"}},
	Entry{"rnr_nak_retry_err",
	      {note, "an application at the other end posts receives "
		     "too late"}},
	Entry{"tx_retransmits",
	      {note, "packets were lost on the way, or a slow machine "
		     "acknowledged them late: compare the drops of both ends "
		     "and of the switches"}},
	Entry{"tx_drop_no_memory",
	      {trouble, "the kernel has no memory for packets: free some,"
			" or lower the load"}},
	Entry{"tx_drop_no_route",
	      {trouble, "no route to the other end: ip route get ADDRESS,"
			" and is the address of the GID still there?"}},
	Entry{"tx_drop_congested",
	      {note, "the interface refused packets: its queue is full"
		     " (tc -s qdisc)"}},
	Entry{"tx_drop_filtered",
	      {trouble, "a packet filter drops outgoing packets: see nft list "
			"ruleset, and let UDP port 4791 out"}},
	Entry{"tx_drop_too_long",
	      {trouble, "packets are longer than the route takes: was the "
			"MTU made smaller under open connections?"}},
	Entry{"tx_drop_node",
	      {trouble, "a window could not answer a node: its process "
			"has to set a route to it (pavo_windows(7))"}},
	Entry{"tx_drop_user_socket",
	      {trouble, "a process of this machine sends to UDP port 4791, "
			"which belongs to RDMA: the kernel log names its "
			"user (docs/security.md)"}},
	Entry{"local_ack_timeout_err",
	      {note, "no response within the timeout: packets were lost, or "
		     "the timeout of the queue pair is too short for this "
		     "network"}},
	Entry{"loss_timer_put_off",
	      {note, "packets wait in queues of this machine for longer than "
		     "the timeout of their queue pair: the interface is too"
		     " slow for them (tc -s qdisc), or the timeout too short"}},
	Entry{"req_transport_retries_exceeded",
	      {trouble, "connections failed: the other end has ended, its "
			"packet filter drops UDP port 4791 (pavo check there), "
			"or the way to it takes smaller packets (ping -M do -s "
			"SIZE ADDRESS)"}},
	Entry{"req_rnr_retries_exceeded",
	      {trouble, "connections failed because the receiver had posted "
			"no receive in time: raise rnr_retry of the sender, or "
			"post receives earlier"}},
	Entry{"duplicate_request",
	      {note, "peers retransmitted requests that were done: responses "
		     "were lost, or their timeout is too short"}},
	Entry{"out_of_sequence",
	      {note, "requests were lost or reordered: compare the "
		     "drops of both ends and of the switches"}},
	Entry{"implied_nak_seq_err",
	      {note, "read responses were lost: compare the drops of "
		     "both ends and of the switches"}},
	Entry{"rx_drop_short",
	      {trouble, "packets are shorter than their headers: a device "
			"on the way truncates them, or a host forges packets"}},
	Entry{"rx_drop_too_long",
	      {trouble, "a peer sends more than fits a path MTU or a frame: "
			"its adapter or library is wrong"}},
	Entry{"rx_drop_version",
	      {trouble, "packets of another transport version: the peer's"
			" adapter is wrong, or port 4791 is used by "
			"others"}},
	Entry{"rx_drop_opcode",
	      {trouble, "packets of an opcode that pavo does not have: "
			"the peer's adapter uses an extension, or is "
			"wrong"}},
	Entry{"rx_drop_surplus",
	      {trouble, "packets with data where none may be: the peer's "
			"adapter is wrong, or a host forges packets"}},
	Entry{"rx_icrc_encapsulated",
	      {trouble, "packets arrive damaged: faulty hardware, or a device "
			"on the way that rewrites them; or the sender "
			"deregistered or changed the buffer while it was being "
			"sent"}},
	Entry{"rx_drop_qpn",
	      {note, "packets for queue pairs that do not exist (any "
		     "more): has a process on this machine ended?"}},
	Entry{"rx_drop_service",
	      {trouble, "a peer's queue pair is of another service (RC, "
			"UC, UD): both ends must agree"}},
	Entry{"rx_drop_state",
	      {note, "packets for queue pairs that do not take any: "
		     "not yet in RTR, or after an error"}},
	Entry{"rx_drop_pkey",
	      {trouble, "packets of another partition: both ends must use"
			" the default P_Key"}},
	Entry{"rx_drop_qkey",
	      {trouble, "datagrams with a wrong Q_Key: both ends must "
			"agree"}},
	Entry{"rx_drop_address",
	      {trouble, "packets from another address than the peer's, or from "
			"another queue pair of this machine: two machines use "
			"one address, or a host or process forges packets"}},
	Entry{"rx_drop_psn_ghost",
	      {trouble,
	       "acknowledgements of packets that were never sent: a stale "
	       "peer, or a host forges packets"}},
	Entry{"rx_drop_response",
	      {trouble, "responses without an outstanding request: a stale "
			"peer, or a host forges packets"}},
	Entry{"rx_drop_syndrome",
	      {trouble,
	       "acknowledgements of an undefined kind: a peer that does not "
	       "keep to the specification, or a host forges "
	       "packets"}},
	Entry{"tx_sacks",
	      {note, "packets of peers were missing or came twice, as this "
		     "adapter has told them: the path loses or reorders "
		     "packets"}},
	Entry{"rx_sacks",
	      {note, "packets of this adapter were missing or came twice at a "
		     "peer: the path loses or reorders packets"}},
	Entry{"np_ecn_marked_roce_packets",
	      {note, "routers have marked packets of peers: a queue on the "
		     "path is full"}},
	Entry{"np_cnp_sent",
	      {note, "routers have marked packets of peers, which were sent "
		     "CNPs for that: a queue on the path is full"}},
	Entry{"rp_cnp_handled",
	      {note, "routers have marked packets of this adapter, as CNPs of "
		     "peers say: its queue pairs slow down"}},
	Entry{"rp_cnp_ignored",
	      {note, "CNPs that say nothing: nothing was in flight, or the "
		     "queue pair is UC or UD, or a host forges packets"}},
	Entry{"rx_ecn_echoes",
	      {note, "routers have marked packets of this adapter, which "
		     "slows down: a queue on the path is full"}},
	Entry{"tail_loss_probes",
	      {note, "the last packets before a pause had no answer in time: "
		     "the path loses packets, or a peer is busy"}},
	Entry{"rx_held",
	      {note, "packets after a lost one, which waited until it came: "
		     "the path loses or reorders packets"}},
	Entry{"rx_drop_out_of_sequence",
	      {note, "packets after a lost one; the peer retransmits them"}},
	Entry{"rx_drop_duplicate_read",
	      {note, "a peer retransmits a read or atomic too late: its "
		     "timeout is longer than the memory is registered"}},
	Entry{"rx_drop_backlog",
	      {note, "a queue pair receives packets faster than it can "
		     "process them: RC retransmits them, others lose them"}},
	Entry{"out_of_buffer",
	      {note, "messages arrived for which no receive was posted: post "
		     "more, or earlier (RC sends them again, others lose "
		     "them)"}},
	Entry{"rx_drop_recv_length",
	      {trouble, "datagrams or UC messages are longer than the "
			"receives posted for them: make those longer, "
			"by 40 bytes for datagrams"}},
	Entry{"rx_drop_invalid_request",
	      {trouble,
	       "UC: a peer sent a request that the queue pair does not "
	       "allow (opcode sequence, access flags)"}},
	Entry{"rx_drop_access",
	      {trouble, "UC: a peer used a key, address or right it does "
			"not have: its application is wrong"}},
	Entry{"rx_drop_no_memory",
	      {trouble, "the kernel has no memory for copies of multicast"
			" packets: free some, or lower the load"}},
	Entry{"rx_drop_window",
	      {note, "packets for windows that are closed, disabled or"
		     " dead: does their process still run?"}},
	Entry{"rx_drop_window_key",
	      {trouble, "packets of another job: both ends must open "
			"their windows with the same job key"}},
	Entry{"rx_drop_fifo_full",
	      {note, "a window's process consumes frames too slowly: poll "
		     "more often, or open it with a larger receive FIFO"}},
	Entry{"rx_drop_rcxt",
	      {note, "RDMA of windows for an rCxt that was returned: usual "
		     "after a recovery or a time limit"}},
	Entry{"rx_drop_rcxt_busy",
	      {note, "usual where the network duplicates packets; else two"
		     " operations use one rCxt at the same time"}},
	Entry{"rx_drop_rdma_far",
	      {note, "packets overtook more than 4096 others and are sent in "
		     "another attempt: the routes differ too much in delay"}},
	Entry{"rx_drop_rdma_length",
	      {trouble, "a window got another length than was announced: the "
			"peer's library is wrong, or a host forges packets"}},
	Entry{"rx_drop_rdma_pvo",
	      {trouble, "packets name memory that is not mapped for the "
			"window's job: the peer's PVO or key is wrong, or the "
			"memory was unmapped"}},
	Entry{"rx_drop_rdma_invalid",
	      {trouble, "RDMA of windows with an undefined flag or "
			"status: the peer's version differs, or it is wrong"}},
	Entry{"rx_drop_group",
	      {note, "packets for a group of windows that no window here"
		     " has joined: usual before a member joins"}},
	Entry{"rx_drop_binding",
	      {note, "RDMA to a group, by a group rCxt to which a member has "
		     "bound no memory: all have to agree on their number"}},
	Entry{"window_bad_commands",
	      {trouble, "a process wrote an invalid command into a window's "
			"command page: its library is wrong"}},
	Entry{"rx_nak_sent_invalid_request",
	      {trouble,
	       "a peer sent a request that the queue pair does not allow "
	       "(access flags, message longer than the receive)"}},
	Entry{"packet_seq_err",
	      {note, "peers reported lost requests of this machine: look at "
		     "the drops of both ends and of the switches"}},
	Entry{"req_remote_access_errors",
	      {trouble, "an application here used a key, address or right of "
			"a peer that it does not have"}},
	Entry{"req_remote_invalid_request",
	      {trouble, "an application here sent a request that the peer's "
			"queue pair does not allow (access flags, message "
			"longer than the receive)"}},
	Entry{"resp_local_length_error",
	      {trouble, "messages are longer than the receives posted for "
			"them: make those longer"}},
	Entry{"resp_remote_access_errors",
	      {trouble, "a peer used a key, address or right it does not "
			"have: its application is wrong"}},
	Entry{"rx_nak_sent_remote_operational",
	      {trouble, "peers' requests failed for the receives posted "
			"here: keys, addresses or lengths of those are wrong"}},
	Entry{"db_ring_index",
	      {trouble, "a doorbell page has an impossible index: its"
			" application overwrote it"}},
	Entry{"db_bad_qpn",
	      {trouble, "an application rings for a queue pair that does not "
			"exist: it uses one that it destroyed"}},
	Entry{"db_foreign_qp",
	      {trouble, "an application rings for a queue pair of another"
			" process: it overwrote its doorbell page"}},
	Entry{"db_bad_state",
	      {trouble, "an application posts sends before its queue pair"
			" is in RTS: move it there first"}},
	Entry{"db_overflow",
	      {trouble, "more doorbells than the send queue has slots: an "
			"application overwrote its doorbell page"}},
	Entry{"wqe_errors",
	      {trouble, "applications posted invalid send requests: the "
			"status of each completion says what is wrong"}},
	Entry{"rq_index_errors",
	      {trouble, "a receive queue has an impossible index or "
			"request: its application overwrote it"}},
	Entry{"cq_overruns",
	      {trouble, "a completion queue is too small for its queue "
			"pairs: make it larger, or poll more often"}},
	Entry{"odp_fault_errors",
	      {trouble, "a page of an ODP region could not be faulted in: an "
			"application unmapped the memory too early"}},
	Entry{"direct_refused",
	      {note, "a program, device or driver accessed a range of a direct "
		     "window that it did not own, or beyond its bytes"}},
	Entry{"direct_busy",
	      {note, "the last bytes of a range of a direct window were "
		     "counted while a device or driver had it mapped: it has "
		     "to release the range first"}},
	Entry{"direct_waits",
	      {note, "a direct window has too few buffers for its ranges: "
		     "programs wait for one"}},
	Entry{"direct_io_errors",
	      {note, "I/Os of direct windows failed or were short: the "
		     "register of the range has the errno of the file"}},
	Entry{"direct_bounced",
	      {note, "a direct window has too few buffers for its ranges: "
		     "bytes are copied through ordinary memory"}},
	Entry{"device_atomics",
	      {note, "a peer requested an atomic on memory of a PCI device: "
		     "only ordinary memory supports atomics"}},
	Entry{"cq_index_errors",
	      {trouble, "a completion queue has an impossible index: "
			"its application overwrote it"}},
	Entry{"qp_errors",
	      {note, "queue pairs moved to Error: see the status of their "
		     "completions (ibv_wc)"}},
	Entry{"sq_errors",
	      {note, "send queues of UC or UD moved to SQE after a "
		     "failed send: see the status of its completion"}},
};

constexpr bool all_advise()
{
	for (const Entry &entry : ENTRIES)
		if (entry.meaning.advice.empty())
			return false;
	return true;
}

static_assert(all_advise(), "each entry has advice");

} // namespace

bool is_drop(std::string_view counter)
{
	return counter.find("_drop_") != counter.npos ||
	       counter == "out_of_buffer" || counter == "rx_icrc_encapsulated";
}

Meaning meaning_of(std::string_view counter)
{
	auto entry =
		std::find_if(ENTRIES.begin(), ENTRIES.end(),
			     [&](const Entry &e) { return e.name == counter; });

	if (entry != ENTRIES.end())
		return entry->meaning;
	if (std::find(std::begin(NORMAL), std::end(NORMAL), counter) !=
	    std::end(NORMAL))
		return {none, ""};
	/* A counter of a module that is newer than this program. */
	if (is_drop(counter) || counter.starts_with("db_") ||
	    counter.ends_with("_errors"))
		return {trouble, "unknown to this version: see "
				 "docs/statistics.md of the module's version"};
	return {none, ""};
}

} // namespace pavo
