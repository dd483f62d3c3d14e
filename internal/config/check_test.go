package config

import (
	"strings"
	"testing"
)

func TestValidProfileName(t *testing.T) {
	for name, want := range map[string]bool{
		"live": true, "9": true, "eu-2_b": true, "a-": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "_a": false, "Live": false, "a b": false, "a.b": false, "é": false, "a\n": false,
		strings.Repeat("a", 65): false,
	} {
		if got := ValidProfileName(name); got != want {
			t.Errorf("ValidProfileName(%q) = %v", name, got)
		}
	}
}
