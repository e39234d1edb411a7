# SPDX-License-Identifier: MIT
#
# make demo    measure a published table again, in its short form: what this project is about, in one command. With
#              WHEELS=FOLDER it takes the lab kernels of a release's wheel from there instead of building them
# make quick   linters, spelling, style, type checks, and the unit tests that are not marked slow: two minutes, after every change
# make test    linters, spelling, style, type checks, all tests; how long each took is in build/tests.xml (docs/tests.md); FRESH=1
#              takes no recordings of an earlier session
# make cpu-tests   tests of nodes with a CPU, which need a kernel of their own (docs/cpu.md): a build of some minutes, once
# make wifi-tests  tests of the radio medium, which need a kernel of their own (docs/wifi.md): a build of some minutes, once
# make stock-tests   tests of the engine for stock kernels (docs/engine-stock.md), which need QEMU and a kernel of Debian
# make ssh-tests   tests of the engine for real machines (docs/engine-ssh.md), as root: sshd in namespaces and in QEMU
# make pku-tests   tests on a CPU with protection keys, which QEMU emulates: programs in the lab kernel's process, and wild ones
# make bpf     compile the congestion controls for eBPF (docs/ebpf.md)
# make bpf-tests   tests of these: in stock kernels, and as root on this machine's kernel
# make bench   speed, as ratios measured side by side
# make docs    write every number, table, output and figure of the documentation anew; goes on where it ended
# make gateways  build the proxies of gateways that Debian does not have, from their registries. Of these, `make test` and
#              `make lab` build go-shadowsocks2 alone (two releases), and skip its tests if that fails
# make reasons  200 random scenarios in which nothing is wrong: at most one in a hundred may name a reason (docs/reasons.md)
# make fit     fit twenty collections of drawn lines, try advice on the true lines, and write the table of docs/fit.md: two hours
# make fuzz    search for input that ends in a traceback; MINUTES=60 of it
# make modes   the same bytes with user code in stubs and in the kernel: all examples, short studies and selftests; hours
# make fuzz-syscalls  the same random system calls with user code in stubs and in the kernel; CALLS=1000000 of them
#              `make fuzz-syscalls-pku` does so on an emulated CPU with protection keys, some twenty times slower
# make setups  the same bytes on unlike installations: three root file systems of Debian, made as root; an hour
# make site    the documentation as a site, to build/site, with every link checked; VERSION=0.2.0 keeps those of other versions
# make paper   the description of mptcplab as a paper, to build/paper/mptcplab.pdf; its numbers are those of the documentation
# make wheels  the wheels of a release, to dist/: builds them twice, compares all bytes, and tries them without a compiler
# make image   the container image, of the wheels; `make image-check` runs an experiment in it
# make fidelity-data   all rows of the comparison of engines (docs/fidelity.md) as CSV, with what they are made from, to
#              dist/mptcplab-fidelity-VERSION.zip; opens it again, and compares it with the page
# make deb     the Debian package, of the wheels, checked by lintian; `make deb-check` installs and tests it in an empty Debian
# make release-check   everything that a release has to fulfil, all artifacts, and an experiment with each; two hours
# make smp     congestion controls and schedulers on several CPUs with lockdep; MINUTES=60 of it, and KCSAN=1 for data races
#
# Each installs what it needs: Debian packages (as root or with sudo), a virtual environment, the lab kernel.

