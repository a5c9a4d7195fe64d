// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * call.cpp - see call.h: a call's bytes are laid out as the list says, then spoiled as the
 * program says, then given to the kernel as they are.
 */
#include "call.h"

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netlink.h"

namespace callfuzz {
namespace {

constexpr size_t answer_room = 512;

/* Classes that are handles or files: in methods they have no bytes. */
bool is_handle(const std::string &cls)
{
	static const char *const handles[] = {
		"pd",	"cq",	 "qp",	   "srq",     "mr",    "mw",
		"xrcd", "ah",	 "job",	   "mapping", "watch", "win",
		"chan", "async", "direct", "ahandler"};

	for (const char *handle : handles)
		if (cls == handle)
			return true;
	return false;
}

void put_number(Bytes &bytes, uint64_t number, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		bytes.push_back(uint8_t(i < 8 ? number >> 8 * i : 0));
}

class Maker {
public:
	Maker(Hands &hands, const Program &program, size_t at)
		: hands_(hands), call_(program.calls[at]), entry_(*call_.entry),
		  told_(hands.shared.told[at])
	{
		for (const Value &value : call_.args)
			args_.push_back(resolve_value(hands_.shared, value));
	}

	const uint64_t *args() const { return args_.data(); }

	int make()
	{
		switch (entry_.how) {
		case How::hand:
			return entry_.hand(hands_, args_.data(), told_.outs);
		case How::write:
		case How::extended:
			return make_write();
		case How::method:
			return make_method();
		case How::netlink:
			return make_netlink();
		}
		return ENOSYS;
	}

private:
	const Twisted *twist(Twist which) const
	{
		for (const Twisted &twisted : call_.twists)
			if (twisted.twist == which)
				return &twisted;
		return nullptr;
	}

	uint32_t twist_or(Twist which, uint32_t usual) const
	{
		const Twisted *twisted = twist(which);

		return twisted ? twisted->a : usual;
	}

	/* The file that the call is made on; not one of the fuzzer's own. */
	int file() const
	{
		for (const Field &field : entry_.fields)
			if (field.what == What::file)
				return own_file(hands_,
						args_[size_t(field.arg)]);
		return -1;
	}

	uint64_t number_of(const Field &field) const
	{
		const uint64_t number = args_[size_t(field.arg)];
		const Places &places = hands_.shared.places;

		if (field.what == What::sgid)
			return number < 2 * devices ? places.sgid[number] :
						      number - 2 * devices;
		if (field.name == "device")
			return device_of(number);
		return number;
	}

	/* Netlink cuts a number to 32 bits: the rest of it names no witness's adapter. */
	uint64_t device_of(uint64_t number) const
	{
		const Places &places = hands_.shared.places;

		if (number < devices)
			return places.index[number];
		for (uint32_t witness : places.witness)
			if (uint32_t(number) == witness)
				return ~number;
		return number;
	}

	void put(Bytes &bytes, const Field &field)
	{
		switch (field.what) {
		case What::padding:
			put_number(bytes, 0, field.size);
			break;
		case What::response:
			put_number(bytes, answer_address(), 8);
			break;
		case What::gid: {
			const uint8_t *gid =
				hands_.shared.places
					.gid[args_[size_t(field.arg)] % 16];
			bytes.insert(bytes.end(), gid, gid + 16);
			break;
		}
		case What::text: {
			const char *word = word_of(args_[size_t(field.arg)]);
			bytes.insert(bytes.end(), word,
				     word + strlen(word) + 1);
			break;
		}
		case What::number:
		case What::sgid:
		case What::value:
			put_number(bytes, number_of(field), field.size);
			break;
		default:
			break;
		}
	}

	uint64_t answer_address() const
	{
		if (twist(Twist::omit))
			return 0;
		if (const Twisted *twisted = twist(Twist::foreign))
			return uint64_t(twisted->a) << 32 | twisted->b;
		return uint64_t(answer_);
	}

	void spoil(Bytes &bytes) const
	{
		for (const Twisted &twisted : call_.twists) {
			uint32_t word;

			if (twisted.twist == Twist::cut)
				bytes.resize(bytes.size() -
					     std::min<size_t>(twisted.a,
							      bytes.size()));
			else if (twisted.twist == Twist::more)
				bytes.insert(bytes.end(), twisted.a % 4096,
					     uint8_t(twisted.b));
			if (twisted.twist != Twist::flip || bytes.size() < 4)
				continue;
			uint8_t *at = &bytes[twisted.a % (bytes.size() - 3)];
			memcpy(&word, at, sizeof(word));
			word ^= twisted.b;
			memcpy(at, &word, sizeof(word));
		}
	}

