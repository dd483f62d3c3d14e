package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
)

// readyFile tells other programs where a server of ours is. It appears complete once the server answers, and
// disappears when the server ends. A script waits for it, so a file left by an earlier server is removed
// first. A file from any other program is never replaced.
type readyFile struct {
	cmdutil.OutFile        // its path is empty if it is not wanted
	text            []byte // the published text
}

func newReadyFile(flag, path string) *readyFile {
	return &readyFile{OutFile: cmdutil.OutFile{Flag: flag, Path: path, Mode: 0o600}}
}

// ours recognizes the file of an earlier server: an address in JSON, or the variables of a sandbox. A service that is
// no sandbox has https, and a file of variables that a person keeps for it has a key that cannot be got back.
func ours(text []byte) bool {
	var fields map[string]string
	if json.Unmarshal(text, &fields) == nil {
		keys := strings.Join(slices.Sorted(maps.Keys(fields)), " ")
		return (keys == "url" || keys == "api_key base_url") && strings.HasPrefix(fields["url"]+fields["base_url"], "http://")
	}
	return len(text) == 0 || writtenEnv().Match(text)
}

// writtenEnv matches what envFile returns.
func writtenEnv() *regexp.Regexp {
	return regexp.MustCompile(`^TILL_BASE_URL=http://.*\nTILL_API_KEY=.*\nTILL_PROFILE=sandbox\nTILL_JOURNAL=.*\n$`)
}

// prepare checks that the file may be written, and removes the file of an earlier server.
func (r *readyFile) prepare() error {
	to := r.OutFile
	if err := to.Check(); err != nil || r.Path == "" {
		return err
	}
	refuse := func(why string) error {
		return exit.UsageError(fmt.Sprintf("--%s: %s exists and %s", r.Flag, r.Path, why), "name a file that does not exist yet")
	}
	if info, err := os.Lstat(r.Path); err == nil && !info.Mode().IsRegular() {
		return refuse("is not a regular file") // what is published would take the place of a link
	}
	text, err := os.ReadFile(r.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !ours(text):
		return refuse("was not written by an earlier run of till")
	case err == nil:
		err = os.Remove(r.Path)
	}
	if err != nil {
		return refuse("cannot be replaced: " + err.Error())
	}
	return nil
}

// publish replaces the file at once. Only its owner can read it.
func (r *readyFile) publish(text []byte) error {
	if err := r.Replace(cmdutil.Content(text)); err != nil {
		return r.Unwritable(exit.Usage, err, "name a file in a directory that you may write to")
	}
	r.text = text
	return nil
}

// retract removes the file, unless another server has replaced it since.
func (r *readyFile) retract() error {
	text, err := os.ReadFile(r.Path)
	if r.text == nil || errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, r.text) {
		return nil
	}
	if err == nil {
		err = os.Remove(r.Path)
	}
	if err != nil {
		return fmt.Errorf("--%s: %s is left behind: %w", r.Flag, r.Path, err)
	}
	return nil
}
