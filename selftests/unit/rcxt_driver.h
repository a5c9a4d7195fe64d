/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rcxt_driver.h - the rCxts of a window in user space. The module's own state machine
 * (window/operation.h) decides. A driver carries out its transitions on memory that is an
 * array, and hands packets and frames to the test that owns it.
 */
#ifndef PAVO_UNIT_RCXT_DRIVER_H
#define PAVO_UNIT_RCXT_DRIVER_H

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <pavo/address.hpp>
#include <pavo/frame.hpp>

extern "C" {
#include "window/binding.h"
#include "window/condition.h"
#include "window/operation.h"
#include "window/third.h"
}

namespace rcxt {

/* A packet on its way, and its data. */
struct Packet {
	pavo_pkt pkt{};
	std::vector<uint8_t> payload{};

	const pavo_wreth &rdma() const { return pkt.rdma; }
};

struct Rcxt {
	pavo_seen seen{};
	pavo_operation op{};
};

class Driver {
public:
	/* @payload: most bytes of data in a packet */
	Driver(const pavo::WindowAddress &self, std::vector<uint8_t> &bytes,
	       uint32_t payload);
	Driver(const Driver &) = delete;
	Driver &operator=(const Driver &) = delete;
	virtual ~Driver() = default;

	const pavo::WindowAddress &address() const { return self_; }
	const std::map<uint32_t, Rcxt> &rcxts() const { return rcxts_; }

	/* Gives the window an rCxt of that id, if it has none. */
	void take(uint32_t id);
	/* Binds @room bytes from @base on to an rCxt of a group. */
	void bind(uint32_t id, uint32_t group, uint64_t base, uint64_t room);
	/* Ends all operations, and revokes all rCxts. */
	void lose_all(pavo_frame_state state);
	/* Ends the operation of an rCxt, if there is one. */
	void end(uint32_t id, pavo_frame_state state);

	/* A frame of the process, with index @frame. Return: its mark; empty: see mark(). */
	pavo::FrameState request(pavo_frame_type type,
				 const pavo::WindowAddress &peer,
				 const pavo_rdma_request &request,
				 uint32_t frame);
	pavo::FrameState third(const pavo::WindowAddress &source,
			       const pavo_rdma_third &third, uint32_t frame);
	pavo::FrameState piece(const pavo::WindowAddress &peer,
			       const pavo_rdma_piece &piece,
			       std::vector<uint8_t> data);

	/* Holds a request until a counter is at a target; its frame has that index. */
	void hold(uint32_t counter, uint64_t target, pavo_frame_type type,
		  const pavo::WindowAddress &peer,
		  const pavo_rdma_request &request, uint32_t frame);
	/* As the module's worker: carries out or marks what was held. */
	void release();
	/* Cancels an operation, and what is held for the rCxt. */
	void cancel(uint32_t id);
	pavo_conditions &conditions() { return *conditions_; }

	void receive(const Packet &packet);
	/* Would a packet's data go to memory? It is not received. */
	bool would_place(const Packet &packet) const;

	bool sending(uint32_t id) const;
	/* Sends the next packet of an rCxt, if it has one. */
	void transmit(uint32_t id);

protected:
	virtual void send(const Packet &packet) = 0;
	virtual void mark(uint32_t frame, pavo_frame_state state) = 0;
	/* Frames for the process. False: the FIFO is full. */
	virtual bool put_done(const pavo_rdma_done &done) = 0;
	virtual bool put_piece(const pavo_rdma_piece &piece,
			       const pavo_operation &op,
			       std::span<const uint8_t> data) = 0;
	virtual bool put_request(const pavo_rdma_request &request) = 0;
	virtual bool put_group_done(const pavo_group_done &done,
				    const pavo_operation &op);
	/* May the process have these bytes touched? */
	virtual pavo_pvo_result check(uint64_t pvo, uint32_t length) const;
	/* A request of the process named memory that is not its own. */
	virtual void kill();

private:
	pavo::FrameState take_frame(pavo_transition &tr,
				    void (*take)(pavo_operation *,
						 pavo_transition *));
	void carry_out(pavo_operation &op, pavo_transition &tr,
		       const Packet *packet);
	void do_effects(const pavo_operation &op, const pavo_transition &tr);
	uint32_t do_action(const pavo_operation &op, const pavo_transition &tr,
			   const Packet *packet);
	uint32_t place(const pavo_operation &op, const Packet &packet);
	uint32_t put_done_frame(const pavo_operation &op,
				const pavo_transition &tr);
	void send_control(const pavo_transition &tr);
	std::vector<uint8_t> bytes(uint64_t pvo, uint32_t length) const;
	void send(pavo_window_op opcode, const pavo_rdma_control &control,
		  std::vector<uint8_t> data);

	pavo::WindowAddress self_;
	std::vector<uint8_t> &bytes_;
	uint32_t payload_;
	std::map<uint32_t, Rcxt> rcxts_;
	std::vector<uint64_t> memory_;
	pavo_conditions *conditions_;
	/* Frames of requests that are held, by slot, and the next slot. */
	std::map<uint32_t, uint32_t> held_;
	uint32_t slot_ = 0;
};

} // namespace rcxt

#endif // PAVO_UNIT_RCXT_DRIVER_H
