//go:build unix

package powercut

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/till/e2e/powercut/tape"
)

// sector is the unit that a disk writes as a whole.
const sector = 512

// disk is what a disk has for certain at some moment, and what it may have.
type disk struct {
	names   map[string]int // what each name is on the disk: the number of a file, or directory
	files   map[int][]byte // contents on the disk
	maybe   []tape.Event   // what was done since, and may have reached the disk in any part
	trusted bool           // syncs are what they should be
}

const directory = -1

func newDisk(trusted bool) *disk {
	return &disk{names: map[string]int{}, files: map[int][]byte{}, trusted: trusted}
}

// do makes one event happen.
func (d *disk) do(e tape.Event) {
	switch e.Kind {
	case tape.Create, tape.Mkdir, tape.Delete, tape.Write, tape.Truncate:
		d.maybe = append(d.maybe, e)
	case tape.Sync:
		d.settle(func(m tape.Event) bool { return isContent(m) && m.File == e.File })
	case tape.SyncDirectory:
		d.settle(func(m tape.Event) bool { return !isContent(m) && filepath.Dir(m.Path) == e.Path })
	}
}

func isContent(e tape.Event) bool { return e.Kind == tape.Write || e.Kind == tape.Truncate }

// settle moves to the disk what must have reached it now.
func (d *disk) settle(certain func(tape.Event) bool) {
	if !d.trusted {
		return
	}
	for _, e := range d.maybe {
		if certain(e) {
			apply(d.names, d.files, e)
		}
	}
	d.maybe = slices.DeleteFunc(d.maybe, certain)
}

// apply changes names and contents by one event.
func apply(names map[string]int, files map[int][]byte, e tape.Event) {
	switch e.Kind {
	case tape.Create:
		names[e.Path] = e.File
	case tape.Mkdir:
		names[e.Path] = directory
	case tape.Delete:
		delete(names, e.Path)
	case tape.Truncate:
		files[e.File] = resized(files[e.File], int(e.Offset))
	case tape.Write:
		content := files[e.File]
		if end := int(e.Offset) + len(e.Data); end > len(content) {
			content = resized(content, end)
		}
		copy(content[e.Offset:], e.Data)
		files[e.File] = content
	}
}

func resized(content []byte, size int) []byte {
	if size <= len(content) {
		return content[:size:size]
	}
	return append(content, make([]byte, size-len(content))...)
}

// choice says what reached the disk of what may have.
type choice struct {
	what string       // for a person
	kept []tape.Event // in the order in which it reached the disk; a torn write is several
}

// systematic returns the choices that are always made, for n events that may have happened.
func (d *disk) systematic() int { return 2 + 4*len(d.maybe) }

// choose makes the systematic choice of a number, or a random one.
func (d *disk) choose(i int, random *rand.Rand) choice {
	n := len(d.maybe)
	switch {
	case i == 0:
		return choice{"none", nil}
	case i == 1:
		return choice{"all", d.maybe}
	case i < d.systematic():
		which := (i - 2) / 4
		before, one := slices.Clone(d.maybe[:which]), d.maybe[which]
		switch (i - 2) % 4 {
		case 0:
			return choice{fmt.Sprintf("only change %d of %d", which+1, n), []tape.Event{one}}
		case 1:
			return choice{fmt.Sprintf("all but change %d of %d", which+1, n),
				slices.Delete(slices.Clone(d.maybe), which, which+1)}
		case 2:
			return choice{fmt.Sprintf("the first %d of %d, the last of them torn", which+1, n),
				append(before, tear(one, random)...)}
		default: // the file has grown, and what it has grown by is still zero
			return choice{fmt.Sprintf("the first %d of %d, the last of them zeros", which+1, n), append(before, zeros(one))}
		}
	}
	c := choice{what: fmt.Sprintf("some of %d, in another order", n)}
	share := random.Float64()
	for _, e := range d.maybe {
		switch {
		case random.Float64() >= share:
		case e.Kind == tape.Write && random.IntN(8) == 0:
			c.kept = append(c.kept, tear(e, random)...)
		case e.Kind == tape.Write && random.IntN(32) == 0:
			c.kept = append(c.kept, zeros(e))
		default:
			c.kept = append(c.kept, e)
		}
	}
	// Names stay in order: those of one directory are changed one after the other.
	var contents []tape.Event
	for _, e := range c.kept {
		if isContent(e) {
			contents = append(contents, e)
		}
	}
	random.Shuffle(len(contents), func(i, j int) { contents[i], contents[j] = contents[j], contents[i] })
	c.kept = append(slices.DeleteFunc(c.kept, isContent), contents...)
	return c
}

