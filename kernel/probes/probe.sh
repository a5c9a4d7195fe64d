#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# probe.sh - does a kernel have what a probe of this folder asks for? Called by Kbuild once for
# each probe. Compiles it with PAVO_HAS_NAME defined for the names in its comment, one after the
# other, until it compiles.
# usage: probe.sh RESULT DEPENDENCIES PROBE COMPILER...
#
# Prints an answer for each name that was tried. Writes RESULT, which is the probe's part of
# probed.h, DEPENDENCIES for make, and RESULT.log, what the compiler said last. Fails if the probe
# compiles for none of its names, unless there is only one and the module does not need it.
set -eu

result=$1
dependencies=$2
probe=$3
shift 3

# Warnings that CONFIG_WERROR makes errors mean nothing here; arguments of another type do.
try()
{
	name=$1
	shift
	rm -f "$dependencies"
	"$@" "-DPAVO_HAS_$name" -Wno-error -Werror=incompatible-pointer-types \
		-Werror=implicit-function-declaration -Werror=int-conversion \
		"-Wp,-MMD,$dependencies" -fsyntax-only "$probe" 2>"$result.log"
}

# Clang writes none for a file with errors, and no compiler does where a header is absent.
write_dependencies()
{
	[ ! -s "$dependencies" ] || return 0
	"$@" -M -MF "$dependencies" "$probe" 2>/dev/null ||
		echo "$result: $probe" >"$dependencies"
}

say_first_error()
{
	sed -n 's/^.*\(error: .*\)/  \1/p' "$result.log" | head -n 1 >&2
}

names=$(sed -n 's/^ \* \([A-Z0-9_]*\): .*/\1/p' "$probe")
use=$(sed -n 's/^ \* Needed for \(.*\)\.$/\1/p' "$probe")
first=${names%%[!A-Z0-9_]*}
found=
lines=
for name in $names; do
	is=$(sed -n "s/^ \* $name: //p" "$probe")
	has=0
	if [ -z "$found" ]; then
		status=0
		try "$name" "$@" || status=$?
		case $status in
		0)
			found=$name
			has=1
			echo "probe: $is: yes"
			;;
		1) echo "probe: $is: no" ;;
		*)
			cat "$result.log" >&2
			exit "$status"
			;;
		esac
	fi
	lines="$lines/* $is */
#define PAVO_HAS_$name $has
"
done

if [ -z "$found" ]; then
	if [ -n "$use" ]; then
		echo "pavo: this kernel lacks $is, which pavo needs for $use" >&2
		say_first_error
		exit 1
	elif [ "$first" != "$names" ]; then
		{
			echo "pavo: this kernel differs from all that pavo knows. None of these is true of it:"
			sed -n 's/^ \* [A-Z0-9_]*: /  /p' "$probe"
			echo "The compiler said about kernel/probes/${probe##*/}:"
		} >&2
		say_first_error
		exit 1
	fi
	write_dependencies "$@" "-DPAVO_HAS_$first"
fi
printf '%s' "$lines" >"$result"
