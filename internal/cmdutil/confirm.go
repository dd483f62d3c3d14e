package cmdutil

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"golang.org/x/term"
)

// Confirm shows what will be sent and asks. Without a terminal and without --yes, it refuses.
func (s *Session) Confirm(facts []Fact, question string) error {
	return s.Confirmed(facts, question, "send it", "sent", " without being asked, or --dry-run to look at it")
}

// WhyUnasked says why CanAsk does not hold.
func (s *Session) WhyUnasked() string {
	if s.NoInput {
		return "--no-input does not let till ask"
	}
	return "there is no terminal to confirm it on"
}

// Confirmed is like Confirm, in other words: do and done name the action, and more continues the hint about
// --yes.
func (s *Session) Confirmed(facts []Fact, question, do, done, more string) error {
	cmdline.Declared(s.Cmd, cmdline.Asks)
	if s.Yes {
		return nil
	}
	if !s.CanAsk() {
		return exit.Refusal(exit.RuleConfirmation, s.WhyUnasked(), "add --yes to "+do+more)
	}
	for _, f := range facts {
		if err := s.writeErr(s.factLine(f, f.pad(facts)) + "\n"); err != nil {
			return err
		}
	}
	answer, err := s.Ask(question + " [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return Declined(done)
}

// Declined is the error for a question that a person has answered with no. Done says what is not done.
func Declined(done string) error { return exit.Refusal(exit.RuleConfirmation, "Not "+done+".", "") }

// ServiceFact says where money goes from, for a person who is asked: loudly if it is real.
func (s *Session) ServiceFact() Fact {
	where := strings.TrimPrefix(strings.TrimPrefix(s.ServiceName(), "https://"), "http://")
	if s.BaseURL == "" || strings.HasPrefix(s.key, config.SandboxKeyPrefix) && config.IsLoopbackURL(s.BaseURL) {
		return Fact{Name: "service", Value: "sandbox, profile " + s.ProfileName() + ", " + where, Style: render.Blue}
	}
	return Fact{Name: "service", Value: "LIVE " + s.ProfileName() + ", " + where, Style: render.RedGround}
}

// CanAsk reports whether a person can be asked: input is allowed, and standard input and standard error are
// terminals.
func (s *Session) CanAsk() bool {
	return !s.NoInput && terminal.Of(s.IO.In) != nil && terminal.Of(s.IO.Err) != nil
}

// Ask asks a question and reads the answer until a signal comes. The end of input is an empty answer. Ask
// discards earlier input before it shows the question, because an answer can come as soon as it is shown. After
// a stop, other output stands between the question and the cursor, so Ask asks again.
func (s *Session) Ask(question string) (string, error) {
	cmdline.Declared(s.Cmd, cmdline.Asks)
	s.Spinner.Stop()
	in, text := terminal.Of(s.IO.In), s.wrap(question, hanging)
	ask := func() {
		terminal.DiscardTyped(in)
		fmt.Fprint(s.IO.Err, text)
	}
	defer terminal.WhenContinued(ask)()
	ask()
	answer, err := terminal.Interruptibly(s.Ctx, func() (string, error) { return bufio.NewReader(s.IO.In).ReadString('\n') })
	if err != nil {
		fmt.Fprintln(s.IO.Err)
	}
	return answer, s.Ctx.Err()
}

// AskSecret asks for a secret, which is not shown while it is typed. If nothing is typed, it returns the error none.
func (a *App) AskSecret(what, question string, none error) ([]byte, error) {
	in := terminal.Of(a.IO.In)
	show, err := terminal.HideTyped(in) // before the question: a person may paste as soon as it shows
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the terminal cannot be asked for %s: %v", what, err), Err: err}
	}
	fmt.Fprint(a.IO.Err, a.Wrapped(question))
	secret, err := terminal.Interruptibly(a.Ctx, func() ([]byte, error) { return term.ReadPassword(int(in.Fd())) })
	fmt.Fprintln(a.IO.Err)
	shown := show()
	switch {
	case a.Ctx.Err() != nil:
		return nil, errors.Join(a.Ctx.Err(), shown)
	case err != nil:
		return nil, none
	}
	return secret, nil
}
