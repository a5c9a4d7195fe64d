// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * entries.cpp - the list of calls: commands written to the uverbs file, its methods, and
 * RDMA netlink. hand_entries.cpp lists the calls that are done by hand.
 *
 * A line is: name, beginning of its results' names, how it is called, fields, outputs.
 *   "w 3"       the command of number 3, written; its answer is where `resp` says
 *   "x 24 5 6"  likewise, extended: words of the answer and of the driver's part of it
 *   "m 7 2"     RDMA_VERBS_IOCTL: object and method
 *   "n 4 FLAGS" netlink: command of nldev, flags of the message
 * A field is [ATTR@]TYPE[:NAME][{VALUES}], in the order of the structure. TYPE is a number
 * of bytes, z and a number (zeros), a class of values that other calls give, or one of
 * special[] in table.cpp. ATTR? is left out where it is 0, + continues the attribute.
 * VALUES are those that are worth a try; the first is what it is if not told otherwise.
 * An output is NAME[/CLASS]:[ATTR@]OFFSET:SIZE in the answer.
 */
#include "table.h"

namespace callfuzz {
namespace {

#define MEMORY                                                       \
	"mem{0x10000000|0x10001000|0x11000000|0x12000000|0x13000000" \
	"|0x14000000|0x15000000|0x16000000|0x17000000}"
#define VA \
	"8:va{0x10000000|0|0x10000100|0x14000000|0x15000000|0xfffffffffffff000}"
#define LENGTH "8:length{0x4000|0|1|0x1000|0x10000|0x100000|0x40000000}"
#define ACCESS "4:access{0xf|0x1f|0x4f|0x5f|0|1|0x2f|0xff|0x100001}"
#define CAPS                                                 \
	"4:swr{8|0|1|64|16384|16385} 4:rwr{8|0|1|64|16384} " \
	"4:ssge{2|0|1|16|32|33} 4:rsge{2|0|1|16|32} "        \
	"4:inline{64|0|16|1024|2048}"
#define QPTYPE "{2|3|4|9|10|1|8|255}"
/* Ways and states; alternate paths are refused before the driver. */
#define WAY                                                             \
	"gid{1|0|2|3|4|5} 4:flow z4 sgid{0|1|2|3|4|5|8} 1:hop{64|0|1} " \
	"1:tc{0|2|255} 1:sl{0|7} z2 1:global{1|0} 1:port{1|0|2}"
#define ATTRIBUTES(STATE, MASK)                                           \
	WAY " z32 qp 4:mask{" MASK "} 4:qkey{0x12345|0x80010000} "        \
	    "4:rqpsn{1000|0|0xffffff} 4:sqpsn{1000|0|0xffffff} qpn:dest " \
	    "4:access{0xf|0|0x1f|0xff} 2:pkey{0|1} z2 1:state{" STATE     \
	    "} 1:cur{0|3|4|5} 1:mtu{3|1|5|6} z1 1:sqd{0|1} "              \
	    "1:rd{4|0|1|16|255} 1:drd{4|0|1|16|255} 1:rnr{1|0|31|32} "    \
	    "1:qport{1|0|2} 1:timeout{12|0|1|31|32} 1:retry{7|0|1|8} "    \
	    "1:rnrretry{7|0|1} z4"
#define QPOUT                                                           \
	"qp:0:4 qpn:4:4 sqoff:32:8 sqsize:40:4 rqoff:48:8 rqsize:56:4 " \
	"sqstride:64:4 sqcnt:68:4 rqstride:72:4 rqcnt:76:4"
#define QPOUTX                                                          \
	"qp:0:4 qpn:4:4 sqoff:40:8 sqsize:48:4 rqoff:56:8 rqsize:64:4 " \
	"sqstride:72:4 sqcnt:76:4 rqstride:80:4 rqcnt:84:4"
#define SRQOUT \
	"srq:0:4 srqn:40:4 rqoff:16:8 rqsize:24:4 rqstride:32:4 rqcnt:36:4"
#define GROUP "4:group{0x800001|0x800002|1|0xffffff|0x1000001}"
#define GROUP_RCXT "4:grcxt{0|1|63|64|0xffffffff}"
#define AHATTR                                                            \
	"gid{1|0|2|3|4|8|9|10} 4:flow sgid{0|1|2|3} 1:hop{64|0} 1:tc z1 " \
	"z2 1:sl{0|7} z1 1:rate 1:global{1|0} 1:port{1|0} z1"

const std::vector<Line> all = {
	/* contexts and what is asked */
	{"get_context", "ctx", "w 0", "dev resp",
	 "async:0:4 dboff:16:8 dbsize:24:4", 4},
	{"query_device", "", "w 1", "dev resp", "", 1},
	{"query_port", "", "w 2", "dev resp 1:port{1|0|2} z7", "", 1},
	{"ex_query_device", "", "x 1 32 0", "dev 4:mask z4", "", 1},
	/* protection domains, addresses */
	{"alloc_pd", "pd", "w 3", "dev resp", "pd:0:4", 3},
	{"dealloc_pd", "", "w 4", "dev pd", "", 2},
	{"create_ah", "ah", "w 5", "dev resp 8:user pd z4 " AHATTR, "ah:0:4",
	 2},
	{"destroy_ah", "", "w 8", "dev ah", "", 1},
	/* memory */
	{"reg_mr", "mr", "w 9",
	 "dev resp " MEMORY " " LENGTH " " VA " pd " ACCESS,
	 "mr:0:4 lkey:4:4 rkey:8:4", 8},
	{"rereg_mr", "key", "w 11",
	 "dev resp mr 4:flags{7|1|2|4|3|8} " MEMORY " " LENGTH " " VA
	 " pd " ACCESS,
	 "lkey:0:4 rkey:4:4", 6},
	{"dereg_mr", "", "w 13", "dev mr", "", 4},
	{"alloc_mw", "mw", "w 14", "dev resp pd 1:type{1|2|0|3} z3",
	 "mw:0:4 rkey:4:4", 3},
	{"dealloc_mw", "", "w 16", "dev mw", "", 2},
	/* completion queues */
	{"create_channel", "chan", "w 17", "dev resp", "chan:0:4", 2},
	{"create_cq", "cq", "w 18",
	 "dev resp 8:user 4:cqe{16|1|0|100|4096|4194304} 4:vector{0|1|9} "
	 "chan{0xffffffff} z4",
	 "cq:0:4 cqoff:8:8 cqsize:16:4 cqcnt:24:4", 4},
	{"resize_cq", "ring", "w 19",
	 "dev resp cq 4:cqe{32|1|0|16|1024|4194305}",
	 "cqoff:8:8 cqsize:16:4 cqcnt:24:4", 4},
	{"destroy_cq", "", "w 20", "dev resp cq z4", "", 3},
	{"poll_command", "", "w 21", "dev resp cq 4:n{1|0|8|0x7fffffff}", "",
	 1},
	{"notify", "", "w 23", "dev cq 4:solicited{0|1|2}", "", 3},
	/* queue pairs */
	{"create_qp", "qp", "w 24",
	 "dev resp 8:user pd cq:scq cq:rcq srq " CAPS
	 " 1:sig{1|0} 1:type" QPTYPE " 1:is_srq{0|1} z1",
	 QPOUT, 6},
	{"create_xini", "qp", "w 24",
	 "dev resp 8:user pd cq:scq cq:rcq z4 4:swr{8|0} 4:rwr{0} 4:ssge{2} "
	 "4:rsge{0} 4:inline{64} 1:sig{1} 1:type{9} z1 z1",
	 QPOUT, 2},
	{"create_xtgt", "qp", "w 24",
	 "dev resp 8:user xrcd:pd z4 z4 z4 4:swr{0} 4:rwr{0} 4:ssge{0} "
	 "4:rsge{0} 4:inline{0} 1:sig{0} 1:type{10} z1 z1",
	 QPOUT, 2},
	{"query_qp", "", "w 25", "dev resp qp 4:mask{0x1fffff|0|1}", "", 2},
	{"init", "", "w 26", "dev " ATTRIBUTES("1", "0x39|0x71|1"), "", 4},
	{"rtr", "", "w 26",
	 "dev " ATTRIBUTES("2", "0x129181|0x101181|1|0x121181"), "", 4},
	{"rts", "", "w 26", "dev " ATTRIBUTES("3", "0x12e01|0x10001|0x10e01"),
	 "", 4},
	{"modify_qp", "", "w 26",
	 "dev " ATTRIBUTES("6|0|1|2|3|4|5|7", "1|3|0x129181|0xffffffff"), "",
	 5},
	{"ex_modify_qp", "", "x 26 1 0",
	 "dev " ATTRIBUTES("6|0|3", "1|0x2000001") " 4:rate z4", "", 1},
	{"destroy_qp", "", "w 27", "dev resp qp z4", "", 4},
	{"kick_send", "", "w 28",
	 "dev resp qp 4:wrs{0|1} 4:sges{0|1} 4:wqe{80|0|0xffffffff}", "", 8},
	{"kick_recv", "", "w 29",
	 "dev resp qp 4:wrs{0|1} 4:sges{0} 4:wqe{16|0}", "", 4},
	{"attach", "", "w 30", "dev gid{8|9|1|10} qp 2:lid{0xc000} z2", "", 2},
	{"detach", "", "w 31", "dev gid{8|9|1|10} qp 2:lid{0xc000} z2", "", 2},
	/* extended */
	{"ex_create_cq", "cq", "x 18 2 3",
	 "dev 8:user 4:cqe{16|1|0|100} 4:vector chan{0xffffffff} 4:mask "
	 "4:flags{0|1|2|4} z4",
	 "cq:0:4 cqoff:16:8 cqsize:24:4 cqcnt:32:4", 2},
	{"ex_create_qp", "qp", "x 24 5 6",
	 "dev 8:user pd cq:scq cq:rcq srq " CAPS " 1:sig{1|0} 1:type" QPTYPE
	 " 1:is_srq{0|1} z1 4:mask 4:flags{0|2|0x1000} z4 4:source",
	 QPOUTX, 2},
	{"modify_cq", "", "x 57 0 0",
	 "dev cq 4:mask{1|0|3} 2:count{0|1|16|65535} 2:period{0|1|65535} z4",
	 "", 2},
	/* shared receive queues, XRC */
	{"create_srq", "srq", "w 32",
	 "dev resp 8:user pd 4:wr{8|0|1|64|16384} 4:sge{2|0|1|32|33} 4:limit",
	 SRQOUT, 3},
	{"modify_srq", "", "w 33",
	 "dev srq 4:mask{2|1|0|3} 4:wr{16|0} 4:limit{2|0|8|0xffffffff}", "", 2},
	{"query_srq", "", "w 34", "dev resp srq z4", "", 1},
	{"destroy_srq", "", "w 35", "dev resp srq z4", "", 2},
	{"open_xrcd", "xrcd", "w 37",
	 "dev resp fd{0xffffffff} 4:flags{0x40|0|0xc0|0x80}", "xrcd:0:4", 2},
	{"close_xrcd", "", "w 38", "dev xrcd", "", 1},
	{"create_xsrq", "srq", "w 39",
	 "dev resp 8:user 4:type{1|0|2} pd 4:wr{8|0|1} 4:sge{2|0|1} 4:limit "
	 "4:tags xrcd cq",
	 SRQOUT, 3},
	{"open_qp", "qp", "w 40", "dev resp 8:user xrcd:pd qpn 1:type{10|2} z7",
	 "qp:0:4 qpn:4:4", 2},
	/* methods of the core */
	{"m_handles", "", "m 0 1",
	 "dev 0@8:object{4|7|0x1000|0xffff} 1@out4 2@out64", "", 1},
	{"m_query_port", "", "m 0 2", "dev 0@8:port{1|0} 1@out56", "", 1},
	{"m_query_context", "", "m 0 4", "dev 0@out4 1@out8", "", 1},
	{"m_gid_table", "", "m 0 5",
	 "dev 0@8:size{32|0|64} 1@4:flags 2@out512 3@out8", "", 1},
	{"m_gid_entry", "", "m 0 6",
	 "dev 0@4:port{1|0} 1@4:index{0|1|1023|1024} 2@4:flags 3@out32", "", 1},
	{"m_dealloc_pd", "", "m 1 0", "dev 0@pd", "", 1},
	{"m_destroy_ah", "", "m 6 0", "dev 0@ah", "", 1},
	{"m_destroy_mr", "", "m 7 1", "dev 0@mr", "", 1},
	{"m_destroy_mw", "", "m 8 0", "dev 0@mw", "", 1},
	{"m_close_xrcd", "", "m 10 0", "dev 0@xrcd", "", 1},
	{"m_async", "async", "m 16 0", "dev 0@new", "async:0@0:4", 1},
	{"m_create_cq", "cq", "m 3 0",
	 "dev 0@new 1@4:cqe{16|0|1} 2@8:user 3?chan 4@4:vector 5?4:flags{0|2} "
	 "6@out4 7?async 0x1001@out24",
	 "cq:0@0:4 cqoff:0x1001@0:8 cqsize:0x1001@8:4 cqcnt:0x1001@16:4", 2},
	{"m_destroy_cq", "", "m 3 1", "dev 0@cq 1@out8", "", 1},
	{"m_create_qp", "qp", "m 4 0",
	 "dev 0@new 1?xrcd 2?pd 3?srq 4?cq:scq 5?cq:rcq 7@8:user 8@4:swr{8} "
	 "+4:rwr{8} +4:ssge{2} +4:rsge{2} +4:inline{64} 9@8:type" QPTYPE
	 " 10?4:flags{0|0x1000} 11?4:source 12?async 13@out20 14@out4 "
	 "0x1001@out48",
	 "qp:0@0:4 qpn:14@0:4 sqoff:0x1001@0:8 sqsize:0x1001@8:4 "
	 "rqoff:0x1001@16:8 rqsize:0x1001@24:4 sqstride:0x1001@32:4 "
	 "sqcnt:0x1001@36:4 rqstride:0x1001@40:4 rqcnt:0x1001@44:4",
	 2},
	{"m_destroy_qp", "", "m 4 1", "dev 0@qp 1@out4", "", 1},
	{"m_create_srq", "srq", "m 5 0",
	 "dev 0@new 1@pd 2?xrcd 3?cq 4@8:user 5@4:wr{8|0} 6@4:sge{2|0} "
	 "7@4:limit 8?4:tags 9@8:type{0|1} 10?async 11@out4 12@out4 "
	 "13@out4 0x1001@out32",
	 "srq:0@0:4 srqn:0x1001@24:4 rqoff:0x1001@0:8 rqsize:0x1001@8:4 "
	 "rqstride:0x1001@16:4 rqcnt:0x1001@20:4",
	 2},
	{"m_destroy_srq", "", "m 5 1", "dev 0@srq 1@out4", "", 1},
	{"advise_mr", "", "m 7 2",
	 "dev 0@pd 1@8:advice{0|1|2|3} 2@4:flags{0|1|2} 3@" MEMORY
	 " +4:length{0x1000|0|0x4000|0x10000} +lkey",
	 "", 5},
	{"query_mr", "", "m 7 3", "dev 0@mr 1@out4 2@out4 3@out8 4@out8", "",
	 1},
	{"reg_dmabuf", "mr", "m 7 4",
	 "dev 0@new 1@pd 2@8:offset{0|0x1000|0xfff} 3@" LENGTH " 4@" VA
	 " 5@dmabuf 6?" ACCESS " 7@out4 8@out4",
	 "mr:0@0:4 lkey:7@0:4 rkey:8@0:4", 3},
	/* pavo's own: jobs, mappings, watches */
	{"job_open", "job", "m 0x1000 0x1000",
	 "dev 0x1000@new 0x1001@4:id{7|8|0|0xffffffff} +4:flags{1|0|2} "
	 "+8:key{99|0} +8:limit{0|0x1000|0x10000}",
	 "job:0x1000@0:4", 5},
	{"job_close", "", "m 0x1000 0x1001", "dev 0x1000@job", "", 2},
	{"job_query", "", "m 0x1000 0x1002", "dev 0x1000@job 0x1002@out56", "",
	 1},
	{"job_check", "", "m 0x1000 0x1003",
	 "dev 0x1000@job 0x1003@pvo +" LENGTH " 0x1004@out4", "", 2},
	{"map", "map", "m 0x1001 0x1000",
	 "dev 0x1000@new 0x1001@job 0x1002@" MEMORY " +" LENGTH " 0x1003@out16",
	 "mapping:0x1000@0:4 pvo:0x1003@0:8", 5},
	{"unmap", "", "m 0x1001 0x1001", "dev 0x1000@mapping", "", 2},
	{"watch_open", "watch", "m 0x1002 0x1000",
	 "dev 0x1000@new 0x1001@4:slots{4|0|1|65536|65537} 0x1002@out16",
	 "watch:0x1000@0:4 wordsoff:0x1002@0:8 wordssize:0x1002@8:4", 3},
	{"watch_close", "", "m 0x1002 0x1001", "dev 0x1000@watch", "", 1},
	{"watch_set", "", "m 0x1002 0x1002",
	 "dev 0x1000@watch 0x1003@" MEMORY " +" LENGTH
	 " +4:slot{0|1|3|4|65535} +4:reserved",
	 "", 3},
	/* windows */
	{"window_open", "win", "m 0x1003 0x1000",
	 "dev 0x1000@new 0x1001@job 0x1002@4:sframes{16|15|64|32768} "
	 "+4:rframes{16|0|64|32768} +4:nodes{4|0|1|65536|65537} "
	 "+2:node{1|2|65535} +sgid2{0|1|2|3} +efd:recv{0xffffffff} "
	 "+efd:send{0xffffffff} +4:flags{0|1|2} 0x1003@out56",
	 "win:0x1000@0:4 sendoff:0x1003@0:8 sendsize:0x1003@8:4 "
	 "recvoff:0x1003@16:8 recvsize:0x1003@24:4 cmdoff:0x1003@32:8 "
	 "cmdsize:0x1003@40:4 window:0x1003@48:4",
	 6},
	{"window_close", "", "m 0x1003 0x1001", "dev 0x1000@win", "", 2},
	{"window_node", "", "m 0x1003 0x1002",
	 "dev 0x1000@win 0x1004@gid{1|0|2|3} +4:node{2|1|3|4|65535} "
	 "+2:flags{0|1|2|3|4} +2:ports{0|1|16|17} +sgid2{8|0|1} +z6",
	 "", 5},
	{"window_kick", "", "m 0x1003 0x1003", "dev 0x1000@win", "", 8},
	{"window_query", "", "m 0x1003 0x1004", "dev 0x1000@win 0x1005@out144",
	 "", 1},
	{"take_rcxts", "rcxt", "m 0x1003 0x1005", "dev 0x1000@win 0x1006@out16",
	 "a/rcxt:0x1006@0:4 b/rcxt:0x1006@4:4 c/rcxt:0x1006@8:4", 5},
	{"return_rcxts", "", "m 0x1003 0x1006",
	 "dev 0x1000@win 0x1007@rcxt:a +rcxt:b", "", 3},
	{"cancel", "", "m 0x1003 0x1007", "dev 0x1000@win 0x1007@rcxt:a", "",
	 4},
	{"add_handler", "handler", "m 0x1004 0x1000",
	 "dev 0x1000@win 0x1008@efd 0x1009@out4", "handler:0x1009@0:4", 3},
	{"remove_handler", "", "m 0x1004 0x1001",
	 "dev 0x1000@win 0x100a@handler", "", 2},
	{"disable", "", "m 0x1004 0x1002", "dev 0x1000@win", "", 3},
	{"snapshot", "", "m 0x1004 0x1003", "dev 0x1000@win 0x100b@out4", "",
	 2},
	{"join", "", "m 0x1004 0x1004",
	 "dev 0x1000@win 0x100c@gid{8|9|1|10} +" GROUP " +4:reserved{0|1}", "",
	 5},
	{"leave", "", "m 0x1004 0x1005", "dev 0x1000@win 0x100d@" GROUP, "", 2},
	{"bind", "", "m 0x1004 0x1006",
	 "dev 0x1000@win 0x100e@" GROUP " +" GROUP_RCXT
	 " +pvo +8:length{0x4000|0x1000|1|0|0xffffffffffffffff} +8:tid{0|1|5}",
	 "", 5},
	{"unbind", "", "m 0x1004 0x1007",
	 "dev 0x1000@win 0x100f@" GROUP " +" GROUP_RCXT, "", 2},
	/* handlers of an adapter */
	{"handler_open", "handler", "m 0x1007 0x1000",
	 "dev 0x1000@new 0x1001@efd", "ahandler:0x1000@0:4", 3},
	{"handler_close", "", "m 0x1007 0x1001", "dev 0x1000@ahandler", "", 2},
	{"handler_ready", "", "m 0x1007 0x1002", "dev 0x1000@ahandler", "", 3},
	{"handler_take", "", "m 0x1007 0x1003",
	 "dev 0x1000@ahandler 0x1002@out16", "", 3},
	/* interfaces over windows; they stay until the world is mended */
	{"netif_add", "netif", "m 0x1008 0x1000",
	 "dev 0x1000@8:key{99|0} +4:job{7|8|0} +4:window{0|100|4095|65536} "
	 "+4:nodes{4|1|0|1024|1025} +2:node{1|2|4|0} +sgid2{0|1|2|3} "
	 "+8:name{0|0x30666e|0x6166|0x64256e} +z8 "
	 "0x1001?gid{1|0|2|3} +4:peer{0|100|101} +2:peernode{2|1|3|4} +z2 "
	 "0x1002@out48",
	 "ifindex:0x1002@0:4 window:0x1002@8:4", 4},
	{"netif_delete", "", "m 0x1008 0x1001", "dev 0x1003@ifindex", "", 2},
	{"netif_node", "", "m 0x1008 0x1002",
	 "dev 0x1003@ifindex 0x1004@gid{1|0|2|3|8} +window +2:node{2|1|3|4|0} "
	 "+2:reserved{0|1}",
	 "", 4},
	{"netif_query", "", "m 0x1008 0x1003",
	 "dev 0x1003@ifindex 0x1002@out48", "", 1},
	/* doorbells; a worker's own call does not return, and is left out */
	{"kick", "", "m 0x1005 0x1000", "dev", "", 4},
	{"idle", "", "m 0x1005 0x1001",
	 "dev 0x1000@4:idle{0|10|1000000|0xffffffff}", "", 1},
	/* direct windows */
	{"direct_open", "direct", "m 0x1006 0x1000",
	 "dev 0x1000@new 0x1001@pd "
	 "0x1002@8:base{0x10000|0|0x12345678|0xfffffffffffff000} "
	 "+4:ranges{4|1|0|1024|1025} +4:size{4096|65536|0|100|69632} "
	 "+4:buffers{2|1|0|1024|1025} +4:flags{0|1} 0x1003@out40",
	 "direct:0x1000@0:4 lkey:0x1003@28:4", 5},
	{"direct_close", "", "m 0x1006 0x1001", "dev 0x1000@direct", "", 2},
	{"direct_arm", "", "m 0x1006 0x1002",
	 "dev 0x1000@direct 0x1004@4:range{0|1|3|4} "
	 "+4:total{4096|1|0|65536|65537} +4:flags{0|1|2|3|4|8|12|16|17|32} "
	 "+4:reserved{0|1}",
	 "", 6},
	{"direct_post", "", "m 0x1006 0x1002",
	 "dev 0x1000@direct 0x1004@4:range{0|1|3|4} +4:total{4096|1} "
	 "+4:flags{0|1} +z4 0x1008@8:doorbell{0|0xffffffffffffffff|0x1000000}",
	 "", 6},
	{"direct_count", "", "m 0x1006 0x1003",
	 "dev 0x1000@direct 0x1005@4:range{0|1|3|4} "
	 "+4:bytes{4096|1|0|65536|0xffffffff}",
	 "", 6},
	{"direct_disarm", "", "m 0x1006 0x1004",
	 "dev 0x1000@direct 0x1006@4:range{0|1|3|4}", "", 3},
	{"direct_export", "", "m 0x1006 0x1005",
	 "dev 0x1000@direct 0x1006@4:range{0|1|3|4} 0x1007@out4",
	 "dmabuf:0x1007@0:4", 2},
	{"direct_io", "", "m 0x1006 0x1006",
	 "dev 0x1000@direct 0x1009@4:range{0|1|3|4} "
	 "+4:total{4096|1|0|65536|65537} +4:flags{0|1|2|4|8|12|16} +4:fd "
	 "+8:offset{0|1|4000|0x7fffffffffffffff|0xfffffffffffffff0}",
	 "", 6},
	{"direct_io_post", "", "m 0x1006 0x1006",
	 "dev 0x1000@direct 0x1009@4:range{0|1|3|4} +4:total{4096|1} "
	 "+4:flags{0|1} +4:fd +8:offset{0|1} "
	 "0x1008@8:doorbell{0|0xffffffffffffffff|0x1000000}",
	 "", 6},
	/* netlink; 0x301: a dump, 5: with an acknowledgment */
	{"nl_get", "", "n 1 1", "1@4:device{0|1|2|3}", "", 1},
	{"nl_dump", "", "n 1 0x301", "", "", 1},
	{"nl_set", "", "n 2 5", "1@4:device{0|1|2|3} 2?str 68?4:fd 84?1:dim",
	 "", 1},
	{"nl_newlink", "", "n 3 5",
	 "2@str:name{6|0|1|2|3|7} 65@str:type{5|6} 51@str:netdev{1|2|3|4|8|9|14}",
	 "", 2},
	{"nl_dellink", "", "n 4 5", "1@4:device{0|1|2|3}", "", 1},
	{"nl_port", "", "n 5 1", "1@4:device{0|1} 3@4:port{1|0|2}", "", 1},
	{"nl_res", "", "n 9 1", "1@4:device{0|1|2|3}", "", 1},
	{"nl_qp", "", "n 10 0x301", "1@4:device{0|1} 97?1:details{1}", "", 2},
	{"nl_qp_one", "", "n 10 1", "1@4:device{0|1} 21@qpn 97?1:details{1}",
	 "", 1},
	{"nl_cq", "", "n 12 0x301", "1@4:device{0|1} 97?1:details{1}", "", 1},
	{"nl_mr", "", "n 13 0x301", "1@4:device{0|1} 97?1:details{1}", "", 2},
	{"nl_pd", "", "n 14 0x301", "1@4:device{0|1}", "", 1},
	{"nl_ctx", "", "n 22 0x301", "1@4:device{0|1}", "", 1},
	{"nl_srq", "", "n 23 0x301", "1@4:device{0|1}", "", 1},
	{"nl_mr_raw", "", "n 21 1", "1@4:device{0|1} 62@4:mrn{1|2}", "", 1},
	{"nl_stat_bind", "", "n 16 5",
	 "1@4:device{0|1} 3@4:port{1|0} 74@4:mode{2|1|0} 75@4:res{19|0|1} "
	 "21?qpn 76?4:mask{0|1|2|3} 79?4:counter",
	 "", 3},
	{"nl_stat_auto", "", "n 16 5",
	 "1@4:device{0|1} 3@4:port{1} 74@4:mode{1|0} 75@4:res{19|0} "
	 "76@4:mask{1|0|2|3}",
	 "", 1},
	{"nl_stat_get", "", "n 17 1",
	 "1@4:device{0|1} 3@4:port{1|0} 75?4:res{0|19} 74?4:mode{0|1|2}", "",
	 2},
	{"nl_stat_dump", "", "n 17 0x301", "75@4:res{19|0}", "", 1},
	{"nl_stat_del", "", "n 18 5",
	 "1@4:device{0|1} 3@4:port{1} 75@4:res{19|0} 79@4:counter{1|2} 21@qpn",
	 "", 2},
};

} // namespace

const std::vector<Line> &lines()
{
	return all;
}

} // namespace callfuzz