PYTHON ?= /usr/bin/python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= $(shell nproc)
MINUTES ?= 60
CALLS ?= 1000000
# Stock kernels that tests need.
STOCK := 6.12
# The long-term versions whose lab kernels are tested.
LTS := 6.12 6.1
export MPTCPLAB_FRESH_TESTS = $(FRESH)
SEED ?= 1
# The tests start some hundred Python processes, each of which would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE
# What `make check` runs side by side: ruff, whose findings are the most frequent, and then the longest first.
CHECKS := check-format check-types check-style check-spelling
# What is in the wheels.
WHEEL_SOURCES := src packages kernel bpf examples tools/flow tools/radio tools/sampler tools/proxies tools/wheels scripts README.md pyproject.toml
# Everything that decides what is installed into the virtual environment.
STAMP := $(VENV)/.installed
# What is a product of its own: the core does without these.
PACKAGES := $(sort $(dir $(wildcard packages/*/pyproject.toml)))
UNIT := tests/unit $(wildcard packages/*/tests/unit)
LAB := tests/lab packages/mptcplab-export/tests/export
LIBRARY_STAMP := $(VENV)/.library
# The programs that scenarios start.
INSTALL_PROGRAMS = packages=$$($(BIN)/mptcplab doctor --packages lab) && scripts/install-packages --named $$packages

.PHONY: demo quick unit-quick test check $(CHECKS) unit lab cpu-tests wifi-tests stock-tests ssh-tests pku-tests bpf bpf-tests bench docs gateways reasons fit fuzz fuzz-syscalls fuzz-syscalls-pku modes setups site paper smp wheels wheelhouse dist-wheels image image-check deb deb-check deb-packages fidelity-data release-check packages \
	library programs test-packages gateway-packages test-proxies wifi-packages smp-packages stock-packages ssh-packages pku-packages bpf-packages venv stock-kernel kernel kernel-studies kernel-lts kernel-cpu kernel-wifi clean

# The table first, and before it only what it needs. Its kernel is built while pip and apt download. Scenarios use another
# kernel by default, which is built then.
demo:
	@PYTHON=$(PYTHON) scripts/announce-demo $(VENV) $(WHEELS)
	@if [ -n "$(WHEELS)" ]; then \
		$(MAKE) --no-print-directory library && \
		$(INSTALL_PROGRAMS) && \
		$(BIN)/pip install --quiet --disable-pip-version-check --no-index --no-deps --find-links "$(WHEELS)" mptcplab-kernel && \
		{ $(BIN)/mptcplab kernel path 7.2-hz250-window >/dev/null 2>&1 || $(BIN)/mptcplab kernel build --hz 250 --fix window; }; \
	else \
		$(MAKE) --no-print-directory packages && \
		{ { $(MAKE) --no-print-directory library && $(INSTALL_PROGRAMS); } & libraries=$$!; \
		PYTHONPATH=src $(PYTHON) -m mptcplab.kernel --hz 250 --fix window; kernel=$$?; \
		wait $$libraries && exit $$kernel; }; \
	fi
	$(BIN)/mptcplab reproduce subramani2018/4.1 --quick
	@echo "All durations of the table, in one to three minutes: $(BIN)/mptcplab reproduce subramani2018/4.1"
	@$(BIN)/mptcplab kernel path >/dev/null 2>&1 || $(BIN)/mptcplab kernel build

# Checks and tests side by side: a type check of everything has one thread.
quick: venv programs
	@$(MAKE) --no-print-directory --jobs=$(JOBS) $(CHECKS) unit-quick

# Folders of tests are where labs keep their memory, in /dev/shm if it has room: on a disk, tests take longer.
PRINT_FOLDER := from mptcplab.engine.virtual.machine import memory_folder; print(memory_folder())

unit-quick:
	folder=$$(mktemp -d -p "$$($(BIN)/python -c '$(PRINT_FOLDER)')" mptcplab-tests-XXXXXX) \
	&& trap "rm -rf $$folder" EXIT && trap 'exit 130' INT TERM && HYPOTHESIS_PROFILE=quick PYTEST_DEBUG_TEMPROOT=$$folder \
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal -m 'not slow' $(UNIT)

# All in one go: while the last labs run, or wait, the other CPUs have unit tests to do.
test: check kernel kernel-lts test-packages test-proxies
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal --junitxml build/tests.xml $(LAB) $(UNIT)

check: venv
	@$(MAKE) --no-print-directory --jobs=$(JOBS) $(CHECKS)

check-format:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types:
	$(BIN)/mypy

check-spelling:
	$(BIN)/codespell

check-style:
	$(BIN)/python -m tools.style

unit: test-packages
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal $(UNIT)

lab: kernel kernel-lts test-packages test-proxies
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal $(LAB)

cpu-tests: kernel-cpu test-packages
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal tests/cpu

wifi-tests: kernel-wifi test-packages wifi-packages
	$(BIN)/pytest -q -n $(JOBS) --dist worksteal tests/wifi

stock-tests: kernel-lts stock-kernel
	$(BIN)/pytest -q tests/stock

ssh-tests: stock-kernel ssh-packages
	$(BIN)/pytest -q packages/mptcplab-ssh/tests/ssh

pku-tests: test-packages kernel stock-kernel pku-packages
	$(BIN)/pytest -q -n 0 tests/pku

bpf: venv bpf-packages
	$(BIN)/python -m mptcplab.ebpf.objects

# A user's program is compiled for each kernel anew.
bpf-tests: STOCK := 6.1 6.12 7.2
bpf-tests: bpf stock-kernel
	$(BIN)/pytest -q tests/ebpf

bench: kernel
	$(BIN)/pip install --quiet --editable '.[bench]'
	$(BIN)/python -m bench

docs: kernel kernel-lts test-packages
	$(BIN)/python -m tools.docs.refresh --measured

gateways: gateway-packages
	$(BIN)/mptcplab gateways build

reasons: test-packages kernel
	MPTCPLAB_REASONS=200 $(BIN)/pytest -q tests/lab/test_reasons.py -k ordinary

fit: test-packages kernel
	$(BIN)/python -m validation.blind_fit --set operators --folder build/fit/operators --write
	$(BIN)/python -m validation.blind_fit --set products --folder build/fit/products --write
	$(BIN)/python -m tools.docs.refresh docs/fit.md --only fit-blind --only fit-blind-products

fuzz: test-packages
	$(BIN)/pip install --quiet --editable '.[fuzz]'
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

fuzz-syscalls: test-packages kernel
	$(BIN)/python -m tests.fuzz.syscalls --calls $(CALLS) --seed $(SEED)

# A million calls take the emulated CPU days, 20,000 minutes.
fuzz-syscalls-pku: test-packages kernel stock-kernel pku-packages
	$(BIN)/python -m tests.pku --seconds 86400 $(BIN)/python -m tests.fuzz.syscalls --calls $(CALLS) --seed $(SEED)

modes: test-packages kernel
	MPTCPLAB_TEST_FORMS=all $(BIN)/pytest -q tests/lab/machine/test_user_code.py
	$(BIN)/python -m tests.setups.modes

setups: kernel
	@scripts/install-packages --setups
	$(BIN)/python -m tests.setups

# What is written to build/site can be put on any web server; to read it here: python3 -m http.server --directory build/site
site: venv
	$(BIN)/python -m website $(if $(VERSION),--version $(VERSION))

paper: venv
	@scripts/install-packages --paper
	$(BIN)/python -m tools.docs.paper

# Files in wheels have the date of the commit.
wheels: export SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null))
wheels: kernel kernel-studies
	$(BIN)/python -m tools.wheels
	$(BIN)/python -m tools.wheels.compare
	$(BIN)/python -m tools.wheels.install

