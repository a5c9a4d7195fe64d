# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makefile - the front desk: one target for everything a person does with the
# tree. Owns nothing itself: the module is built by the kernel's own build from
# Kbuild, user space by Meson, tests and demo by the scripts they lie with.
# Everything made goes to build/; the module for kernel V to build/kernel/V/.

.DEFAULT_GOAL := all
.NOTPARALLEL:
SHELL := /bin/bash
JOBS  ?= $(shell nproc)
BUILD := $(CURDIR)/build
VM    := $(CURDIR)/qemu-scripts/pavo-vm
# Runs what compiles: tells how far it is, keeps the rest in a log.
STEP  := $(CURDIR)/qemu-scripts/build-step

# KDIR: headers (or build tree) of the kernel to build for. Or KERNEL=: a name
# pavo-vm knows - an installed version, 6.12, sanitizer - to build and test for.
ifdef KERNEL
KDIR ?= $(shell $(VM) kernels --headers '$(KERNEL)' 2>/dev/null)
else
KDIR ?= $(shell $(VM) kernels --headers default 2>/dev/null || \
	  echo /lib/modules/$$(uname -r)/build)
endif
# kernel.release is not the release in Debian's headers; this header is
KREL = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	 '$(KDIR)/include/generated/utsrelease.h' 2>/dev/null)
KOUT = $(BUILD)/kernel/$(KREL)
V    ?= 0
W    ?= 1
# SPARSE=1 checks every file with sparse while it is compiled
C    := $(if $(SPARSE),C=1 )

export PAVO_KERNEL := $(KERNEL)
export RDMA_CORE_SRC

# ccache, where it is installed, by the names of the compilers. It knows a file of this
# tree in other folders by its path from the folder that the compiler runs in: the
# kernel's make runs in a view of its headers, and options that name a folder are left out.
KVIEW = $(KDIR)
CCACHE_LINKS ?= /usr/lib/ccache
ifneq ($(wildcard $(CCACHE_LINKS)/gcc),)
KVIEW = $(KOUT)/.headers
export PATH := $(CCACHE_LINKS):$(PATH)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CCACHE_IGNOREOPTIONS := -DKBUILD_MODFILE=* -fmacro-prefix-map=*
endif

# What ninja builds of user space; see selftests/meson.build.
PARTS := product
comma := ,
TESTS_OF = $(if $(ONLY),$(patsubst %,tests-%,$(subst $(comma), ,$(ONLY))),tests)

help:
	@echo 'make            build the module (build/kernel/VERSION/pavo.ko), provider, library, tools'
	@echo 'make install    install both (as root; DESTDIR= is honoured)'
	@echo 'make demo       two virtual machines move real data (first time: a few minutes)'
	@echo 'make test       all tests; ONLY=group for one, KERNEL=version for another kernel'
	@echo 'make test-full  also on the sanitizer kernel and on 6.12, and the planted bugs'
	@echo 'make test-pyverbs RDMA_CORE_SRC=DIR  rdma-core'\''s own tests, pavo and rdma_rxe'
	@echo 'make bench      pavo and rdma_rxe side by side'
	@echo 'make bench-windows  windows beside queue pairs of both'
	@echo 'make bench-keys  what keys, their walks and their caches cost'
	@echo 'make lint       style and static checks only'
	@echo 'make modules / userspace / deps / clean / help'
	@echo 'KDIR=DIR        kernel headers to build for (now: $(KDIR))'

all: build-deps modules userspace

# --- building ---------------------------------------------------------------

# Type information for the module needs pahole; without it the module has none.
BTF := $(if $(shell command -v pahole),,CONFIG_DEBUG_INFO_BTF_MODULES=)

# The kernel's build writes beside the sources, so it gets a tree of links of
# its own per kernel: the sources stay clean, and kernels do not mix.
modules: links
	@+$(STEP) --of $$(find kernel -name '*.c' | wc -l) 'module for $(KREL)' \
		'$(BUILD)/logs/module-$(KREL).log' $(MAKE) -C '$(KVIEW)' M='$(KOUT)' \
		W=$(W) V=$(V) $(if $(filter 0,$(V)),quiet=quiet_) $(C)$(BTF) -j$(JOBS) modules

