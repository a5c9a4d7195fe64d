// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * model.cpp - see model.hpp.
 */
#include "model.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <unordered_set>

#include <fmt/format.h>
#include <sys/mman.h>

#include "../engine/engine.h"
#include "../engine/uverbs.h"
#include "peer.hpp"
#include "random.hpp"

namespace sim {

namespace {

constexpr uint64_t for_ever = ~0ull >> 2;
/* Most steps of a schedule: more is a run without an end. */
constexpr size_t steps_most = 400;
constexpr std::string_view letters = "arlf"; /* by Step::Kind */

/* The same addresses for the memories of each run. */
std::span<uint8_t> make_pool()
{
	constexpr size_t size = 1 << 20;
	void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		throw std::bad_alloc();
	return {static_cast<uint8_t *>(at), size};
}

uint64_t mix(uint64_t hash, uint64_t value)
{
	return scramble(hash ^ value) + 0x9e3779b97f4a7c15;
}

uint64_t mix(uint64_t hash, const uint8_t *bytes, size_t size)
{
	uint64_t word;

	for (; size >= sizeof(word);
	     size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = mix(hash, word);
	}
	for (; size; size--)
		hash = mix(hash, *bytes++);
	return hash;
}

/* By the last byte of the source's address. */
bool is_from_first(const Bytes &packet)
{
	return packet[packet[0] >> 4 == 6 ? 23 : 15] != 3;
}

/* One run: the engine as both peers, all messages posted, and the packets under way. */
class Scene {
public:
	/* @faults: most of them. */
	Scene(fake::Kernel &kernel, const Plan &plan, unsigned faults,
	      bool tells);
	~Scene();
	Scene(const Scene &) = delete;

	/* Steps that may be next. */
	Schedule choices() const;
	bool at_rest() const { return under_way_.empty() && engine_idle(); }
	void take(const Step &step);
	/* Of all that decides on the rest of the run. */
	uint64_t fingerprint() const;
	void check_rest();

private:
	static void sent(const void *packet, size_t size);
	void post();
	bool is_next(unsigned packet) const;
	bool is_fault(const Step &step) const;
	void take_completions();
	void tell(const Step &step) const;

	static Scene *the_scene;

