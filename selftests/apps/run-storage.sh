#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The apps group: NVMe over fabrics, NFS and iSER, whose kernel parts the native kernel
# has not. Called by selftests/run, or by hand after `make`.
# usage: run-storage.sh
exec "$(dirname "$(readlink -f "$0")")/run.sh" storage
