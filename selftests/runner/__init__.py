# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The parts of selftests/run: main.py is the command, plan.py the table of what runs where,
# groups.py finds items, schedule.py says which is next, session.py runs them, program.py
# and tap.py run and read one; times.py, measure.py and report.py keep and tell durations.
