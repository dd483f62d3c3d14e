package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	settings := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: "2026-05-03T10:00:00Z"},
			{Key: "vcs.modified", Value: modified},
		}
	}
	for _, c := range []struct {
		name                     string
		info                     *debug.BuildInfo
		version, source, stamped string // what the Makefile says: the version, the commit and its time
		want                     build
		text                     string // without Go and the platform
	}{
		{name: "tag", info: &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: settings(commit, "false")},
			want: build{Version: "v1.2.3", Commit: commit, Committed: "2026-05-03T10:00:00Z"},
			text: "till v1.2.3 (0123456789ab, 2026-05-03, "},
		{name: "modified", info: &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"},
			Settings: settings(commit, "true")},
			want: build{Version: "v1.2.3+dirty", Commit: commit, Committed: "2026-05-03T10:00:00Z", Modified: true},
			text: "till v1.2.3+dirty (0123456789ab modified, 2026-05-03, "},
		{name: "short commit", info: &debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
			Settings: settings("01234", "false")},
			want: build{Version: "(devel)", Commit: "01234", Committed: "2026-05-03T10:00:00Z"},
			text: "till (devel) (01234, 2026-05-03, "},
		{name: "no information", want: build{Version: "(devel)"}, text: "till (devel) ("},
		{name: "empty information", info: &debug.BuildInfo{}, want: build{Version: "(devel)"}, text: "till (devel) ("},
		{name: "version of the Makefile", info: &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, version: "v1.2.4",
			want: build{Version: "v1.2.4"}, text: "till v1.2.4 ("},
		{name: "source archive", info: &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			version: "v1.2.4", source: commit, stamped: "2026-06-07T08:09:10Z",
			want: build{Version: "v1.2.4", Commit: commit, Committed: "2026-06-07T08:09:10Z"},
			text: "till v1.2.4 (0123456789ab, 2026-06-07, "},
		{name: "git before the Makefile",
			info:    &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: settings("01234", "false")},
			version: "v1.2.4", source: commit, stamped: "2026-06-07T08:09:10Z",
			want: build{Version: "v1.2.3", Commit: "01234", Committed: "2026-05-03T10:00:00Z"},
			text: "till v1.2.3 (01234, 2026-05-03, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			sourceVersion, sourceCommit, sourceTime = c.version, c.source, c.stamped
			defer func() { sourceVersion, sourceCommit, sourceTime = "", "", "" }()
			c.want.Go, c.want.Platform = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH
			got := buildOf(c.info)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if text := c.text + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"; got.String() != text {
				t.Errorf("it prints %q, want %q", got.String(), text)
			}
		})
	}
}
