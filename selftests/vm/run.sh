#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Group vm: what the other groups believe of pavo-vm - statuses, output and files come
# back as they were, nodes find each other, and what goes wrong in a guest is told.
# Called by selftests/run, or by hand; needs nothing built.
# On an emulated kernel it runs whole where qemu-scripts/ or this folder changed since it
# last passed so on this machine, or with PAVO_WIDE=1 (make test-full); otherwise a part.
# shellcheck disable=SC2317  # called by check
set -u
: "${PAVO_WIDE:=}"
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
# For check and its like; nothing here is a guest.
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
logs=${PAVO_LOGS:-$PAVO_BUILD/test-logs/vm}
mkdir -p "$logs"

native=
case ${PAVO_KERNEL:-} in native*) native=1 ;; esac
program=qemu-system power_off=reboot
[ -z "$native" ] || program=native/linux power_off=poweroff

# The files that the whole depends on, and their sums when it last passed.
passed=${PAVO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pavo}/vm-passed
inputs=$(cd "$PAVO_TREE" && find qemu-scripts selftests/vm -type f ! -name '*.pyc' -print0 |
	sort -z | xargs -0 sha256sum | sha256sum)
part=
[ -n "$native$PAVO_WIDE" ] || [ "$(cat "$passed" 2>/dev/null)" != "$inputs" ] || part=1

# whole NAME COMMAND...: a test that is left out of the part; emulated_whole: the same, one of
# the emulator
whole()
{
	if [ -n "$part" ]; then
		tap_skip "$1" "qemu-scripts/ is as it was when it passed"
	else
		check "$@"
	fi
}

emulated_whole()
{
	[ -n "$native" ] || whole "$@"
}

# emulated NAME COMMAND...: one of the emulator, or of kernels that all users find.
emulated()
{
	[ -n "$native" ] || check "$@"
}

# meanwhile COMMAND: in the background; whole_meanwhile makes it a test. A machine that waits for
# its end costs little beside others.
meanwhile()
{
	(
		set -eE
		"$1"
	) >"$logs/$1.later" 2>&1 &
	other=$!
}

# whole_meanwhile NAME COMMAND: the one that is in the background
whole_meanwhile()
{
	other_status=0
	[ -n "$part" ] || wait "$other" || other_status=$?
	whole "$1" ended_well "$2"
}

ended_well()
{
	cat "$logs/$1.later"
	return "$other_status"
}

# boot NAME STATUS "run | cluster N" ARGUMENTS...: it ends with that status. Its log
# is in $logs/NAME, what it said in NAME.said and NAME.errors.
boot()
{
	local name=$1 expected=$2 what=$3 status=0
	shift 3
	# shellcheck disable=SC2086  # cluster and its number
	"$PAVO_VM" $what --logs "$logs/$name" --timeout "$(limit 100)" \
		--no-kmemleak "$@" >"$logs/$name.said" 2>"$logs/$name.errors" ||
		status=$?
	[ "$status" = "$expected" ] && return
	echo "status $status instead of $expected:"
	cat "$logs/$name.errors"
	return 1
}

# told NAME TEXT: by pavo-vm itself
told()
{
	grep -qF -- "$2" "$logs/$1.errors" || {
		echo "not told: $2"
		cat "$logs/$1.errors"
		return 1
	}
}

# each NAME FIELD: of every node's verdict
each()
{
	python3 -c 'import json, sys
print(*[v[sys.argv[2]] for v in json.load(open(sys.argv[1]))])' \
		"$logs/$1/result.json" "$2"
}

# --- one machine -------------------------------------------------------------------

one_machine()
{
	# A status of its own, although the console had a complaint that is known
	(cd "$logs" && boot one 7 run --env GREETING='two words' --smp 1 --mem 700M \
		--append pavovm.test=1 --allow-console 'planted and known' -- \
		bash "$here/guest.sh" "$logs/data" 'a b' '*')
}

output_comes_back()
{
	cmp "$logs/data" "$logs/one.said"
	cmp "$logs/data" "$logs/one/share/node1/output"
}

files_come_back()
{
	local out=$logs/one/share/node1/out
	cmp "$logs/data" "$out/copy"
	cmp "$logs/data" "$out/in a folder/copy"
	[ -f "$out/empty" ] && [ ! -s "$out/empty" ]
	grep -q 'planted and known' "$logs/one/node1.console"
	grep -q "$program" "$logs/one/node1.command"
}

