-- SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
--
-- pavo.lua - shows pavo's own packets in Wireshark and tshark: what follows the BTH of
-- opcodes that InfiniBand leaves to manufacturers (docs/protocol.md, "Windows").
--
--   tshark -X lua_script:pavo.lua -r CAPTURE -Y pavo
--
-- It adds to what Wireshark itself shows of RoCEv2. Filters: pavo, pavo.type, pavo.key,
-- pavo.node, pavo.window (source), pavo.to (destination window), pavo.payload.

local pavo = Proto("pavo", "pavo windows")

local BTH, WETH, ICRC = 12, 16, 4
local types = { [0xc0] = "Message" }

local f = pavo.fields
f.type = ProtoField.uint8("pavo.type", "Type", base.HEX, types)
f.to = ProtoField.uint24("pavo.to", "Destination window", base.DEC)
f.key = ProtoField.uint64("pavo.key", "Window key", base.HEX)
f.node = ProtoField.uint16("pavo.node", "Source node", base.DEC)
f.window = ProtoField.uint24("pavo.window", "Source window", base.DEC)
f.payload = ProtoField.bytes("pavo.payload", "Payload")
f.length = ProtoField.uint16("pavo.length", "Payload length", base.DEC)

local short = ProtoExpert.new("pavo.short", "Packet ends inside its headers",
			      expert.group.MALFORMED, expert.severity.ERROR)
pavo.experts = { short }

local opcode_of = Field.new("infiniband.bth.opcode")
local udp_payload = Field.new("udp.payload")

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
	if packet:len() < BTH + WETH + pad + ICRC then
		top:add_proto_expert_info(short)
		return
	end
	local length = packet:len() - BTH - WETH - pad - ICRC
	top:add(f.key, packet(BTH, 8))
	top:add(f.node, packet(BTH + 8, 2))
	top:add(f.window, packet(BTH + 13, 3))
	top:add(f.length, length):set_generated()
	if length > 0 then
		top:add(f.payload, packet(BTH + WETH, length))
	end
	top:append_text(string.format(", %s, node %d window %d to window %d",
				      types[opcode.value],
				      packet(BTH + 8, 2):uint(),
				      packet(BTH + 13, 3):uint(),
				      packet(5, 3):uint()))
end

register_postdissector(pavo)
