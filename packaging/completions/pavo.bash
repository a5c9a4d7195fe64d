# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completes the arguments of pavo(1).

# Adapters of pavo's
_pavo_adapters()
{
	local file
	for file in /sys/class/infiniband/*/pavo_abi; do
		[ ! -e "$file" ] || basename "$(dirname "$file")"
	done
}

_pavo()
{
	local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} words
	case $COMP_CWORD:${COMP_WORDS[1]}:${COMP_WORDS[2]-} in
	1:*) words="check status top metrics interface --help --version" ;;
	*:check:*) words="--json --help $(_pavo_adapters)" ;;
	*:status:*)
		words="--json --queue-pairs --counters --forget --help $(_pavo_adapters)"
		;;
	*:top:*) words="--json --queue-pairs --interval --count --help $(_pavo_adapters)" ;;
	*:metrics:*) words="--output --listen --help $(_pavo_adapters)" ;;
	2:interface:*) words="add delete node show --help" ;;
	*:interface:add)
		words="--name --job --key --key-file --node --nodes --window --gid-index
			--peer --help $(_pavo_adapters)"
		;;
	*:interface:show) words="--json --help $(_pavo_adapters)" ;;
	esac
	[[ $last != --key-file && $last != --output ]] || words=$(compgen -f -- "$word")
	mapfile -t COMPREPLY < <(compgen -W "${words-}" -- "$word")
}

complete -F _pavo pavo
