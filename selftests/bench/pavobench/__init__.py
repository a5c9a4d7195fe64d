# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pavobench - the host's part of the benchmark: guest runs, ratios, profiles.
# Standard library only. Used by ../run and ../profile.