	int make_write()
	{
		const bool extended = entry_.how == How::extended;
		Bytes bytes(extended ? sizeof(ib_uverbs_cmd_hdr) +
					       sizeof(ib_uverbs_ex_cmd_hdr) :
				       sizeof(ib_uverbs_cmd_hdr));

		for (const Field &field : entry_.fields)
			put(bytes, field);
		spoil(bytes);
		put_header(bytes, extended);
		if (write(file(), bytes.data(), bytes.size()) < 0)
			return errno;
		keep_outputs();
		return 0;
	}

	void put_header(Bytes &bytes, bool extended)
	{
		ib_uverbs_ex_cmd_hdr more = {};
		size_t size = bytes.size();
		ib_uverbs_cmd_hdr header = {.command = entry_.numbers[0],
					    .in_words = uint16_t(size / 4)};

		header.out_words =
			uint16_t(twist_or(Twist::room, answer_room / 4));
		if (extended) {
			size -= std::min(size, sizeof(header) + sizeof(more));
			header.command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
			header.in_words = uint16_t(size / 8);
			header.out_words = uint16_t(
				twist_or(Twist::room, entry_.numbers[1]));
			more.provider_out_words = uint16_t(entry_.numbers[2]);
			if (header.out_words || more.provider_out_words)
				more.response = answer_address();
		}
		memcpy(bytes.data(), &header,
		       std::min(sizeof(header), bytes.size()));
		if (extended && bytes.size() >= sizeof(header) + sizeof(more))
			memcpy(&bytes[sizeof(header)], &more, sizeof(more));
	}

	void keep_outputs()
	{
		for (size_t i = 0; i < entry_.outputs.size(); i++) {
			const Output &output = entry_.outputs[i];

			memcpy(&told_.outs[i], &answer_[output.at],
			       output.size);
		}
	}

	/* ---------------------------------------------------- methods */

	/* The attributes of the call, each with its bytes. */
	struct Attribute {
		const Field *first;
		bool given = false; /* has an argument that is not 0 */
		Bytes bytes = {};
	};

	void gather(std::vector<Attribute> &attributes)
	{
		for (const Field &field : entry_.fields) {
			if (field.attr < 0)
				continue;
			if (attributes.empty() ||
			    attributes.back().first->attr != field.attr)
				attributes.push_back({&field});
			Attribute &attribute = attributes.back();
			if (field.arg >= 0) {
				const Value &value =
					call_.args[size_t(field.arg)];
				attribute.given |= value.call >= 0 ||
						   value.number;
			}
			put(attribute.bytes, field);
		}
		for (size_t i = attributes.size(); i--;) {
			const bool omitted =
				twist(Twist::omit) &&
				twist(Twist::omit)->a % attributes.size() == i;
			if (omitted || (attributes[i].first->optional &&
					!attributes[i].given))
				attributes.erase(attributes.begin() + long(i));
		}
		for (Attribute &attribute : attributes)
			if (!attribute.bytes.empty() &&
			    !is_handle(attribute.first->cls)) {
				spoil(attribute.bytes);
				break;
			}
	}

	void fill(ib_uverbs_attr &attr, Attribute &attribute, size_t &used)
	{
		const Field &field = *attribute.first;
		Bytes &bytes = attribute.bytes;

		attr.attr_id = uint16_t(field.attr);
		attr.flags = uint16_t(
			twist_or(Twist::flags, UVERBS_ATTR_F_MANDATORY));
		if (field.what == What::out) {
			attr.len = uint16_t(
				twist_or(Twist::room, uint32_t(field.size)));
			attr.data = uint64_t(&answer_[used]);
			if (const Twisted *odd = twist(Twist::foreign))
				attr.data = uint64_t(odd->a) << 32 | odd->b;
			used += field.size;
		} else if (is_handle(field.cls)) {
			memcpy(&attr.data, bytes.data(),
			       std::min<size_t>(bytes.size(), 4));
		} else if (field.what != What::made) {
			attr.len = uint16_t(bytes.size());
			if (bytes.size() > 8)
				attr.data = uint64_t(bytes.data());
			else
				memcpy(&attr.data, bytes.data(), bytes.size());
		}
		if (const Twisted *odd = twist(Twist::id))
			if (odd->a == attr.attr_id)
				attr.attr_id = uint16_t(odd->b);
	}

