# `make` lists the targets. Scripts that need more than a line are in scripts/.

# The version is the one that Go derives from git, where git can be asked.
VCS := $(if $(shell git rev-parse --verify HEAD 2>/dev/null),true,false)
# The stripped binary has no DWARF, so the compiler need not write it: a first build takes less than half as long.
GO_BUILD = CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -gcflags=all=-dwarf=false

# What `make test` hands to go test: -short leaves out what takes long, also of other tests than Go's.
# `make check` runs all tests, with the race detector.
TESTFLAGS = -short
SHORT = $(filter -short,$(TESTFLAGS))
# How many tests of a package, and of how many packages, run at once: most of them wait for processes.
PARALLEL = 4
AT_ONCE = $(shell echo $$(($$(nproc) + 1)))
# Which packages: make test PACKAGES=./internal/control/store/...
PACKAGES = ./...

# How long each fuzz target runs.
FUZZTIME ?= 10s

SCRIPTS = .ci/run $(wildcard scripts/*) internal/testkit/docker.sh

MAKEFLAGS += --no-print-directory

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/penstock, with the dashboard where there is Node
	@scripts/build-dashboard
	@sum=$$(scripts/build-inside) && \
		$(GO_BUILD) -ldflags "-s -w -X main.insideSum=$$sum" -o bin/penstock ./cmd/penstock

.PHONY: test
test: build ## run the tests, on SQLite and on a PostgreSQL of its own; make test TESTFLAGS= runs them all
	@scripts/need postgresql bubblewrap
	@scripts/npm-ci internal/control/webhook/testdata/senders
	@$(if $(filter ./... ./internal/execution/harness%,$(PACKAGES)),scripts/harness-packages .tools)
	@$(if $(filter ./...,$(PACKAGES)),PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' scripts/test-web $(if $(SHORT),--short))
	@$(if $(filter ./...,$(PACKAGES)),$(MAKE) -j2 test-kube-api test-python test-typescript)
	@$(if $(filter ./internal/execution/launch%,$(PACKAGES)),$(MAKE) test-kube-api)
	@$(if $(filter ./... ./internal/execution/harness%,$(PACKAGES)),$(TEST_AGENTS) -parallel 5 -run 'TestAgents/.*/turns' -skip 'TestAgents/(builtin|reference)')
	@$(if $(filter ./...,$(PACKAGES)),go test -C tools/release ./...)
	@PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' scripts/with-postgres \
		go test -timeout=40m -p $(AT_ONCE) -parallel $(PARALLEL) $(TESTFLAGS) $(PACKAGES)

# The real agents start slowly beside other tests, so they run alone.
TEST_AGENTS = PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' PENSTOCK_TEST_HARNESSES='$(CURDIR)/.tools/harnesses' \
	go test -count=1 ./internal/execution/harness

.PHONY: quick
quick: ## test what a change touches, in less than two minutes for most changes
	@scripts/need postgresql bubblewrap
	@scripts/quick

.PHONY: test-web
test-web: build ## run the tests of the dashboard, in a browser against a real server
	@PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' scripts/test-web

.PHONY: test-python
test-python: build ## run the checks and tests of the Python SDK against a real server
	@PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' scripts/test-python

.PHONY: test-typescript
test-typescript: build ## run the checks and tests of the TypeScript SDK against a real server
	@PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' scripts/test-typescript

.PHONY: test-kube-api
test-kube-api: ## test the launcher with the real API server of Kubernetes, if make kube-test has built it
	@scripts/kube-test --api $(TESTFLAGS)

.PHONY: dev-web
dev-web: ## serve the dashboard's sources with reload, for a server at PENSTOCK_URL
	@scripts/npm-ci web
	@cd web && node_modules/.bin/vite

.PHONY: demo
demo: build ## see the main job: a run created, watched, steered and cancelled
	@scripts/need bubblewrap curl
	@scripts/demo

.PHONY: attack
attack: ## try every attack of a sealed run, and print a table; UPDATE=1 writes docs/attacks.md
	@scripts/need bubblewrap
	@scripts/attack

.PHONY: guards
guards: ## remove each guard of testdata/guards.yaml in a copy of the tree, and show the test that fails; ONLY=text
	@PENSTOCK_GUARDS='$(or $(ONLY),all)' go test -count=1 -timeout 60m -run '^TestGuards$$' -v .

# Worlds of random tests, each in a process of its own; the first seed; the engine.
WORLDS ?= 2
SEED ?= $(shell date +%s)
ENGINE ?= sqlite

.PHONY: simulate
simulate: ## let a year pass with schedules, events, faults and wrong clocks; DAYS, SOURCES, WORLDS, SEED, ENGINE=postgres
	@PENSTOCK_TEST_DAYS='$(or $(DAYS),365)' PENSTOCK_TEST_SOURCES='$(or $(SOURCES),500)' \
		scripts/worlds '$(ENGINE)' internal/control '^TestALongTime$$' '$(WORLDS)' '$(SEED)' 1

# Each world has as many sequences of each of the four modes.
SEQUENCES = $(shell echo $$(( ($(or $(N),8000) + 4 * $(WORLDS) - 1) / (4 * $(WORLDS)) )))

.PHONY: sequences
sequences: ## run N random sequences of events, each about one subject; WORLDS, SEED, ENGINE=postgres
	@PENSTOCK_TEST_SEQUENCES='$(SEQUENCES)' scripts/worlds '$(ENGINE)' internal/control/factory \
		'^TestSequencesOfEventsOnASubject$$/.*/.*' '$(WORLDS)' '$(SEED)' '$(SEQUENCES)'

.PHONY: docker-test
docker-test: ## test the sandbox docker in full, with a Docker daemon that the tests start; needs root
	@scripts/need docker.io bubblewrap
	@CI=1 go test -count=1 -timeout 15m ./internal/wall/image ./internal/wall/sandbox
	@CI=1 go test -count=1 -run 'Container$$|Daemon' ./internal/execution/worker

.PHONY: kills
kills: build ## kill a server while workspaces are prepared, saved and restored: no turn is lost; KILLS=1000
	@scripts/need bubblewrap
	@PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' PENSTOCK_KILLS='$(or $(KILLS),1000)' \
		go test -count=1 -timeout 12h -run '^TestKillsLoseNoTurn$$' -v ./cmd/penstock

.PHONY: cap
cap: build ## prove that no budget is crossed: random schedules, killed processes, both engines; prints a table
	@scripts/need postgresql bubblewrap curl
	@PENSTOCK_TEST_BINARY='$(CURDIR)/bin/penstock' scripts/cap

.PHONY: toolchains
toolchains: ## install from the real registries through the egress proxy, and print a table
	@scripts/need gh
	@scripts/toolchains

.PHONY: bench
bench: build ## measure, as ratios to a bare handler in the same run: make bench BENCHFLAGS=-only=create
	@scripts/need postgresql chromium
	@PENSTOCK_TEST_POSTGRES_OPTIONS='-c fsync=on -c full_page_writes=on' scripts/with-postgres go run ./bench $(BENCHFLAGS)

.PHONY: check
check: .tools/versitygw check-format lint check-generated vulncheck fuzz ## what CI runs: all checks, then all tests, with the race detector
	@scripts/need build-essential
	@$(MAKE) test TESTFLAGS='-race $(WITHOUT_SQLITE) -count=1'

# SQLite is C translated to Go, with locks of its own, and not ours to test: to
# watch it, too, takes two thirds of the time of all tests. A package that has
# instances of the standard library's generic types cannot be left out like this:
# the linker may take its copies of them, and races are reported where none are.
WITHOUT_SQLITE := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

.PHONY: check-format
check-format: .tools/built ## fail where `make fmt` would change a file
	@echo format
	@.tools/golangci-lint fmt --diff

.PHONY: lint
lint: .tools/built ## golangci-lint (.golangci.yml), shellcheck
	@echo lint
	@.tools/golangci-lint run ./...
	@cd tools/release && ../../.tools/golangci-lint run ./...
	@scripts/need shellcheck
	@if command -v shellcheck >/dev/null; then shellcheck $(SCRIPTS); fi

.PHONY: check-generated
check-generated: ## fail where `make generate` or `go mod tidy` would change a file
	@echo generated files
	@scripts/check-generated

.PHONY: vulncheck
vulncheck: .tools/built ## govulncheck, where its database can be reached
	@echo vulnerabilities
	@scripts/vulncheck

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s): make fuzz PACKAGES=./internal/control/trigger FUZZTIME=10m
	@echo fuzz targets
	@FUZZTIME='$(FUZZTIME)' scripts/fuzz $(PACKAGES)

