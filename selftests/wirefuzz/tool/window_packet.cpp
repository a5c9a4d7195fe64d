// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets between windows: see window_packet.h.
 */
#include "window_packet.h"

#include <array>

namespace wf {

namespace {

using P = WindowPacket;

/* Behind the first four bytes of the BTH, in the order of the wire. */
constexpr std::array window_field_table = {
	WindowField{"qpn", 4, 0, &P::qpn},
	WindowField{"psn", 4, 0, &P::psn},
	WindowField{"key", 8, 0, &P::key},
	WindowField{"node", 2, 0, &P::node},
	WindowField{"kind", 1, 0, &P::kind},
	WindowField{"reserved", 2, 0, &P::reserved},
	WindowField{"from", 3, 0, &P::from},
	WindowField{"rcxt", 4, 1, &P::rcxt},
	WindowField{"peer_rcxt", 4, 1, &P::peer_rcxt},
	WindowField{"tid", 8, 1, &P::tid},
	WindowField{"pvo", 8, 1, &P::pvo},
	WindowField{"total", 4, 1, &P::total},
	WindowField{"fragment", 4, 1, &P::fragment},
	WindowField{"tag", 4, 1, &P::tag},
	WindowField{"attempts", 2, 1, &P::attempts},
	WindowField{"flags", 1, 1, &P::flags},
	WindowField{"status", 1, 1, &P::status},
	WindowField{"back", 8, 2, &P::back},
	WindowField{"third_node", 2, 4, &P::third_node},
	WindowField{"reserved", 2, 4, &P::reserved},
	WindowField{"third_window", 4, 4, &P::third_window},
	WindowField{"third_rcxt", 4, 4, &P::third_rcxt},
};

constexpr std::array<std::string_view, 6> window_names = {
	"W_MESSAGE", "W_DATA",	     "W_READ",
	"W_DONE",    "W_THIRD_READ", "W_THIRD_DATA"};
constexpr uint8_t first_window_opcode = 0xc0;

} // namespace

std::span<const WindowField> window_fields()
{
	return window_field_table;
}

std::optional<uint8_t> window_opcode(std::string_view name)
{
	for (size_t i = 0; i < window_names.size(); i++)
		if (window_names[i] == name)
			return static_cast<uint8_t>(first_window_opcode + i);
	return std::nullopt;
}

std::string_view window_name(uint8_t opcode)
{
	const size_t index = opcode - first_window_opcode;

	return index < window_names.size() ? window_names[index] : "";
}

unsigned window_layout(uint8_t opcode)
{
	static constexpr std::array<unsigned, 6> layouts = {0, 1, 3, 1, 7, 5};
	const size_t index = opcode - first_window_opcode;

	return index < layouts.size() ? layouts[index] : 1;
}

pw::Bytes encode(const WindowPacket &packet, unsigned layout)
{
	pw::Bytes out;

	pw::put(out, packet.opcode, 1);
	pw::put(out, 0x40 | (packet.pad & 3) << 4 | (packet.tver & 15), 1);
	pw::put(out, packet.pkey, 2);
	for (const WindowField &field : window_field_table)
		if ((field.layout & layout) == field.layout)
			pw::put(out, packet.*field.member, field.octets);
	out.insert(out.end(), packet.payload.begin(), packet.payload.end());
	out.insert(out.end(), packet.pad & 3, 0);
	return out;
}

WindowPacket decode_window(pw::View in)
{
	WindowPacket packet;

	packet.opcode = pw::take(in, 1, "the BTH");
	packet.pad = pw::take(in, 1, "the BTH") >> 4 & 3;
	packet.pkey = pw::take(in, 2, "the BTH");
	const unsigned layout =
		window_layout(static_cast<uint8_t>(packet.opcode));

	for (const WindowField &field : window_field_table)
		if ((field.layout & layout) == field.layout)
			packet.*field.member =
				pw::take(in, field.octets, "a window's header");
	if (in.size() < packet.pad)
		throw pw::Malformed("pad count beyond the payload");
	packet.payload.assign(in.begin(),
			      in.end() - static_cast<long>(packet.pad));
	return packet;
}

} // namespace wf
