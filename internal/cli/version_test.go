package cli

import (
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

func TestBuildOf(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	const at = "2026-05-03T10:00:00Z"
	info := func(version, revision string, modified bool) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: at},
			{Key: "vcs.modified", Value: strconv.FormatBool(modified)}}}
	}
	devel := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}
	for _, c := range []struct {
		name  string
		info  *debug.BuildInfo
		makes [3]string // what the Makefile says: the version, the commit and its time
		want  build
		text  string // without Go and the platform
	}{
		{"tag", info("v1.2.3", commit, false), [3]string{}, build{Version: "v1.2.3", Commit: commit, Committed: at},
			"till v1.2.3 (0123456789ab, 2026-05-03, "},
		{"modified", info("v1.2.3+dirty", commit, true), [3]string{},
			build{Version: "v1.2.3+dirty", Commit: commit, Committed: at, Modified: true},
			"till v1.2.3+dirty (0123456789ab modified, 2026-05-03, "},
		{"no information", nil, [3]string{}, build{Version: "(devel)"}, "till (devel) ("},
		{"source archive", devel, [3]string{"v1.2.4", commit, "2026-06-07T08:09:10Z"},
			build{Version: "v1.2.4", Commit: commit, Committed: "2026-06-07T08:09:10Z"},
			"till v1.2.4 (0123456789ab, 2026-06-07, "},
		{"git before the Makefile", info("v1.2.3", "01234", false), [3]string{"v1.2.4", commit, "2026-06-07T08:09:10Z"},
			build{Version: "v1.2.3", Commit: "01234", Committed: at}, "till v1.2.3 (01234, 2026-05-03, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			sourceVersion, sourceCommit, sourceTime = c.makes[0], c.makes[1], c.makes[2]
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