.PHONY: fmt
fmt: .tools/built ## format the sources
	@.tools/golangci-lint fmt

.PHONY: generate
generate: ## make the generated files anew
	@go generate ./...

.PHONY: cover
cover: ## coverage of each package by all tests, those that run the binary included
	@scripts/need postgresql bubblewrap
	@scripts/npm-ci internal/control/webhook/testdata/senders
	@scripts/with-postgres scripts/cover

.PHONY: prices
prices: ## collect the built-in prices anew, and show where the public lists disagree
	@scripts/prices

.PHONY: harness-test
harness-test: build ## test each agent that can be installed, from npm, and write the table of docs/harnesses.md
	@scripts/need bubblewrap
	@CI=true scripts/harness-packages .tools
	@PENSTOCK_HARNESS_TABLE='$(CURDIR)/docs/harnesses.md' $(TEST_AGENTS) -run TestAgents -v -parallel 2 -timeout 1h

.PHONY: kube-test
kube-test: build .tools/helm .tools/versitygw ## execute runs in real Pods: builds a cluster (once, about 12 CPU minutes) and runs it, as root
	@scripts/kube-test

.PHONY: harness-locks
harness-locks: ## pin the newest agents that can be installed, and Node 24
	@scripts/harness-locks

.PHONY: release
release: ## build the archives of the commit, with SBOM and checksums, twice, and compare: bin/release
	@scripts/release

