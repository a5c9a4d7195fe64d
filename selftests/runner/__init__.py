# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The parts of selftests/run: tap.py reads TAP, groups.py finds and starts test
# programs, main.py is the command.