# The guest finds the arguments and files that it was given.
options_arrive()
{
	diff - "$logs/one/share/node1/out/facts" <<-END
		arguments: <a b> <*>
		folder: $logs
		greeting: two words
		node 1 of 1, user 0, 1 CPU
		memory: below 700 MiB
		kernel argument: pavovm.test=1
		kernel: $("$PAVO_VM" kernels --release "${PAVO_KERNEL:-default}")
	END
}

host_is_untouched()
{
	[ "$(sha256sum <"$logs/data")" = "$sum" ]
	[ ! -e "$logs/data.new" ]
}

# --- what goes wrong in it ------------------------------------------------------------

complaint()
{
	boot complaint 240 run 'echo "<4>BUG: planted" >/dev/kmsg'
	told complaint "the command's status was 0"
	told complaint "BUG: planted"
}

lost_machines()
{
	boot lost 241 "cluster 2" --on 1 'echo c >/proc/sysrq-trigger' \
		--on 2 "/run/pavo/bin/busybox $power_off -f"
	[ "$(each lost status)" = "241 243" ]
	told lost "node 1: kernel panic: sysrq triggered crash"
	told lost "node 2: the machine ended without a status"
}

# lost_boots NAME: how many boots of each node were lost. A busy host has others repeated.
lost_boots()
{
	python3 -c 'import json, sys
print(*[v["boots_again"].count("lost") for v in json.load(open(sys.argv[1]))])' \
		"$logs/$1/result.json"
}

# In the emulator's place: node 2 is lost in its first boot, at the same point each time.
losing_emulator()
{
	local tools=$logs/losing
	mkdir -p "$tools"
	rm -f "$tools/was-lost"
	cat >"$tools/qemu-system-x86_64" <<-END
		#!/bin/bash
		if [[ "\$* " == *"-name pavo-node2 "* ]] && [ ! -e "$tools/was-lost" ]; then
			echo lost >"$tools/was-lost"
			echo "[    0.0] Linux version" >"$logs/again/node2.console"
			kill -KILL \$\$
		fi
		exec $(command -v qemu-system-x86_64) "\$@"
	END
	chmod +x "$tools/qemu-system-x86_64"
	PATH=$tools:$PATH
}

# The emulator may lose a machine before its session began; that one boots again, and
# the other still meets it on the wire.
lost_boot()
{
	losing_emulator
	# shellcheck disable=SC2016  # the guest's
	boot again 0 "cluster 2" --accel tcg --smp 1 --mem 700M '
		pavo-until 30 ping -c 1 -W 1 "wire$((3 - NODE))" >/dev/null &&
			pavo-barrier end'
	[ "$(lost_boots again)" = "0 1" ]
	grep -q 'Linux version' "$logs/again/node2.console.boot1"
	told again "node 2 up after"
	told again ", boot "
}

# One that ends so each time is told, with how often it was tried.
no_boot()
{
	boot never 241 run --accel tcg --smp 1 --mem 700M --append rdinit=/none true
	told never "kernel panic while booting, $(each never boots) times: "
	[ "$(lost_boots never)" = 2 ]
}

running()
{
	pgrep -f -- "=$logs/$1/share" >/dev/null
}

# The limit counts from before the boot, which may take longer than the first did.
time_limit()
{
	local seconds
	seconds=$(each one seconds)
	boot hanging 242 run --timeout $((${seconds%.*} * 3 + 15)) \
		'trap "" TERM; echo began; while :; do sleep 1000; done'
	grep -q began "$logs/hanging.said"
	told hanging "time limit of"
	refused running hanging
}

interrupted()
{
	local pid
	rm -f "$logs/stopped.said"
	boot stopped 245 "cluster 2" 'echo began; sleep 1000' &
	pid=$!
	until_true "$(limit 60)" grep -q began "$logs/stopped.said"
	running stopped
	# Signals that come while it ends its machines change nothing.
	while pkill -TERM -P "$pid"; do :; done
	wait "$pid"
	refused running stopped
}

# --- several ------------------------------------------------------------------------

# The first node is the one that fails if either does not see the other.
two_machines()
{
	# shellcheck disable=SC2016  # the guest's
	boot two 0 "cluster 2" --mtu 9000 --on 1 '
		set -e
		echo one here
		pavo-put word "from one"
		[ "$(cat /sys/class/net/eth0/mtu)" = 9000 ]
		pavo-until 30 ping -c 1 -W 1 -s 8900 wire2 >/dev/null
		pavo-until 30 ping -c 1 -W 1 fd00:77::2 >/dev/null
		pavo-barrier end' --on 2 '
		set -e
		echo two here
		[ "$(pavo-get word)" = "from one" ]
		pavo-barrier end'
	[ "$(sort "$logs/two.said")" = $'node1| one here\nnode2| two here' ]
	[ "$(each two status)" = "0 0" ]
}