# The wheels and those of all libraries, for Debian's Python: what image and package install without an index.
wheelhouse: dist-wheels
	scripts/collect-wheels $(BIN)/python build/wheelhouse

# All wheels in dist/, built unless they are there and no file that belongs to them is newer.
dist-wheels: venv
	@[ "$$(ls dist/mptcplab[-_]*.whl 2>/dev/null | wc -l)" = $(words core kernel $(PACKAGES)) ] && \
		[ -z "$$(find $(WHEEL_SOURCES) -type f -not -path '*/__pycache__/*' -newer "$$(ls dist/mptcplab-*.whl)" -print -quit)" ] || \
		$(MAKE) --no-print-directory wheels

image: wheelhouse
	$(BIN)/python -m tools.release.image

image-check: wheelhouse
	@scripts/install-packages --setups
	$(BIN)/python -m tools.release.image --check

# Built of the committed or changed checkout alike, and not again without a change; lintian reads the result.
deb: wheelhouse deb-packages
	@version=$$(dpkg-parsechangelog --show-field Version) && package=dist/mptcplab_$${version}_amd64.deb && \
	if [ -f "$$package" ] && [ -z "$$(find debian build/wheelhouse -type f -newer "$$package" -print -quit)" ]; then \
		echo "$$package is up to date"; \
	else \
		set -x && rm -f dist/mptcplab_*.deb dist/mptcplab_*.buildinfo dist/mptcplab_*.changes && \
		dpkg-buildpackage --build=binary --no-sign --no-check-builddeps && mkdir -p dist && \
		lintian --fail-on error,warning --tag-display-limit 0 ../mptcplab_$${version}_amd64.changes && \
		mv ../mptcplab_$${version}_amd64.* dist/ && touch "$$package"; \
	fi

