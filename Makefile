# Two commands: `make demo` shows trellis at work, `make test` tests it. Each installs what is missing, builds and runs.
# The rest is for people who work on it. Everything real happens in CMakeLists.txt and in scripts/.

PREFIX ?= /usr/local# where `make install` goes; DESTDIR is put in front of it
FUZZ_SECONDS ?= 60# for each fuzz target
only = $(if $(T),--only '$(T)')

.PHONY: all build demo test test-long bench install docs lint format fuzz asan tsan clean help
.NOTPARALLEL:

all: build

build: ## the library, the command, the manual pages: build/release
	@scripts/setup core
	@scripts/build release

demo: build ## train on a small synthesised corpus, recognise voices it lacks (CORPUS=dir LEXICON=file: with yours)
	@CORPUS="$(CORPUS)" LEXICON="$(LEXICON)" scripts/demo

test: ## every test, then most of them again under address, undefined-behaviour and thread sanitizers (T=test_em: this one alone, in the release)
	@scripts/setup test
	@scripts/test $(if $(T),$(only) release,release asan tsan)

test-long: ## the tests in every build there is, then ten minutes of fuzzing per target
	@scripts/setup test
	@scripts/fuzz 600
	@TRELLIS_LONG=1 scripts/test release debug clang nosimd asan tsan

bench: ## measure (BENCH="features --quick": what)
	@scripts/setup test
	@scripts/build release
	@build/release/bench/trellis-bench $(BENCH)

install: build ## under PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"
	@if [ -z "$(DESTDIR)" ] && [ -w /etc/ld.so.cache ]; then ldconfig; fi

docs: build ## write docs/commands anew from the command's own help
	@scripts/make-pages markdown build/release/programs/trellis docs/commands

lint: ## clang-format, clang-tidy and shellcheck, none of which may complain
	@scripts/setup test
	@scripts/lint

format: ## let clang-format rewrite the sources
	@scripts/setup test
	@scripts/lint --format

fuzz: ## every fuzz target for FUZZ_SECONDS (60)
	@scripts/setup test
	@scripts/fuzz $(FUZZ_SECONDS)

asan tsan: ## the tests under one sanitizer (T=test_em: this one alone)
	@scripts/setup test
	@scripts/test $(only) $@

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z -]*\):[a-z ]*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "make %-10s %s\n", $$1, $$2 }'
