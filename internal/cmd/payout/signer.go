package payout

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/config"
	"example.com/till/internal/terminal"
	"example.com/till/pkg/payout/approval"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// signerFor returns the key that signs: of a file, or of the agent. A file that has only a public key names a
// key of the agent.
func signerFor(s *cmdutil.Session, flags approveFlags, approvers approval.Approvers) (ssh.Signer, error) {
	if flags.key == "" {
		return agentKey(s, func(key ssh.PublicKey) bool { return approvers.Path == "" || approvers.PrincipalOf(key) != "" })
	}
	text, info, err := readKey(flags.key)
	if err != nil {
		return nil, err
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return agentKey(s, func(key ssh.PublicKey) bool { return string(key.Marshal()) == string(public.Marshal()) })
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, &config.Error{Msg: fmt.Sprintf("the key %s can be read by others (mode %04o)", flags.key, info.Mode().Perm()),
			Advice: "make it private: chmod 600 " + flags.key + "; on a read-only mount, sign with a copy that only you can read"}
	}
	if err := config.CheckOpened("the key "+flags.key, flags.key, info); err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	if errors.As(err, new(*ssh.PassphraseMissingError)) {
		var passphrase []byte
		if passphrase, err = askPassphrase(s, flags.key); err != nil {
			return nil, err
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(text, passphrase); errors.Is(err, x509.IncorrectPasswordError) {
			return nil, cmdutil.UsageError("the passphrase of "+flags.key+" is not right: nothing was signed", "run it again")
		}
	}
	return signer, unusable(flags.key, err)
}

func unusable(name string, err error) error {
	if err == nil {
		return nil
	}
	return cmdutil.UsageError(fmt.Sprintf("--key: %s cannot be used: %v", name, err),
		"name the file of a private key or, for a token, add it to the agent with ssh-add and use --agent")
}

// maxKey is more than the size of any key file, in bytes.
const maxKey = 64 << 10

func readKey(name string) (text []byte, info os.FileInfo, err error) {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		info, err = f.Stat()
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxKey))
	}
	return text, info, unusable(name, atomicfile.WithoutPath(err))
}

// askPassphrase asks a person for the passphrase of a key, without echo.
func askPassphrase(s *cmdutil.Session, name string) ([]byte, error) {
	if !s.CanAsk() {
		return nil, cmdutil.UsageError(fmt.Sprintf("--key: %s has a passphrase, and there is no terminal to type it on", name),
			"add the key to the agent with ssh-add, and use --agent")
	}
	return s.AskSecret("the passphrase", "Passphrase of "+name+": ",
		cmdutil.UsageError("no passphrase was typed: nothing was signed", "run it again"))
}

// agentKey returns the only key of the agent that is wanted.
func agentKey(s *cmdutil.Session, wanted func(ssh.PublicKey) bool) (ssh.Signer, error) {
	socket := s.IO.Env("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, cmdutil.UsageError("there is no SSH agent: SSH_AUTH_SOCK is not set", "name the file of a key with --key")
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the SSH agent cannot be reached: %v", err), Err: err,
			Advice: "name the file of a key with --key"}
	}
	signers, err := terminal.Interruptibly(s.Ctx, agent.NewClient(conn).Signers)
	if s.Ctx.Err() != nil {
		return nil, s.Ctx.Err()
	}
	if err != nil {
		return nil, &config.Error{Msg: fmt.Sprintf("the SSH agent does not show its keys: %v", err), Err: err}
	}
	var found []ssh.Signer
	var names []string
	for _, signer := range signers {
		if _, isCertificate := signer.PublicKey().(*ssh.Certificate); !isCertificate && wanted(signer.PublicKey()) {
			found = append(found, signer)
			names = append(names, ssh.FingerprintSHA256(signer.PublicKey()))
		}
	}
	switch len(found) {
	case 0:
		return nil, cmdutil.UsageError("the SSH agent does not have the key", "add it with ssh-add, or name its file with --key")
	case 1:
		return found[0], nil
	}
	return nil, cmdutil.UsageError("the SSH agent has several keys: "+strings.Join(names, ", "),
		"name the file of the public key with --key")
}
