package exit

import "example.com/till/pkg/payout"

// Rule is a rule that refuses, with the exit code Refused. Duplicate has Unknown or Busy as long as the other order
// is unknown or being sent.
type Rule struct {
	Name    string `json:"rule" schema:"rule"`
	Meaning string `json:"meaning"`
	Advice  string `json:"advice"` // what to do
}

// RuleConfirmation is the rule of a question that was not answered with yes.
const RuleConfirmation = "confirmation"

// RuleReadOnly is the rule of a profile with which nothing is created.
const RuleReadOnly = "read_only"

// Rules returns all rules: an error names no other.
func Rules() []Rule {
	return []Rule{
		{RuleConfirmation, "A question was not answered with yes.",
			"Answer it on a terminal, or pass --yes or what the message names."},
		{payout.RuleLimit, "The amount is above a limit of the profile, or above what is left for the day or month.",
			"Check the amount, or wait until the message says. A person changes the limit with till profile set."},
		{RuleReadOnly, "The profile is read_only, and the command creates something.",
			"Use another profile. A person changes read_only with till profile set."},
		{payout.RuleFrozen, "A person has frozen the account, so nothing is paid for it.",
			"Read the reason. A person ends it with till journal unfreeze."},
		{payout.RuleAllowList, "The address is not in allow_addresses of the profile.",
			"Check the address. A person adds it with till profile set."},
		{payout.RuleAddress, "The address looks mistyped or is one that nobody means, or a spreadsheet may have rounded the memo.",
			"Get it again. A person who knows that it is right passes --allow-bad-address."},
		{payout.RuleOrderID, "The order id was used before with other contents.",
			"See the order with till journal show, and use a new order id for a new payment."},
		{payout.RuleDuplicate, "The same payment was made a moment ago, its outcome is unknown, or its record may be lost.",
			"Check the other order. If both are meant, pass --allow-duplicate."},
		{payout.RuleAccount, "The plan or the journal belongs to another account or address.",
			"Use the profile of that account, or make a new plan."},
		{payout.RuleKey, "The key cannot be shown to belong to the account.",
			"Check the key. If it is right, a person says so with till journal adopt-key."},
		{payout.RuleDecision, "The decision contradicts what is known about the order.",
			"Read what the message says about the order, and decide again."},
		{payout.RuleClock, "This machine's clock and the service's differ by more than a minute.",
			"Set the clock, and run it again. If it is right, pass --although-clock."},
		{payout.RuleList, "The service's list cannot prove what was not sent.",
			"Compare it with till journal check; accept what it shows with --accept REASON."},
		{payout.RulePlanChanged, "The plan does not match its digest, or the journal's rows of its run are not the plan's.",
			"Find out who has changed it. Get the plan that was approved, or make a new one and have it approved."},
		{payout.RulePlanExpired, "The plan has expired, and its run has not begun.", "Make a new plan."},
		{payout.RuleBatchChanged, "The file differs from the one that the batch's run was made from.",
			"Check what the message lists. If it is meant, pass --batch-changed."},
		{payout.RuleWarning, "There is a warning, and --fail-on-warning was given.",
			"Correct the file, or plan it without that flag."},
		{payout.RuleDecimals, "The plan shows amounts with other decimals than the profile has now.",
			"Check the decimals of the currency, and make a new plan."},
		{payout.RuleApproval, "Not enough persons have approved it, or the settings require less than the journal remembers.",
			"Have the plan approved with till payout approve, and apply it again."},
		{payout.RulePaidBefore, "Orders of the plan were accepted before, and --already-paid does not have their number.",
			"Check them. If only the rest is to be paid, pass --already-paid with their number."},
	}
}
