# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Completes the arguments of pavo-copy(1).

_pavo_copy()
{
	local word=${COMP_WORDS[COMP_CWORD]}
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "receive send --help --version" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "--port --bind --chunk --slots --timeout \
--to-many --from --adapter --group --quiet --help --version" -- "$word")
	elif [ "$COMP_CWORD" = 2 ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -A hostname -- "$word")
	fi
}

complete -F _pavo_copy pavo-copy
