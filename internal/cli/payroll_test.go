//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// noting creates a command that appends its arguments and its input to a file, after a line of stars for each
// call. It returns both.
func noting(t *testing.T) (command, file string) {
	t.Helper()
	dir := t.TempDir()
	command, file = filepath.Join(dir, "note"), filepath.Join(dir, "noted")
	writeProgram(t, command, "{ echo '***'; printf '%s\\n' \"$*\"; cat; } >>"+file)
	writeFile(t, file, "")
	return command, file
}

// subjects returns the first line of each note.
func subjects(t *testing.T, file string) (all []string) {
	t.Helper()
	for _, note := range strings.Split(contents(t, file), "***\n")[1:] {
		line, _, _ := strings.Cut(note, "\n")
		all = append(all, line)
	}
	return all
}

// payroll is a file of people that is planned and approved.
type payroll struct {
	*faulty
	env          []string
	script, plan string
	digest, run  string
	orders       []string // the order ids of the rows
	mails        string
}

const threePeople = "currency,amount,address,note\nBtc,0.5,bc1qa,Ada\nBtc,0.25,bc1qb,Ben\nBtc,0.125,bc1qc,Cleo\n"

func startPayroll(t *testing.T, rows string) payroll {
	t.Helper()
	p := payroll{faulty: startFaulty(t, nil), script: absolute(t, "examples/payroll.sh")}
	mailer, mails := noting(t)
	p.mails = mails
	p.env = p.faulty.env(t, "MAILER="+mailer, "PAYROLL_TO=office@shop.example", "PAYROLL_PAUSE=0", "PAYROLL_TRIES=2")
	file := writeFile(t, filepath.Join(t.TempDir(), "May $HOME", "payroll-2026-05.csv"), rows)
	if run := execute(t, p.env, "sh", p.script, "plan", file); run.code != 0 {
		t.Fatalf("plan ended with %d: %s%s", run.code, run.out, run.err)
	}
	p.plan = strings.TrimSuffix(file, ".csv") + ".plan"
	shown := execute(t, p.env, "sh", p.script, "show", p.plan)
	_, digest, found := strings.Cut(shown.out, "hand over: ")
	if p.digest = strings.TrimSpace(digest); shown.code != 0 || !found ||
		!strings.Contains(shown.out, "Cleo") && strings.Contains(rows, "Cleo") {
		t.Fatalf("show ended with %d: %s%s", shown.code, shown.out, shown.err)
	}
	p.run = strings.TrimPrefix(p.digest, "sha256:")[:8]
	p.orders = strings.Fields(execute(t, p.env, "till", "payout", "show", p.plan, "-q").out)
	wantText(t, "sent before it was paid", p.sent(), "")
	return p
}

// answerRow sets how the creates of a row are answered.
func (p *payroll) answerRow(t *testing.T, row int, answers ...string) {
	t.Helper()
	p.answer(t, p.orders[row], answers...)
}

// pay pays, and checks the exit code and the single mail that is sent.
func (p *payroll) pay(t *testing.T, code int, subject string) finished {
	t.Helper()
	writeFile(t, p.mails, "")
	run := execute(t, p.env, "sh", p.script, "pay", p.plan, p.digest)
	if got := subjects(t, p.mails); run.code != code || len(got) != 1 ||
		got[0] != "-s Payroll "+p.run+": "+subject+" office@shop.example" {
		t.Fatalf("it ended with %d, not %d, and mailed %q:\n%s%s", run.code, code, got, run.out, run.err)
	}
	return run
}

// payWith pays in another environment, and checks only the exit code.
func (p *payroll) payWith(t *testing.T, code int, env ...string) {
	t.Helper()
	if run := execute(t, withEnv(p.env, env), "sh", p.script, "pay", p.plan, p.digest); run.code != code {
		t.Errorf("it ended with %d, not %d: %s", run.code, code, run.err)
	}
}

func (p *payroll) rows(n int) string { return strings.Join(p.orders[:n], " ") }

