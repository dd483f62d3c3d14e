# make demo   the main job on the embedded sandbox
# make test   every test but those of the next three
# make test-race  the tests of packages once more, with the race detector, which needs a C compiler
# make test-crash  kills, orders of events and power cuts, few of each
# make test-dist  what make dist makes
# make torture  N kills while it sends withdrawals and N while it sends batches, SEED=n draws another run
# make prove  all orders of events in small worlds, and STATES states of the disk after a power cut
# make mutants  breaks N places of the code, one at a time, and prints which of them no test notices
# make bench  speed and memory against a bare baseline, each row with its limit
# make dist   what people install, in dist/; SIGN=KEYFILE signs the sums with an OpenSSH key, PGP=KEYFILE the deb and
#             the rpm, and APK=KEYFILE the apk
# make install  what make build made, to PREFIX, below DESTDIR if that is set; make uninstall removes it
# make pictures  the pictures of the README, and others to look at in bin/pictures
# make schemas  the schemas in pkg/schema, from the types that are printed; SCHEMAS=break allows an incompatible change
# make lint fuzz completions man vuln: what CI runs besides

GO     ?= go
FUZZ   ?= 10000x
N      ?= 20000
SCHEMAS ?= 1
SEED   ?= 1
STATES ?= 10000
SIGN   ?=
PGP    ?=
APK    ?=
PREFIX ?= /usr/local
export GOTOOLCHAIN ?= local

# SQLite's C code in Go is not ours to check, and takes half of the time of all tests if it is. Its driver is checked.
# GOFLAGS holds for the programs that tests build, too.
RACE = CGO_ENABLED=1 GOFLAGS="$(shell $(GO) env GOFLAGS) -trimpath -race '-gcflags=modernc.org/sqlite/lib=-d=checkptr=0 -race=false'" \
	$(GO) test -vet=off -timeout 30m

# In a source archive, which is no clone, the file VERSION names the version, and COMMIT the commit and its date.
# VERSION=1.2.3 on the command line names a version too.
VERSION = $(shell cat VERSION 2>/dev/null)
COMMIT  = $(shell cat COMMIT 2>/dev/null)
X       = -X example.com/till/internal/cli.source
STAMP = $(if $(VERSION),-buildvcs=false -ldflags '$(X)Version=v$(VERSION:v%=%)$(if \
	$(COMMIT), $(X)Commit=$(word 1,$(COMMIT)) $(X)Time=$(word 2,$(COMMIT)))')

# quote protects a name from the shell.
quote = '$(subst ','\'',$(1))'
absolute = $(if $(1),$$(realpath -- $(call quote,$(1))))

.PHONY: build demo test test-race test-crash test-dist test-clients torture prove mutants bench lint fuzz completions schemas man pictures dist install uninstall vuln clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath $(STAMP) -o bin/till ./cmd/till

demo: build
	@sh examples/demo.sh bin/till

# Builds as make build does, so that what it has compiled is used again. The linters vet. Many tests wait for other
# processes, so more run at a time than there are cores. What takes long begins first, so that no core waits for it at the end.
PLAIN = CGO_ENABLED=0 $(GO) test -trimpath -vet=off -timeout 30m -p 3 -parallel 4

CRASH    = e2e/torture e2e/explore e2e/powercut
PROGRAMS = internal/cli e2e/misbehave
CLIENTS  = e2e/openapi
PACKAGES = ./internal/journal ./pkg/payout $(filter-out $(CRASH:%=\%/%) $(PROGRAMS:%=\%/%) $(CLIENTS:%=\%/%),$(shell $(GO) list ./...))

# The tests sync thousands of journals, and on a disk that takes most of their time. No test needs what it wrote to outlast a
# power cut, so their files are kept in memory, where that has room for them and may run programs.
MEMORY = $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/ { print $$2; exit }' /proc/mounts 2>/dev/null | while read -r d; do \
	[ $$(df -Pk $$d | awk 'END { print $$4 }') -gt 4000000 ] && echo $$d; done)
test test-race test-crash test-dist test-clients mutants: export TMPDIR ?= $(MEMORY)

test: build
	$(PLAIN) $(PROGRAMS:%=./%) $(PACKAGES)

test-crash:
	$(PLAIN) $(CRASH:%=./%)

test-clients:
	$(PLAIN) $(CLIENTS:%=./%)

test-dist:
	cd tools/dist && $(PLAIN) ./...

