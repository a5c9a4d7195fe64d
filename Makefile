# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Makefile - the front desk: one target for everything that a person does with the tree.
# Owns nothing itself: the kernel's own build makes the module from Kbuild, Meson makes
# user space, and the scripts beside tests and demo run those. All results go to build/;
# the module for kernel V to build/kernel/V/.

.DEFAULT_GOAL := all
.NOTPARALLEL:
SHELL := /bin/bash
JOBS  ?= $(shell nproc)
BUILD := $(CURDIR)/build
VM    := $(CURDIR)/qemu-scripts/pavo-vm
# Runs compilers: tells how far they are, keeps the rest in a log.
STEP  := $(CURDIR)/qemu-scripts/build-step

# KDIR: headers (or build tree) of the kernel to build for. Or KERNEL=: a name pavo-vm
# knows - an installed version, 6.12, sanitizer - to build and test for. Without either
# it is the running kernel, or with BUILD_FOR=guests that of the guests. Make looks for
# it once, and late: the headers may have to be installed first.
BUILD_FOR ?= running
# make bench and make profile MODE=native: the mode has a kernel of its own
ifeq ($(MODE),native)
KERNEL ?= native
endif
ifeq ($(origin KDIR),undefined)
FOUND = $(eval FOUND := $(shell qemu-scripts/find-headers \
	  $(or $(KERNEL),$(BUILD_FOR))))$(FOUND)
KDIR   = $(firstword $(FOUND))
REASON = $(wordlist 2,99,$(FOUND))
else
REASON = as KDIR says
endif
# kernel.release is not the release in Debian's headers; this header is
KREL = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
	 '$(KDIR)/include/generated/utsrelease.h' 2>/dev/null)
KOUT = $(BUILD)/kernel/$(KREL)
V    ?= 0
W    ?= 1
# Parts of the module that a build can leave out, y or n: windows with their jobs, and
# direct windows.
WINDOWS ?= y
DIRECT  ?= y
OPTIONS := CONFIG_PAVO_WINDOWS=$(WINDOWS) CONFIG_PAVO_DIRECT=$(DIRECT)
ifneq ($(filter-out y n,$(WINDOWS) $(DIRECT)),)
$(error WINDOWS and DIRECT are y or n)
endif
# SPARSE=1 checks every file with sparse while it is compiled; SPARSE=FILE by that program
C    := $(if $(SPARSE),C=1 $(if $(filter-out 1,$(SPARSE)),CHECK='$(SPARSE)' ))

export PAVO_KERNEL := $(KERNEL)
export RDMA_CORE_SRC

# ccache, where it is installed, by the names of the compilers. It knows a file of this
# tree in other folders by its path from the folder that the compiler runs in. The
# kernel's make runs in a view of its headers, and options that name a folder are left
# out.
KVIEW = $(KDIR)
CCACHE_LINKS ?= /usr/lib/ccache
ifneq ($(wildcard $(CCACHE_LINKS)/gcc),)
KVIEW = $(KOUT)/.headers
export PATH := $(CCACHE_LINKS):$(PATH)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CCACHE_IGNOREOPTIONS := -DKBUILD_MODFILE=* -fmacro-prefix-map=*
endif

# Targets of user space for ninja; see selftests/meson.build.
PARTS := product
# Groups that the user asks for, each also by a part of it; lint builds the files that
# it looks at.
comma := ,
GROUPS_ASKED = $(sort $(foreach part,$(subst $(comma), ,$(ONLY)), \
	$(firstword $(subst -, ,$(part)))))
TESTS_OF = $(if $(ONLY),$(patsubst %,tests-%,$(filter-out lint,$(GROUPS_ASKED))),tests)

help:
	@echo 'make            build the module (build/kernel/VERSION/pavo.ko), provider, library, tools'
	@echo 'make install    install both (as root; DESTDIR= is honoured)'
	@echo 'make uninstall  remove what it installed, for all kernels'
	@echo "make packages   Debian's packages of all parts, in build/packages"
	@echo 'make demo       two virtual machines move real data (first time: a few minutes)'
	@echo 'make test       all tests; ONLY=group for one, KERNEL=version for another kernel,'
	@echo '                CHANGED=REVISION for the tests that a change since then can affect'
	@echo 'make test-full  also on the sanitizer kernel, 6.12 and the newest, and the planted bugs'
	@echo 'make test-parts  groups on modules without windows and jobs, direct windows, both;'
	@echo '                ONLY=group for one'
	@echo 'make test-cross  unit tests, engine and provider for arm64 and s390x under an emulator of'
	@echo '                user space; the module compiled for them. ONLY=NAME for a part'
	@echo 'make soak GROUP=group TIMES=20 LOAD=4  one group again and again on a busy machine'
	@echo 'make test-pyverbs RDMA_CORE_SRC=DIR  rdma-core'\''s own tests, pavo and rdma_rxe'
	@echo 'make bench      pavo and rdma_rxe side by side; MODE=native at native speed, with siw'
	@echo '                and TCP'
	@echo 'make profile    where the instructions of a message go; MODE=native: its time, by perf'
	@echo 'make bench-loss  paths with delay, loss and reordering: pavo, rdma_rxe, siw and TCP'
	@echo 'make bench-sharing  queue pairs that share a narrow link with each other and with TCP'
	@echo 'make bench-windows  windows beside queue pairs of both; operations of several nodes'
	@echo 'make bench-keys  the cost of keys, of their walks and of their caches'
	@echo 'make bench-ranges  arming, polling and reading among 1,024 ranges of a direct window'
	@echo 'make bench-scale  a message among 16,384 queue pairs, and what a second CPU brings'
	@echo 'make bench-direct  I/Os of a disk by direct windows, ordinary memory and nvmet-rdma'
	@echo 'make lint       style and static checks only'
	@echo 'make modules / userspace / deps / clean / help'
	@echo 'WINDOWS=n DIRECT=n  a module without windows and jobs, without direct windows'
	@echo 'KDIR=DIR        kernel headers to build for (now: $(KDIR))'