func TestPayroll(t *testing.T) {
	t.Parallel()
	with := func(name, rows string, check func(*testing.T, payroll)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, startPayroll(t, rows))
		})
	}
	with("everybody is paid once", threePeople, func(t *testing.T, p payroll) {
		p.pay(t, 0, "paid")
		wantText(t, "the list", inOrder(p.listed(t)), inOrder(p.rows(3)))
		mail := contents(t, p.mails)
		for _, want := range []string{"accepted        3", p.orders[2] + "  accepted"} {
			if !strings.Contains(mail, want) {
				t.Errorf("the mail has no %q:\n%s", want, mail)
			}
		}
		p.sent()
		p.pay(t, 0, "paid") // again
		wantText(t, "sent", p.sent(), "")
		// The same file, planned again, has the same payments.
		if run := execute(t, p.env, "sh", p.script, "plan",
			strings.TrimSuffix(p.plan, ".plan")+".csv"); run.code != 0 ||
			!strings.Contains(run.err, "accepted before: 3 of 3 order ids") {
			t.Errorf("it ended with %d: %s", run.code, run.err)
		}
	})
	with("the script is killed", "currency,amount,address\nBtc,0.5,bc1qa\nBtc,0.25,bc1qb\n", func(t *testing.T, p payroll) {
		p.answerRow(t, 1, "delay=1s")
		cmd := command(t, p.env, "sh", p.script, "pay", p.plan, p.digest)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(t, cmd.Start())
		eventually(t, "the create", func() bool { return strings.Contains(p.sent(), p.orders[1]) })
		must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		cmd.Wait()
		eventually(t, "the payment that was under way", func() bool { return inOrder(p.listed(t)) == inOrder(p.rows(2)) })
		p.pay(t, 0, "paid")
		wantText(t, "sent again", p.sent(), "")
		wantText(t, "the list", p.listed(t), p.rows(2))
	})
	for _, c := range []struct {
		name    string
		answers []string // to the creates of the first row
		code    int
		subject string
		tries   string // the rows that are sent, in any order
		listed  int
	}{
		{"an answer is lost", []string{"drop-after"}, 0, "paid", "012", 3},
		{"a payment never arrives", []string{"drop-before"}, 20, "STOP: it is unknown whether somebody was paid", "0", 0},
		{"a rate limit is retried", []string{"status=429"}, 0, "paid", "0012", 3},
		{"a rate limit does not end", tooMany, 32, "not finished, run it again", "00", 0},
		{"the key is refused", []string{"status=401"}, 31, "not sent: till cannot work here", "0", 0},
		{"nobody is there", nil, 40, "not finished, run it again", "", 0},
	} {
		with(c.name, threePeople, func(t *testing.T, p payroll) {
			p.answerRow(t, 0, c.answers...)
			if c.answers == nil {
				p.server.Close()
			}
			run, want := p.pay(t, c.code, c.subject), ""
			for _, row := range c.tries {
				want += p.orders[row-'0'] + " "
			}
			wantText(t, "sent", inOrder(p.sent()), inOrder(want))
			if found := strings.Contains(run.err, "found on the service's list"); found != (c.name == "an answer is lost") {
				t.Errorf("found on the list: %t: %s", found, run.err)
			}
			if c.code == 0 || c.code == 20 {
				p.pay(t, c.code, c.subject)
				wantText(t, "sent again", p.sent(), "")
			}
			if n := len(strings.Fields(p.listed(t))); n != c.listed {
				t.Errorf("%d are paid, not %d", n, c.listed)
			}
		})
	}
	with("one payment is rejected", "currency,amount,address\nBtc,0.5,bc1qa\nBtc,9000000,bc1qb\nBtc,0.25,bc1qc\n", func(t *testing.T, p payroll) {
		p.pay(t, 50, "not everybody is paid")
		if mail := contents(t, p.mails); !strings.Contains(mail, p.orders[1]+"  rejected") ||
			!strings.Contains(mail, "insufficient_funds: ") {
			t.Errorf("the mail does not say who is not:\n%s", mail)
		}
	})
	with("the digest is of another plan", threePeople, func(t *testing.T, p payroll) {
		p.digest = p.digest[:len(p.digest)-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(p.digest, "0")]
		p.pay(t, 12, "REFUSED, nothing was sent")
		wantText(t, "sent", p.sent(), "")
		if mail := contents(t, p.mails); strings.Contains(mail, "payout export") {
			t.Errorf("the mail speaks of a run that there is not:\n%s", mail)
		}
	})
	with("the mailer does not exist", threePeople, func(t *testing.T, p payroll) {
		p.payWith(t, 11, "MAILER=no-such-mailer --now")
		wantText(t, "sent", p.sent(), "")
	})
	with("the mail is not sent", threePeople, func(t *testing.T, p payroll) {
		p.payWith(t, 51, "MAILER=false")
		wantText(t, "the list", inOrder(p.listed(t)), inOrder(p.rows(3)))
		p.payWith(t, 10, "PAYROLL_TO=")
	})
	with("till crashes", threePeople, func(t *testing.T, p payroll) {
		p.env = withEnv(p.env, []string{"PATH=" + crashing(t) + ":" + os.Getenv("PATH")})
		p.pay(t, 137, "STOP: it is unknown whether somebody was paid")
	})
}

