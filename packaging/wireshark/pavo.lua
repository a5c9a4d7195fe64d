-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
--
-- pavo.lua - shows pavo's own packets in Wireshark and tshark: the headers behind the
-- BTH of opcodes that InfiniBand leaves to manufacturers (docs/protocol.md, "Opcodes of
-- its own").
--
--   tshark -X lua_script:pavo.lua -r CAPTURE -Y pavo
--
-- It adds to Wireshark's own display of RoCEv2; for root Wireshark 4.4 does not load
-- it. Filters: pavo, pavo.type, pavo.key, pavo.node, pavo.window (source), pavo.to
-- (destination window), pavo.payload; of RDMA pavo.rcxt, pavo.tid, pavo.pvo and the
-- others below; of control messages between libraries pavo.control and pavo.control.*; of
-- the extended operations pavo.ext, and pavo.ext.* for every field of their headers.

local pavo = Proto("pavo", "pavo")

local BTH, WETH, WRETH, PVO, ICRC = 12, 16, 40, 8, 4
local FLAGS = BTH + WETH + 38
local types = { [0xc0] = "Message", [0xc1] = "Data", [0xc2] = "Read", [0xc3] = "Done" }
local lengths = { [0xc0] = WETH, [0xc1] = WETH + WRETH, [0xc2] = WETH + WRETH + PVO,
		  [0xc3] = WETH + WRETH }
local AETH, EXT_ATOMIC, EXT_ANSWER, EXT_IMMEDIATE = 4, 52, 12, 8
local XRC = 4 -- the header of requests of XRC, and the bit that its opcodes have
local ext_types = { [0xe0] = "Atomic Request", [0xe1] = "Atomic Response",
		    [0xe2] = "Immediate Data", [0xe3] = "Immediate Data with Solicited Event" }
local ext_lengths = { [0xe0] = EXT_ATOMIC, [0xe1] = AETH + EXT_ANSWER, [0xe2] = 0, [0xe3] = 0 }
for opcode = 0xe0, 0xe3 do
	local header = opcode == 0xe1 and 0 or XRC
	ext_types[opcode + XRC] = "XRC " .. ext_types[opcode]
	ext_lengths[opcode + XRC] = ext_lengths[opcode] + header
end
local operations = { [0] = "FetchAdd", [1] = "Swap", [2] = "CmpSwap" }
local statuses = { [0] = "all has arrived", [1] = "no such table", [2] = "another job's",
		   [3] = "outside of its table", [4] = "not, or no more, of that region" }
local kinds = { [0] = "of a program", [1] = "exactly-once RDMA", [2] = "striping" }
-- Control messages of the library, by kind: names of their types, and lengths.
local rdma_controls = { [1] = "query", [2] = "renewed" }
local striping_controls = { [1] = "close", [2] = "closed", [3] = "notify", [4] = "notified" }
local control_lengths = { [1] = 20, [2] = 36 }

local f = pavo.fields
f.type = ProtoField.uint8("pavo.type", "Type", base.HEX, types)
f.to = ProtoField.uint24("pavo.to", "Destination window", base.DEC)
f.key = ProtoField.uint64("pavo.key", "Window key", base.HEX)
f.node = ProtoField.uint16("pavo.node", "Source node", base.DEC)
f.kind = ProtoField.uint8("pavo.kind", "Kind of message", base.DEC, kinds)
f.window = ProtoField.uint24("pavo.window", "Source window", base.DEC)
f.rcxt = ProtoField.uint32("pavo.rcxt", "rCxt", base.HEX)
f.peer_rcxt = ProtoField.uint32("pavo.peer_rcxt", "Sender's rCxt", base.HEX)
f.tid = ProtoField.uint64("pavo.tid", "tid", base.DEC)
f.pvo = ProtoField.uint64("pavo.pvo", "PVO", base.HEX)
f.total = ProtoField.uint32("pavo.total", "Total length", base.DEC)
f.fragment = ProtoField.uint32("pavo.fragment", "Fragment", base.DEC)
f.tag = ProtoField.uint32("pavo.tag", "Tag", base.HEX)
f.attempts = ProtoField.uint16("pavo.attempts", "Attempts before", base.DEC)
f.flags = ProtoField.uint8("pavo.flags", "Flags", base.HEX)
f.notify_source = ProtoField.bool("pavo.flags.notify_source", "Notify the source", 8, nil, 1)
f.notify_target = ProtoField.bool("pavo.flags.notify_target", "Notify the target", 8, nil, 2)
f.to_fifo = ProtoField.bool("pavo.flags.to_fifo", "To the target's FIFO", 8, nil, 4)
f.from_fifo = ProtoField.bool("pavo.flags.from_fifo", "By the source's process", 8, nil, 8)
f.status = ProtoField.uint8("pavo.status", "Status", base.DEC, statuses)
f.back_pvo = ProtoField.uint64("pavo.back_pvo", "PVO of the data's target", base.HEX)
f.payload = ProtoField.bytes("pavo.payload", "Payload")
f.length = ProtoField.uint16("pavo.length", "Payload length", base.DEC)
f.rdma_control = ProtoField.uint8("pavo.control", "Control message", base.DEC, rdma_controls)
f.striping_control = ProtoField.uint8("pavo.control", "Control message", base.DEC, striping_controls)
f.control_rcxt = ProtoField.uint32("pavo.control.rcxt", "rCxt", base.HEX)
f.control_now = ProtoField.uint32("pavo.control.now", "rCxt now", base.HEX)
f.control_ended = ProtoField.uint64("pavo.control.ended", "Ended up to tid", base.DEC)
f.control_path = ProtoField.uint16("pavo.control.path", "Path", base.DEC)
f.control_token = ProtoField.uint32("pavo.control.token", "Token", base.HEX)
f.control_number = ProtoField.uint64("pavo.control.number", "Message", base.DEC)
f.control_oldest = ProtoField.uint64("pavo.control.oldest", "Oldest message", base.DEC)
f.control_length = ProtoField.uint64("pavo.control.length", "Its length", base.DEC)
f.control_tag = ProtoField.uint32("pavo.control.tag", "Its tag", base.HEX)

f.ext = ProtoField.uint8("pavo.ext", "Type", base.HEX, ext_types)
f.ext_queue = ProtoField.uint24("pavo.ext.queue", "Shared receive queue", base.HEX)
f.ext_reserved = ProtoField.uint32("pavo.ext.reserved", "Reserved", base.HEX, nil, 0xfffffff0)
f.ext_code = ProtoField.uint32("pavo.ext.code", "Atomic operation", base.DEC, operations, 0xf)
f.ext_id = ProtoField.uint32("pavo.ext.id", "Request identifier", base.HEX)
f.ext_key = ProtoField.uint32("pavo.ext.key", "Remote key", base.HEX)
f.ext_address = ProtoField.uint64("pavo.ext.address", "Remote address", base.HEX)
f.ext_data = ProtoField.uint64("pavo.ext.data", "Add or swap data", base.HEX)
f.ext_mask = ProtoField.uint64("pavo.ext.mask", "Add or swap mask", base.HEX)
f.ext_compare = ProtoField.uint64("pavo.ext.compare", "Compare data", base.HEX)
f.ext_compare_mask = ProtoField.uint64("pavo.ext.compare_mask", "Compare mask", base.HEX)
f.ext_syndrome = ProtoField.uint8("pavo.ext.syndrome", "Syndrome", base.HEX)
f.ext_msn = ProtoField.uint24("pavo.ext.msn", "Message sequence number", base.DEC)
f.ext_original = ProtoField.uint64("pavo.ext.original", "Value of before", base.HEX)
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

-- A control message between libraries, known by kind and length.
local function add_control(top, packet, kind, length)
	local at = BTH + WETH

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

-- The part behind the WETH of all packets but messages.
local function add_rdma(top, packet, opcode)
	local at = BTH + WETH
	local parts = { { f.rcxt, 4 }, { f.peer_rcxt, 4 }, { f.tid, 8 }, { f.pvo, 8 },
			{ f.total, 4 }, { f.fragment, 4 }, { f.tag, 4 },
			{ f.attempts, 2 }, { f.flags, 1 }, { f.status, 1 } }

	if lengths[opcode] > WETH + WRETH then
		table.insert(parts, { f.back_pvo, PVO })
	end
	add_parts(top, packet, at, parts)
	for _, flag in ipairs({ f.notify_source, f.notify_target, f.to_fifo, f.from_fifo }) do
		top:add(flag, packet(FLAGS, 1))
	end
end

-- An extended operation: its header, or its eight bytes, from @at on; the opcode is that of RC.
local function add_extended(top, packet, at, opcode, length)
	if opcode == 0xe0 then
		add_parts(top, packet, at, { { f.ext_code, 4 }, { f.ext_id, 4 }, { f.ext_key, 4 },
					      { f.ext_address, 8 }, { f.ext_data, 8 },
					      { f.ext_mask, 8 }, { f.ext_compare, 8 },
					      { f.ext_compare_mask, 8 } })
		top:add(f.ext_reserved, packet(at, 4))
	elseif opcode == 0xe1 then
		add_parts(top, packet, at, { { f.ext_syndrome, 1 }, { f.ext_msn, 3 },
					      { f.ext_id, 4 }, { f.ext_original, 8 } })
	elseif length == EXT_IMMEDIATE then
		top:add(f.ext_immediate, packet(at, EXT_IMMEDIATE))
	else
		top:add_proto_expert_info(not_eight)
	end
	if length > 0 and opcode < 0xe2 then
		top:add_proto_expert_info(surplus)
	end
end

local function dissect_extended(packet, opcode, pad, tree)
	local top = tree:add(pavo, packet())
	local length = packet:len() - BTH - ext_lengths[opcode] - pad - ICRC
	local plain, at = bit.band(opcode, bit.bnot(XRC)), BTH

	top:add(f.ext, packet(0, 1))
	if length < 0 then
		top:add_proto_expert_info(short)
		return
	end
	if plain ~= opcode and plain ~= 0xe1 then
		top:add(f.ext_queue, packet(at + 1, 3))
		at = at + XRC
	end
	add_extended(top, packet, at, plain, length)
	top:append_text(", " .. ext_types[opcode])
	if plain == 0xe0 then
		local code = bit.band(packet(at + 3, 1):uint(), 15)
		top:append_text(", " .. (operations[code] or "reserved"))
	end
end

function pavo.dissector(buffer, pinfo, tree)
	local opcode, payload = opcode_of(), udp_payload()

	if not opcode or not payload or
	   not types[opcode.value] and not ext_types[opcode.value] then
		return
	end
	local packet = payload.range:tvb()
	local pad = bit.band(bit.rshift(packet(1, 1):uint(), 4), 3)

	if ext_types[opcode.value] then
		dissect_extended(packet, opcode.value, pad, tree)
		return
	end
	local top = tree:add(pavo, packet())

	top:add(f.type, packet(0, 1))
	top:add(f.to, packet(5, 3))
	local headers = BTH + lengths[opcode.value]
	if packet:len() < headers + pad + ICRC then
		top:add_proto_expert_info(short)
		return
	end
	local length = packet:len() - headers - pad - ICRC
	top:add(f.key, packet(BTH, 8))
	top:add(f.node, packet(BTH + 8, 2))
	top:add(f.kind, packet(BTH + 10, 1))
	top:add(f.window, packet(BTH + 13, 3))
	top:add(f.length, length):set_generated()
	if length > 0 then
		top:add(f.payload, packet(headers, length))
	end
	if headers > BTH + WETH then
		add_rdma(top, packet, opcode.value)
	else
		add_control(top, packet, packet(BTH + 10, 1):uint(), length)
	end
	top:append_text(string.format(", %s, node %d window %d to window %d",
				      types[opcode.value],
				      packet(BTH + 8, 2):uint(),
				      packet(BTH + 13, 3):uint(),
				      packet(5, 3):uint()))
end

register_postdissector(pavo)
