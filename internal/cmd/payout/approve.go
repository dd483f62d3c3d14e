package payout

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

type approveFlags struct{ key, out string }

func approveCommand(a *cmdutil.App) *cobra.Command {
	var flags approveFlags
	cmd := cmdutil.NewCommand(a, cmdutil.One, signedView, &cobra.Command{
		Use:               "approve PLAN",
		Short:             "Approve a plan: sign it with an SSH key",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, out cmdutil.Output[signedPlan], args []string) error {
		plan, err := openPlan(args[0])
		if err != nil {
			return err
		}
		return approve(s, plan, flags, out)
	})
	f := cmd.Flags()
	f.StringVar(&flags.key, "key", "", "file of the key: private, or public if the agent has the private one")
	f.Bool("agent", false, "use a key of the SSH agent") // as without --key
	f.StringVar(&flags.out, "out", "", "file of the signature; PLAN.NAME.sig unless given")
	cmd.MarkFlagsMutuallyExclusive("key", "agent")
	cmdline.OfferFiles(cmd, "key", "out")
	return cmd
}

type signedPlan struct {
	Plan        string `json:"plan" column:"own: file of the plan"`
	Run         string `json:"run" column:"own: name of the run that the plan becomes"`
	Digest      string `json:"digest" column:"id: digest of the plan"`
	Principal   string `json:"principal" column:"own: who has signed, among the approvers of the profile"`
	Fingerprint string `json:"fingerprint" column:"own: fingerprint of the key"`
	Signature   string `json:"signature" column:"own: file of the signature"`
}

func signedView(money.Registry) render.View[signedPlan] {
	return render.Struct[signedPlan]("signature").Select("plan", "run", "principal", "fingerprint", "signature", "digest")
}

// approve shows a plan, asks, and signs it. What is shown and what is signed come from one open file, whose
// digest is checked each time.
func approve(s *cmdutil.Session, plan *payout.Plan, flags approveFlags, out cmdutil.Output[signedPlan]) error {
	s.Subject.Run = plan.Name()
	if flags.out == "-" {
		return exit.UsageError("--out: - is not a file", "name a file; standard output has what was signed")
	}
	if err := plan.CheckLife(s.IO.Now()); err != nil {
		return err
	}
	approvals, err := s.PayoutApprovals(true)
	if err != nil {
		return err
	}
	signer, err := signerFor(s, flags, approvals.Approvers)
	if err != nil {
		return err
	}
	fingerprint := ssh.FingerprintSHA256(signer.PublicKey())
	principal, err := approvals.Approvers.Find(signer.PublicKey(), s.IO.Now())
	if approvals.Approvers.Path != "" { // a warning: the file on the machine that applies the plan may be newer
		if principal == "" {
			s.Note("the key %s is not one of the approvers in %s: its signature does not count", fingerprint,
				approvals.Approvers.Path)
		} else if err != nil {
			s.Note("the key %s: a signature with it does not count: %v", fingerprint, err)
		}
	}
	if s.Yes || s.CanAsk() {
		if err := showToApprover(s, plan); err != nil {
			return err
		}
	}
	if err := s.Confirmed([]cmdutil.Fact{{Name: "plan", Value: plan.Path}, {Name: "digest", Value: plan.Digest, Copy: true},
		{Name: "key", Value: fingerprint}, {Name: "approver", Value: principal}},
		"Approve this plan?", "approve it", "signed", " without being asked"); err != nil {
		return err
	}
	if strings.HasPrefix(signer.PublicKey().Type(), "sk-") {
		s.Note("touch the token")
	}
	signature, err := terminal.Interruptibly(s.Ctx, func() ([]byte, error) { return plan.Sign(signer) })
	if err != nil {
		return err
	}
	name, err := writeSignature(plan.Path, principal, flags.out, signature)
	if err != nil {
		return err
	}
	return out.One(signedPlan{plan.Path, plan.Name(), plan.Digest, principal, fingerprint, name})
}

// showToApprover shows a plan as payout show --verbose does, on standard error: standard output has the
// result. Under -o json, it has the warnings.
func showToApprover(s *cmdutil.Session, plan *payout.Plan) error {
	noteShown(s, plan)
	l := look(s, plan)
	if s.JSON.Load() {
		for _, d := range l.found {
			s.Warn(d)
		}
		return nil
	}
	o := s.ErrRender()
	if o.Width > 0 {
		return l.show(s.IO.Err, o, true)
	}
	return l.print(s.IO.Err, o, l.facts(), func() error { return l.rowsView(true).List(s.IO.Err, o, l.rows()) })
}

