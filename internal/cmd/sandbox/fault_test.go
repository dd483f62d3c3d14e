package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

// The sandbox takes every completion of --do, and the help explains each.
func TestFaultKinds(t *testing.T) {
	help, err := os.ReadFile("../../cli/help/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range faultKinds {
		if !strings.Contains(string(help), do) {
			t.Errorf("the help does not say what %s does", do)
		}
		f := sandbox.Fault{Do: do}
		if kind, file := strings.CutSuffix(do, "=FILE"); file { // the sandbox gets what is in the file
			f.Do, f.Body = kind, []byte("{}")
		}
		if _, err := sandbox.CheckFault(f); err != nil {
			t.Error(err)
		}
	}
	_, err = sandbox.CheckFault(sandbox.Fault{})
	for _, word := range strings.Fields(err.Error()) {
		if word = strings.TrimSuffix(word, ","); strings.ContainsAny(word, "-=") && !slices.Contains(faultKinds, word) {
			t.Errorf("%s is a kind and is not offered", word)
		}
	}
}
