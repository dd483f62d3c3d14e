package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestImports checks the layers of the packages. Each may import the packages that are listed here, and
// nothing else from this module or from other modules. The standard library is always allowed.
func TestImports(t *testing.T) {
	const till = "example.com/till/"
	const box = till + "pkg/api/sandbox/internal/"
	// noun has the packages that the package of each noun of the command line may import. None may import
	// another noun's.
	noun := []string{till + "internal/cmdutil", till + "internal/orders", till + "internal/near", till + "internal/views",
		till + "internal/render", till + "internal/money", till + "pkg/api", till + "pkg/payout",
		till + "pkg/payout/approval",
		"github.com/spf13/cobra", "github.com/spf13/pflag"}
	allowed := map[string][]string{
		"cmd/till": {till + "internal/cli"},
		"pkg/api": {till + "internal/secret", "github.com/go-resty/resty/v2",
			"github.com/go-json-experiment/json"},
		"pkg/api/sandbox": {till + "internal/near", box + "checkout", box + "fault", box + "money", box + "refusal", box + "requestlog",
			box + "seed", box + "store", box + "webhook", box + "wire", "go.yaml.in/yaml/v3"},
		"internal/near":     {},
		"internal/usage":    {},
		"internal/period":   {till + "internal/near", till + "internal/report", till + "internal/usage"},
		"internal/progress": {till + "internal/render", till + "internal/terminal"},
		"internal/render": {till + "internal/money", till + "internal/near", till + "internal/usage", "github.com/olekukonko/tablewriter",
			"github.com/charmbracelet/lipgloss", "github.com/mattn/go-runewidth",
			"github.com/muesli/termenv", "github.com/rivo/uniseg", "go.yaml.in/yaml/v3"},
		"internal/config": {till + "internal/atomicfile", till + "internal/terminal", till + "internal/near", till + "internal/secret", till + "internal/usage", "github.com/spf13/viper",
			"github.com/spf13/pflag", "github.com/zalando/go-keyring", "go.yaml.in/yaml/v3",
			till + "internal/address", till + "internal/money", till + "internal/place", till + "pkg/api", till + "pkg/payout/sheet"},
		"internal/money":        {till + "pkg/api", till + "internal/address", till + "internal/usage"},
		"internal/report":       {till + "pkg/api", till + "internal/money"},
		"pkg/payout/sheet":      {till + "internal/near", "github.com/go-json-experiment/json", "golang.org/x/text"},
		"pkg/payout/sheet/xlsx": {till + "pkg/payout/sheet"},
		"pkg/payout": {till + "pkg/payout/sheet", till + "internal/atomicfile", till + "internal/near", till + "pkg/api",
			till + "internal/address", till + "internal/money", till + "internal/journal", till + "internal/planfile", till + "internal/usage",
			till + "pkg/payout/approval", till + "pkg/payout/order", "github.com/go-json-experiment/json",
			"golang.org/x/crypto/ssh", "golang.org/x/time/rate"},
		"internal/cli": nil, // all of these; a check below allows only cmd/till to import it
		"internal/views": {till + "internal/money", till + "internal/render", till + "pkg/api", till + "pkg/payout",
			till + "pkg/payout/approval"},
		"internal/inprocess": {},
		"internal/metrics":   {till + "internal/atomicfile", till + "internal/place"},
		"internal/orders": {till + "internal/cmdutil", till + "internal/config", till + "internal/money",
			till + "internal/render", till + "internal/views", till + "pkg/api", till + "pkg/payout", "github.com/spf13/cobra"},
		"internal/cmdutil": {till + "internal/atomicfile", till + "internal/inprocess", till + "internal/metrics",
			till + "internal/near", till + "internal/place", till + "internal/config", till + "internal/money",
			till + "internal/period", till + "internal/process", till + "internal/progress", till + "internal/render",
			till + "internal/secret", till + "internal/usage",
			till + "internal/terminal", till + "internal/views", till + "pkg/api", till + "pkg/api/sandbox", till + "pkg/payout",
			till + "pkg/payout/approval",
			"github.com/itchyny/gojq", "github.com/jackc/pgx/v5/pgconn", "github.com/spf13/cobra", "github.com/spf13/pflag",
			"golang.org/x/term"},
		"internal/cmd/api": slices.Concat(noun,
			[]string{till + "internal/atomicfile", till + "internal/terminal", till + "pkg/api/sandbox", "github.com/go-json-experiment/json"}),
		"internal/cmd/config": slices.Concat(noun,
			[]string{till + "internal/config", till + "internal/address", till + "internal/terminal", "golang.org/x/term"}),
		"internal/cmd/invoice": noun,
		"internal/cmd/journal": slices.Concat(noun, []string{till + "internal/config", till + "internal/place"}),
		"internal/cmd/payout": slices.Concat(noun,
			[]string{till + "internal/progress", till + "internal/atomicfile", till + "internal/config",
				till + "internal/period", till + "internal/planfile", till + "internal/terminal", till + "pkg/api/sandbox", till + "pkg/payout/sheet", till + "pkg/payout/sheet/xlsx",
				"golang.org/x/crypto/ssh", "golang.org/x/term"}),
		"internal/cmd/reseller": slices.Concat(noun,
			[]string{till + "internal/period", till + "internal/report", till + "internal/usage", "golang.org/x/sync"}),
		"internal/cmd/sandbox": slices.Concat(noun,
			[]string{till + "internal/period", till + "internal/config", till + "internal/process", till + "internal/terminal",
				till + "pkg/api/sandbox", "github.com/go-json-experiment/json", "go.yaml.in/yaml/v3"}),
		"internal/cmd/withdraw": slices.Concat(noun, []string{till + "pkg/payout/sheet"}),

		"tools/measure": {},
		"tools/mutants": {},
		"tools/bench": {till + "pkg/api", "github.com/btcsuite/btcd/btcutil", "github.com/go-json-experiment/json",
			"github.com/go-resty/resty/v2", "modernc.org/sqlite"},

		// The sandbox's internal packages, from the lowest to the highest. None imports pkg/api: the contract
		// is written twice.
		"pkg/api/sandbox/internal/refusal":    {},
		"pkg/api/sandbox/internal/money":      {box + "refusal"},
		"pkg/api/sandbox/internal/store":      {box + "money", box + "refusal", "modernc.org/sqlite"},
		"pkg/api/sandbox/internal/wire":       {box + "money", box + "refusal", box + "store"},
		"pkg/api/sandbox/internal/webhook":    {box + "refusal", box + "store"},
		"pkg/api/sandbox/internal/fault":      {till + "internal/near", box + "money", box + "refusal", box + "store", box + "wire"},
		"pkg/api/sandbox/internal/requestlog": {box + "fault", till + "internal/secret"},
		"pkg/api/sandbox/internal/checkout":   {box + "money", box + "refusal", box + "store", box + "wire"},
		"pkg/api/sandbox/internal/seed":       {box + "fault", box + "money", box + "refusal", box + "store", box + "wire"},

		"internal/tokentest": {"golang.org/x/crypto/ssh"}, // only for tests

		"pkg/payout/order": {till + "internal/address", till + "pkg/api"},
		"internal/journal": {till + "internal/atomicfile", "modernc.org/sqlite", "github.com/jackc/pgx/v5",
			"golang.org/x/sys", till + "internal/address", till + "internal/money", till + "internal/place",
			till + "internal/secret", till + "pkg/api", till + "pkg/payout/approval", till + "pkg/payout/order"},
		"pkg/payout/approval": {till + "pkg/api", "github.com/hiddeco/sshsig", "golang.org/x/crypto/ssh",
			"golang.org/x/text/unicode/norm"},
		"internal/place":      {},
		"internal/planfile":   {till + "internal/money", till + "pkg/api", till + "pkg/payout/sheet", "github.com/go-json-experiment/json"},
		"internal/secret":     {},
		"internal/process":    {"golang.org/x/sys"},
		"internal/terminal":   {"golang.org/x/sys", "golang.org/x/term"},
		"internal/atomicfile": {till + "internal/place", "golang.org/x/sys"},
		"internal/address":    {till + "internal/near", "github.com/btcsuite/btcd/btcutil", "golang.org/x/crypto/sha3"},
		"pkg/schema":          {},
		"internal/schemagen":  {},
		// only for tests
		"internal/journal/pgtest": {"github.com/jackc/pgx/v5"},
		// only for tests
		"pkg/api/internal/described": {till + "pkg/api/sandbox", "github.com/go-json-experiment/json", "github.com/santhosh-tekuri/jsonschema/v6"},
		// only for tests
		"e2e/chromium": {},
		// only for tests
		"e2e/torture": {},
		// only tests, from the outside
		"e2e/overlay": {},
		// only for tests
		"e2e/powercut":      {},
		"e2e/powercut/tape": {"modernc.org/sqlite", "modernc.org/libc"},
		"e2e/powercut/workload": {till + "e2e/powercut/tape", till + "pkg/api", till + "pkg/api/sandbox",
			till + "pkg/payout", till + "pkg/payout/sheet", "github.com/go-json-experiment/json"},
		"e2e/explore":   {}, // only tests
		"e2e/openapi":   {}, // likewise
		"e2e/misbehave": {}, // likewise
	}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, till)
		if strings.HasPrefix(name, "examples/") {
			continue
		}
		rule, known := allowed[name]
		if !known {
			t.Errorf("package %s has no rule: say here what it may import", name)
			continue
		}
		for _, imported := range p.Imports {
			if imported == till+"internal/cli" && name != "cmd/till" {
				t.Errorf("%s imports internal/cli, which only cmd/till may", name)
			}
			if apart := strings.HasPrefix(imported, till+"e2e/") ||
				strings.HasPrefix(imported, till+"tools/"); apart && !strings.HasPrefix(name, "e2e/") &&
				!strings.HasPrefix(name, "tools/") {
				t.Errorf("%s imports %s, and nothing of the product may", name, imported)
			}
			if imported == till+"internal/journal" && name != "pkg/payout" {
				t.Errorf("%s imports internal/journal, which only pkg/payout may: it is what keeps the rules", name)
			}
			external := strings.Contains(strings.Split(imported, "/")[0], ".")
			if rule == nil || !external {
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

// TestSDKDependsOnLittle checks all dependencies of the SDK.
func TestSDKDependsOnLittle(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "example.com/till/pkg/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, banned := range []string{"spf13", "charmbracelet", "tablewriter", "gojq", "keyring", "till/internal",
			"till/pkg/api/sandbox"} {
			if strings.Contains(dep, banned) && dep != "example.com/till/internal/secret" {
				t.Errorf("pkg/api brings %s along", dep)
			}
		}
	}
}

type listedPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "example.com/till/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []listedPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
