package payout

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// began records the plan of p as a run that was paid, and begins does but for its last rows.
func (p *planner) began() {
	p.t.Helper()
	p.begins(0)
}

func (p *planner) begins(unsent int) {
	p.t.Helper()
	plan := open(p.t, p.Path)
	run := journal.Run{Name: plan.Name(), Digest: plan.Digest, Plan: plan.Path, Batch: plan.Batch, Since: plan.Since,
		Layout: layoutKey(plan.Layout)}
	ok(p.t, errorOf(p.ledger.BeginRun(context.Background(), run, recorded(plan.Rows))))
	for _, r := range plan.Rows[:len(plan.Rows)-unsent] {
		p.settles(journal.Evidence{OrderID: r.ExternalOrderID, Withdrawal: "w" + r.ExternalOrderID,
			Content: contentOf(r.CreateWithdrawal)})
	}
	os.Remove(p.Path)
}

// TestMakeWarnsOfLookAlikes checks which new addresses are taken for an accepted one by a person who compares
// four characters at each end.
func TestMakeWarnsOfLookAlikes(t *testing.T) {
	const middle, other = "5aeb6053f3e94c9b9a09f33669435e7e", "0000000000000000000000000000abcd"
	for _, test := range []struct {
		name, known, pays string
		alike             bool
	}{
		{"hexadecimal", "0xa7" + middle + "beaed0", "0xa7" + other + "beaed0", true},
		{"a 1 after the 0x", "0x15" + middle + "beaed0", "0x15" + other + "beaed0", true},
		{"a 1 in third place", "0xa1" + middle + "beaed0", "0xa1" + other + "beaed0", true},
		{"a 1 in fifth place", "0xab1e" + middle + "aed0", "0xabfe" + other + "aed0", true},
		{"a text with a 1 early", "pk1zMLkXH2Do9V5bY7tQwErTyUiOpAsDfG", "pk1zZZZZ2Do9V5bY7tQwErTy8888pAsDfG", true},
		{"another beginning", "0xa7" + middle + "beaed0", "0xb7" + other + "beaed0", false},
		{"another end", "0xa7" + middle + "beaed0", "0xa7" + other + "beaed1", false},
		{"the same one", "0xa7" + middle + "beaed0", "0xa7" + middle + "beaed0", false},
		{"the same one in capitals", "0xa7" + middle + "beaed0", "0xA7" + strings.ToUpper(middle) + "BEAED0", false},
		{"twenty characters", "0xa7" + middle[:12] + "aed0", "0xa7" + other[:12] + "aed0", true},
		{"nineteen", "0xa7" + middle[:11] + "aed0", "0xa7" + other[:11] + "aed0", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlanner(t)
			p.bring(under("9001", test.known), outAccepted("w1"))
			made, rows := p.must(header, "1,Btc,0.5,"+test.known, "2,Btc,0.6,"+test.pays)
			const told = "which looks like the address of order 9001, but is another address"
			alike := slices.ContainsFunc(made.Warnings, func(text string) bool {
				return strings.HasPrefix(text, "line 3: order 2 ") && strings.Contains(text, told)
			})
			if alike != test.alike || rows[1].Warned != test.alike || rows[0].Warned {
				t.Errorf("%q, marked %v and %v", made.Warnings, rows[0].Warned, rows[1].Warned)
			}
			if alike && !strings.Contains(made.Warnings[0], told) {
				t.Errorf("it is not the first: %q", made.Warnings)
			}
			if id, err := p.LookAlike(t.Context(), test.pays); err != nil || (id == "9001") != test.alike {
				t.Errorf("it looks like that of order %q, %v", id, err)
			}
			p = newPlanner(t) // in one file, and found again in a plan whose warnings were taken out
			made, _ = p.must(header, "1,Btc,0.5,"+test.known, "2,Btc,0.6,"+test.pays)
			plan := open(t, p.Path)
			plan.Warnings = []string{"line 0: x", "1: x", "line 1: x"}
			again, _ := plan.Findings(nil)
			const inFile = "which looks like the address of order 1 on line 2, but is another address"
			all, said := fmt.Sprint(again), "the plan says: line 0: x the plan says: 1: x line 1: the plan says: x"
			if strings.Contains(fmt.Sprint(made.Warnings), inFile) != test.alike ||
				strings.Contains(all, inFile) != test.alike || !strings.Contains(all, said) {
				t.Errorf("in one file: %q, and again: %s", made.Warnings, all)
			}
		})
	}
}