	const bool tells_;
	unsigned faults_left_;
	engine::Uverbs uverbs_;
	std::optional<Objects> objects_;
	std::map<uint32_t, std::pair<size_t, unsigned>> by_qpn_;
	std::vector<Bytes> under_way_;
};

Scene *Scene::the_scene;

Scene::Scene(fake::Kernel &kernel, const Plan &plan, unsigned faults,
	     bool tells)
	: tells_(tells), faults_left_(faults), uverbs_(kernel)
{
	static const std::span<uint8_t> pool = make_pool();
	static const engine_host host = {
		engine::Uverbs::share,	  sent,	   engine::Uverbs::completed,
		engine::Uverbs::happened, nullptr, nullptr};

	the_scene = this;
	Memory::pool = pool;
	engine_policy = {scramble(plan.seed), plan.quantum, 0, 0};
	engine_gso = false;
	engine_start(&host);
	objects_.emplace(plan);
	for (size_t i = 0; i < objects_->qps.size(); i++)
		for (unsigned peer = 0; peer < 2; peer++)
			by_qpn_[objects_->qps[i][peer]->qp_num] = {i, peer};
	post();
}

/* A run ends in its middle when the model goes back. */
Scene::~Scene()
{
	for (auto &pair : objects_->qps)
		for (auto &qp : pair)
			end(qp.get());
	objects_.reset();
	engine_close();
	engine_stop();
	Memory::pool = {};
	the_scene = nullptr;
}

void Scene::sent(const void *packet, size_t size)
{
	const auto *bytes = static_cast<const uint8_t *>(packet);

	the_scene->under_way_.emplace_back(bytes, bytes + size);
}

void Scene::post()
{
	for (auto &pair : objects_->lines)
		for (Line &line : pair) {
			for (size_t i = 0; i < line.oracle->receives(); i++)
				post_receive(line);
			if (line.oracle->size())
				post_messages(line, 0, line.oracle->size());
		}
	engine_settle();
	take_completions();
}

/* True if that packet is the oldest of its direction. */
bool Scene::is_next(unsigned packet) const
{
	for (unsigned i = 0; i < packet; i++)
		if (is_from_first(under_way_[i]) ==
		    is_from_first(under_way_[packet]))
			return false;
	return true;
}

/* Packets that are equal arrive alike, so the first of them stands for all. */
Schedule Scene::choices() const
{
	Schedule all;

	for (unsigned i = 0; i < under_way_.size(); i++) {
		if (std::find(under_way_.begin(), under_way_.begin() + i,
			      under_way_[i]) != under_way_.begin() + i)
			continue;
		if (is_next(i) || faults_left_)
			all.push_back({Step::Kind::arrive, i});
		if (faults_left_) {
			all.push_back({Step::Kind::repeat, i});
			all.push_back({Step::Kind::lose, i});
		}
	}
	if (!engine_idle() && (under_way_.empty() || faults_left_))
		all.push_back({Step::Kind::fire, 0});
	return all;
}

/* A packet that overtakes another and stays is two faults in one. */
bool Scene::is_fault(const Step &step) const
{
	switch (step.kind) {
	case Step::Kind::arrive:
		return !is_next(step.packet);
	case Step::Kind::fire:
		return !under_way_.empty();
	default:
		return true;
	}
}

void Scene::tell(const Step &step) const
{
	constexpr const char *names[] = {"arrives", "arrives, and stays",
					 "is lost"};

	if (step.kind == Step::Kind::fire)
		fmt::print("{:12} the next timer fires\n", engine_now());
	else
		fmt::print("{:12} {}: {}\n", engine_now(),
			   names[size_t(step.kind)],
			   describe(under_way_.at(step.packet)));
}

void Scene::take(const Step &step)
{
	if (tells_)
		tell(step);
	faults_left_ -= is_fault(step);
	if (step.kind == Step::Kind::fire) {
		engine_pass(for_ever);
	} else {
		const Bytes packet = under_way_.at(step.packet);

		if (step.kind != Step::Kind::repeat)
			under_way_.erase(under_way_.begin() + step.packet);
		if (step.kind != Step::Kind::lose)
			engine_receive(packet.data(), packet.size());
	}
	engine_settle();
	take_completions();
	for (auto &pair : objects_->lines)
		for (Line &line : pair)
			line.oracle->check();
}

/* No request may fail: there are fewer faults than retries. */
void Scene::take_completions()
{
	std::array<std::vector<Completion>, 2> receives;

	for (unsigned peer = 0; peer < 2; peer++)
		for (const Completion &done :
		     poll(objects_->peers[peer].recv_cq.get())) {
			const auto [i, self] = by_qpn_.at(done.qpn);

			objects_->lines[i][1 - self].oracle->receive_done(
				done, nullptr, {});
		}
	for (Peer &peer : objects_->peers)
		for (const Completion &done : poll(peer.send_cq.get())) {
			const auto [i, self] = by_qpn_.at(done.qpn);

			objects_->lines[i][self].oracle->send_done(done, {});
		}
}

uint64_t Scene::fingerprint() const
{
	uint64_t hash = engine_fingerprint();

	/* Packets of one direction have an order. */
	std::array<uint64_t, 2> line = {};
	for (const Bytes &packet : under_way_)
		line[is_from_first(packet)] = mix(line[is_from_first(packet)],
						  packet.data(), packet.size());
	hash = mix(mix(mix(hash, line[0]), line[1]), faults_left_);
	for (const auto &pair : objects_->lines)
		for (const Line &line : pair) {
			const FlowMemory &m = *line.memory;

			for (const Memory *memory :
			     {&m.area, &m.slots, &m.out, &m.in})
				hash = mix(hash, memory->at(), memory->size());
			hash = mix(hash, line.oracle->completed());
			hash = mix(hash, line.oracle->received());
		}
	return hash;
}

void Scene::check_rest()
{
	for (auto &pair : objects_->lines)
		for (Line &line : pair)
			line.oracle->check_end(false);
	if (engine_credits())
		throw Failure("credits", "credits are held at rest");
}

/* Depth first. A frame is a state of the present schedule and what is left to try there. */
class Explorer {
public:
	Explorer(fake::Kernel &kernel, const Plan &plan, unsigned faults,
		 Schedule &at)
		: kernel_(kernel), plan_(plan), faults_(faults), at_(at)
	{
	}

