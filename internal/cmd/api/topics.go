package api

import (
	"fmt"
	"strings"

	"example.com/till/pkg/api/sandbox"
)

// commands maps the operations of the interface to the commands that use them.
func commands() map[string]string {
	return map[string]string{
		"GET /api/invite":                      "invite get",
		"POST /api/invite":                     "invite create",
		"GET /api/invites":                     "invite list",
		"GET /api/invoice":                     "invoice get",
		"POST /api/invoice":                    "invoice create",
		"GET /api/merchant_withdrawal":         "withdraw get",
		"POST /api/merchant_withdrawal/create": "withdraw create",
		"POST /api/merchant_withdrawal/list":   "withdraw list",
		"GET /api/reseller/balance":            "reseller balance",
		"GET /api/reseller/balance/currency":   "reseller balance",
		"GET /api/reseller/info":               "reseller info",
		"GET /api/reseller/invite":             "reseller invite",
		"GET /api/reseller/invoice":            "reseller invoice get",
		"GET /api/reseller/invoice/finished":   "reseller invoice finished",
		"POST /api/reseller/invoice/list":      "reseller invoice list",
		"GET /api/reseller/rebate":             "reseller rebate",
		"GET /api/reseller/rebate/currency":    "reseller rebate",
		"GET /api/reseller/stats":              "reseller stats",
		"GET /api/reseller/withdraw":           "reseller withdraw get",
		"POST /api/reseller/withdraw/list":     "reseller withdraw list",
		"GET /api/resellers":                   "reseller list",
		"GET /api/resellers/ids":               "reseller ids",
	}
}

// OperationsTopic lists the operations of the interface.
func OperationsTopic() string {
	var b strings.Builder
	b.WriteString("These are the operations of the service's interface, and the commands that use\nthem. till api sends any of them, except the creation of a withdrawal.\n\n")
	by := commands()
	for _, op := range sandbox.Operations() {
		fmt.Fprintf(&b, "  %-37s till %s\n", op, by[op])
	}
	b.WriteString("\nWith --dry-run, every command shows the request that it would make. The names\nof the operations are the values of --on of till sandbox fault add.\n")
	return b.String()
}