# A failed node ends the waits of the others; every node has a status of its own.
three_machines()
{
	# shellcheck disable=SC2016  # NODE is the guest's
	boot three 1 "cluster 3" '
		[ "$NODES" = 3 ] || exit 99
		pavo-until 30 ping -c 1 -W 1 "wire$((NODE % 3 + 1))" >/dev/null ||
			exit 98
		pavo-barrier all || exit 97
		case $NODE in
		1) pavo-get nothing 10000 ;;
		*) exit $((NODE + 40)) ;;
		esac'
	[ "$(each three status)" = "1 42 43" ]
	grep -q '^node1| pavo-get: given up, node [23] failed' "$logs/three.said"
}

# --- a shell ------------------------------------------------------------------------

# Shells of its own: there is one set of them at a time in each cache.
own_cache()
{
	local cache=${PAVO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pavo} part
	mkdir -p "$logs/cache"
	for part in "$cache"/*; do
		[ "${part##*/}" = shell ] || ln -sfn "$part" "$logs/cache/"
	done
	export PAVO_CACHE=$logs/cache
}

# begin NAME NODE ARGUMENTS...: of pavo-vm, in the background without a terminal, until
# NODE's prompt is there. $pid is its; what is written to $keys is typed (a tab
# would ask the shell for words).
begun=()
begin()
{
	local name=$1 prompt=node$2$'\e[0m:'
	shift 2
	rm -f "$logs/$name.keys"
	mkfifo "$logs/$name.keys"
	exec {keys}<>"$logs/$name.keys"
	timeout "$(limit 200)" "$PAVO_VM" "$@" <"$logs/$name.keys" \
		>"$logs/$name.said" 2>"$logs/$name.errors" &
	pid=$!
	begun+=("$pid")
	# check has a shell for each test
	trap 'kill "${begun[@]}" 2>/dev/null || :' EXIT
	until_true "$(limit 100)" grep -qF "$prompt" "$logs/$name.said"
}

# ended NAME PID STATUS
ended()
{
	local status=0
	wait "$2" || status=$?
	[ "$status" = "$3" ] && return
	echo "$1: status $status instead of $3"
	cat "$logs/$1.said" "$logs/$1.errors"
	return 1
}

# The terminal echoes typed lines as well, so their answer is another text.
shell_alone()
{
	own_cache
	begin shell 1 shell --smp 1 --logs "$logs/shell"
	# shellcheck disable=SC2016  # the guest's
	echo 'cd /; echo "$((6 * 7)) of $NODES"; echo kept >$PAVO_OUT/kept; exit 3' \
		>&"$keys"
	ended shell "$pid" 3
	grep -q '42 of 1' "$logs/shell.said"
	[ "$(<"$logs/shell/share/node1/out/kept")" = kept ]
	not_started "no \`pavo-vm shell\` is running" attach 1
}

shell_of_two()
{
	local first first_keys
	own_cache
	begin shells 1 shell --nodes 2 --smp 1 --logs "$logs/shells"
	first=$pid first_keys=$keys
	told shells "other nodes: pavo-vm attach 2"
	begin attach 2 attach 2
	echo 'pavo-until 30 ping -c 1 -W 1 wire1 && pavo-put word "from two"; exit 5' \
		>&"$keys"
	ended attach "$pid" 0
	# shellcheck disable=SC2016  # the guest's
	echo 'word=$(pavo-get word) && echo "it is ${word^^}"; exit 0' >&"$first_keys"
	ended shells "$first" 0
	grep -q 'it is FROM TWO' "$logs/shells.said"
}

# --- an ordinary user -----------------------------------------------------------------

# as_user COMMAND...: by one who owns $own and may do what everybody may.
as_user()
{
	env -u PAVO_CACHE -u XDG_CACHE_HOME -u PAVO_KERNEL HOME="$own" setpriv \
		--reuid=65534 --regid=65534 --clear-groups --no-new-privs \
		--inh-caps=-all "$@"
}

# Why there is no user to try it, if so. The kernels that root fetched are root's.
no_user()
{
	if [ "$(id -u)" != 0 ]; then
		echo "not root: it is one who runs all of this"
	elif ! as_user true 2>/dev/null; then
		echo "setpriv (util-linux) cannot become another user here"
	elif ! as_user test -w "$own" -a -x "$PAVO_VM" -a -r "$here/guest.sh"; then
		echo "others may not read this tree"
	elif ! as_user "$PAVO_VM" kernels --release default >/dev/null 2>&1; then
		echo "others find no kernel"
	fi
}

