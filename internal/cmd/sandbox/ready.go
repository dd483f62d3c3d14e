package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"github.com/spf13/pflag"
)

// readyFile tells other programs where a server of ours is. It appears complete once the server answers, and
// disappears when the server ends. A script waits for it, so a file left by an earlier server is removed
// first. A file from any other program is never replaced.
type readyFile struct {
	flag string
	path string                 // empty: no file
	ours func(text []byte) bool // recognizes the file of an earlier server
	text []byte                 // the published text
}

func jsonReadyFile(flag, path string, keys ...string) *readyFile {
	return &readyFile{flag: flag, path: path, ours: func(text []byte) bool {
		var fields map[string]string
		return json.Unmarshal(text, &fields) == nil &&
			slices.Equal(slices.Sorted(maps.Keys(fields)), slices.Sorted(slices.Values(keys)))
	}}
}

func envReadyFile(flag, path string) *readyFile {
	return &readyFile{flag: flag, path: path, ours: func(text []byte) bool {
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "TILL_") {
				return false
			}
		}
		return true
	}}
}

// prepare checks that the file may be written, and removes the file of an earlier server.
func (r *readyFile) prepare(flags *pflag.FlagSet) error {
	if r.path == "" {
		if f := flags.Lookup(r.flag); f != nil && f.Changed {
			return cmdutil.UsageError("--"+r.flag+": the name of the file is empty", cmdutil.UnsetHint)
		}
		return nil
	}
	refuse := func(why string) error {
		return cmdutil.UsageError(fmt.Sprintf("--%s: %s %s", r.flag, r.path, why), "name a file that does not exist yet")
	}
	info, err := os.Lstat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, err := os.Stat(filepath.Dir(r.path)); err != nil || !dir.IsDir() {
			return cmdutil.UsageError(fmt.Sprintf("--%s: the directory of %s does not exist", r.flag, r.path), "make it first")
		}
		return nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return refuse("is not a regular file")
	}
	text, err := os.ReadFile(r.path)
	if err == nil && len(text) > 0 && !r.ours(text) {
		return refuse("exists and was not written by an earlier run of till")
	}
	if err == nil {
		err = os.Remove(r.path)
	}
	if err != nil {
		return refuse("exists and cannot be replaced: " + err.Error())
	}
	return nil
}

// publish writes a temporary file in the same directory, syncs it, and renames it. Only its owner can read
// it.
func (r *readyFile) publish(text []byte) error {
	if r.path == "" {
		return nil
	}
	file := cmdutil.OutFile{Flag: r.flag, Path: r.path, Mode: 0o600}
	if err := file.Replace(cmdutil.Content(text)); err != nil {
		return file.Unwritable(cmdutil.ExitUsage, err, "name a file in a directory that you may write to")
	}
	r.text = text
	return nil
}

// retract removes the file, unless another server has replaced it since.
func (r *readyFile) retract() error {
	if r.text == nil {
		return nil
	}
	text, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, r.text) {
		return nil
	}
	if err == nil {
		err = os.Remove(r.path)
	}
	if err != nil {
		return fmt.Errorf("--%s: %s is left behind: %w", r.flag, r.path, err)
	}
	return nil
}