deb-check: deb
	@scripts/install-packages --setups
	$(BIN)/python -m tools.release.deb

deb-packages: packages
	@scripts/install-packages --deb

fidelity-data: venv
	$(BIN)/python -m tools.release.fidelity

release-check: venv
	scripts/release check

smp: venv smp-packages
	$(BIN)/python -m tests.smp --minutes $(MINUTES) --seed $(SEED) --jobs $(JOBS) --variant $(if $(KCSAN),kcsan,lockdep)

packages:
	@scripts/install-packages

# The kinds of workloads, nodes and links name the packages of the programs that they start.
programs: venv
	@$(INSTALL_PROGRAMS)

test-packages: programs
	@scripts/install-packages --tests
	@packages=$$($(BIN)/mptcplab doctor --packages gateways) && scripts/install-packages --named $$packages

# And the toolchains of the programs that Debian does not have.
gateway-packages: programs
	@packages=$$($(BIN)/mptcplab doctor --packages gateways && $(BIN)/mptcplab gateways list --packages) && \
		scripts/install-packages --named $$packages

# Says what is missing if it cannot be built; the tests that need it are then skipped, with their reason.
test-proxies: venv
	@$(BIN)/mptcplab gateways build go-shadowsocks2 go-shadowsocks2-0.0.11 || echo 'Tests with go-shadowsocks2 will be skipped, see above.'

wifi-packages: programs
	@packages=$$($(BIN)/mptcplab doctor --packages wifi) && scripts/install-packages --named $$packages

smp-packages:
	@scripts/install-packages --smp

stock-packages:
	@scripts/install-packages --stock

pku-packages:
	@scripts/install-packages --pku

ssh-packages:
	@scripts/install-packages --ssh

bpf-packages:
	@scripts/install-packages --bpf

stock-kernel: programs stock-packages
	@for version in $(STOCK); do \
		$(BIN)/mptcplab kernel stock | grep -q "^$$version " || $(BIN)/mptcplab kernel stock $$version || exit; done

venv: packages $(STAMP)

$(STAMP): pyproject.toml $(PACKAGES:=pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]' $(PACKAGES:%=--editable %)
# As pip compiles what it copies: a command takes half as long again if Python may not write bytecode itself.
	$(BIN)/python -m compileall -q src/mptcplab packages/*/src
	touch $(LIBRARY_STAMP) $@

# What users need, without the tools for maintainers.
library: packages $(LIBRARY_STAMP)

$(LIBRARY_STAMP): pyproject.toml $(PACKAGES:=pyproject.toml)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[serve]' $(PACKAGES:%=--editable %)
	$(BIN)/python -m compileall -q src/mptcplab packages/*/src
	touch $@

kernel: programs
	@$(BIN)/mptcplab kernel path >/dev/null 2>&1 || $(BIN)/mptcplab kernel build

# As the machines of the published studies were: Ubuntu's HZ, and no fault of the connection's window.
kernel-studies: programs
	@$(BIN)/mptcplab kernel path 7.2-hz250-window >/dev/null 2>&1 || $(BIN)/mptcplab kernel build --hz 250 --fix window

# Tests run on long-term kernels as well.
kernel-lts: programs
	@for version in $(LTS); do \
		$(BIN)/mptcplab kernel path $$version >/dev/null 2>&1 || $(BIN)/mptcplab kernel build $$version || exit; done

kernel-cpu: programs
	@$(BIN)/mptcplab kernel path 7.2-cpu >/dev/null 2>&1 || $(BIN)/mptcplab kernel build --cpu

kernel-wifi: programs
	@$(BIN)/mptcplab kernel path 7.2-wifi >/dev/null 2>&1 || $(BIN)/mptcplab kernel build --wifi

clean:
	rm -rf $(VENV) results build dist
