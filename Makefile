# Everything a developer does here. `make test` needs only Go; `make test-deps` (root) installs the Debian packages whose
# tests are skipped by name otherwise.
GO        ?= go
TOOLS     := $(GO) tool -modfile=scripts/tools/go.mod
# The program of a tool, which is built as Go builds it by default, whatever this file exports.
tool      = $$(env -u CGO_ENABLED $(TOOLS) -n $(1))
FUZZTIME  ?= 10m
# Packages that are tested at a time: one more than there are processors, since some wait for schedulers, browsers and databases.
PACKAGES  ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Tests of a package that run at a time, of those that call t.Parallel: they wait for schedulers and deadlines.
BESIDE    ?= 4
# After this time the tests of a package are ended: twice what the longest takes on a busy machine.
TIMEOUT   ?= 30m
# The packages whose tests take longest begin first, so that none of them is tested alone at the end.
LONGEST   := ./daemon ./pipeline ./predictor/engine ./deploy/prometheus ./predictor/backtest ./modelstore/sqlite

.PHONY: all build test check test-busy test-loopback test-long test-fresh research claims papers generators accuracy prior study-size soak bench-http golden scale clusters growth test-deps slurm-versions race lint vulncheck fmt generate check-generated bench demo fuzz cross packages

all: build test lint

build:
	CGO_ENABLED=0 $(GO) build -o bin/waitcastd ./cmd/daemon
	CGO_ENABLED=0 $(GO) build -o bin/waitcast ./cmd/waitcast

# What these targets build is built as it is shipped: without cgo, so that .ci/run compiles each package once. The race detector needs
# cgo.
test check lint generate check-generated: export CGO_ENABLED ?= 0

# Collecting garbage less often saves a tenth of the time of the tests. A test of peak memory chooses its own value.
test: export GOGC ?= 400

# Test binaries are linked without symbols, and not vetted: lint does that. With a hundred of them it saves a minute.
QUICK := -vet=off -ldflags=-s

# The one command that must pass on a fresh machine; scripts/test-fresh proves it.
test:
	$(GO) test $(QUICK) -timeout $(TIMEOUT) -p $(PACKAGES) -parallel $(BESIDE) $(if $(filter ./...,$(SUBJECT)),$(LONGEST)) $(SUBJECT)

# The same on a minimal Debian 12 and 13 with Go, git and make alone, as an ordinary user and as root; by root.
test-fresh:
	GO=$(GO) ./scripts/test-fresh

# Before a commit, on the packages that it changes: make check SUBJECT="./collector/pbs ./api". Tests, lint, and the tests that read
# the whole repository: names, figures and links in pages, configuration keys in messages.
check:
	$(GO) test $(QUICK) $(SUBJECT)
	$(call tool,golangci-lint) run $(SUBJECT)
	$(GO) run ./scripts/names
	$(GO) test $(QUICK) ./scripts/openapi
	$(GO) test -C research $(QUICK) ./cmd/claims
	$(GO) test $(QUICK) -run 'Messages|Docs' ./config

# Proofs that no test depends on the speed of the machine, and none on a network: beside four busy processes, and with loopback
# alone. SUBJECT takes some of the packages, here, in test and in check.
SUBJECT ?= ./...
test-busy:
	GO=$(GO) PACKAGES=$(PACKAGES) ./scripts/test-busy $(SUBJECT)

test-loopback:
	GO=$(GO) PACKAGES=$(PACKAGES) ./scripts/test-loopback $(SUBJECT)

# Under the race detector: the packages that run goroutines; the others are numbers and parsers, or test programs in other languages
# (client/slurm, client/python) and pages in browsers (api/page). With -short, tests are left out whose goroutines another test has
# too. Of api's tests those of what is watched, bounded and shared between requests: each has a cluster of its own, and all of them
# take four minutes. test-long runs all packages.
RACE := ./daemon ./pipeline ./modelstore/sqlite ./modelstore/postgres ./api/access ./api/ask ./client ./collector/source ./collector/tail \
	./daemon/demo ./daemon/intake ./daemon/systemd ./simulator ./simulator/study ./workload/shake

# Of these packages no access is watched, nor is how they use pointers: SQLite is translated from C and locks for itself, go-cmp
# compares for tests, the others are numbers without goroutines, or whose goroutines share only a cache of atomic values
# (predictor/forward). Watching them takes as long as all the rest. They are watched in the last command of race, and in test-long.
UNWATCHED := modernc.org/sqlite/lib modernc.org/libc/... gonum.org/v1/gonum/... github.com/google/go-cmp/... \
	$(addprefix github.com/waitcast/waitcast/,internal/byend predictor/blend predictor/boost predictor/correction predictor/forward \
	predictor/forward/learn predictor/headqueue predictor/linear predictor/qbets predictor/residual workload/hypergamma workload/lifetime)
WATCH := $(QUICK) -race $(foreach p,$(UNWATCHED),'-gcflags=$(p)=-race=false -d=checkptr=0')

race:
	$(GO) test $(WATCH) -short -timeout 20m -p $(PACKAGES) $(RACE)
	$(GO) test $(WATCH) -short -run 'Watch|Many|Slot|Bound|Changes|Stop|Concurren|Cache' ./api
	$(GO) test $(QUICK) -race -short -p $(PACKAGES) -run 'WhileItIsRead|GoOnTheSame|WorkersChangeNothing|LifetimesAreShared|SimilarPredicts' ./predictor/boost ./predictor/engine ./predictor/engine/rules ./predictor/forward

