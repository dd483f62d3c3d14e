package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"example.com/till/internal/place"
)

// A journal in SQLite is several files: the database, the log with the latest changes, the index of that log
// that the processes share, and the lock file. None of them is of use without the others.
const (
	logFile   = "-wal"
	indexFile = "-shm"
	locksFile = ".lock"
)

var allFiles = []string{"", logFile, indexFile, locksFile}

// openLockFile opens the lock file of a journal. Each process that sends holds a lock on one byte of it, at
// the offset of its number. The system releases the lock when the process ends in any way. The file has nothing
// but the count of openings, see copy.go, and is never removed.
func openLockFile(path string) (*lockFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return &lockFile{File: f}, err
}

// noteOpenings writes the count of openings. If it cannot, an older count stays, and a copy may not be found. The
// first count is synced: without one, a journal that was opened before is taken for a copy.
func (l *lockFile) noteOpenings(n int64) {
	if noted := l.openings(); n > noted {
		l.WriteAt(fmt.Appendf(nil, "%019d\n", n), 0)
		if noted < 0 {
			_ = l.Sync() // as above
		}
	}
}

// openings returns the count, or -1 if the file is new or damaged. On Windows it cannot be read while it is locked.
func (l *lockFile) openings() int64 {
	text := make([]byte, 19)
	if _, err := l.ReadAt(text, 0); err != nil && err != io.EOF {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// fileSet describes the files of a journal when it was opened.
type fileSet struct {
	path    string
	opened  map[string]fs.FileInfo // by suffix of the name
	logSize atomic.Int64           // size that the log had at least; SQLite never truncates it while it is open
	stat    func(name string) (fs.FileInfo, error)
}

func newFileSet(path string) (*fileSet, error) {
	s := &fileSet{path: path, opened: map[string]fs.FileInfo{}, stat: os.Stat}
	for _, end := range allFiles {
		info, err := os.Stat(path + end)
		if err != nil {
			return nil, err
		}
		s.opened[end] = info
	}
	return s, nil
}

// intact returns an error if one of the files was removed, replaced or truncated. The next process might not
// find what is recorded then.
func (s *fileSet) intact() error {
	for end, opened := range s.opened {
		least := s.logSize.Load() // read before the size of the log, which may grow
		now, err := s.stat(s.path + end)
		switch {
		case err != nil:
		case !os.SameFile(opened, now):
			err = errors.New("another file is in its place")
		case end == logFile && now.Size() < least:
			err = errors.New("it was cut short")
		case end == logFile:
			s.logSize.Store(max(s.logSize.Load(), now.Size()))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(s.path+end), err)
		}
	}
	return nil
}

// checkFiles refuses a journal that other users can change. It also refuses one whose files are not all in
// the same place, and one with another name: under that name, SQLite would use another log, and a sender
// would use other locks.
func checkFiles(path string) error {
	for _, end := range allFiles {
		name := path + end
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		if why := place.Distrust(info); why != "" {
			return fmt.Errorf("%s %s; look at who has changed it, and type: chmod 600 %s", name, why, name)
		}
		if n := links(info); n > 1 {
			return fmt.Errorf("%s has %d names (hard links), and under each of them it would be another journal; remove all but one, or make the others links by name (ln -s)", name, n)
		}
		mounted, err := isMountPoint(name)
		if err != nil {
			return err
		}
		if mounted {
			return fmt.Errorf("%s is mounted by itself, without the other files of the journal; mount its directory instead", name)
		}
	}
	return nil
}

// checkWay refuses a place where other users can replace the journal's files. The files need not exist yet, and
// checkFiles looks at them.
func checkWay(path string) error {
	bad, err := place.Way(path)
	if errors.Is(err, fs.ErrNotExist) {
		bad, err = place.Way(filepath.Dir(path))
	}
	if err != nil || bad == nil || bad.Info.Mode().IsRegular() {
		return err
	}
	if bad.Info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("the link %s on the way to it %s, who could put another in its place; keep it in a directory of your own",
			bad.Path, bad.Why)
	}
	if !bad.Info.IsDir() {
		return fmt.Errorf("%s is not a regular file", bad.Path)
	}
	advice := "type: chmod go-w " + bad.Path
	if strings.HasPrefix(bad.Why, "belongs") {
		advice = fmt.Sprintf("type: chown %d %s, in a container run as that user", os.Geteuid(), bad.Path)
	}
	return fmt.Errorf("the directory %s on the way to it %s, who could put another in its place; %s, "+
		"or keep it in a directory of your own", bad.Path, bad.Why, advice)
}

// logIsOverwritten reports whether the log does not begin as one of SQLite, which takes it for an empty one then.
func logIsOverwritten(path string) bool {
	f, err := os.Open(path + logFile)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic uint32 // its last bit says how the checksums are made
	err = binary.Read(f, binary.BigEndian, &magic)
	return err == nil && magic|1 != 0x377f0683
}

// logIsEmpty reports whether the log is missing or has not even a frame with a page.
func logIsEmpty(path string) bool {
	const least = 32 + 24 + 4096
	info, err := os.Stat(path + logFile)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < least
}
