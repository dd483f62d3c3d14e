package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// ErrInUse is the error for a state file that another store has open.
var ErrInUse = errors.New("in use")

const (
	lockSuffix = ".lock"
	lockWait   = time.Second // longer than most commands have the file
)

// lockState lets one server have a state file, or several commands share it. The system releases the lock
// when the process ends in any way. The lock file says who opened the state last, and is never removed.
func lockState(path string, shared bool) (*os.File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // all names of a file have one lock
	}
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(f, shared)
	for end := time.Now().Add(lockWait); !locked && err == nil && time.Now().Before(end); locked, err = tryLock(f, shared) {
		time.Sleep(lockWait / 100)
	}
	if locked {
		holder := "process %d"
		if shared {
			holder = "commands, the last of them process %d"
		}
		_, err = fmt.Fprintf(f, "%-60s\n", fmt.Sprintf(holder, os.Getpid())) // over the one before
	} else if err == nil {
		holder, _ := io.ReadAll(f)
		err = fmt.Errorf("it is %w by %s", ErrInUse, bytes.TrimSpace(holder))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
