package tape

import (
	"path/filepath"
	"reflect"
	"testing"
)

// TestNames checks what the patched packages note: names below the directory, each file with its number.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	if err := Begin(dir); err != nil {
		t.Fatal(err)
	}
	MadeDirectory(filepath.Join(dir, "a"))
	SyncedDirectory(dir)
	SyncedDirectory(filepath.Dir(dir))
	MadeFile(filepath.Join(dir, "a", "b"))
	MadeFile(filepath.Join(dir, "a", "b"))
	MadeFile(dir + "beside")
	WasReported("1", "w1")
	path := filepath.Join(dir, "record")
	if err := Save(path, Record{Rows: 3}); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	want := Record{Rows: 3, Events: []Event{
		{Kind: Mkdir, Path: "a"}, {Kind: SyncDirectory, Path: "."}, {Kind: Create, Path: "a/b", File: 1},
		{Kind: Reported, Order: "1", ID: "w1"},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMutant(t *testing.T) {
	for mutant, mode := range map[string]string{"": "full", "synchronous-off": "off", "synchronous-normal": "normal"} {
		t.Setenv("TILL_POWERCUT_MUTANT", mutant)
		if got := SyncMode(); got != mode || !Mutant(mutant) || Mutant("another") {
			t.Errorf("%q: %q", mutant, got)
		}
	}
	FirstVersion(true)
	if !FirstVersionOnly() {
		t.Error("the journal is not one of the first version")
	}
}
