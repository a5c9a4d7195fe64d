// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* nodes_attempts.cpp - see nodes_attempts.h. */
#include "nodes_attempts.h"

#include "../common/direction.h"

namespace nodes {

Asked::Asked(const Arguments &arguments, size_t bytes_of_each)
	: Server(arguments), bytes(bytes_of_each),
	  memory(arguments.clients * bytes),
	  mapping(pavo::Mapping::open(node.job, memory).value()),
	  rcxts(contexts(node.window, arguments.clients))
{
	for (size_t i = 0; i < clients(); i++)
		meetings[i].exchange(Part{rcxts[i], mapping.pvo() + i * bytes});
}

Asker::Asker(const Arguments &arguments, size_t bytes)
	: Client(arguments), memory(bytes),
	  mapping(pavo::Mapping::open(node.job, memory).value())
{
	Part part = meeting.exchange(Part{});

	request.local_rcxt = contexts(asking(), 1)[0];
	request.remote_rcxt = part.rcxt;
	request.local_pvo = mapping.pvo().value;
	request.remote_pvo = part.memory.value;
	request.length = uint32_t(bytes);
}

void Asker::attempt(bool write)
{
	request.tid++;
	pavo::FrameState state = ask(write);

	must(state == pavo::FrameState::sent ||
		     state == pavo::FrameState::not_sent,
	     "a request was refused");
}

pavo::FrameState Asker::ask(bool write)
{
	pavo::FrameState state = pavo::FrameState::empty;
	std::span one(&state, 1);

	must(asking().prepare_rdma(common::direction_of(write), {0, window},
				   request),
	     "RDMA");
	must(asking().start(), "start");
	until("a frame to be sent", [&] { return asking().sent(one) == 1; });
	return state;
}

pavo::DoneFrame Asker::notified(bool write)
{
	pavo::DoneFrame answer{};

	request.flags = write ? pavo::rdma_flag::notify_source :
				pavo::rdma_flag::notify_target;
	request.attempts = 0;
	request.tag++;
	until("to be notified of an operation", [&] {
		attempt(write);
		request.attempts++;
		return soon([&] { return hear(answer); });
	});
	request.flags = 0;
	request.attempts = 0;
	return answer;
}

bool Asker::hear(pavo::DoneFrame &answer)
{
	bool heard = false;

	asking().receive([&](const pavo::Message &came) {
		must(came.type == pavo::FrameType::rdma_done,
		     "notified of what is no end of RDMA");
		pavo::DoneFrame done = came.done();
		if (done.tid != request.tid)
			return;
		must(done.tag == request.tag, "notified of another operation");
		answer = done;
		heard = true;
	});
	return heard;
}

} // namespace nodes
