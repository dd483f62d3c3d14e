package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/config"
	"github.com/google/go-cmp/cmp"
)

func TestProfileLineHasEverySetting(t *testing.T) {
	var members []string
	for f := range reflect.TypeFor[profileLine]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		members = append(members, name)
	}
	if diff := cmp.Diff(slices.Concat([]string{"name", "current", "built_in"}, config.ProfileKeys()),
		members); diff != "" {
		t.Errorf("settings (-), members of the JSON (+):\n%s", diff)
	}
}
