# bearerd: everything that one does with the tree, by name. `make help` lists it.

SWIFT     ?= swift
PREFIX    ?= /usr/local
DESTDIR   ?=
DEMO_ARGS ?=
TEST_ARGS ?=
E2E_ARGS  ?=
RELOADS   ?= 10000

release = .build/release
# Swift's runtime goes into the two programs; OpenSSL, libuv and libyaml stay the system's, for their security updates.
build_release = $(SWIFT) build -c release --static-swift-stdlib
run_tests     = $(SWIFT) test --disable-xctest

bindir      = $(DESTDIR)$(PREFIX)/bin
unitdir     = $(DESTDIR)$(PREFIX)/lib/systemd/system
sysusersdir = $(DESTDIR)$(PREFIX)/lib/sysusers.d
sharedir    = $(DESTDIR)$(PREFIX)/share/bearerd
docdir      = $(DESTDIR)$(PREFIX)/share/doc/bearerd
etcdir      = $(DESTDIR)/etc/bearerd

.DEFAULT_GOAL := help
# What stands in a row is done in that order, with -j too.
.NOTPARALLEL:
.PHONY: help deps test-deps clients-deps build demo test test-asan test-tsan e2e soak format lint mutate install uninstall clean

help: ## this list
	@echo "make TARGET, where TARGET is one of"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

deps: ## install the C libraries that are missing (apt-get, with sudo if needed)
	@SWIFT='$(SWIFT)' .ci/dependencies

test-deps:
	@SWIFT='$(SWIFT)' .ci/dependencies test

clients-deps:
	@SWIFT='$(SWIFT)' .ci/dependencies clients

build: ## release binaries: .build/release/bearerd and .build/release/bearerctl
	$(build_release)

demo: deps build ## a TLS upstream, bearerd in front of it, and one request through both (DEMO_ARGS=--once ends after it)
	$(release)/bearerctl demo $(DEMO_ARGS)

test: test-deps ## all tests (TEST_ARGS='--filter Policy' for some)
	$(run_tests) $(TEST_ARGS)

test-asan: test-deps ## all tests under the address sanitizer
	$(run_tests) --sanitize=address --scratch-path .build/asan $(TEST_ARGS)

test-tsan: test-deps ## all tests under the thread sanitizer
	TSAN_OPTIONS=report_thread_leaks=0 $(run_tests) --sanitize=thread --scratch-path .build/tsan $(TEST_ARGS)

e2e: clients-deps build ## real clients (curl, git, pip, ...) against real servers, through the release build (E2E_ARGS='curl git')
	@Tests/RealClients/run $(E2E_ARGS)

soak: test-deps build ## the release build, reloaded under load and 10,000 times (RELOADS=...), and what its memory does
	BEARERD_BIN=$(CURDIR)/$(release) BEARERD_RELOADS=$(RELOADS) $(run_tests) --filter EndToEnd.ReloadsUnderLoad

mutate: test-deps ## take out one protection after the other; each time a named test must fail
	@Tests/Mutations/run $(MUTATE_ARGS)

format: ## lay out the sources as .swift-format says
	$(SWIFT) format -i -r Package.swift Sources Tests

lint: ## complain where `make format` would change something, and more
	$(SWIFT) format lint --strict -r Package.swift Sources Tests

# Builds nothing: `make build` as yourself first, then this with the rights it needs.
install: ## copy what `make build` made below DESTDIR and PREFIX (default /usr/local)
	@test -x $(release)/bearerd && test -x $(release)/bearerctl \
	  || { echo "make install: nothing is built yet; run 'make build' first (no need to be root for that)" >&2; exit 1; }
	install -d $(bindir) $(unitdir) $(sysusersdir) $(sharedir)/examples $(docdir) $(etcdir)
	install -m 0755 $(release)/bearerd $(release)/bearerctl $(bindir)
	sed 's|/usr/local/|$(PREFIX)/|g' systemd/bearerd.service > $(unitdir)/bearerd.service
	chmod 0644 $(unitdir)/bearerd.service
	install -m 0644 systemd/bearerd.sysusers $(sysusersdir)/bearerd.conf
	install -m 0644 README.md SECURITY.md LICENSE $(docdir)
	install -m 0644 config/bearerd.schema.json $(sharedir)
	install -m 0644 config/examples/*.yaml $(sharedir)/examples
	@if test -e $(etcdir)/bearerd.yaml; then echo "$(etcdir)/bearerd.yaml is yours already and stays as it is"; \
	  else set -x; install -m 0644 config/bearerd.yaml $(etcdir)/bearerd.yaml; fi

uninstall: ## remove what install copied; /etc/bearerd stays
	rm -f $(bindir)/bearerd $(bindir)/bearerctl $(unitdir)/bearerd.service $(sysusersdir)/bearerd.conf
	rm -rf $(sharedir) $(docdir)

clean: ## remove .build
	rm -rf .build
