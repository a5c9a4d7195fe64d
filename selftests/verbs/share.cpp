// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See share.h. */
#include "share.h"

namespace pv {

Saturation::Saturation(Env &env, LinkSpec spec,
		       const std::vector<uint8_t> &levels, uint32_t length,
		       uint32_t depth, Op op)
	: env_(env), length_(length), depth_(depth), op_(op), seed_(env.seed())
{
	const uint64_t all = uint64_t(length) * levels.size();

	cq_ = env.a.create_cq(int(depth * levels.size()) + 1, false);
	spec.cq_a = cq_;
	spec.cq_b = env.b.create_cq(16, false);
	spec.cap.max_send_wr = depth;
	at_a_ = {must_reg(env.a, {all}), 0};
	at_b_ = {must_reg(env.b, {all}), 0};
	Host &source = op == Op::read ? env.b : env.a;
	source.fill((op == Op::read ? at_b_ : at_a_).mr.id, 0, all, seed_, 0);
	for (uint8_t level : levels) {
		spec.sl = level;
		links.push_back(connect(env, spec));
	}
	fill();
}

void Saturation::fill()
{
	for (size_t i = 0; i < links.size(); i++)
		post(i, depth_);
}

void Saturation::post(size_t link, uint32_t count)
{
	Place from = at_a_, to = at_b_;

	from.offset = to.offset = int64_t(link) * length_;
	SendWr wr = make_wr(op_, from, length_, to);

	wr.id = link;
	must_post(links[link].a, std::vector<SendWr>(count, wr));
	under_way_ += count;
}

size_t Saturation::take_one()
{
	const Wc wc = wait_completions(env_, links[0].a, cq_, 1, "message",
				       under_way_ * length_)[0];

	REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS, "message of link ", wc.id);
	under_way_--;
	return wc.id;
}

std::vector<uint64_t> Saturation::run(uint64_t messages)
{
	std::vector<uint64_t> count(links.size());

	for (; messages; messages--) {
		const size_t link = take_one();

		count[link]++;
		post(link, 1);
	}
	return count;
}

std::vector<uint64_t> Saturation::refill()
{
	const std::vector<uint64_t> count = take_complete();

	for (size_t link = 0; link < links.size(); link++)
		if (count[link])
			post(link, uint32_t(count[link]));
	return count;
}

std::vector<uint64_t> Saturation::take_complete()
{
	std::vector<uint64_t> count(links.size());

	for (;;) {
		const std::vector<Wc> found = env_.a.poll(cq_.id, 64, 0);

		if (found.empty())
			return count;
		for (const Wc &wc : found) {
			REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS,
				   "message of link ", wc.id);
			count[wc.id]++;
			under_way_--;
		}
	}
}

void Saturation::drain()
{
	const bool read = op_ == Op::read;

	while (under_way_)
		take_one();
	must_match(read ? env_.a : env_.b, (read ? at_a_ : at_b_).mr, 0,
		   uint64_t(length_) * links.size(), seed_, 0,
		   "what was carried");
}

} // namespace pv