// tear returns the parts of a write that reached the disk: its first sectors and, half of the time, a part of
// one, or any of its sectors. The disk may have been writing one of them, and have left anything in it.
func tear(e tape.Event, random *rand.Rand) (parts []tape.Event) {
	if e.Kind != tape.Write {
		return nil
	}
	if random.IntN(2) == 0 {
		end := random.IntN(len(e.Data))
		if random.IntN(2) == 0 {
			end = max(0, end-int(e.Offset+int64(end))%sector)
		}
		return []tape.Event{part(e, 0, end)}
	}
	garbled := false
	for from := 0; from < len(e.Data); {
		to := min(len(e.Data), from+sector-int(e.Offset+int64(from))%sector)
		switch random.IntN(8) {
		case 0, 1, 2:
			parts = append(parts, part(e, from, to))
		case 3:
			if !garbled {
				parts, garbled = append(parts, garbage(part(e, from, to), random)), true
			}
		}
		from = to
	}
	return parts
}

func part(e tape.Event, from, to int) tape.Event {
	e.Data, e.Offset = e.Data[from:to], e.Offset+int64(from)
	return e
}

func garbage(e tape.Event, random *rand.Rand) tape.Event {
	e.Data = make([]byte, len(e.Data))
	for i := range e.Data {
		e.Data[i] = byte(random.Uint32())
	}
	return e
}

// zeros is a write of which only the new size of the file reached the disk.
func zeros(e tape.Event) tape.Event {
	if e.Kind == tape.Write {
		return tape.Event{Kind: grow, File: e.File, Offset: e.Offset + int64(len(e.Data))}
	}
	return e
}

// grow is an event that only states have.
const grow = tape.Kind(-1)

// state is what the machine finds after the cut.
type state struct {
	names map[string]int
	files map[int][]byte
}

func (d *disk) state(c choice) state {
	s := state{maps.Clone(d.names), map[int][]byte{}}
	for n, content := range d.files {
		s.files[n] = slices.Clone(content)
	}
	for _, e := range c.kept {
		if e.Kind == grow {
			if content := s.files[e.File]; len(content) < int(e.Offset) {
				s.files[e.File] = resized(content, int(e.Offset))
			}
			continue
		}
		apply(s.names, s.files, e)
	}
	for name := range s.names { // what is in a directory that is lost is lost
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			if s.names[dir] != directory {
				delete(s.names, name)
			}
		}
	}
	return s
}

// sum is equal for equal states.
func (s state) sum(seed maphash.Seed) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		content := s.files[s.names[name]]
		fmt.Fprintf(&h, "%s %d %d\n", name, min(s.names[name], 0), len(content))
		h.Write(content)
	}
	return h.Sum64()
}

// write makes the files of a state in an empty directory.
func (s state) write(dir string) error {
	for _, name := range slices.Sorted(maps.Keys(s.names)) { // a directory comes before what is in it
		path := filepath.Join(dir, name)
		var err error
		if n := s.names[name]; n == directory {
			err = os.Mkdir(path, 0o700)
		} else {
			err = os.WriteFile(path, s.files[n], 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s state) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if n := s.names[name]; n != directory {
			fmt.Fprintf(&text, " %s (%d bytes)", filepath.Base(name), len(s.files[n]))
		}
	}
	return strings.TrimSpace(text.String())
}