all: build-deps modules userspace

# --- building ---------------------------------------------------------------

# Type information for the module needs pahole; without it the module has none.
BTF := $(if $(shell command -v pahole),,CONFIG_DEBUG_INFO_BTF_MODULES=)

# The kernel's build writes beside the sources, so it gets a tree of links of
# its own per kernel: the sources stay clean, and kernels do not mix.
modules: links
	@+$(STEP) --of $$(find kernel -name '*.c' ! -path '*/probes/*' | wc -l) 'module for $(KREL)' \
		'$(BUILD)/logs/module-$(KREL).log' \
		qemu-scripts/in-toolchain '$(KDIR)' $(MAKE) -C '$(KVIEW)' M='$(KOUT)' MO='$(KOUT)' \
		W=$(W) V=$(V) $(if $(filter 0,$(V)),quiet=quiet_) $(C)$(BTF) $(OPTIONS) -j$(JOBS) modules

# A build folder that was moved or copied with the tree has links to the first place.
anew:
	@qemu-scripts/start-anew '$(BUILD)'

links: need-headers anew
	@mkdir -p '$(KOUT)'
	@find '$(KOUT)' -xtype l -delete
ifneq ($(wildcard $(CCACHE_LINKS)/gcc),)
	@mkdir -p '$(KVIEW)'
	@find '$(abspath $(KDIR))/' -mindepth 1 -maxdepth 1 -exec ln -sfnt '$(KVIEW)' {} +
endif
	@find Kbuild kernel uapi -name '*.[chS]' -o -name '*.sh' -o -name Kbuild | \
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
	@echo 'Module for $(KREL): $(REASON).'

userspace: anew $(BUILD)/build.ninja
	@$(STEP) 'user space' '$(BUILD)/logs/userspace.log' \
		ninja -C '$(BUILD)' -j$(JOBS) $(PARTS)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { \
		echo "Meson is missing. Try 'make deps'." >&2; exit 1; }
	@$(STEP) configuration '$(BUILD)/logs/meson.log' meson setup '$(BUILD)'

# The key that the distribution signs its modules with is secret.
install: build-deps modules userspace
	@qemu-scripts/install-deps install
	$(MAKE) -C '$(KDIR)' M='$(KOUT)' INSTALL_MOD_PATH='$(DESTDIR)' \
		INSTALL_MOD_DIR=updates INSTALL_MOD_STRIP=1 CONFIG_MODULE_SIG_ALL= $(OPTIONS) \
		modules_install
	$(if $(DESTDIR),,depmod '$(KREL)')
	meson install -C $(BUILD) --no-rebuild --strip

# Removes the files of make install, for all kernels.
uninstall: anew $(BUILD)/build.ninja
	@qemu-scripts/uninstall '$(BUILD)' '$(DESTDIR)'

packages: packages-deps
	@DEB_BUILD_OPTIONS=parallel=$(JOBS) packaging/make-packages '$(BUILD)/packages'

clean:
	rm -rf $(BUILD)

deps:
	@qemu-scripts/install-deps

# --- looking at it ----------------------------------------------------------

# Steps that a kernel named by KERNEL= needs before anything is built for it.
BUILT_KERNELS := sanitizer kcsan devices native native-sanitizer

kernel:
ifneq ($(filter $(BUILT_KERNELS),$(KERNEL)),)
	@qemu-scripts/install-deps kernel
	@qemu-scripts/build-kernel '$(KERNEL)'
else ifdef KERNEL
	qemu-scripts/fetch-kernel --if-missing '$(KERNEL)'
endif

build-deps:
	@qemu-scripts/install-deps build

# Names of groups and targets are headings of packages.txt.
test-deps:
	@qemu-scripts/install-deps $(or $(GROUPS_ASKED),test)

demo-deps bench-deps lint-deps format-deps pyverbs-deps packages-deps cross-deps:
	@qemu-scripts/install-deps $(@:-deps=)

full-deps:
	@qemu-scripts/install-deps test fresh kernel

# make anew: Meson has to be there.
build = $(if $(1),@$(MAKE) --no-print-directory -s userspace PARTS='$(1)')

