package cli

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// operations lists the operations of the interface, each with its SDK method and its command. A
// new operation fails here until it has all of them.
var operations = []struct{ endpoint, method, command string }{
	{"POST /api/merchant_withdrawal/create", "(s *Withdrawals) Create", "withdraw create"},
	{"GET /api/merchant_withdrawal", "(s *Withdrawals) Get", "withdraw get"},
	{"POST /api/merchant_withdrawal/list", "(s *Withdrawals) List", "withdraw list"},
	{"POST /api/invoice", "(s *Invoices) Create", "invoice create"},
	{"GET /api/invoice", "(s *Invoices) Get", "invoice get"},
	{"GET /api/invites", "(s *Invites) List", "invite list"},
	{"GET /api/invite", "(s *Invites) Get", "invite get"},
	{"POST /api/invite", "(s *Invites) Create", "invite create"},
	{"GET /api/resellers", "(s *Resellers) List", "reseller list"},
	{"GET /api/resellers/ids", "(s *Resellers) IDs", "reseller ids"},
	{"GET /api/reseller/info", "(s *Resellers) Info", "reseller info"},
	{"GET /api/reseller/invite", "(s *Resellers) Invite", "reseller invite"},
	{"GET /api/reseller/stats", "(s *Resellers) Stats", "reseller stats"},
	{"POST /api/reseller/withdraw/list", "(s *Resellers) Withdrawals", "reseller withdraw list"},
	{"GET /api/reseller/withdraw", "(s *Resellers) Withdrawal", "reseller withdraw get"},
	{"GET /api/reseller/balance", "(s *Resellers) Balance", "reseller balance"},
	{"GET /api/reseller/balance/currency", "(s *Resellers) BalanceIn", "reseller balance"},
	{"GET /api/reseller/rebate", "(s *Resellers) Rebate", "reseller rebate"},
	{"GET /api/reseller/rebate/currency", "(s *Resellers) RebateIn", "reseller rebate"},
	{"POST /api/reseller/invoice/list", "(s *Resellers) Invoices", "reseller invoice list"},
	{"GET /api/reseller/invoice", "(s *Resellers) Invoice", "reseller invoice get"},
	{"GET /api/reseller/invoice/finished", "(s *Resellers) InvoiceFinished", "reseller invoice finished"},
}

func TestEveryOperationHasMethodAndCommand(t *testing.T) {
	if len(operations) != 22 {
		t.Fatalf("the interface has 22 operations, and %d are listed", len(operations))
	}
	var sdk strings.Builder
	files, err := filepath.Glob("../../pkg/api/*.go")
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			sdk.WriteString(contents(t, file))
		}
	}
	must(t, err)
	service, err := sandbox.New()
	must(t, err)
	topic := topicTexts(t)["operations"]
	commands := map[string]bool{}
	for _, cmd := range leaves(tree(t)) {
		commands[strings.TrimPrefix(cmd.CommandPath(), "till ")] = true
	}
	for _, op := range operations {
		verb, path, _ := strings.Cut(op.endpoint, " ")
		if !strings.Contains(sdk.String(), "func "+op.method+"(") {
			t.Errorf("%s: the SDK has no method %s", op.endpoint, op.method)
		}
		if !strings.Contains(sdk.String(), "// "+op.endpoint+" (section ") {
			t.Errorf("%s: the method's documentation does not name it", op.endpoint)
		}
		w := httptest.NewRecorder()
		service.ServeHTTP(w, httptest.NewRequest(verb, "http://127.0.0.1"+path, nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s: the sandbox answers a call without a key with %d: has it no handler?", op.endpoint, w.Code)
		}
		if !commands[op.command] {
			t.Errorf("%s: there is no command %q", op.endpoint, op.command)
		}
		shown := regexp.MustCompile(`(?m)^  ` + regexp.QuoteMeta(op.endpoint) + ` +till ` + op.command + `$`)
		if !shown.MatchString(topic) {
			t.Errorf("%s: till help operations does not name its command", op.endpoint)
		}
	}
}