	int make_method()
	{
		std::vector<Attribute> attributes;
		size_t used = 0;

		gather(attributes);
		const size_t size = sizeof(ib_uverbs_ioctl_hdr) +
				    attributes.size() * sizeof(ib_uverbs_attr);
		std::vector<uint64_t> room(size / 8 + 1);
		auto *header =
			reinterpret_cast<ib_uverbs_ioctl_hdr *>(room.data());
		auto *attrs = reinterpret_cast<ib_uverbs_attr *>(header + 1);

		header->length = uint16_t(size);
		header->object_id = uint16_t(entry_.numbers[0]);
		header->method_id = uint16_t(entry_.numbers[1]);
		header->num_attrs = uint16_t(attributes.size());
		for (size_t i = 0; i < attributes.size(); i++)
			fill(attrs[i], attributes[i], used);
		if (ioctl(file(), RDMA_VERBS_IOCTL, header) < 0)
			return errno;
		keep_attributes(attrs, attributes);
		return 0;
	}

	void keep_attributes(const ib_uverbs_attr *attrs,
			     const std::vector<Attribute> &attributes)
	{
		size_t used = 0;

		for (size_t i = 0; i < attributes.size(); i++) {
			const Field &field = *attributes[i].first;
			const uint8_t *from = &answer_[used];

			if (field.what == What::out)
				used += field.size;
			else if (field.what == What::made)
				from = reinterpret_cast<const uint8_t *>(
					&attrs[i].data);
			else
				continue;
			for (size_t k = 0; k < entry_.outputs.size(); k++) {
				const Output &output = entry_.outputs[k];
				if (output.attr == field.attr)
					memcpy(&told_.outs[k], from + output.at,
					       output.size);
			}
		}
	}

	/* ---------------------------------------------------- netlink */

	int make_netlink()
	{
		std::vector<Attribute> attributes;
		Bytes bytes;

		gather(attributes);
		for (const Attribute &attribute : attributes) {
			auto type = unsigned(attribute.first->attr);

			if (const Twisted *odd = twist(Twist::id))
				if (odd->a == type)
					type = odd->b;
			add_attribute(bytes, type, attribute.bytes.data(),
				      attribute.bytes.size());
		}
		return ask_nldev(entry_.numbers[0],
				 twist_or(Twist::flags, entry_.numbers[1]),
				 bytes);
	}

	Hands &hands_;
	const Call &call_;
	const Entry &entry_;
	Told &told_;
	std::vector<uint64_t> args_;
	alignas(8) uint8_t answer_[2 * answer_room + 256] = {};
};

thread_local sigjmp_buf fault_exit;
thread_local volatile bool fault_expected;

void on_fault(int)
{
	if (!fault_expected)
		_exit(77);
	siglongjmp(fault_exit, 1);
}

/* From now on the n-th allocation of this thread fails; 0: none. */
void fail_nth(unsigned n)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	char text[16];
	int size = snprintf(text, sizeof(text), "%u", n);

	/* The write of 0 may be what fails; then it is 0. */
	if (fd < 0)
		return;
	if (pwrite(fd, text, size_t(size), 0) < 0)
		(void)!pwrite(fd, text, size_t(size), 0);
	close(fd);
}

} // namespace

int own_file(const Hands &hands, uint64_t number)
{
	return int(number) < hands.first_file ? -1 : int(number);
}

void catch_faults()
{
	struct sigaction action = {};

	action.sa_handler = on_fault;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGSEGV, &action, nullptr);
	sigaction(SIGBUS, &action, nullptr);
}

int touch_memory(void (*access)(void *), void *context)
{
	int error = 0;

	if (sigsetjmp(fault_exit, 0)) {
		error = EFAULT;
	} else {
		fault_expected = true;
		access(context);
	}
	fault_expected = false;
	return error;
}

uint64_t resolve_value(const Shared &shared, const Value &value)
{
	uint64_t number = value.number;

	if (value.call >= 0)
		number += shared.told[value.call].outs[value.output];
	return number;
}

const char *word_of(uint64_t number)
{
	static const char *const words[] = {"",		"fa",	"fb",  "fc",
					    "fd",	"pavo", "fa0", "fb0",
					    "stranger", "lo",	"wa",  "fc0",
					    "fd0",	"../x", "nf0"};

	return words[number % std::size(words)];
}

void make_call(Hands &hands, const Program &program, size_t at)
{
	const Call &call = program.calls[at];
	Told &told = hands.shared.told[at];
	auto maker = std::make_unique<Maker>(hands, program, at);
	unsigned nth = 0;

	for (const Twisted &twisted : call.twists)
		if (twisted.twist == Twist::nth)
			nth = twisted.a;
	if (nth)
		fail_nth(nth);
	hands.late.begin(*call.entry, maker->args(), !call.twists.empty());
	told.error = maker->make();
	hands.late.end(*call.entry, told.error);
	if (nth)
		fail_nth(0);
	note(hands.shared, 1, call.entry->index * 256u + uint32_t(told.error));
}

} // namespace callfuzz
