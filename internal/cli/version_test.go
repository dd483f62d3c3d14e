package cli

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildOf(t *testing.T) {
	b := buildOf(&debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-05-03T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
		},
	})
	if b.Commit != "0123456789abcdef0123456789abcdef01234567" || b.Committed != "2026-05-03T10:00:00Z" {
		t.Errorf("got %+v", b)
	}
	if got := b.String(); !strings.HasPrefix(got, "till v1.2.3 0123456789ab modified (go") {
		t.Errorf("got %q", got)
	}
	if b := buildOf(nil); b.Version != "(devel)" || b.Go == "" || b.Platform == "" || !strings.HasPrefix(b.String(), "till (devel) (") {
		t.Errorf("without information: %+v", b)
	}
	if b := buildOf(&debug.BuildInfo{}); b.Version != "(devel)" {
		t.Errorf("without a version: %+v", b)
	}
	sourceVersion = "v1.2.4"
	defer func() { sourceVersion = "" }()
	if b := buildOf(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}); b.Version != "v1.2.4" {
		t.Errorf("without git, from a source archive: %+v", b)
	}
	if b := buildOf(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}); b.Version != "v1.2.3" {
		t.Errorf("with git: %+v", b)
	}
}