// crashing returns a directory with a till that crashes at once.
func crashing(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeProgram(t, dir+"/till", "kill -KILL $$")
	return dir
}

// inOrder returns a text with its words sorted, because parallel calls arrive in any order.
func inOrder(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestNightly(t *testing.T) {
	t.Parallel()
	script := absolute(t, "examples/nightly.sh")
	// night runs the script and checks the pages and tickets.
	night := func(t *testing.T, env []string, code int, pages, tickets string) {
		t.Helper()
		pager, paged := noting(t)
		ticketer, ticketed := noting(t)
		run := execute(t, withEnv(env,
			[]string{"PAGE=" + pager, "TICKET=" + ticketer, "NIGHTLY_PAUSE=0"}), "sh", script)
		if got := strings.Join(subjects(t, paged), "; "); run.code != code || got != pages {
			t.Errorf("it ended with %d, not %d, and woke a person for %q\n%s%s%s", run.code, code, got, run.out,
				run.err, contents(t, paged))
		}
		if got := strings.Join(subjects(t, ticketed), "; "); got != tickets {
			t.Errorf("tickets: %q\n%s", got, contents(t, ticketed))
		}
	}
	p := startPayroll(t, threePeople)
	night(t, p.env, 0, "", "") // nothing was sent yet
	p.answerRow(t, 1, "drop-after")
	p.answerRow(t, 2, "drop-before")
	one := execute(t, p.env, "till", "payout", "apply", p.plan, "--yes")
	if one.code != 20 {
		t.Fatalf("it ended with %d: %s", one.code, one.err)
	}
	// The lost payment is found, so no person is woken. The third row is not sent yet.
	night(t, p.env, 50, "", "payouts that are not finished (exit code 50)")
	if two := execute(t, p.env, "till", "payout", "apply", p.plan, "--yes"); two.code != 20 {
		t.Fatalf("it ended with %d: %s", two.code, two.err)
	}
	night(t, p.env, 20,
		"payments with an unknown outcome (exit code 20); open questions in the journal (exit code 20)", "")
	night(t, withEnv(p.env, []string{"PATH=" + crashing(t) + ":" + os.Getenv("PATH")}), 20,
		"payments with an unknown outcome (exit code 137); open questions in the journal (exit code 137); payouts that "+
			"are not finished (exit code 137)", "")
	night(t, withEnv(p.env, []string{"TILL_API_KEY="}), 11, "",
		"payments with an unknown outcome (exit code 11); open questions in the journal (exit code 11); payouts that are "+
			"not finished (exit code 11)")
	p.server.Close()
	night(t, withEnv(p.env, []string{"TILL_RETRIES=0"}), 41, "",
		"payments with an unknown outcome (exit code 41); open questions in the journal (exit code 41); payouts that are "+
			"not finished (exit code 41)")
	silent := withEnv(p.env, []string{"TILL_RETRIES=0", "PAGE=false", "TICKET=false", "NIGHTLY_PAUSE=0"})
	if run := execute(t, silent, "sh", script); run.code != 41 || strings.Count(run.err, "nobody could be told") != 3 {
		t.Errorf("it ended with %d: %s", run.code, run.err)
	}
}
