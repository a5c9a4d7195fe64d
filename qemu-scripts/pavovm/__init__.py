# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# pavovm - boots one virtual machine or several on a virtual wire, runs a
# command in them and brings back status, console and files. Standard library
# only. Used by the pavo-vm command and, through it, by every guest test.
