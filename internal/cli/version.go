package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"github.com/spf13/cobra"
)

func versionCommand(a *cmdutil.App) *cobra.Command {
	return cmdutil.WithView(a, cmdutil.One, buildView, &cobra.Command{
		Use:   "version",
		Short: "Show the version of till",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			b := buildOf(info)
			if a.Untouched(cmd) { // resolving the settings takes longer than the rest
				return a.Write(b.String() + "\n")
			}
			_, out, err := cmdutil.BeginAlone(a, cmd, buildView)
			if err != nil {
				return err
			}
			return out.Bare(b, b.String())
		},
	})
}

// build describes what a binary was built from. Unknown fields are empty.
type build struct {
	Version   string `json:"version" column:"own: version of till"`
	Commit    string `json:"commit,omitempty" column:"own: commit that it was built from"`
	Committed string `json:"committed,omitempty" column:"own: time of that commit"`
	Modified  bool   `json:"modified" column:"value: whether files were changed after that commit"`
	Go        string `json:"go" column:"own: version of Go that built it"`
	Platform  string `json:"platform" column:"own: operating system and processor that it runs on"`
}

// What the Makefile knows about a source archive and Go does not: the version, the commit and its time.
var sourceVersion, sourceCommit, sourceTime string

func buildOf(info *debug.BuildInfo) build {
	b := build{Version: cmp.Or(sourceVersion, "(devel)"), Commit: sourceCommit, Committed: sourceTime,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil { // a build without modules
		return b
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Committed = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	var parts []string
	if b.Commit != "" {
		commit := b.Commit[:min(len(b.Commit), 12)]
		if b.Modified {
			commit += " modified"
		}
		parts = append(parts, commit)
	}
	if date, _, _ := strings.Cut(b.Committed, "T"); date != "" {
		parts = append(parts, date)
	}
	return fmt.Sprintf("till %s (%s)", b.Version, strings.Join(append(parts, b.Go, b.Platform), ", "))
}

func buildView(money.Registry) render.View[build] { return render.Struct[build]("version") }