// TestMakeWarnsOfChanges checks what is told about a row when a run of its batch has begun.
func TestMakeWarnsOfChanges(t *testing.T) {
	const head = "currency,amount,address,note,reference,memo"
	for _, test := range []struct {
		name   string
		before []string
		row    string
		want   []string // in the warnings of the row, in this order
	}{
		{"nothing", []string{"Btc,1,a,Ann,,"}, "Btc,1,a,Ann,,", nil},
		{"more than half more", []string{"Btc,1,a,Ann,,"}, "Btc,1.50000001,a,Ann,,",
			[]string{"1.50000001 Btc, and 1.00000000 Btc"}},
		{"more than half less", []string{"Btc,1,a,Ann,,"}, "Btc,0.49999999,a,Ann,,", []string{"0.49999999 Btc, and"}},
		{"both", []string{"Btc,1,a,Ann,,"}, "Btc,9,b,Ann,,", []string{"Ann: another address", "9.00000000 Btc, and"}},
		{"a first note", []string{"Btc,1,a,,,"}, "Btc,9,a,Ann,,", []string{"9.00000000 Btc, and 1.00000000 Btc"}},
		{"a new note", []string{"Btc,1,a,Ann,,"}, "Btc,1,a,Anna,,", nil},
		{"reference before note", []string{"Btc,1,a,Ann,I-1,", "Btc,1,b,Bo,I-2,"}, "Btc,1,b,Ann,I-2,", nil},
		{"note before address", []string{"Btc,1,a,Ann,I-1,", "Btc,1,b,Bo,I-2,"}, "Btc,1,b,Ann,I-3,",
			[]string{"Ann (I-3): another address"}},

		{"a payee of two rows", []string{"Btc,1,a,Ann,,", "Btc,2,a,Ann,,"}, "Btc,1,b,Ann,,",
			[]string{"Ann: another address"}},
		{"a note that all share", []string{"Btc,1,a,salary,,", "Btc,1,b,salary,,"}, "Btc,1,c,salary,,",
			[]string{"salary: a payee"}},
		{"a note that all share, and a known address", []string{"Btc,1,a,salary,,", "Btc,1,b,salary,,"},
			"Btc,9,b,salary,,",
			[]string{"9.00000000 Btc, and 1.00000000 Btc"}},
		{"a payee of two rows, and more than the larger", []string{"Btc,1,a,Ann,,", "Btc,2,a,Ann,,"},
			"Btc,3.1,a,Ann,,",
			[]string{"3.10000000 Btc, and 2.00000000 Btc"}},
		{"a payee of two rows, and less", []string{"Btc,1,a,Ann,,", "Btc,9,a,Ann,,"}, "Btc,1,a,Ann,,", nil},
		{"another memo", []string{"Xlr,1,g,Ann,,7", "Xlr,1,g,Bo,,8"}, "Xlr,1,g,Ann,,8",
			[]string{`Ann: another memo than the last time: "8", and not "7"`}},
		{"a known memo of a shared address", []string{"Xlr,1,g,,,7", "Xlr,2,g,,,8", "Xlr,3,g,,,9"}, "Xlr,9,g,,,8",
			[]string{"9.0000000 Xlr, and 2.0000000 Xlr"}},
		{"a note that all share, and two memos", []string{"Xlr,1,g,pay,,7", "Xlr,1,g,pay,,8"}, "Xlr,1,g,pay,,8", nil},
		{"a memo that tells payees apart", []string{"Xlr,1,g,,,7", "Xlr,1,g,,,8"}, "Xlr,1,g,,,9", []string{": a payee"}},
		{"a payee of two addresses, and a third", []string{"Btc,1,a,Ann,,", "Btc,2,b,Ann,,", "Btc,1,c,C,,", "Btc,1,d,D,,", "Btc,1,e,E,,",
			"Btc,1,f,F,,"}, "Btc,1,x,Ann,,", []string{"Ann: another address than the last time: x, and not b"}},
		{"a payee of two addresses, and one of them", []string{"Btc,1,a,Ann,,", "Btc,2,b,Ann,,", "Btc,1,c,C,,", "Btc,1,d,D,,", "Btc,1,e,E,,",
			"Btc,1,f,F,,"}, "Btc,1,a,Ann,,", nil},
		{"a reference of two addresses, and one of them", []string{"Btc,1,a,,R,", "Btc,2,b,,R,", "Btc,1,c,C,,", "Btc,1,d,D,,", "Btc,1,e,E,,",
			"Btc,1,f,F,,"}, "Btc,1,a,,R,", nil},
		{"a number of the row as reference", []string{"Btc,1,a,Ann,1,", "Btc,2,b,Bo,2,"}, "Btc,2,b,Bo,1,", nil},
		{"a payee of two currencies", []string{"Btc,1,a,Ann,,", "Xlr,1,e,Ann,,1"}, "Btc,1,b,Ann,,",
			[]string{"Ann: another address"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPlanner(t)
			p.Batch, p.BatchChanged = "salaries", true
			p.Currencies = append(slices.Clone(p.Currencies), Currency{Code: "Xlr", Kind: api.Crypto, Decimals: 7})
			p.must(append([]string{head}, test.before...)...)
			p.began()
			made, rows := p.must(head, test.row)
			var got []string
			for _, text := range made.Warnings {
				if strings.HasPrefix(text, "line 2: ") && !strings.Contains(text, "nothing was paid before") {
					got = append(got, text)
				}
			}
			fits := func(i int) bool { return strings.Contains(got[i], test.want[i]) }
			if len(got) != len(test.want) || slices.ContainsFunc([]int{0, 1}[:len(got)], func(i int) bool { return !fits(i) }) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if rows[0].Warned != (len(test.want) > 0) {
				t.Errorf("marked: %v", rows[0].Warned)
			}
		})
	}
}

