package config

import (
	"strings"
	"testing"
)

func TestCompleteKeys(t *testing.T) {
	if got, _ := completeKeys(nil, "api_"); len(got) != 2 {
		t.Errorf("api_ offers %q", got)
	}
	if got, _ := completeKeys([]string{"api_key_file=/k"}, "api_"); len(got) != 1 ||
		!strings.HasPrefix(got[0], "api_key_command=\t") {
		t.Errorf("a key that is given is offered again: %q", got)
	}
	if got, _ := completeKeys(nil, "api_key_file=/"); got != nil {
		t.Errorf("a value offers %q", got)
	}
}