# Longer than CI has time for: kill and rotation tests at full size, fuzzing.
test-long: slurm-versions
	WAITCAST_LONG=1 $(GO) test -timeout 150m ./...
	for suite in trixie forky; do \
		WAITCAST_LONG=1 scripts/slurm-version run $$suite $(GO) test -count=1 -timeout 150m -run TestRealSlurm ./daemon || exit 1; \
	done
	cd research && WAITCAST_LONG=1 $(GO) test -timeout 150m ./...
	$(GO) test -race -short ./...
	$(MAKE) test-fresh fuzz

# slurm-versions makes chroots with the Slurm of newer Debians, for TestRealSlurm... (scripts/slurm-version). It needs root and debootstrap.
slurm-versions:
	scripts/slurm-version make trixie
	scripts/slurm-version make forky

# Debian packages for the tests that need them; as root.
test-deps:
	./scripts/test-deps

lint:
	$(GO) list -export -test ./... >/dev/null # compiles all packages, which the linter's time limit does not allow for
	$(call tool,golangci-lint) run ./...
	$(GO) run ./scripts/names
	@! $(call tool,deadcode) -test ./... | grep . # functions that nothing reaches, tests included

# Known vulnerabilities that the programs call; where their list cannot be fetched, it says that it was skipped.
vulncheck:
	./scripts/vulncheck

fmt:
	$(TOOLS) golangci-lint fmt ./...

# Files made by a program: docs/openapi.json.
generate:
	$(GO) generate ./...

check-generated: generate
	git diff --exit-code -- . ':!go.sum'

# The folder with recorded logs; CONTRIBUTING.md names their origin.
SHARED ?= ../shared

# Studies and measurements, which no user of the programs runs: a module of its own. Its programs run in the root, so that paths are
# relative to it.
research: export CGO_ENABLED ?= 0
research:
	cd research && $(GO) vet ./...
	cd research && $(GO) test -ldflags=-s -vet=off -timeout $(TIMEOUT) -p $(PACKAGES) -parallel $(BESIDE) ./...

# Every measured figure in README.md, docs and research/docs against its origin: pages made by programs are made anew, figures in prose are measured again and
# compared (research/cmd/claims/claims.yaml); some minutes. FULL=1 runs what takes hours too. With KEEP=folder, a run that was
# stopped continues. It says what it lacks, and leaves the tree unchanged or fails.
claims:
	$(GO) run -C research ./cmd/claims -shared $(SHARED) $(if $(FULL),-full) $(if $(KEEP),-keep $(KEEP))
	git diff --exit-code --stat -- README.md docs research/docs

# The papers' tables beside ours; -long (in LONG) makes the shaking studies anew, which take an hour.
papers:
	$(GO) run -C research ./cmd/papers -shared $(SHARED) $(LONG)

# Work, load, sizes and runtimes of generated workloads beside those of the logs: research/docs/generators.md; 5 minutes of one core.
generators: build
	$(GO) run -C research ./cmd/generators -shared $(SHARED) -out research/docs/generators.md

# What is promised of the forecasts beside what is measured, on the traces; some minutes.
accuracy:
	$(GO) run -C research ./cmd/accuracy -shared $(SHARED) $(if $(KEEP),-keep $(KEEP))

# What forecasts of a young daemon start from: the errors of simulations in the first days of the traces.
prior:
	$(GO) run -C research ./cmd/prior -shared $(SHARED)

# What advice on sizes does to a cluster, on moldable workloads made of three traces; some minutes.
study-size:
	$(GO) run -C research ./cmd/sizestudy -shared $(SHARED)

# A year of a busy cluster through the real daemon, which is killed and whose database fails: research/docs/soak.md. More with JOBS=1000000; SEED repeats a run.
JOBS ?= 50000
SEED ?= 0
soak:
	$(GO) run -C research ./cmd/soak -shared $(SHARED) -jobs $(JOBS) -seed $(SEED) $(SOAK)

# The HTTP interface with 10,000 running and 20,000 queued jobs; needs wrk.
bench-http: build
	$(GO) run -C research ./cmd/bench-http

# Every speed that is promised beside what is measured, into docs/performance.md; BUDGETS (a regular expression) takes some of them.
BUDGETS ?= .
bench: build
	$(GO) run -C research ./cmd/bench -run '$(BUDGETS)'

# What the programs do, seen from outside, beside scripts/golden/record: for changes that must change nothing; some minutes. RENEW=-renew writes the record.
golden:
	$(GO) run ./scripts/golden -shared $(SHARED) $(RENEW)

# What size costs: nodes, jobs, users, history, each alone, into docs/performance.md; a quarter of an hour.
scale:
	$(GO) run -C research ./cmd/scale

# Ten collectors, three daemons that answer and a million rows of the ledger in one PostgreSQL: docs/scale.md; ten minutes.
clusters:
	WAITCAST_LONG=1 $(GO) test -count=1 -v -timeout 60m -run 'TestLargeLedger|TestManyClusters' ./modelstore/postgres ./daemon

# What a log with 100,000 users and a million names costs the daemon: memory, database, metrics, restart; some minutes.
growth: build
	$(GO) run -C research ./cmd/growth

demo:
	$(GO) run ./cmd/daemon demo

fuzz:
	./scripts/fuzz $(FUZZTIME)

cross:
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build -o /dev/null ./cmd/daemon
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build ./...

# dist/: deb, rpm, tarballs, bills of materials, the files of the container image, SHA256SUMS. The same commit gives the same bytes.
packages:
	./deploy/packages/build
