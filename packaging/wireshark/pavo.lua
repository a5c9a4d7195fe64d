-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
--
-- pavo.lua - shows pavo's own packets in Wireshark and tshark: what follows the BTH of
-- opcodes that InfiniBand leaves to manufacturers (docs/protocol.md, "Windows").
--
--   tshark -X lua_script:pavo.lua -r CAPTURE -Y pavo
--
-- It adds to what Wireshark itself shows of RoCEv2. Filters: pavo, pavo.type, pavo.key,
-- pavo.node, pavo.window (source), pavo.to (destination window), pavo.payload; of RDMA
-- pavo.rcxt, pavo.tid, pavo.pvo and the others below.

local pavo = Proto("pavo", "pavo windows")

local BTH, WETH, WRETH, PVO, ICRC = 12, 16, 40, 8, 4
local types = { [0xc0] = "Message", [0xc1] = "Data", [0xc2] = "Read", [0xc3] = "Done" }
local lengths = { [0xc0] = WETH, [0xc1] = WETH + WRETH, [0xc2] = WETH + WRETH + PVO,
		  [0xc3] = WETH + WRETH }
local statuses = { [0] = "all has arrived", [1] = "no such table", [2] = "another job's",
		   [3] = "outside of its table", [4] = "not, or no more, of that region" }

local f = pavo.fields
f.type = ProtoField.uint8("pavo.type", "Type", base.HEX, types)
f.to = ProtoField.uint24("pavo.to", "Destination window", base.DEC)
f.key = ProtoField.uint64("pavo.key", "Window key", base.HEX)
f.node = ProtoField.uint16("pavo.node", "Source node", base.DEC)
f.kind = ProtoField.uint8("pavo.kind", "Kind of message", base.DEC)
f.window = ProtoField.uint24("pavo.window", "Source window", base.DEC)
f.rcxt = ProtoField.uint32("pavo.rcxt", "rCxt", base.HEX)
f.peer_rcxt = ProtoField.uint32("pavo.peer_rcxt", "Sender's rCxt", base.HEX)
f.tid = ProtoField.uint64("pavo.tid", "tid", base.DEC)
f.pvo = ProtoField.uint64("pavo.pvo", "PVO", base.HEX)
f.total = ProtoField.uint32("pavo.total", "Total length", base.DEC)
f.fragment = ProtoField.uint32("pavo.fragment", "Fragment", base.DEC)
f.tag = ProtoField.uint32("pavo.tag", "Tag", base.HEX)
f.attempts = ProtoField.uint16("pavo.attempts", "Attempts before", base.DEC)
f.flags = ProtoField.uint8("pavo.flags", "Flags (1 tell source, 2 target; 4 to FIFO, 8 from FIFO)", base.HEX)
f.status = ProtoField.uint8("pavo.status", "Status", base.DEC, statuses)
f.back_pvo = ProtoField.uint64("pavo.back_pvo", "PVO of the data's target", base.HEX)
f.payload = ProtoField.bytes("pavo.payload", "Payload")
f.length = ProtoField.uint16("pavo.length", "Payload length", base.DEC)

local short = ProtoExpert.new("pavo.short", "Packet ends inside its headers",
			      expert.group.MALFORMED, expert.severity.ERROR)
pavo.experts = { short }

local opcode_of = Field.new("infiniband.bth.opcode")
local udp_payload = Field.new("udp.payload")

-- What is behind the WETH of all but messages.
local function add_rdma(top, packet, opcode)
	local at = BTH + WETH
	local parts = { { f.rcxt, 4 }, { f.peer_rcxt, 4 }, { f.tid, 8 }, { f.pvo, 8 },
			{ f.total, 4 }, { f.fragment, 4 }, { f.tag, 4 },
			{ f.attempts, 2 }, { f.flags, 1 }, { f.status, 1 } }

	if lengths[opcode] > WETH + WRETH then
		table.insert(parts, { f.back_pvo, PVO })
	end
	for _, part in ipairs(parts) do
		top:add(part[1], packet(at, part[2]))
		at = at + part[2]
	end
end

function pavo.dissector(buffer, pinfo, tree)
	local opcode, payload = opcode_of(), udp_payload()

	if not opcode or not payload or not types[opcode.value] then
		return
	end
	local packet = payload.range:tvb()
	local pad = bit.band(bit.rshift(packet(1, 1):uint(), 4), 3)
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
	end
	top:append_text(string.format(", %s, node %d window %d to window %d",
				      types[opcode.value],
				      packet(BTH + 8, 2):uint(),
				      packet(BTH + 13, 3):uint(),
				      packet(5, 3):uint()))
end

register_postdissector(pavo)
