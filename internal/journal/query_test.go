package journal

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/order"
)

func TestAccountsAndKeys(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		at := &clock{noon}
		j := open(func(o *Options) { o.Now = at.now })
		standing := func(a order.Account) AccountStatus {
			t.Helper()
			s, err := j.of(a).Status(t.Context())
			must(t, err)
			return s
		}
		if s := standing(shop); s.Newest != nil || s.Unknown != 0 || s.Merchant != "" ||
			s.OrderIDs != NotTried || s.Keys != nil {
			t.Errorf("of an account that is not there: %+v", s)
		}
		must(t, j.NoteKey(t.Context(), "k1", KeyChecked))
		at.Time = noon.Add(time.Second)
		must(t, j.NoteKey(t.Context(), "k2", KeyChecked))
		at.Time = noon.Add(2 * time.Second)
		must(t, j.NoteKey(t.Context(), "k1", KeyAdopted))
		must(t, j.NoteService(t.Context(), "m1", NotTried))
		must(t, j.NoteService(t.Context(), "", Kept))
		bring(t, j, "1", order.Accepted)
		at.Time = noon.Add(time.Hour)
		bring(t, j, "2", order.Accepted)
		at.Time = noon.Add(time.Minute)
		bring(t, j, "3", order.Accepted)
		for i, state := range []order.State{order.Unknown, order.Sending, order.Conflict, order.Rejected, order.Planned} {
			bring(t, j, string(rune('4'+i)), state)
		}
		s := standing(shop)
		if s.Newest == nil || s.Newest.OrderID != "2" || s.Unknown != 2 || s.Merchant != "m1" || s.OrderIDs != Kept ||
			!slices.Equal(s.Keys, []string{"k1", "k2"}) {
			t.Errorf("the standing is %+v", s)
		}
		office := order.Account{Address: shop.Address, Name: "office"}
		for key, how := range map[string]string{"k2": KeyFirst, "k1": KeyChecked} { // another process was quicker
			wantErr(t, key+" of another account", AccountChanged)(nil, j.of(office).NoteKey(t.Context(), key, how))
		}
		wantErr(t, "a first key beside others", AccountChanged)(nil, j.NoteKey(t.Context(), "k3", KeyFirst))
		must(t, j.of(office).NoteKey(t.Context(), "k2", KeyAdopted))
		wantUsers(t, j, "k2", shop, office)
		wantUsers(t, j, "k3")
		if all, err := j.Accounts(t.Context()); err != nil || !slices.Equal(all, []order.Account{shop, office}) {
			t.Errorf("the accounts are %v, %v", all, err)
		}
	})
}

// TestKeyOfACallThatNeverLeft checks that a first key is tied to an account once the service may have got
// anything that was sent with it, and not before. A key that was checked, or that a person adopted, is tied
// whatever the outcome of a call is.
func TestKeyOfACallThatNeverLeft(t *testing.T) {
	closedKey := Outcome{Ending: order.SaidNothing, Status: 401, Reason: "no such key"}
	for name, tt := range map[string]struct {
		how    string
		before []Outcome // of other orders; an order under way has none
		out    Outcome
		tied   bool
	}{
		"never left":                      {KeyFirst, nil, notLeft, false},
		"the key was refused":             {KeyFirst, nil, closedKey, true},
		"too many calls":                  {KeyFirst, nil, limited, true},
		"unknown":                         {KeyFirst, nil, unknown, true},
		"another was accepted":            {KeyFirst, []Outcome{accepted("w9")}, notLeft, true},
		"another is unknown":              {KeyFirst, []Outcome{unknown}, notLeft, true},
		"another is under way":            {KeyFirst, []Outcome{{}}, notLeft, true},
		"another was one too many":        {KeyFirst, []Outcome{limited}, notLeft, true},
		"it was checked":                  {KeyChecked, nil, notLeft, true},
		"a person vouched for it":         {KeyAdopted, nil, notLeft, true},
		"another one, of another account": {KeyFirst, nil, notLeft, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachJournal(t, func(t *testing.T, j *book) {
				if strings.HasSuffix(name, "account") {
					mustFinishFor(t, j, order.Account{Address: shop.Address, Name: "office"},
						Claim{Row: Row{OrderID: "9", Content: tea}, Key: "key9"}, accepted("w9"))
				}
				must(t, j.NoteKey(t.Context(), "key1", tt.how))
				for i, out := range tt.before {
					ticket := mustClaim(t, j, claim(fmt.Sprint(i+2)))
					if out != (Outcome{}) {
						mustFinish(t, j, ticket, out)
					}
				}
				mustFinish(t, j, mustClaim(t, j, claim("1")), tt.out)
				wantUsers(t, j, "key1", slices.Repeat([]order.Account{shop}, map[bool]int{true: 1}[tt.tied])...)
				// An order that is sent with it afterwards ties it in any case, also in the same commit.
				_, finished, _, claimed := j.FinishAndClaim(t.Context(), mustClaim(t, j, claim("98")), notLeft, claim("99"))
				must(t, errors.Join(finished, claimed))
				wantUsers(t, j, "key1", shop)
			})
		})
	}
}