// writeSignature writes a signature to a new file, and returns its name. It never replaces a file: that may
// be the signature of somebody else.
func writeSignature(plan, principal, out string, signature []byte) (name string, err error) {
	who := fileName(principal)
	if u, err := user.Current(); who == "" && err == nil {
		who = fileName(u.Username)
	}
	who = plan + "." + cmp.Or(who, "approval")
	name = cmp.Or(out, who+".sig")
	err = atomicfile.WriteNew(name, signature)
	for n := 2; out == "" && errors.Is(err, fs.ErrExist) && n <= 1000; n++ {
		name = fmt.Sprintf("%s-%d.sig", who, n)
		err = atomicfile.WriteNew(name, signature)
	}
	switch {
	case err == nil:
		return name, nil
	case errors.Is(err, fs.ErrExist):
		return "", exit.UsageError("--out: "+name+" exists, and may be the signature of somebody else",
			"name a new file, or leave --out out")
	}
	return "", cmdutil.OutFile{Flag: "out", Path: name}.Unwritable(exit.Usage, atomicfile.WithoutPath(err), "name another file with --out")
}

// fileName makes a principal part of the name of a file.
func fileName(principal string) string {
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("@._-+", r)) {
			return r
		}
		return '_'
	}, principal)
	return strings.TrimLeft(name[:min(len(name), 64)], ".-")
}

type approverLine struct {
	Principal   string `json:"principal" column:"own: who may approve the plan"`
	Approved    bool   `json:"approved" column:"value: whether there is a valid signature"`
	Fingerprint string `json:"fingerprint" column:"own: fingerprint of the key that signed"`
	File        string `json:"file" column:"own: file of the signature; empty: the journal has it"`
	Seen        string `json:"seen" column:"time detail: when the signature was recorded with the run"`
}

// showApprovals shows who has signed a plan, in the files next to it and in the journal, and who may. It says
// what payout apply would say.
func showApprovals(s *cmdutil.Session, p *payout.Plan, out cmdutil.Output[approverLine]) error {
	approvals, err := s.PayoutApprovals(true)
	if err != nil {
		return err
	}
	ledger, err := ledgerOfPlan(s, p, "and may require more or have other signatures")
	if err != nil {
		return err
	}
	var status approval.Status
	if ledger == nil {
		status, err = p.Approvals(approvals, nil, s.IO.Now())
	} else {
		status, err = ledger.PlanApprovals(s.Ctx, p, approvals, nil, s.IO.Now())
	}
	if approvals.Approvers.Path == "" && err == nil {
		return &config.Error{Msg: "no profile in use says who may approve a plan",
			Advice: "type: till profile set " + s.ProfileOr("NAME") + " approvals=2 approvers=/etc/till/allowed_signers"}
	}
	refusal := (*payout.Error)(nil)
	if errors.As(err, &refusal) && (refusal.Rule == payout.RuleApproval || refusal.Kind == payout.Settings) &&
		approvals.Approvers.Path != "" {
		s.Note("till payout apply refuses it: %v", err)
	} else if err != nil {
		return err
	}
	for _, r := range status.Rejected { // all of them: payout apply does not name many
		s.Note("%s", r)
	}
	s.Note("%s", status)
	var rows []approverLine
	for _, a := range status.Approved {
		rows = append(rows, approverLine{a.Principal, true, a.Fingerprint, a.File, views.Moment(a.Seen)})
	}
	for _, name := range status.Missing {
		rows = append(rows, approverLine{Principal: name})
	}
	return out.Slice(rows)
}

// ledgerOfPlan returns what the journal in use has of the plan's account; nil: there is no journal. An
// approver's machine need not reach it: then lacking says what that means.
func ledgerOfPlan(s *cmdutil.Session, p *payout.Plan, lacking string) (*payout.Ledger, error) {
	j, err := s.ExistingJournal()
	switch {
	case err == nil:
		return j.Ledger(p.Account), nil
	case errors.Is(err, fs.ErrNotExist) && s.Origin("journal").IsDefault():
		return nil, nil
	}
	return nil, s.Note("the journal was not read, %s: %v", lacking, err)
}