.PHONY: forge
forge: build .tools/gitea ## try connections with a real Gitea
	@PENSTOCK_TEST_GITEA=$(CURDIR)/.tools/gitea go test ./cmd/penstock ./internal/control/forge -count=1 -run RealGitea

.PHONY: deploy-test
deploy-test: build .tools/helm ## try deploy/: build the images, execute a run in them, check the chart
	@scripts/deploy-test

.PHONY: clean
clean: ## remove what was built
	@rm -rf bin .tools coverage.out web/dist web/test-results cmd/penstock/inside/*/penstock-inside*

# The object store of the tests, in a module of its own: nothing of it is in the product.
.tools/versitygw: tools/s3/go.mod tools/s3/go.sum
	@echo 'building the object store of the tests (once, about one minute)' >&2
	@CGO_ENABLED=0 go build -C tools/s3 -buildvcs=false -trimpath -ldflags '-s -w' -o ../../.tools/ tool
	@touch $@

# Gitea, too: with its templates, which it reads at run time. It needs a compiler of C for its database.
.tools/gitea: tools/gitea/go.mod tools/gitea/go.sum
	@echo 'building Gitea (once, about 15 minutes)' >&2
	@CGO_ENABLED=1 go build -C tools/gitea -mod=mod -buildvcs=false -tags 'sqlite sqlite_unlock_notify' \
		-o ../../.tools/gitea code.gitea.io/gitea
	@rm -rf .tools/gitea-static && mkdir -p .tools/gitea-static
	@cd "$$(go list -C tools/gitea -mod=mod -m -f '{{.Dir}}' code.gitea.io/gitea)" && \
		cp -r templates options public "$(CURDIR)/.tools/gitea-static/" && chmod -R u+w "$(CURDIR)/.tools/gitea-static"
	@touch $@

# Helm, too, is in a module of its own.
.tools/helm: tools/helm/go.mod tools/helm/go.sum
	@echo 'building Helm (once, about four minutes)' >&2
	@CGO_ENABLED=0 go build -C tools/helm -buildvcs=false -trimpath -ldflags '-s -w' -o ../../.tools/ tool
	@touch $@

# The tools' versions are pinned in tools/go.mod.
.tools/built: tools/go.mod tools/go.sum
	@echo 'building the tools (once, about two minutes)' >&2
	@go build -C tools -buildvcs=false -o ../.tools/ tool
	@touch $@
