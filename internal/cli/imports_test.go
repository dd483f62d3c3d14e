package cli

import (
	"cmp"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mayImport has the layers: what each package may import from this module and from others, besides the standard
// library. A name without a folder is of internal/, box/ is pkg/api/sandbox/internal/, and NOUN stands for what all
// nouns of the command line may import, which is never another noun. The packages of the sandbox do not import
// pkg/api: the contract is written twice. Those of NOTHING import nothing else; some have only tests.
const mayImport = `
NOUN: cmdline cmdutil exit money near orders render views pkg/api pkg/payout pkg/payout/approval github.com/spf13/cobra
	github.com/spf13/pflag
cmd/till: cli
e2e/powercut/tape: modernc.org/libc modernc.org/sqlite
e2e/powercut/workload: e2e/powercut/tape pkg/api pkg/api/sandbox pkg/payout pkg/payout/sheet
	github.com/go-json-experiment/json
internal/address: near github.com/btcsuite/btcd/btcutil golang.org/x/crypto/sha3
internal/atomicfile: place golang.org/x/sys
internal/cmd/api: NOUN atomicfile terminal pkg/api/sandbox github.com/go-json-experiment/json
internal/cmd/config: NOUN address config terminal golang.org/x/term
internal/cmd/invoice: NOUN
internal/cmd/journal: NOUN config place
internal/cmd/payout: NOUN atomicfile config period planfile progress terminal pkg/api/sandbox pkg/payout/sheet
	pkg/payout/sheet/xlsx golang.org/x/crypto/ssh golang.org/x/term
internal/cmd/reseller: NOUN period report usage golang.org/x/sync
internal/cmd/sandbox: NOUN config period terminal pkg/api/sandbox github.com/go-json-experiment/json
	go.yaml.in/yaml/v3
internal/cmd/withdraw: NOUN pkg/payout/sheet
internal/cmdline: exit near render terminal pkg/payout github.com/spf13/cobra
internal/cmdutil: atomicfile cmdline config exit metrics money near period place progress render secret terminal
	usage views pkg/api pkg/api/sandbox pkg/payout pkg/payout/approval github.com/itchyny/gojq
	github.com/jackc/pgx/v5/pgconn github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term
internal/config: address atomicfile money near period place secret terminal usage pkg/api pkg/payout/sheet
	github.com/spf13/pflag github.com/spf13/viper github.com/zalando/go-keyring go.yaml.in/yaml/v3
internal/exit: config money render usage pkg/api pkg/api/sandbox pkg/payout
internal/journal: address atomicfile money period place secret pkg/api pkg/payout/approval pkg/payout/order
	pkg/payout/sheet github.com/jackc/pgx/v5 golang.org/x/sys modernc.org/sqlite
e2e/pgtest: github.com/jackc/pgx/v5
internal/metrics: atomicfile place
internal/money: address usage pkg/api
internal/orders: cmdline cmdutil config exit money render views pkg/api pkg/payout github.com/spf13/cobra
internal/period: near report usage
internal/planfile: money pkg/api pkg/payout/sheet github.com/go-json-experiment/json
internal/progress: render terminal
internal/render: money near usage github.com/charmbracelet/lipgloss github.com/mattn/go-runewidth
	github.com/muesli/termenv github.com/olekukonko/tablewriter github.com/rivo/uniseg go.yaml.in/yaml/v3
internal/report: money usage pkg/api
internal/terminal: golang.org/x/sys golang.org/x/term
e2e/tokentest: golang.org/x/crypto/ssh
internal/views: money render pkg/api pkg/payout pkg/payout/approval pkg/payout/sheet
pkg/api: secret github.com/go-json-experiment/json github.com/go-resty/resty/v2
e2e/described: pkg/api/sandbox github.com/go-json-experiment/json
	github.com/santhosh-tekuri/jsonschema/v6
pkg/api/sandbox: box/checkout box/fault box/money box/refusal box/seed box/store box/webhook box/wire
	near secret go.yaml.in/yaml/v3
pkg/payout: address atomicfile journal money near planfile usage pkg/api pkg/payout/approval pkg/payout/order
	pkg/payout/sheet github.com/go-json-experiment/json golang.org/x/crypto/ssh golang.org/x/text/unicode/norm golang.org/x/time/rate
pkg/payout/approval: pkg/api github.com/hiddeco/sshsig golang.org/x/crypto/ssh golang.org/x/text/unicode/norm
pkg/payout/order: address pkg/api pkg/payout/sheet
pkg/payout/sheet: near github.com/go-json-experiment/json golang.org/x/text
pkg/payout/sheet/xlsx: pkg/payout/sheet
tools/bench: pkg/api github.com/btcsuite/btcd/btcutil github.com/go-json-experiment/json github.com/go-resty/resty/v2
	modernc.org/sqlite
box/money: box/refusal
box/store: atomicfile box/money box/refusal modernc.org/sqlite
box/wire: box/money box/refusal box/store
box/webhook: box/refusal box/store
box/fault: box/money box/refusal box/store box/wire near
box/checkout: box/money box/refusal box/store box/wire
box/seed: box/fault box/money box/refusal box/store box/wire
NOTHING: box/refusal e2e/chromium e2e/explore e2e/misbehave e2e/openapi e2e/overlay e2e/powercut e2e/torture
	internal/near internal/place internal/secret internal/usage pkg/schema
	tools/measure tools/mutants`

// TestImports checks the layers of the packages. internal/cli may import all of them.
func TestImports(t *testing.T) {
	const till = "example.com/till/"
	full := strings.NewReplacer("box/", "pkg/api/sandbox/internal/")
	allowed := map[string][]string{"internal/cli": nil}
	for _, rule := range strings.Split(strings.ReplaceAll(strings.TrimSpace(mayImport), "\n\t", " "), "\n") {
		name, words, _ := strings.Cut(rule, ":")
		var imports []string
		for _, word := range strings.Fields(words) {
			switch first, _, below := strings.Cut(word, "/"); {
			case name == "NOTHING":
				allowed[full.Replace(word)] = []string{}
			case word == "NOUN":
				imports = append(imports, allowed["NOUN"]...)
			case strings.Contains(first, "."):
				imports = append(imports, word)
			case below && slices.Contains([]string{"box", "pkg", "e2e"}, first):
				imports = append(imports, till+full.Replace(word))
			default:
				imports = append(imports, till+"internal/"+word)
			}
		}
		allowed[full.Replace(name)] = imports
	}
	isApart := func(name string) bool { return strings.HasPrefix(name, "e2e/") || strings.HasPrefix(name, "tools/") }
	onlyBy := map[string]string{"internal/cli": "cmd/till", "internal/journal": "pkg/payout"}
	for line := range strings.Lines(goPrints(t, "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, till+"...")) {
		imports := strings.Fields(line)
		name := strings.TrimPrefix(imports[0], till)
		rule, known := allowed[name]
		if strings.HasPrefix(name, "examples/") {
			continue
		}
		if !known {
			t.Errorf("package %s has no rule: say in mayImport what it may import", name)
		}
		for _, imported := range imports[1:] {
			ours := strings.TrimPrefix(imported, till)
			if by := onlyBy[ours]; by != "" && name != by || isApart(ours) && ours != imported && !isApart(name) {
				t.Errorf("%s imports %s, which only %s may", name, ours, cmp.Or(by, "tests and tools"))
			}
			if !strings.Contains(strings.Split(imported, "/")[0], ".") || name == "internal/cli" {
				continue
			}
			if !slices.ContainsFunc(rule, func(prefix string) bool {
				return imported == prefix || strings.HasPrefix(imported, prefix+"/") && !strings.HasPrefix(prefix, till)
			}) {
				t.Errorf("%s imports %s, which it may not", name, imported)
			}
		}
	}
}

// faceLines is how long the page of pkg/payout may be, with the comment of the package: about two screens.
const faceLines = 96

// TestPayoutFace checks that go doc shows pkg/payout on two screens. It also checks that no declaration or
// comment there or in a package below names something of an internal package, because no reader of another
// module can look that up.
func TestPayoutFace(t *testing.T) {
	const payout = "example.com/till/pkg/payout"
	page := goPrints(t, "doc", payout)
	if lines := strings.Count(page, "\n"); lines > faceLines {
		t.Errorf("go doc has %d lines, and may have %d", lines, faceLines)
	}
	var names []string
	for _, p := range strings.Fields(goPrints(t, "list", "-deps", payout)) {
		if strings.HasPrefix(p, "example.com/till/internal/") {
			names = append(names, path.Base(p))
		}
	}
	internal := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\.[A-Z]\w*`)
	for _, p := range strings.Fields(goPrints(t, "list", payout+"/...")) {
		for line := range strings.Lines(goPrints(t, "doc", "-all", p)) {
			if used := internal.FindString(line); used != "" {
				t.Errorf("%s shows %s: %s", p, used, line)
			}
		}
	}
}

func goPrints(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return string(out)
}