	Explored run();

private:
	struct Frame {
		Schedule choices;
		size_t next = 0;
	};

	void go_through();
	void enter();
	bool go_back();
	void begin_again();

	fake::Kernel &kernel_;
	const Plan &plan_;
	const unsigned faults_;
	Schedule &at_;
	std::unique_ptr<Scene> scene_;
	std::vector<Frame> frames_;
	std::unordered_set<uint64_t> seen_;
	Explored result_;
};

/* The run is in a state, for the first time or once more. */
void Explorer::enter()
{
	Frame frame;

	if (at_.size() > steps_most)
		throw Failure("no end", "a schedule does not end");
	result_.longest = std::max(result_.longest, at_.size());
	if (!seen_.insert(scene_->fingerprint()).second) {
		result_.known++;
	} else {
		result_.states++;
		frame.choices = scene_->choices();
		if (scene_->at_rest()) {
			scene_->check_rest();
			result_.ends++;
		}
	}
	frames_.push_back(std::move(frame));
}

/* Go back to the last state with something left to try. Return: false: there is none. */
bool Explorer::go_back()
{
	const size_t before = frames_.size();

	while (!frames_.empty() &&
	       frames_.back().next == frames_.back().choices.size())
		frames_.pop_back();
	if (frames_.empty())
		return false;
	if (frames_.size() != before) {
		at_.resize(frames_.size() - 1);
		begin_again();
	}
	return true;
}

void Explorer::begin_again()
{
	scene_.reset();
	scene_ = std::make_unique<Scene>(kernel_, plan_, faults_, false);
	result_.runs++;
	for (const Step &step : at_)
		scene_->take(step);
}

void Explorer::go_through()
{
	begin_again();
	enter();
	while (go_back()) {
		Frame &frame = frames_.back();

		at_.push_back(frame.choices[frame.next++]);
		result_.steps++;
		scene_->take(at_.back());
		enter();
	}
}

Explored Explorer::run()
{
	at_.clear();
	try {
		go_through();
	} catch (...) {
		/* Objects of a run that has failed may not end as they should. */
		(void)scene_.release();
		throw;
	}
	return result_;
}

} // namespace

std::string print(const Schedule &schedule)
{
	std::string text;

	for (const Step &step : schedule) {
		text += text.empty() ? "" : " ";
		text += letters[size_t(step.kind)];
		if (step.kind != Step::Kind::fire)
			text += std::to_string(step.packet);
	}
	return text;
}

Schedule parse_schedule(const std::string &text)
{
	Schedule schedule;
	size_t at = 0;

	while ((at = text.find_first_not_of(' ', at)) != text.npos) {
		const size_t kind = letters.find(text[at]);
		const size_t end = std::min(text.find(' ', at), text.size());
		Step step;

		if (kind == letters.npos)
			throw std::invalid_argument(text.substr(at, end - at));
		step.kind = Step::Kind(kind);
		if (step.kind != Step::Kind::fire)
			step.packet = unsigned(
				std::stoul(text.substr(at + 1, end - at - 1)));
		schedule.push_back(step);
		at = end;
	}
	return schedule;
}

Explored explore(fake::Kernel &kernel, const Plan &plan, unsigned faults,
		 Schedule &at)
{
	return Explorer(kernel, plan, faults, at).run();
}

void replay(fake::Kernel &kernel, const Plan &plan, const Schedule &schedule)
{
	auto scene = std::make_unique<Scene>(kernel, plan,
					     unsigned(schedule.size()), true);

	try {
		for (const Step &step : schedule)
			scene->take(step);
		if (scene->at_rest())
			scene->check_rest();
	} catch (...) {
		(void)scene.release();
		throw;
	}
}

} // namespace sim