# In the guest that user is root, and files come back as the user's own.
ordinary_user()
{
	local status=0 out=$own/logs/share/node1/out
	[ "$(as_user id -u)" = 65534 ]
	# shellcheck disable=SC2016  # the guest's
	(cd "$own" && as_user "$PAVO_VM" run --logs "$own/logs" --smp 1 --mem 700M \
		--timeout "$(limit 100)" --no-kmemleak --env OWN="$own" '
		[ "$(id -u)" = 0 ] && [ "$PWD" = "$OWN" ] || exit 1
		modprobe dummy && ip link add dummy9 type dummy || exit 2
		echo kept >$PAVO_OUT/kept
		echo new >new || exit 3
		echo "not a word more"
		exit 7') >"$logs/user.said" 2>"$logs/user.errors" || status=$?
	[ "$status" = 7 ] || cat "$logs/user.errors"
	[ "$status" = 7 ]
	[ "$(<"$logs/user.said")" = "not a word more" ]
	[ "$(<"$out/kept")" = kept ]
	[ "$(stat -c %u "$out/kept" "$own/.cache/pavo" | sort -u)" = 65534 ]
	[ ! -e "$own/new" ]
}

# --- nothing started ------------------------------------------------------------------

# not_started TEXT ARGUMENTS...: refused with TEXT before any machine is there
not_started()
{
	local text=$1 status=0
	shift
	"$PAVO_VM" "$@" >"$logs/refused.said" 2>"$logs/refused.errors" || status=$?
	[ "$status" = 244 ] && told refused "$text" && return
	echo "status $status of: pavo-vm $*"
	return 1
}

wrong_use()
{
	not_started "unrecognized arguments: --no-such-option" \
		kernels --no-such-option
	not_started "argument --mem: expected one argument" run --mem
	not_started "argument --smp: 'many' is not a number of 1 or more" run --smp many true
	not_started "invalid choice: 'walk'" walk
	not_started "nothing to run on node 1: no command given" run
	not_started "nothing to run on node 2: no command given" \
		cluster 2 --on 1 true
	not_started "--on 3: nodes are 1 to 2" cluster 2 --on 3 true true
	not_started "1 to 64 machines, please" cluster 0 true
	not_started "--env 1A=2: not a variable name" run --env 1A=2 true
	not_started "no kernel 'no-such' (known: " run --kernel no-such true
	not_started "--kernel-image and --modules go together" \
		run --modules "$here" true
	not_started "not empty and not made by pavo-vm" run --logs "$here" true
	if [ -n "$native" ]; then
		not_started "no terminal for a shell" shell
		not_started "needs neither --icount nor --accel" run --icount true
	fi
}

missing_qemu()
{
	local tools=$logs/tools
	mkdir -p "$tools"
	# the interpreter itself, which "python3" may only find by a script
	ln -sf "$(python3 -c 'import sys; print(sys.executable)')" "$tools/python3"
	ln -sf "$(command -v grep)" "$(command -v cat)" "$tools"
	PATH=$tools not_started "qemu-system-x86_64 is missing; try: " run true
}

echo "TAP version 13"
head -c 1000003 /dev/urandom >"$logs/data"
rm -f "$logs/data.new"
sum=$(sha256sum <"$logs/data")
check "wrong use is told, and starts nothing" wrong_use
emulated "a missing QEMU is told" missing_qemu
check "one machine: the command's status" one_machine
check "one machine: output as it was" output_comes_back
check "one machine: files and logs as they were" files_come_back
check "one machine: options and environment arrive" options_arrive
check "one machine: the host's files stay as they are" host_is_untouched
[ -n "$part" ] || meanwhile time_limit
check "two machines: a wire, values and barriers" two_machines
whole "three machines: each its own status" three_machines
emulated_whole "a shell: what is typed, and its status" shell_alone
emulated_whole "a shell on each of two machines" shell_of_two
whole "a complaint on the console" complaint
whole "a panic, and an end without a word" lost_machines
emulated_whole "a machine lost while it boots boots again" lost_boot
emulated_whole "a kernel that never boots" no_boot
whole_meanwhile "the time limit ends what hangs" time_limit
whole "interrupted, no machine stays" interrupted
if [ -z "$native" ]; then
	own=$(mktemp -d)
	trap 'rm -rf "$own"' EXIT
	chown 65534:65534 "$own" 2>/dev/null
	why=$(no_user)
	if [ -n "$why" ]; then
		tap_skip "by an ordinary user" "$why"
	else
		whole "by an ordinary user" ordinary_user
	fi
fi
if [ -z "$native$part" ] && ((tap_failed == 0)); then
	mkdir -p "${passed%/*}" && echo "$inputs" >"$passed"
fi
tap_end
