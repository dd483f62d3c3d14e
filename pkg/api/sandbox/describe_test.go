package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api/internal/described"
	"example.com/till/pkg/api/sandbox"
)

func description(t testing.TB) *described.API {
	t.Helper()
	api, err := described.Load()
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// TestDescriptionHasEveryRoute compares the description with the routes of the server, and its operations with
// those of the interface.
func TestDescriptionHasEveryRoute(t *testing.T) {
	got := description(t).Operations()
	if want := sandbox.Routes(); !slices.Equal(got, want) {
		t.Errorf("described are\n%s\nand the server has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	got = slices.DeleteFunc(got, func(name string) bool { return !strings.Contains(name, " /api/") })
	if want := slices.Sorted(slices.Values(operations)); !slices.Equal(got, want) {
		t.Errorf("described are\n%s\nand the interface has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
