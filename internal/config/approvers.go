package config

import (
	"errors"
	"io/fs"
	"os"
)

// ReadApprovers returns the text of the file of those who may approve what is sent. Only this user and root
// may be able to change the file, and every link and directory on the way to it.
func (s Settings) ReadApprovers() ([]byte, error) {
	path := s.Approvers
	if path == "" {
		return nil, failf("the profile %s requires %d approvals, and does not say who may approve", s.Profile, s.Approvals).
			advise("type: till profile set %s approvers=/etc/till/allowed_signers", s.Profile)
	}
	const what = "the file of approvers"
	regular := func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return failf("%s %s is not a regular file: name a file", what, path)
		}
		return nil
	}
	if info, err := os.Stat(path); err == nil { // opening a pipe may wait for ever
		if err := regular(info); err != nil {
			return nil, err
		}
	}
	text, err := readChecked(what, path, maxFile+1, func(info fs.FileInfo) error {
		if err := regular(info); err != nil {
			return err
		}
		return CheckOpened(what+" "+path, path, info)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failf("%s %s does not exist", what, path).
			advise("write a line for each person, in the format allowed_signers of ssh-keygen")
	}
	if err == nil && len(text) > maxFile {
		err = failf("%s %s is larger than 1 MiB: it cannot be a list of people", what, path)
	}
	return text, err
}