// TestMakeComparesWithTheNewestRun checks that a payee is looked for in the newest run that has it, and not in
// those that were not sent.
func TestMakeComparesWithTheNewestRun(t *testing.T) {
	p := newPlanner(t)
	p.BatchChanged = true
	const head = "currency,amount,address,note"
	runs := [][2]string{{"a", "Btc,1,old,Ann\nBtc,1,x,pay"}, {"a", "Btc,1,new,Ann\nBtc,1,y,pay\nBtc,1,z,pay"},
		{"b", "Btc,1,foreign,Ann"}, {"a", "Btc,1,other,Somebody"}}
	for _, r := range runs {
		p.Batch = r[0]
		p.must(head, r[1])
		p.began()
		p.clock.move(time.Second)
	}
	p.Batch = "a"
	for address, changed := range map[string]bool{"new": true, "old": true, "foreign": false} {
		made, _ := p.must(head, "Btc,1,"+address+",Ann")
		if told := strings.Contains(strings.Join(made.Warnings, "\n"), "another address"); told != changed {
			t.Errorf("%s: %q", address, made.Warnings)
		}
	}
	made, _ := p.must(head, "Btc,1,foreign,ANN ", "Btc,1,w,pay", "Btc,9,new,Bo", "Btc,1,other,Somebody")
	all := strings.Join(made.Warnings, "\n")
	for text, told := range map[string]bool{"ANN: ": false, "line 3: pay: a payee in Btc that the last runs do not have": true,
		"line 4: Bo: 9.00000000 Btc, and 1.00000000 Btc the last time": true, "line 5: Som": false} {
		if strings.Contains(all, text) != told {
			t.Errorf("%q in %q: want %v", text, all, told)
		}
	}
	p.must(head, "Btc,1,new,Ann", "Btc,7,never,Ann") // a row that was not sent says nothing
	p.begins(1)
	made, _ = p.must(head, "Btc,1,never,Ann")
	if all := strings.Join(made.Warnings, "\n"); !strings.Contains(all, "line 2: Ann: another address than the last time: never, and not new") {
		t.Error(all)
	}
	for i := range 12 {
		p.must(head, fmt.Sprintf("Btc,1,eve%d,Eve", i))
		p.began()
		p.clock.move(time.Second)
	}
	made, _ = p.must(head, "Btc,1,old,Ann", "Btc,1,eve11,Eve")
	if all := strings.Join(made.Warnings, "\n"); !strings.Contains(all, "line 2: Ann: another address") {
		t.Errorf("after 12 runs without her: %q", made.Warnings)
	}
}

// TestComparingTakesLittleMemory checks how much is kept of a run for each of its rows.
func TestComparingTakesLittleMemory(t *testing.T) {
	const rows, most = 10_000, 144 // bytes for each row, with 96 of its own
	p := newPlanner(t)
	lines := []string{header + ",note"}
	for i := range rows {
		lines = append(lines, fmt.Sprintf("%d,Btc,0.5,account-of-a-payee-somewhere-%012d,Payee number %d", i+1, i, i))
	}
	p.must(lines...)
	p.began()
	runs, err := p.ledger.Runs(t.Context())
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	p.Input, lines = nil, nil // what is freed in between would be missing from the difference
	before := heap()
	found, err := payeesOf(t.Context(), p.ledger, runs[0], rows)
	if took := (heap() - before) / rows; err != nil || len(found.keys) != 3*rows || took > most {
		t.Errorf("%d bytes for each row, %d keys, %v", took, len(found.keys), err)
	}
	runtime.KeepAlive(found)
	runtime.KeepAlive(p)
}
