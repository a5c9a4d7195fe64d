// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hand_entries.cpp - the list of what is done by hand: files, mappings, shared memory,
 * the process's memory, and the world around. entries.cpp says how lines are written.
 */
#include "hands.h"

namespace callfuzz {
namespace {

#define HAND_MEMORY                                                  \
	"mem{0x10000000|0x10001000|0x11000000|0x12000000|0x13000000" \
	"|0x14000000|0x15000000|0x16000000|0x17000000}"
#define HAND_TO "mem:va{0x10000000|0x10000100|0x14000000|0x15000000|0x16000000}"
#define HAND_FAR \
	"mem:rva{0x10000000|0x10002000|0x14001000|0x15001000|0x16000000}"
#define HAND_SIZE "4:length{64|0|1|4096|8192|65536|0x7fffffff}"
#define HAND_OPCODE                                                  \
	"4:opcode{0x0a|0x04|0x05|0x0c|0x10|0x11|0x13|0x17|0x24|0x2a" \
	"|0x64|0xa4|0xe0|0xe2}"
#define HAND_MAPPED "4:prot{3|1|7|0} 4:flags{1|2|0x8001}"
#define HAND_QUEUE                          \
	"sqarea sqstride sqcnt qpn dbarea " \
	"4:index{0xffffffff|0|1|7|8} "
#define HAND_WQE                                                      \
	"4:flags{1|0|2|3|4} 4:fence{0|1} " HAND_SIZE " lkey " HAND_TO \
	" rkey " HAND_FAR " 4:imm "

const std::vector<Line> by_hand = {
	/* files */
	{"open", "dev", "h", "4:device{0|1|2|3}", "dev:0:4", 3, open_device},
	{"close", "", "h", "dev", "", 2, close_file},
	{"close_channel", "", "h", "chan", "", 1, close_file},
	{"close_async", "", "h", "async", "", 1, close_file},
	{"read_channel", "", "h", "chan", "", 2, read_file},
	{"read_async", "", "h", "async", "", 2, read_file},
	{"eventfd", "efd", "h", "", "efd:0:4", 2, make_eventfd},
	{"read_event", "", "h", "efd", "", 1, read_file},
	{"dmabuf", "dmabuf", "h", "4:pages{4|1|0|512}", "dmabuf:0:4", 2,
	 make_dmabuf},
	{"close_dmabuf", "", "h", "dmabuf", "", 1, close_file},
	{"file", "file", "h", "", "fd:0:4", 1, make_file},
	/* what is shared with the module */
	{"map_db", "db", "h", "dev dboff dbsize " HAND_MAPPED, "dbarea:0:8", 3,
	 map_area},
	{"map_sq", "sq", "h", "dev sqoff sqsize " HAND_MAPPED, "sqarea:0:8", 3,
	 map_area},
	{"map_rq", "rq", "h", "dev rqoff rqsize " HAND_MAPPED, "rqarea:0:8", 3,
	 map_area},
	{"map_cq", "cqm", "h", "dev cqoff cqsize " HAND_MAPPED, "cqarea:0:8", 3,
	 map_area},
	{"map_send", "snd", "h", "dev sendoff sendsize " HAND_MAPPED,
	 "sendarea:0:8", 2, map_area},
	{"map_recv", "rcv", "h", "dev recvoff recvsize " HAND_MAPPED,
	 "recvarea:0:8", 2, map_area},
	{"map_cmd", "cmd", "h", "dev cmdoff cmdsize " HAND_MAPPED,
	 "cmdarea:0:8", 2, map_area},
	{"map_words", "words", "h", "dev wordsoff wordssize " HAND_MAPPED,
	 "wordsarea:0:8", 1, map_area},
	{"unmap_area", "", "h", "area 4:length{0x1000|0x2000|0x10000}", "", 2,
	 unmap_memory},
	{"poke", "", "h",
	 "area 4:at{0|4|8|64|68|72|128|144|160} 8:value{0|1|0xffffffff} "
	 "4:width{4|8|1}",
	 "", 5, poke},
	{"post", "", "h",
	 HAND_QUEUE "4:op{1|0|2|3|4|5|6|7|8|12|13|14|31} " HAND_WQE
		    "4:inline{0|1} srqn gid{1|0} sgid4{0|1} qpn:dest "
		    "4:qkey{0x12345|0} 4:kind{0|1|2} 4:times{1|16|256}",
	 "", 12, post_wqe},
	{"post_invalidate", "", "h",
	 HAND_QUEUE "4:op{9|3|1} " HAND_WQE "rkey:key 4:kind{0|2}", "", 3,
	 post_invalidate},
	{"post_bind", "", "h",
	 HAND_QUEUE "rkey:old 4:low{1|0|2|255} lkey " HAND_TO
		    " 8:length{4096|0|64|0xffffffffffffffff} "
		    "4:access{2|0|1|4|8|15|32|0xffff}",
	 "", 4, post_bind},
	{"ring", "", "h", "dbarea 8:bits{0|0xffffffffffffffff}", "", 2,
	 ring_bits},
	{"recv", "", "h",
	 "rqarea rqstride rqcnt 4:index{0xffffffff|0|1|8} " HAND_SIZE
	 " lkey " HAND_TO " 4:shared{0|1}",
	 "", 6, post_receive},
	{"poll", "", "h", "cqarea cqcnt 4:wait{5|0|50}", "", 6, poll_ring},
	{"frame", "", "h",
	 "sendarea 4:index{0|1|15} 4:node{2|1|3|4} window "
	 "4:type{1|2|3|4|5|0|6|7|8|9|10|11|12|13|14} "
	 "4:length{64|40|48|0|2032|2033|65535} 4:kind{0|1|3|7|8} rcxt:local "
	 "rcxt:remote 8:tid{1|2|3|0xffffffffffffffff} pvo:lpvo pvo:rpvo "
	 "4:bytes{64|0|4096|65536|0xffffffff} 4:rflags{3|0|1|2|4|8|12|16} "
	 "4:attempts{0|1|65535} 4:fragment{0|1} 4:counter{0|1|2|64|65}",
	 "", 8, write_frame},
	{"third", "", "h",
	 "sendarea 4:index{0|1|15} 4:node{2|1|3|4} window "
	 "4:length{64|48|0|65535} rcxt:local rcxt:remote "
	 "8:tid{1|2|3|0xffffffffffffffff} pvo:tpvo pvo:spvo "
	 "4:bytes{64|0|4096|65536|0xffffffff} 4:counter{0|1|64|65} "
	 "4:attempts{0|1|65535} 4:rflags{0|1|2} 4:tnode{1|2|3|4} "
	 "window:target rcxt:trcxt",
	 "", 5, write_third},
	{"conditional", "", "h",
	 "sendarea 4:index{0|1|15} 4:length{16|0|48} 4:counter{0|1|63|64} "
	 "4:following{1|2|0|15|16|0xffffffff} "
	 "8:target{1|2|0|0xffffffffffffffff}",
	 "", 6, write_conditional},
	{"counter", "", "h",
	 "sendarea 4:index{0|1|15} 4:type{8|9|10} 4:length{24|0|48} "
	 "4:counter{0|1|63|64} rcxt 8:value{0|1|2|0xffffffffffffffff} "
	 "4:cookie{0|5} 4:cflags{0|1|2|3|4}",
	 "", 6, write_counter},
	{"offer", "", "h",
	 "sendarea 4:index{0|1|15} 4:node{1|2|3|4} window 4:kind{8|7|3|6} "
	 "4:length{24|0|64} rcxt pvo 8:tid{1|0|5|0x1000000000001} "
	 "4:bytes{3000|13|14|65536|65537}",
	 "", 3, write_offer},
	{"packet", "", "h",
	 "sendarea 4:index{0|1|15} 4:node{1|2|3|4} window "
	 "4:length{96|14|13|60|2032} 4:own{2|1|3} window:from "
	 "4:ether{0x800|0x86dd|0x806|0x9000|0x8100} 4:total{40|0|20|96|65535}",
	 "", 3, write_packet},
	{"marks", "", "h", "sendarea", "", 3, read_marks},
	{"take", "", "h", "recvarea cmdarea 4:frames{16|64|1}", "", 5,
	 take_frames},
	{"command", "", "h",
	 "cmdarea 4:op{1|2|3|4|5|6|0|7} 4:argument{1|0|2|16|0x80000000}", "", 8,
	 write_command},
	/* memory of the process */
	{"touch", "", "h", HAND_MEMORY " " HAND_SIZE " 4:seed{1|2}", "", 3,
	 touch_pages},
	{"unmap_mem", "", "h", HAND_MEMORY " 4:length{0x4000|0x1000|0x10000}",
	 "", 2, unmap_memory},
	{"map_mem", "", "h",
	 HAND_MEMORY " 4:length{0x4000|0x1000} 4:prot{3|1|0}", "", 2,
	 map_memory},
	{"protect", "", "h",
	 HAND_MEMORY " 4:length{0x4000|0x1000} 4:prot{1|0|3}", "", 2,
	 protect_memory},
	{"dontneed", "", "h",
	 HAND_MEMORY " 4:length{0x4000|0x1000} 4:advice{4|8|9|14|21}", "", 2,
	 advise_memory},
	{"move", "", "h", HAND_MEMORY " 4:length{0x4000|0x1000}", "", 1,
	 move_memory},
	{"late_write", "", "h",
	 "mem{0x10000000|0x10001000|0x17000000} 4:length{0x4000|0x1000|64}", "",
	 4, write_late},
	{"fork_exit", "", "h", "", "", 1, fork_and_exit},
	{"uffd_fill", "", "h", "4:page{0|1|2|3}", "", 2, fill_userfault},
	{"uffd_close", "", "h", "", "", 1, close_userfault},
	{"fuse_answer", "", "h", "", "", 2, nothing_to_do},
	/* packets of the namespace, held until they are read */
	{"sniff", "sniff", "h", "", "sniff:0:4", 2, open_packets},
	{"read_packets", "", "h", "sniff", "", 2, read_packets},
	/* rules for the packets of an interface (rules.cpp), the director sees to them */
	{"reflect", "", "h", "4:which{2|0|1|3} 4:how{0|1|2|3}", "", 1,
	 nothing_to_do},
	{"pedit", "", "h",
	 "4:which{2|0|1|3} 4:at{28|32|36|40|44|48|52|56|60|64|92|0|4|8|20|24} "
	 "4:value{0|0xffffffff|1} 4:how{0|1|2|3}",
	 "", 2, nothing_to_do},
	{"tunnel", "", "h", "4:which{2} " HAND_OPCODE " qpn 4:how{0|1}", "", 2,
	 nothing_to_do},
	/* what the last of them turns into a packet of that queue pair */
	{"tunnel_send", "", "h",
	 HAND_OPCODE " qpn 4:psn{1000|1001|0} 4:headers{16|0|4|20|28} " HAND_FAR
		     " rkey 4:bytes{64|0|1024|1400|4096} 4:kind{0|1|2|4|5|6} "
		     "4:port{1|2|3|4|0} qpn:from 4:flags{0|1|2|3|0xffffffff}",
	 "", 4, send_tunnel},
	/* interfaces over windows, of this namespace */
	{"netif_up", "", "h", "ifindex 4:up{1|0} 4:promisc{0|1}", "", 4,
	 set_netif},
	{"netif_mtu", "", "h", "ifindex 4:mtu{1500|65520|68|576|1280|65521}",
	 "", 1, set_netif_mtu},
	{"netif_send", "", "h",
	 "ifindex 4:node{2|1|3|4} window 4:kind{0|1|2|3|4|8|9|10|18|34|35} "
	 "4:length{100|1500|2100|3000|9000|65534|65535} 4:times{1|16|64}",
	 "", 6, send_netif},
	{"netif_unlink", "", "h", "ifindex", "", 2, unlink_netif},
	/* the world */
	{"pause", "", "h", "4:ms{2|1|20}", "", 2, pause_call},
	{"read_stats", "", "h", "4:device{0|1|2|3}", "", 1, read_stats},
	{"recover", "", "h", "4:device{0|1|2|3} 4:value{1|0|2}", "", 2,
	 recover_windows},
	{"read_debug", "", "h", "4:which{0|1|2|3|4|5|6|7|8|9}", "", 1,
	 read_debug},
	{"link", "", "h", "4:which{0|1|2|3} 4:up{0|1}", "", 1, set_link},
	{"mtu", "", "h", "4:which{0|1|2|3} 4:mtu{1500|9000|256|68|576}", "", 1,
	 set_mtu},
	/* ends actor number `whom`, the director sees to it */
	{"kill", "", "h", "4:whom{0|1|2|3}", "", 1, nothing_to_do},
	/* C's namespaces end, likewise */
	{"end_ns", "", "h", "", "", 0, nothing_to_do},
	/* `ip link del` of an interface; then the director makes the world anew */
	{"remove_link", "", "h", "4:which{0|2}", "", 0, remove_link},
};

} // namespace

const std::vector<Line> &hand_lines()
{
	return by_hand;
}

} // namespace callfuzz