// TestFirstKeyIsTiedOnce checks that the first use ties a key, if two accounts have the same first key or one
// account has two first keys.
func TestFirstKeyIsTiedOnce(t *testing.T) {
	eachJournal(t, func(t *testing.T, j *book) {
		office := order.Account{Address: shop.Address, Name: "office"}
		for _, noted := range []struct {
			a   order.Account
			key string
		}{{shop, "key1"}, {office, "key1"}, {shop, "key2"}} {
			must(t, j.of(noted.a).NoteKey(t.Context(), noted.key, KeyFirst))
		}
		whole := j.dialect
		j.dialect = failingCommit{whole}
		wantErr(t, "without its commit", errNoCommit)(j.Claim(t.Context(), claim("0")))
		j.dialect = whole
		mustClaim(t, j, claim("1")) // with key1
		wantUsers(t, j, "key1", shop)
		wantErr(t, "with the same key for another account", AccountChanged)(j.in(t, office).Claim(t.Context(), claim("1")))
		other := claim("2")
		other.Key = "key2"
		wantErr(t, "with another first key", AccountChanged)(j.Claim(t.Context(), other))
		seen := Evidence{OrderID: "3", Withdrawal: "w3", Content: claim("3").Content, Key: "key2"}
		wantErr(t, "with what another first key has read", AccountChanged)(j.Settle(t.Context(), seen))
	})
}

func mustFinishFor(t *testing.T, j *book, a order.Account, c Claim, out Outcome) {
	t.Helper()
	ticket, err := j.in(t, a).Claim(t.Context(), c)
	if err == nil {
		_, err = j.Finish(t.Context(), ticket, out)
	}
	must(t, err)
}

// TestRenameIsRefusedDuringARun checks that accounts cannot be renamed while a process applies a plan:
// neither the plan's account, nor another account to its name. The account has a history, was made by the
// plan's run, or is empty.
func TestRenameIsRefusedDuringARun(t *testing.T) {
	moved := order.Account{Address: "https://new.test/api", Name: "shop"}
	for name, prepare := range map[string]func(t *testing.T, applies *book){
		"a history, and its new name has an empty account": func(t *testing.T, applies *book) {
			bring(t, applies, "1", order.Accepted)
			must(t, applies.Alone(t.Context(), "cafe"))
			applies.in(t, moved)
		},
		"a new account": func(t *testing.T, applies *book) {
			must(t, applies.Alone(t.Context(), "cafe"))
			mustBegin(t, applies, Run{Name: "cafe", Digest: "cafe"}, row("1"))
		},
		"an empty account": func(t *testing.T, applies *book) {
			bring(t, applies, "1", order.Accepted)
			must(t, applies.in(t, moved).Alone(t.Context(), "cafe", true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, open opener) {
				applies, j := open(), open()
				prepare(t, applies)
				const accounts = `SELECT count(*) FROM accounts`
				before := mustCount(t, j, accounts)
				if err := j.Rename(t.Context(), shop, moved); !errors.Is(err, Busy) || AsError(err).Run != "cafe" {
					t.Errorf("got %v", err)
				}
				if n := mustCount(t, j, accounts); n != before {
					t.Errorf("it left %d accounts of %d", n, before)
				}
				mustEnd(t, applies, j)
				must(t, j.Rename(t.Context(), shop, moved))
			})
		})
	}
}