# Guests load the module, and tests look at that one.
demo test test-full soak test-pyverbs lint bench profile bench-loss bench-sharing bench-windows bench-keys \
	bench-scale bench-ranges bench-direct: export BUILD_FOR = guests

# Lays out all code by .clang-format.
format: format-deps
	find kernel uapi userspace selftests -name '*.[ch]' -o -name '*.cpp' | \
		xargs clang-format -i

lint: lint-deps
	PAVO_LINT=1 selftests/run --only lint

# The tests that the user wants.
CHOICE = $(if $(ONLY),--only '$(ONLY)') $(if $(CHANGED),--changed '$(CHANGED)')

# Kernels that the plan has for it (selftests/runner/plan.py), each with its module.
plan-modules:
	@for kernel in $$(selftests/run --kernels $(CHOICE)); do \
		[ "$$kernel" != default ] || kernel=; \
		$(MAKE) --no-print-directory -s kernel modules KERNEL="$$kernel" || exit; \
	done

test: test-deps
	$(call build,$(TESTS_OF))
	@$(MAKE) --no-print-directory -s plan-modules
	selftests/run $(CHOICE)

test-full: CHOICE = --plan full
test-full: full-deps
	$(call build,tests)
	@$(MAKE) --no-print-directory -s plan-modules CHOICE='$(CHOICE)'
	selftests/run-full

# Groups of verbs, which pass without the parts, and two that are skipped without windows.
ALL_PARTS_GROUPS := verbs,wire,kverbs,window,translate
PARTS_GROUPS = $(or $(ONLY),$(ALL_PARTS_GROUPS))
test-parts: export PAVO_KERNEL = native
test-parts: KERNEL = native
test-parts: kernel test-deps
	$(call build,$(patsubst %,tests-%,$(subst $(comma), ,$(PARTS_GROUPS))))
	@selftests/run-parts '$(PARTS_GROUPS)'

# Other architectures, without a guest.
test-cross: cross-deps anew
	@JOBS='$(JOBS)' selftests/cross/check $(if $(ONLY),--only '$(ONLY)')

need-group:
	@[ -n '$(GROUP)' ] || { echo 'make soak GROUP=group, please' >&2; exit 1; }

# The group's kernels are those of a plain run.
soak: ONLY = $(GROUP)
soak: need-group test-deps
	$(call build,$(TESTS_OF))
	@$(MAKE) --no-print-directory -s plan-modules ONLY='$(GROUP)'
	selftests/soak '$(GROUP)' $(if $(TIMES),--times $(TIMES)) $(if $(LOAD),--load $(LOAD))

# rdma-core's own tests: docs/pyverbs.md
test-pyverbs: pyverbs-deps kernel modules userspace
	selftests/pyverbs/run.sh $(TESTS)

demo: demo-deps kernel modules
	$(call build,demo-parts)
	qemu-scripts/demo $(DEMO)

bench: bench-deps kernel modules
	$(call build,tests-bench)
	selftests/bench/run --check-floor $(if $(MODE),--mode $(MODE)) $(BENCH)

profile: bench-deps kernel modules
	$(call build,tests-bench)
	selftests/bench/profile $(if $(MODE),--mode $(MODE)) $(BENCH)

bench-loss: bench-deps
	@$(MAKE) --no-print-directory -s kernel modules KERNEL=native
	$(call build,tests-bench)
	selftests/bench/run --mode native --drivers pavo,rxe,siw,tcp,tcp-bbr,tcp-offloads --tests paths \
		$(BENCH)

bench-sharing: bench-deps
	@$(MAKE) --no-print-directory -s kernel modules KERNEL=native
	$(call build,tests-bench product)
	selftests/bench/sharing $(BENCH)

# Several nodes are measured at native speed.
bench-windows: bench-deps kernel modules
	@$(MAKE) --no-print-directory -s kernel modules KERNEL=native
	$(call build,tests-bench-windows)
	selftests/bench/windows $(BENCH)

bench-keys: bench-deps kernel modules
	$(call build,tests-bench-keys)
	selftests/bench/many keys $(BENCH)

bench-scale: bench-deps kernel modules
	$(call build,tests-bench-scale)
	selftests/bench/many scale $(BENCH)

bench-ranges: bench-deps kernel modules
	$(call build,tests-bench-ranges)
	selftests/bench/many direct $(BENCH)

# Meson looks for liburing again, if it was not there.
bench-direct: bench-deps kernel modules
	@[ -x build/selftests/bench/pavo-bench-direct ] || touch selftests/bench/meson.build
	$(call build,tests-bench-direct)
	selftests/bench/direct $(BENCH)

.PHONY: help all modules links need-headers anew userspace install uninstall packages clean deps format \
	kernel build-deps test-deps demo-deps bench-deps lint-deps format-deps pyverbs-deps \
	packages-deps cross-deps full-deps lint plan-modules test test-full test-parts test-cross need-group soak test-pyverbs demo \
	bench profile bench-loss bench-sharing bench-windows bench-keys bench-scale bench-ranges bench-direct