links: need-headers
	@mkdir -p '$(KOUT)'
	@find '$(KOUT)' -xtype l -delete
ifneq ($(wildcard $(CCACHE_LINKS)/gcc),)
	@mkdir -p '$(KVIEW)'
	@find '$(abspath $(KDIR))' -mindepth 1 -maxdepth 1 -exec ln -sfnt '$(KVIEW)' {} +
endif
	@find Kbuild kernel uapi -name '*.[chS]' -o -name Kbuild | \
	while read -r file; do \
		[ -e '$(KOUT)/'"$$file" ] && continue; \
		mkdir -p "$$(dirname '$(KOUT)/'"$$file")"; \
		ln -s "$(CURDIR)/$$file" '$(KOUT)/'"$$file"; \
	done

need-headers:
	@if [ -z '$(KREL)' ]; then \
		echo "No kernel headers found$(if $(KERNEL), for '$(KERNEL)')." >&2; \
		echo "Try 'make deps', or give KDIR=/path/to/headers." >&2; \
		exit 1; \
	fi

userspace: $(BUILD)/build.ninja
	@$(STEP) 'user space' '$(BUILD)/logs/userspace.log' \
		ninja -C '$(BUILD)' -j$(JOBS) $(PARTS)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { \
		echo "Meson is missing. Try 'make deps'." >&2; exit 1; }
	@$(STEP) configuration '$(BUILD)/logs/meson.log' meson setup '$(BUILD)'

# Nobody has the key that the distribution signs its modules with.
install: build-deps modules userspace
	$(MAKE) -C '$(KDIR)' M='$(KOUT)' INSTALL_MOD_PATH='$(DESTDIR)' \
		INSTALL_MOD_DIR=updates CONFIG_MODULE_SIG_ALL= modules_install
	$(if $(DESTDIR),,depmod '$(KREL)')
	meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD)

deps:
	@qemu-scripts/install-deps

# --- looking at it ----------------------------------------------------------

# What a kernel named by KERNEL= needs before anything is built for it.
kernel:
ifeq ($(KERNEL),sanitizer)
	@qemu-scripts/install-deps test sanitizer
	qemu-scripts/build-sanitizer-kernel
else ifdef KERNEL
	qemu-scripts/fetch-kernel --if-missing '$(KERNEL)'
endif

build-deps:
	@qemu-scripts/install-deps build

guest-deps:
	@qemu-scripts/install-deps build guest

test-deps: guest-deps
	@qemu-scripts/install-deps test

# make anew: the headers may have come only just now.
build = @$(MAKE) --no-print-directory -s modules userspace PARTS='$(1)'

ready: guest-deps kernel
	$(call build,product)

# Lays out all code as .clang-format says.
format: test-deps
	find kernel uapi userspace selftests -name '*.[ch]' -o -name '*.cpp' | \
		xargs clang-format -i

lint: test-deps ready
	selftests/run --only lint

test: test-deps guest-deps kernel
	$(call build,$(TESTS_OF))
	selftests/run $(if $(ONLY),--only '$(ONLY)')

test-full: test-deps guest-deps kernel
	$(call build,tests)
	selftests/run-full

# rdma-core's own tests: docs/pyverbs.md
test-pyverbs: test-deps ready
	selftests/pyverbs/run.sh $(TESTS)

demo: guest-deps kernel
	$(call build,demo-parts)
	qemu-scripts/demo $(DEMO)

bench: guest-deps kernel
	$(call build,tests-bench)
	selftests/bench/run --check-floor $(BENCH)

bench-windows: guest-deps kernel
	$(call build,tests-bench-windows)
	selftests/bench/windows $(BENCH)

bench-keys: guest-deps kernel
	$(call build,tests-bench-keys)
	selftests/bench/keys $(BENCH)

.PHONY: help all modules links need-headers userspace install clean deps format \
	kernel build-deps guest-deps test-deps ready lint test test-full test-pyverbs demo \
	bench bench-windows bench-keys
