// Package tape notes, in one order, what a process does to the files of a journal and to the network, so that
// the power cuts of e2e/powercut can be replayed. Only the program that they record uses it.
package tape

import (
	"encoding/gob"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Kind is what happened.
type Kind int

const (
	Create        Kind = iota // a name of a new file
	Mkdir                     // a name of a new directory
	Delete                    // a name is gone
	Write                     // Data at Offset of a file
	Truncate                  // a file has the size Offset
	Sync                      // all of a file is on the disk
	SyncDirectory             // all names in a directory are on the disk
	Left                      // the request of an order is about to leave; Data is its body
	Refused                   // the service has definitely refused an order
	Reported                  // the caller was told that an order is accepted, as ID
)

// Event is one thing that happened.
type Event struct {
	Kind      Kind
	File      int    // number of a file; a name that is made again is another file
	Path      string // below the directory of the record
	Offset    int64
	Data      []byte
	Order, ID string
}

// Record is everything that happened in a process.
type Record struct {
	Events        []Event
	Base          int    // how many events made what was in the directory at the beginning
	Journal       string // its path below the directory of the record
	Address, Name string // the account
	Key           string
	Rows          int               // of the plan
	Paid          map[string]string // what the service has accepted: ids by order id
}

// recorder is the state of this process's record. The patched packages have no other way to reach it.
var recorder struct {
	mu     sync.Mutex
	root   string
	events []Event
	base   int
	files  map[string]int // by path; those that were deleted have no path
	made   int
	first  bool
}

// FirstVersion makes the journal one of till's first version from now on, and FirstVersionOnly reports it.
func FirstVersion(yes bool)  { locked(func() { recorder.first = yes }) }
func FirstVersionOnly() bool { return recorder.first }

// Begin records everything below a directory from now on. What is in the directory is on the disk.
func Begin(root string) error {
	recorder.root, recorder.files = root, map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == root || strings.HasSuffix(path, "-shm"):
			return err
		case entry.IsDir():
			note(Event{Kind: Mkdir, Path: path})
		default:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n := create(path)
			recorder.events = append(recorder.events, Event{Kind: Write, File: n, Data: content}, Event{Kind: Sync, File: n})
		}
		note(Event{Kind: SyncDirectory, Path: filepath.Dir(path)})
		return nil
	})
	recorder.base = len(recorder.events)
	return errors.Join(err, register())
}

// Save writes the record.
func Save(path string, r Record) error {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	r.Events, r.Base = recorder.events, recorder.base
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return gob.NewEncoder(f).Encode(r)
}

// Load reads a record.
func Load(path string) (r Record, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	return r, gob.NewDecoder(f).Decode(&r)
}

// Mutant reports whether this process is to have a bug.
func Mutant(name string) bool { return os.Getenv("TILL_POWERCUT_MUTANT") == name }

// SyncMode is the setting of SQLite that the journal asks for.
func SyncMode() string {
	switch {
	case Mutant("synchronous-normal"):
		return "normal"
	case Mutant("synchronous-off"):
		return "off"
	}
	return "full"
}

// MadeFile notes that a file was made, and MadeDirectory that a directory was.
func MadeFile(path string)      { locked(func() { create(path) }) }
func MadeDirectory(path string) { locked(func() { note(Event{Kind: Mkdir, Path: path}) }) }

// SyncedDirectory notes that the names in a directory are on the disk.
func SyncedDirectory(path string) { locked(func() { note(Event{Kind: SyncDirectory, Path: path}) }) }

// HasLeft notes that the request of an order is about to be sent.
func HasLeft(order string, body []byte) {
	locked(func() { recorder.events = append(recorder.events, Event{Kind: Left, Order: order, Data: body}) })
}

// WasRefused notes the service's definite no.
func WasRefused(order string) {
	locked(func() { recorder.events = append(recorder.events, Event{Kind: Refused, Order: order}) })
}

// WasReported notes that the caller was told that an order is accepted.
func WasReported(order, id string) {
	locked(func() { recorder.events = append(recorder.events, Event{Kind: Reported, Order: order, ID: id}) })
}

func locked(f func()) {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	f()
}

// note appends an event of a path below the root, and create gives a file its number.
func note(e Event) {
	below, err := filepath.Rel(recorder.root, e.Path)
	if err != nil || below == ".." || strings.HasPrefix(below, "../") || recorder.root == "" {
		return
	}
	e.Path = below
	recorder.events = append(recorder.events, e)
}

func create(path string) int {
	if n := recorder.files[path]; n != 0 {
		return n
	}
	recorder.made++
	recorder.files[path] = recorder.made
	note(Event{Kind: Create, Path: path, File: recorder.made})
	return recorder.made
}