// TestFinishAfterRename checks that an outcome finds its order, and any other order with its id, even if the
// account was renamed.
func TestFinishAfterRename(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		j, other := open(), open()
		moved := order.Account{Address: "https://new.test/api", Name: "shop"}
		bring(t, j, "1", order.Accepted)
		ticket := mustClaim(t, j, claim("2"))
		loseLock(t, j)
		mustDo(t)(other.Reap(t.Context()))
		must(t, other.Rename(t.Context(), shop, moved))
		wantIs(t, "the id of order 1 was taken for order 2", mustFinish(t, j, ticket, accepted("w1")), order.Unknown)
		if all, err := j.Accounts(t.Context()); err != nil || !slices.Equal(all, []order.Account{moved}) {
			t.Errorf("the accounts are %v, %v", all, err)
		}
	})
}

func TestFilters(t *testing.T) {
	eachDialect(t, func(t *testing.T, open opener) {
		at := &clock{noon}
		j := open(func(o *Options) { o.Now = at.now })
		for i, state := range order.States() {
			at.Time = noon.Add(time.Duration(i) * time.Minute)
			bring(t, j, string(state), state)
		}
		at.Time = noon.Add(time.Hour)
		c := Claim{Row: Row{OrderID: "tea", Content: tea}}
		mustFinish(t, j, mustClaim(t, j, c), unknown)
		mustExec(t, j, "UPDATE orders SET currency = 'crypto:Eth' WHERE order_id = 'tea'")
		tea := tea
		tea.Currency = api.CryptoCurrency("Eth")
		mustBegin(t, j, Run{Name: "r1", Digest: "r1..."}, Row{OrderID: "tea", Content: tea})
		for _, test := range []struct {
			name string
			f    order.Filter
			want []string
		}{
			{"all", order.Filter{}, []string{"planned", "sending", "accepted", "rejected", "unknown", "conflict", "tea"}},
			{"from", order.Filter{From: noon.Add(4 * time.Minute)}, []string{"unknown", "conflict", "tea"}},
			{"between, in another zone", order.Filter{From: noon.Add(time.Minute).In(time.FixedZone("", 7200)),
				To: noon.Add(3 * time.Minute)}, []string{"sending", "accepted"}},
			{"states", order.Filter{States: []order.State{order.Unknown, order.Conflict}},
				[]string{"unknown", "conflict", "tea"}},
			{"currency", order.Filter{Currency: tea.Currency}, []string{"tea"}},
			{"order", order.Filter{OrderID: "unknown"}, []string{"unknown"}},
			{"all at once", order.Filter{From: noon, To: noon.Add(2 * time.Hour), States: []order.State{order.Unknown},
				Currency: tea.Currency, Address: tea.Address, Run: "r1", OrderID: "tea"}, []string{"tea"}},
			{"none", order.Filter{States: []order.State{order.Unknown}, Run: "r3"}, nil},
		} {
			wantOrders(t, test.name, j.Orders(t.Context(), test.f), test.want...)
		}
		mustBegin(t, j, Run{Name: "r2", Digest: "r2..."}, Row{OrderID: "unsent", Content: claim("9").Content},
			Row{OrderID: "tea", Content: tea})
		for want, f := range map[string]order.Filter{"tea, unsent": {Runs: true},
			"tea": {Runs: true, States: []order.State{order.Unknown}}, "unsent, tea": {Runs: true, Run: "r2"}} {
			wantOrders(t, fmt.Sprintf("%+v", f), j.Orders(t.Context(), f), strings.Split(want, ", ")...)
		}
		// The service may have these, or a person says that it has them, and it has never shown them.
		for id, d := range map[string]Decision{"not sent": {NotSent: true, Reason: "x"}, "paid as": {PaidAs: "w9"},
			"seen": {}} {
			bring(t, j, id, order.Unknown)
			if d.OrderID = id; id != "seen" {
				mustDecide(t, j, d)
			}
		}
		must(t, j.Show(t.Context(), "seen", "w8"))
		var unshown []string
		for id, err := range j.Unshown(t.Context()) {
			must(t, err)
			unshown = append(unshown, id)
		}
		if slices.Sort(unshown); !slices.Equal(unshown,
			[]string{"not sent", "paid as", "planned", "rejected", "sending", "tea", "unknown"}) {
			t.Errorf("unshown are %q", unshown)
		}
		wantOrders(t, "no account", j.of(order.Account{}).Orders(t.Context(), order.Filter{}))
		for range j.Orders(t.Context(), order.Filter{}) {
			break // the journal still works
		}
		wantErr(t, "an order that is not there", NotFound)(j.Order(t.Context(), "none"))
		wantErr(t, "an order without an id", NotFound)(j.Order(t.Context(), ""))
		j.Close()
		for _, err := range j.Orders(t.Context(), order.Filter{}) {
			if !errors.Is(err, Broken) {
				t.Errorf("of a closed journal: %v", err)
			}
		}
	})
}

