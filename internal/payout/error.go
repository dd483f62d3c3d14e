package payout

// Kind is what an Error means for what comes next.
type Kind int

const (
	Refused    Kind = iota // a guard said no, and nothing was sent
	Busy                   // another process is at it
	Unknown                // it may have been paid
	Conflict               // the service's record is not what the journal has
	ReadFailed             // the service's list could not be read as a whole
	Partial                // something was sent, and the rest was not
)

// The rules that a Refused error can name.
const (
	RuleOrderID   = "order_id_reused"
	RuleDuplicate = "duplicate"
	RuleAccount   = "account"
	RuleKey       = "key"
	RuleDecision  = "decision"

	RulePlanChanged  = "plan_changed"
	RulePlanExpired  = "plan_expired"
	RuleBatchChanged = "batch_changed"
)

// An Error is why something was not done, or not known to be done.
type Error struct {
	Kind Kind
	Rule string // of a Refused error
	Msg  string
	Hint string // what to do next
	Err  error
}

func (e *Error) Error() string { return e.Msg }
func (e *Error) Unwrap() error { return e.Err }
func refused(rule, msg, hint string) error {
	return &Error{Kind: Refused, Rule: rule, Msg: msg, Hint: hint}
}
