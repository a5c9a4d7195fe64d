-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
--
-- pavo.lua - shows pavo's own packets in Wireshark and tshark: the headers behind the
-- BTH of opcodes that InfiniBand leaves to manufacturers (docs/protocol.md, "Opcodes of
-- its own"), and RDMA flush, which older Wiresharks do not know. In the source this is dissector.lua, without the tables `headers` and
-- `opcodes`: the build puts those in front of it, made from kernel/wire/packets.h.
--
--   tshark -X lua_script:pavo.lua -r CAPTURE -Y pavo
--
-- It adds to Wireshark's own display of RoCEv2; for root Wireshark 4.4 does not load
-- it. Filters: pavo, pavo.type, pavo.key, pavo.node, pavo.window (source), pavo.to
-- (destination window), pavo.group (it is a group), pavo.payload; of RDMA pavo.rcxt, pavo.tid,
-- pavo.pvo and the others below; of control messages between libraries pavo.control and
-- pavo.control.*; of the extended operations pavo.ext, and pavo.ext.* for every field of their
-- headers.

local pavo = Proto("pavo", "pavo")

local BTH, ICRC = 12, 4
local GROUP = 0x800000 -- the bit of a destination that is a group of windows
local OWN = 0xc0 -- opcodes from here on are pavo's own
-- Words for people in the place of the names of packets.h.
local types = { WINDOW_MESSAGE = "Message", WINDOW_DATA = "Data", WINDOW_READ = "Read",
		WINDOW_DONE = "Done", WINDOW_THIRD_READ = "Third-Party Read",
		WINDOW_THIRD_DATA = "Third-Party Data", EXT_ATOMIC = "Atomic Request",
		EXT_ATOMIC_ACK = "Atomic Response", IMM64 = "Immediate Data",
		IMM64_SE = "Immediate Data with Solicited Event",
		SACK = "Selective Acknowledgment", FLUSH = "Flush" }
-- Placement and selectivity of a flush.
local flushes = { [0x01] = "global visibility, of a range", [0x02] = "persistence, of a range",
		  [0x03] = "visibility and persistence, of a range",
		  [0x11] = "global visibility, of a region", [0x12] = "persistence, of a region",
		  [0x13] = "visibility and persistence, of a region" }
local IMMEDIATE = 8 -- the payload of IMM64
local operations = { [0] = "FetchAdd", [1] = "Swap", [2] = "CmpSwap" }
local statuses = { [0] = "all has arrived", [1] = "no such table", [2] = "another job's",
		   [3] = "outside of its table", [4] = "not, or no more, of that region" }
local kinds = { [0] = "of a program", [1] = "exactly-once RDMA", [2] = "striping",
		[6] = "transfer by FIFOs",
		[7] = "packet of an interface", [8] = "offer of an interface" }
-- Control messages of the library, by kind: names of their types, and lengths.
local rdma_controls = { [1] = "query", [2] = "renewed" }
local striping_controls = { [1] = "close", [2] = "closed", [3] = "notify", [4] = "notified" }
local fifo_controls = { [1] = "put", [2] = "answer", [3] = "get", [4] = "data" }
local control_lengths = { [1] = 20, [2] = 36 }
local FIFO_HEADER = 56 -- of kind 6; the bytes of a chunk follow

local f = pavo.fields
-- Fields of headers: filter, label, base and values, by their names in packets.h. One that is
-- not here is shown by its name.
local shown = {
	key = { "pavo.key", "Window key", base.HEX },
	node = { "pavo.node", "Source node", base.DEC },
	kind = { "pavo.kind", "Kind of message", base.DEC, kinds },
	window = { "pavo.window", "Source window", base.DEC },
	rcxt = { "pavo.rcxt", "rCxt", base.HEX },
	peer_rcxt = { "pavo.peer_rcxt", "Sender's rCxt", base.HEX },
	tid = { "pavo.tid", "tid", base.DEC },
	pvo = { "pavo.pvo", "PVO", base.HEX },
	total = { "pavo.total", "Total length", base.DEC },
	fragment = { "pavo.fragment", "Fragment", base.DEC },
	tag = { "pavo.tag", "Tag", base.HEX },
	attempts = { "pavo.attempts", "Attempts before", base.DEC },
	flags = { "pavo.flags", "Flags", base.HEX },
	status = { "pavo.status", "Status", base.DEC, statuses },
	back_pvo = { "pavo.back_pvo", "PVO of the data's target", base.HEX },
	third_node = { "pavo.third_node", "Third node", base.DEC },
	third_window = { "pavo.third_window", "Third window", base.DEC },
	third_rcxt = { "pavo.third_rcxt", "Third rCxt", base.HEX },
	feth = { "pavo.ext.flush", "Placement and selectivity", base.HEX, flushes },
	dlen = { "pavo.ext.length", "Length", base.DEC },
	srqn = { "pavo.ext.queue", "Shared receive queue", base.HEX },
	aop = { "pavo.ext.code", "Atomic operation", base.DEC, operations },
	id = { "pavo.ext.id", "Request identifier", base.HEX },
	rkey = { "pavo.ext.key", "Remote key", base.HEX },
	va = { "pavo.ext.address", "Remote address", base.HEX },
	swap = { "pavo.ext.data", "Add or swap data", base.HEX },
	mask = { "pavo.ext.mask", "Add or swap mask", base.HEX },
	cmp = { "pavo.ext.compare", "Compare data", base.HEX },
	cmask = { "pavo.ext.compare_mask", "Compare mask", base.HEX },
	syn = { "pavo.ext.syndrome", "Syndrome", base.HEX },
	msn = { "pavo.ext.msn", "Message sequence number", base.DEC },
	orig = { "pavo.ext.original", "Value of before", base.HEX },
	dups = { "pavo.ext.duplicates", "Duplicates", base.DEC },
	from = { "pavo.ext.map_from", "Where the map begins, 64 PSNs", base.DEC },
	tries = { "pavo.ext.attempt", "Attempt of the request that came last", base.DEC },
	space = { "pavo.ext.space", "1 + packets that may be held yet; 0: enough", base.DEC },
	echo = { "pavo.ext.echo", "PSN of the request that came last", base.DEC },
	map0 = { "pavo.ext.map0", "Held, from where the map begins", base.HEX },
	map1 = { "pavo.ext.map1", "Held, 64 behind that", base.HEX },
	map2 = { "pavo.ext.map2", "Held, 128 behind that", base.HEX },
	map3 = { "pavo.ext.map3", "Held, 192 behind that", base.HEX },
}
local numbers = { [8] = ProtoField.uint8, [16] = ProtoField.uint16, [24] = ProtoField.uint24,
		  [32] = ProtoField.uint32, [64] = ProtoField.uint64 }

-- The field of a number whose lower bits are used, and its first byte and length in @bits. Bits
-- above whole bytes are left out; others are masked, and shown as reserved.
local function make_field(name, bits, used)
	local row = shown[name] or { "pavo." .. name, name, base.HEX }

	if used % 8 == 0 then
		f[name] = f[name] or numbers[used](row[1], row[2], row[3], row[4])
		return { f[name], (bits - used) / 8, used / 8 }
	end
	local mask = 2 ^ used - 1
	f[name] = f[name] or numbers[bits](row[1], row[2], row[3], row[4], mask)
	local rest = "reserved_" .. used
	f[rest] = f[rest] or ProtoField.uint32("pavo.ext.reserved", "Reserved", base.HEX, nil,
					       0xffffffff - mask)
	return { f[name], 0, bits / 8, f[rest] }
end

-- A header: its length, and its fields with where they are.
local function make_header(row)
	local header = { name = row[1], length = 0, fields = {} }

	for _, part in ipairs(row[2]) do
		local name, bits, used = part[1], part[2], part[3]
		if name then
			local field = make_field(name, bits, used)
			field[2] = field[2] + header.length
			table.insert(header.fields, field)
		end
		header.length = header.length + bits / 8
	end
	return header
end

-- Own opcodes, and flush: name, headers in the order of the packet, their length, payload or not.
local own, names, ext_names = {}, {}, {}
for _, row in ipairs(opcodes) do
	local service, code, flags = row[1], row[2] + row[4], row[5] .. " "
	if code >= OWN or row[3] == "FLUSH" then
		local packet = { name = row[3], window = service == "WINDOW", headers = {}, length = 0,
				 payload = flags:find("_DATA ") or flags:find("_PAYLOAD ") }
		for _, header in ipairs(headers) do
			if flags:find("PAVO_OPF_" .. header[1] .. "[ )]") then
				local made = make_header(header)
				table.insert(packet.headers, made)
				packet.length = packet.length + made.length
			end
		end
		packet.type = (service == "XRC" and "XRC " or "") .. (types[row[3]] or row[3])
		local list = packet.window and names or ext_names
		list[code] = packet.type
		own[code] = packet
	end
end

f.type = ProtoField.uint8("pavo.type", "Type", base.HEX, names)
f.to = ProtoField.uint24("pavo.to", "Destination window", base.DEC)
f.group = ProtoField.bool("pavo.group", "To a group", 24, nil, GROUP)
f.notify_source = ProtoField.bool("pavo.flags.notify_source", "Notify the source", 8, nil, 1)
f.notify_target = ProtoField.bool("pavo.flags.notify_target", "Notify the target", 8, nil, 2)
f.to_fifo = ProtoField.bool("pavo.flags.to_fifo", "To the target's FIFO", 8, nil, 4)
f.from_fifo = ProtoField.bool("pavo.flags.from_fifo", "By the source's process", 8, nil, 8)
f.payload = ProtoField.bytes("pavo.payload", "Payload")
f.length = ProtoField.uint16("pavo.length", "Payload length", base.DEC)
f.rdma_control = ProtoField.uint8("pavo.control", "Control message", base.DEC, rdma_controls)
f.striping_control = ProtoField.uint8("pavo.control", "Control message", base.DEC, striping_controls)
f.fifo_control = ProtoField.uint8("pavo.control", "Control message", base.DEC, fifo_controls)
f.control_status = ProtoField.uint8("pavo.control.status", "Status", base.DEC, statuses)
f.control_flags = ProtoField.uint8("pavo.control.flags", "Flags", base.HEX)
f.control_chunk_bytes = ProtoField.uint16("pavo.control.chunk_bytes", "Bytes of a chunk", base.DEC)
f.control_pvo = ProtoField.uint64("pavo.control.pvo", "PVO", base.HEX)
f.control_total = ProtoField.uint32("pavo.control.total", "Bytes of the transfer", base.DEC)
f.control_chunk = ProtoField.uint32("pavo.control.chunk", "Chunk", base.DEC)
f.control_mask = ProtoField.uint64("pavo.control.mask", "Chunks from there on", base.HEX)
f.control_rcxt = ProtoField.uint32("pavo.control.rcxt", "rCxt", base.HEX)
f.control_now = ProtoField.uint32("pavo.control.now", "rCxt now", base.HEX)
f.control_ended = ProtoField.uint64("pavo.control.ended", "Ended up to tid", base.DEC)
f.control_path = ProtoField.uint16("pavo.control.path", "Path", base.DEC)
f.control_token = ProtoField.uint32("pavo.control.token", "Token", base.HEX)
f.control_number = ProtoField.uint64("pavo.control.number", "Message", base.DEC)
f.control_oldest = ProtoField.uint64("pavo.control.oldest", "Oldest message", base.DEC)
f.control_length = ProtoField.uint64("pavo.control.length", "Its length", base.DEC)
f.control_tag = ProtoField.uint32("pavo.control.tag", "Its tag", base.HEX)

f.offer_tid = ProtoField.uint64("pavo.offer.tid", "Lowest tid", base.DEC)
f.offer_pvo = ProtoField.uint64("pavo.offer.pvo", "PVO of the packet", base.HEX)
f.offer_rcxt = ProtoField.uint32("pavo.offer.rcxt", "Its rCxt", base.HEX)
f.offer_length = ProtoField.uint32("pavo.offer.length", "Its length", base.DEC)

f.ext = ProtoField.uint8("pavo.ext", "Type", base.HEX, ext_names)
f.ext_immediate = ProtoField.uint64("pavo.ext.immediate", "Immediate data", base.HEX)

local short = ProtoExpert.new("pavo.short", "Packet ends inside its headers",
			      expert.group.MALFORMED, expert.severity.ERROR)
local not_eight = ProtoExpert.new("pavo.ext.not_eight", "Immediate data of another length than 8",
				  expert.group.MALFORMED, expert.severity.ERROR)
local surplus = ProtoExpert.new("pavo.surplus", "Bytes behind a header that has no payload",
				expert.group.MALFORMED, expert.severity.ERROR)
pavo.experts = { short, not_eight, surplus }

local opcode_of = Field.new("infiniband.bth.opcode")
local udp_payload = Field.new("udp.payload")

-- Adds one field behind the other, and leaves out a part without a field.
local function add_parts(top, packet, at, parts)
	for _, part in ipairs(parts) do
		if part[1] then
			top:add(part[1], packet(at, part[2]))
		end
		at = at + part[2]
	end
end

-- A message of a transfer by FIFOs.
local function add_transfer(top, packet, at, length)
	if length < FIFO_HEADER then
		return
	end
	add_parts(top, packet, at, { { f.fifo_control, 1 }, { f.control_flags, 1 },
				     { f.control_status, 1 }, { nil, 1 }, { f.control_chunk_bytes, 2 },
				     { nil, 2 }, { f.control_number, 8 }, { f.control_oldest, 8 },
				     { f.control_pvo, 8 }, { f.control_total, 4 }, { f.control_tag, 4 },
				     { f.control_chunk, 4 }, { nil, 4 }, { f.control_mask, 8 } })
end

-- A control message between libraries, known by kind and length.
local function add_control(top, packet, at, kind, length)
	if kind == 6 then
		add_transfer(top, packet, at, length)
	end
	if length ~= control_lengths[kind] then
		return
	end
	if kind == 1 then
		add_parts(top, packet, at, { { f.rdma_control, 1 }, { nil, 3 }, { f.control_rcxt, 4 },
					     { f.control_now, 4 }, { f.control_ended, 8 } })
	else
		add_parts(top, packet, at, { { f.striping_control, 1 }, { nil, 1 }, { f.control_path, 2 },
					     { f.control_token, 4 }, { f.control_number, 8 },
					     { f.control_oldest, 8 }, { f.control_length, 8 },
					     { f.control_tag, 4 } })
	end
end

-- A message of a network interface over a window: an Ethernet packet, or the offer of one.
local PACKET, OFFER, OFFER_LENGTH = 7, 8, 24
local ethernet = Dissector.get("eth_withoutfcs")

local function add_interface(top, packet, at, kind, length, pinfo, tree)
	if kind == PACKET and length > 0 then
		ethernet:call(packet(at, length):tvb(), pinfo, tree)
	elseif kind == OFFER and length == OFFER_LENGTH then
		top:add_le(f.offer_tid, packet(at, 8))
		top:add_le(f.offer_pvo, packet(at + 8, 8))
		top:add_le(f.offer_rcxt, packet(at + 16, 4))
		top:add_le(f.offer_length, packet(at + 20, 4))
	end
end

-- All fields of all headers. Return: where each header begins, by its name.
local function add_headers(top, packet, kind)
	local at, places = BTH, {}

	for _, header in ipairs(kind.headers) do
		for _, field in ipairs(header.fields) do
			top:add(field[1], packet(at + field[2], field[3]))
		end
		for _, field in ipairs(header.fields) do
			if field[4] then
				top:add(field[4], packet(at + field[2], field[3]))
			end
		end
		places[header.name] = at
		at = at + header.length
	end
	return places
end

-- An extended operation: its headers, or its eight bytes.
local function dissect_extended(packet, kind, pad, tree)
	local top = tree:add(pavo, packet())
	local length = packet:len() - BTH - kind.length - pad - ICRC

	top:add(f.ext, packet(0, 1))
	if length < 0 then
		top:add_proto_expert_info(short)
		return
	end
	local places = add_headers(top, packet, kind)
	if length > 0 and not kind.payload then
		top:add_proto_expert_info(surplus)
	end
	if kind.payload and length == IMMEDIATE then
		top:add(f.ext_immediate, packet(BTH + kind.length, IMMEDIATE))
	elseif kind.payload then
		top:add_proto_expert_info(not_eight)
	end
	top:append_text(", " .. kind.type)
	if places.EXTATOMICETH then
		local code = bit.band(packet(places.EXTATOMICETH + 3, 1):uint(), 15)
		top:append_text(", " .. (operations[code] or "reserved"))
	end
end

local function dissect_window(packet, kind, pad, pinfo, tree)
	local top = tree:add(pavo, packet())
	local first = BTH + kind.length
	local length = packet:len() - first - pad - ICRC

	top:add(f.type, packet(0, 1))
	top:add(f.to, packet(5, 3))
	top:add(f.group, packet(5, 3))
	if length < 0 then
		top:add_proto_expert_info(short)
		return
	end
	local places = add_headers(top, packet, kind)
	top:add(f.length, length):set_generated()
	if length > 0 then
		top:add(f.payload, packet(first, length))
	end
	if places.WRETH then
		for _, flag in ipairs({ f.notify_source, f.notify_target, f.to_fifo, f.from_fifo }) do
			top:add(flag, packet(places.WRETH + 38, 1))
		end
	else
		add_control(top, packet, first, packet(BTH + 10, 1):uint(), length)
		add_interface(top, packet, first, packet(BTH + 10, 1):uint(), length, pinfo, tree)
	end
	local to = packet(5, 3):uint()
	top:append_text(string.format(", %s, node %d window %d to %s %d", kind.type,
				      packet(BTH + 8, 2):uint(),
				      packet(BTH + 13, 3):uint(),
				      to < GROUP and "window" or "group", to % GROUP))
end

function pavo.dissector(buffer, pinfo, tree)
	local opcode, payload = opcode_of(), udp_payload()
	local kind = opcode and own[opcode.value]

	if not kind or not payload then
		return
	end
	local packet = payload.range:tvb()
	local pad = bit.band(bit.rshift(packet(1, 1):uint(), 4), 3)

	if kind.window then
		dissect_window(packet, kind, pad, pinfo, tree)
	else
		dissect_extended(packet, kind, pad, tree)
	end
end

register_postdissector(pavo)