// TestAskedBeforeEachWithdrawal checks that the queries before each withdrawal do not read all orders: the
// query plan uses an index for each table.
func TestAskedBeforeEachWithdrawal(t *testing.T) {
	j := mustOpenFile(t, filepath.Join(t.TempDir(), "journal.db"))
	defer j.Close()
	for _, query := range []string{
		`SELECT id FROM orders WHERE account = ?1 AND state = 'accepted' ORDER BY ` + byTime + ` LIMIT 1`,
		`SELECT count(*) FROM orders WHERE account = ?1 AND state IN ('unknown', 'sending')`,
		`SELECT count(*) FROM orders WHERE account = ?1 AND sent = '' AND state IN ('accepted', 'conflict')`,
		`SELECT count(*) FROM orders WHERE account = ?1 AND state IN ('unknown', 'sending') AND state = 'sending'`,
		ordersWhere(`account = ?1 AND order_id = ?2`),
	} {
		for _, step := range stepsOf(t, j, query, 1, "1") {
			if !strings.HasPrefix(step, "SEARCH ") || !strings.Contains(step, " USING ") {
				t.Errorf("%s: %s", query, step)
			}
		}
	}
	// Those before each scan and each part of a plan read only the orders that they are about.
	for condition, index := range map[string]string{unshown: "orders_unshown (account=?)",
		ofList:        "sqlite_autoindex_orders_1 (account=? AND order_id=?)",
		ofWithdrawals: "orders_withdrawal (account=? AND <expr>=?)"} {
		steps := stepsOf(t, j, ordersWhere(condition), 1, "[]")
		if !slices.Contains(steps, "SEARCH orders USING INDEX "+index) {
			t.Errorf("%s: %q, want %q", condition, steps, index)
		}
	}
	// What reads all orders does not sort them: that would take several times as long.
	if all, _ := queryFor(order.Filter{}); stepsOf(t, j, all, 1)[0] != "SCAN orders" {
		t.Error("all orders are sorted")
	}
}

// stepsOf returns the steps of a query plan in SQLite.
func stepsOf(t *testing.T, j *book, query string, args ...any) []string {
	t.Helper()
	r := j.read(t.Context())
	var ignored int
	steps := all(r, func(step *string) []any { return []any{&ignored, &ignored, &ignored, step} },
		"EXPLAIN QUERY PLAN "+query, args...)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return steps
}
