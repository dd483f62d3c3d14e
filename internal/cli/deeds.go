package cli

import "strings"

// deeds returns what each command does besides printing, by its path, in the words of cmdline.Deed. A number
// is an exit code that does not follow from them. A test that does something else fails, see cmdline.Undeclared.
func deeds() map[string]string {
	does := map[string]string{}
	for _, row := range []struct{ deeds, commands string }{
		{"money files asks calls journal dry", "withdraw create"},
		{"money files asks calls journal 50 dry", "payout apply"},
		{"service asks calls dry", "api"},
		{"service calls dry", "invoice create, invite create"},
		{"sandbox calls dry", "sandbox settings set, sandbox fund, sandbox pay, sandbox expire, sandbox advance"},
		{"sandbox calls dry", "sandbox callbacks resend, sandbox invite redeem, sandbox clock set, sandbox clock advance"},
		{"sandbox calls dry", "sandbox fault add, sandbox fault clear, sandbox reset, sandbox seed"},

		{"files calls journal", "payout plan, journal adopt-merchant, service check"},
		{"files asks journal 12", "payout approve"},
		{"files calls journal 13 20 21 50", "withdraw reconcile, payout reconcile"},
		{"files asks calls journal 13 20 21", "withdraw resolve, payout resolve"},
		{"files calls journal 13 20 33 42 dry", "withdraw wait"},
		{"files calls journal 20 21 33 42 50", "payout wait"},
		{"files calls journal 20 21", "journal check"},
		{"files journal", "journal copy, journal freeze, journal unfreeze, journal approvals"},
		{"files asks calls journal", "journal adopt-key"},
		{"files journal 13", "journal rename"},
		{"files calls 42 50 dry", "reseller report"},
		{"files 14 126 127", "sandbox run"},
		{"files 42 50 60", "callback listen"},
		{"files asks", "auth login"},
		{"files", "sandbox serve, profile use, profile set, profile remove, auth logout, currency set, currency remove"},

		{"calls journal 13 20 dry", "withdraw get"},
		{"calls journal 12", "payout show"},
		{"calls journal 20 21", "payout status, journal list"},
		{"calls journal dry", "currency check"},
		{"calls dry", "withdraw list, invoice get, invite list, invite get, auth status"},
		{"calls dry", "reseller list, reseller ids, reseller info, reseller invite"},
		{"calls dry", "reseller withdraw list, reseller withdraw get, reseller invoice get"},
		{"calls dry", "sandbox settings, sandbox callbacks, sandbox clock show, sandbox fault list, sandbox dump"},
		{"calls 33 42 dry", "invoice wait"},
		{"calls 50 dry", "reseller stats, reseller balance, reseller rebate, reseller invoice list"},
		{"calls 42 dry", "reseller invoice finished, sandbox callbacks list, sandbox requests"},
		{"journal", "payout list, payout export, journal show, journal export"},
		{"12 60", "payout rehearse, payout layout"},
		{"", "journal path, profile list, profile show, currency list, config show"},
		{"alone 11", "config path, commands, schema, version"},
		{"alone", "completion"},
	} {
		for _, path := range strings.Split(row.commands, ", ") {
			does[path] = row.deeds
		}
	}
	return does
}
