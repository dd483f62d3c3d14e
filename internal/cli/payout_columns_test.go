//go:build unix

package cli

import (
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/payout/sheet"
)

// TestEveryColumnIsKept checks that what a payout file says in any of its columns is in the plan, in the journal, and in what
// is exported, for a row that was sent and for one that was not.
func TestEveryColumnIsKept(t *testing.T) {
	values := map[string]string{"order_id": "770123", "currency": "Btc", "amount": "0.125",
		"address": "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "callback": "https://shop.example/paid"}
	names := slices.DeleteFunc(slices.Clone(sheet.Names()), func(name string) bool {
		return name == "amount_minor" || name == "amount_currency" // other forms of an amount
	})
	var sent, planned []string
	for _, name := range names {
		if values[name] == "" {
			values[name] = "kept in " + name
		}
		sent, planned = append(sent, values[name]), append(planned, values[name])
	}
	planned[slices.Index(names, "order_id")] = "8" + values["order_id"]
	planned[slices.Index(names, "amount")] = values["amount"] + "5"
	script := `
cat >all.csv <<END
` + strings.Join(names, ",") + "\n" + strings.Join(sent, ",") + "\n" + strings.Join(planned, ",") + `
END
till payout plan all.csv --out all.plan -q >digest
till payout show all.plan -o json >show
till sandbox fault add --do drop-before --on "POST /api/merchant_withdrawal/create" -q >fault
till payout apply all.plan --yes -q || test $? = 20
till payout export "$(cut -c 8-15 digest)" -o json >export
till payout status "$(cut -c 8-15 digest)" -o json >status
till journal list -o json >list
`
	run := execute(t, docsEnv(t), "till", "sandbox", "run", "--", "sh", "-ec",
		script+"for f in show export status list; do echo \"== $f\"; cat $f; done")
	if run.code != 0 {
		t.Fatalf("it ended with %d: %s%s", run.code, run.out, run.err)
	}
	for _, part := range strings.Split(run.out, "== ")[1:] {
		command, printed, _ := strings.Cut(part, "\n")
		for name, value := range values {
			if strings.Count(printed, value) < 2 {
				t.Errorf("%s does not have the %s %q of both rows: %s", command, name, value, printed)
			}
		}
	}
}
