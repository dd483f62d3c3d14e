package payout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"example.com/till/pkg/payout/approval"
)

// mostSignatures is how many files next to a plan are read. Everybody who can write there can make more.
const mostSignatures = 10_000

// eachSignature counts the signature in each file, or rejects it if the file cannot be read.
func (p *Plan) eachSignature(files []string, c *approval.Count) error {
	if len(files) > 0 {
		for _, name := range files {
			text, err := readSignature(os.OpenFile, name)
			if err != nil {
				return failed(Invalid, "the approval %s cannot be used: %w", name, errors.New(cause(err))).
					hint("name a file that till payout approve or ssh-keygen -Y sign has written")
			}
			c.Add(approval.Approval{Signature: string(text), File: name})
		}
		return nil
	}
	dir, base := filepath.Split(p.Path)
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return unreadableFolder(dir, err)
	}
	defer root.Close()
	names, err := signaturesIn(root, base)
	if err != nil {
		return unreadableFolder(dir, err)
	}
	if len(names) > mostSignatures {
		return refused(RuleApproval, "more than %d files next to the plan %s have the name of a signature",
			mostSignatures, p.Path).hint("remove those that are none, or name the right ones with --approval")
	}
	for _, name := range names {
		text, err := readSignature(root.OpenFile, name)
		if a := (approval.Approval{Signature: string(text), File: filepath.Join(dir, name)}); err != nil {
			c.Reject(a, errors.New(cause(err)))
		} else {
			c.Add(a)
		}
	}
	return nil
}

func unreadableFolder(dir string, err error) error {
	return failed(Invalid, "the signatures in %s cannot be read: %s", filepath.Clean(dir), cause(err)).because(err).
		hint("name the files of the signatures with --approval")
}

// signaturesIn returns the names in a directory that begin with a plan's name and end with .sig, sorted.
func signaturesIn(root *os.Root, plan string) (names []string, err error) {
	all, err := fs.ReadDir(root.FS(), ".")
	for _, file := range all {
		if name := file.Name(); strings.HasPrefix(name, plan) && strings.HasSuffix(name, ".sig") {
			names = append(names, name)
		}
	}
	return names, err
}

// readSignature reads a file that can be a signature. It must not wait for a pipe.
func readSignature(open func(string, int, fs.FileMode) (*os.File, error), name string) ([]byte, error) {
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil && !errors.As(err, new(syscall.Errno)) { // os.Root refuses it, in words that are not for a person
		return nil, errors.New("it is a link that leads out of the directory of the plan")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, approval.MaxSignature+1))
	if len(text) > approval.MaxSignature {
		err = fmt.Errorf("it is larger than %d bytes", approval.MaxSignature)
	}
	return text, err
}