# Scripts in which a command does several things at once. make stops if one of them does not exist. With the race detector, a
# program takes five times as long to start, and other tests start thousands of them.
RACED = callback_listen interrupted on_finish payout_apply payout_wait reseller_report sandbox_run sandbox_serve terminal_line withdraw_list

# These start no goroutine, nor do their tests, and with the race detector they take two minutes.
ALONE = render address

test-race: $(RACED:%=internal/cli/testdata/script/%.txtar)
	$(RACE) -p 3 -parallel 4 $(filter-out $(ALONE:%=\%/internal/%),$(PACKAGES))
	$(RACE) -parallel 4 -run 'TestScripts/^($(shell echo $(RACED) | tr ' ' '|'))$$' ./internal/cli

torture:
	$(GO) test ./e2e/torture -count=1 -timeout 0 -v -kills $(N) -seed $(SEED)

prove:
	$(GO) test ./e2e/explore -count=1 -timeout 0 -v -prove
	$(GO) test ./e2e/explore -count=1 -timeout 0 -v -prove -postgres -run 'TestExplore|TestVariants'
	$(GO) test ./e2e/powercut -count=1 -timeout 0 -v -states $(STATES) -seed $(SEED)

# It needs fewer of them than torture does.
mutants: N = 300
mutants:
	$(GO) run ./tools/mutants -seed $(SEED) -n $(N)

bench: build
	$(GO) run ./tools/bench bin/till

lint:
	.ci/lint

fuzz:
	.ci/fuzz $(FUZZ)

completions: build
	.ci/completions bin/till

# An incompatible change is refused, unless SCHEMAS=break says that it is meant.
schemas:
	TILL_UPDATE_SCHEMAS=$(SCHEMAS) $(GO) test ./internal/cli -count=1 -run '^TestSchemas$$'

# The tools of dist are a module of their own, so that nobody who imports till needs them.
man:
	cd tools/dist && $(GO) run . man ../../man

pictures: build
	tools/pictures/make.sh bin/till docs/pictures bin/pictures

# What was made before stays until all of it is made again.
dist:
	$(foreach key,SIGN PGP APK,$(if $($(key)),test -r $(call quote,$($(key))) &&)) true
	rm -rf dist.new
	pgp=$(call absolute,$(PGP)) apk=$(call absolute,$(APK)); \
		cd tools/dist && TILL_PGP_KEY="$$pgp" TILL_APK_KEY="$$apk" $(GO) run . ../../dist.new
	$(if $(SIGN),ssh-keygen -q -Y sign -n till-release -f $(call quote,$(SIGN)) dist.new/SHA256SUMS)
	rm -rf dist
	mv dist.new dist

BIN   = $(call quote,$(DESTDIR)$(PREFIX)/bin)
SHARE = $(call quote,$(DESTDIR)$(PREFIX)/share)

# Runs no Go, so that root does not need one. Only a source archive has the notices.
install:
	@test -x bin/till || { echo "make install: there is no bin/till: run make build first" >&2; exit 1; }
	install -d $(BIN) $(SHARE)/man/man1 $(SHARE)/man/man7 $(SHARE)/bash-completion/completions \
		$(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d $(SHARE)/licenses/till
	install -m 755 bin/till $(BIN)/till
	install -m 644 man/*.1 $(SHARE)/man/man1
	install -m 644 man/*.7 $(SHARE)/man/man7
	install -m 644 completions/till.bash $(SHARE)/bash-completion/completions/till
	install -m 644 completions/_till $(SHARE)/zsh/site-functions/_till
	install -m 644 completions/till.fish $(SHARE)/fish/vendor_completions.d/till.fish
	install -m 644 LICENSE $(wildcard THIRD_PARTY_NOTICES) $(SHARE)/licenses/till

# Directories that others use too stay.
uninstall:
	rm -f $(BIN)/till $(SHARE)/bash-completion/completions/till $(SHARE)/zsh/site-functions/_till \
		$(SHARE)/fish/vendor_completions.d/till.fish
	for page in man/*.[17]; do rm -f $(SHARE)/man/man"$${page##*.}/$${page#man/}"; done
	rm -f $(SHARE)/licenses/till/LICENSE $(SHARE)/licenses/till/THIRD_PARTY_NOTICES
	-test ! -d $(SHARE)/licenses/till || rmdir $(SHARE)/licenses/till

# Needs Go's vulnerability database, which is not reachable everywhere.
vuln:
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

clean:
	rm -rf bin dist dist.new