// checkWithoutJournal refuses a plan in a dry run, which does not use the journal, if the files next to it do
// not approve it.
func checkWithoutJournal(s *cmdutil.Session, p *payout.Plan, files []string) error {
	approvals, err := s.PayoutApprovals(false)
	if err != nil || p.Needs(approvals) == 0 {
		return err
	}
	status, err := p.Approvals(approvals, files, s.IO.Now())
	if err != nil {
		return err
	}
	for _, text := range status.Notes() {
		s.Note("%s", text)
	}
	s.Note("the journal was not read, and may require more or have other signatures")
	return p.CheckApproved(status)
}

// signerFor returns the key that signs: of a file, or of the agent. A file that has only a public key names a
// key of the agent.
func signerFor(s *cmdutil.Session, flags approveFlags, approvers approval.Approvers) (ssh.Signer, error) {
	if flags.key == "" {
		return agentKey(s, func(key ssh.PublicKey) bool {
			principal, _ := approvers.Find(key, s.IO.Now())
			return approvers.Path == "" || principal != ""
		})
	}
	unusable := func(err error) error {
		return exit.UsageError(fmt.Sprintf("--key: %s cannot be used: %v", flags.key, atomicfile.WithoutPath(err)),
			"name the file of a private key or, for a token, add it to the agent with ssh-add and use --agent")
	}
	info, err := os.Stat(flags.key)
	if err == nil && !info.Mode().IsRegular() { // reading a pipe may wait for ever
		err = errors.New("it is not a regular file")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(flags.key)
	}
	if err != nil {
		return nil, unusable(err)
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return agentKey(s, func(key ssh.PublicKey) bool { return string(key.Marshal()) == string(public.Marshal()) })
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &config.Error{Msg: fmt.Sprintf("the key %s can be read by others (mode %04o)", flags.key, info.Mode().Perm()),
			Advice: "make it private: chmod 600 " + flags.key + "; on a read-only mount, sign with a copy that only you can read"}
	}
	if err := config.CheckTrust("the key "+flags.key, flags.key, info); err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if errors.As(err, new(*ssh.PassphraseMissingError)) {
		if !s.CanAsk() {
			return nil, exit.UsageError("--key: "+flags.key+" has a passphrase, and there is no terminal to type it on",
				"add the key to the agent with ssh-add, and use --agent")
		}
		passphrase, missing := s.AskSecret("the passphrase", "Passphrase of "+flags.key+": ",
			exit.UsageError("no passphrase was typed: nothing was signed", "run it again"))
		if missing != nil {
			return nil, missing
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(text, passphrase)
	}
	switch {
	case errors.Is(err, x509.IncorrectPasswordError):
		return nil, exit.UsageError("the passphrase of "+flags.key+" is not right: nothing was signed", "run it again")
	case err != nil:
		return nil, unusable(err)
	}
	return signer, nil
}

func agentKey(s *cmdutil.Session, wanted func(ssh.PublicKey) bool) (ssh.Signer, error) {
	const named = "name the file of a key with --key"
	socket := s.IO.Env("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, exit.UsageError("there is no SSH agent: SSH_AUTH_SOCK is not set", named)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the SSH agent cannot be reached: %v", err), Err: err, Advice: named}
	}
	signers, err := terminal.Interruptibly(s.Ctx, agent.NewClient(conn).Signers)
	if s.Ctx.Err() != nil {
		return nil, s.Ctx.Err()
	}
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the SSH agent does not show its keys: %v", err), Err: err}
	}
	signers = slices.DeleteFunc(signers, func(signer ssh.Signer) bool {
		_, isCertificate := signer.PublicKey().(*ssh.Certificate)
		return isCertificate || !wanted(signer.PublicKey())
	})
	switch len(signers) {
	case 0:
		return nil, exit.UsageError("the SSH agent does not have the key", "add it with ssh-add, or name its file with --key")
	case 1:
		return signers[0], nil
	}
	var names []string
	for _, signer := range signers {
		names = append(names, ssh.FingerprintSHA256(signer.PublicKey()))
	}
	return nil, exit.UsageError("the SSH agent has several keys: "+strings.Join(names, ", "),
		"name the file of the public key with --key")
}
