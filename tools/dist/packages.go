package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the deb, the rpm and the apk for a platform.
func (s *stage) packages(b build, out string) error {
	for _, format := range []string{"deb", "rpm", "apk"} {
		contents, err := s.contents(b, format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "till", Arch: b.Arch, Platform: "linux", MTime: s.time, DisableGlobbing: true,
			Section: "utils", Priority: "optional", License: "MIT",
			Maintainer: "the till authors <till@example.com>", Vendor: "the till authors",
			Homepage: "https://example.com/till",
			Description: "command line of a merchant payment service\n" +
				"Pays out at most once, makes invoices and looks after resellers, from scripts and\n" +
				"terminals. It has the whole service as a sandbox, to try and test without a network.",
			Overridables: nfpm.Overridables{
				Contents: contents,
				RPM:      nfpm.RPM{BuildHost: "localhost", Summary: "command line of a merchant payment service"},
			},
		})
		if err := setVersion(info, s.version, format); err != nil {
			return err
		}
		if format == "apk" {
			info.Description, _, _ = strings.Cut(info.Description, "\n")
			info.Depends = []string{"ca-certificates-bundle"}
		} else {
			info.Recommends = []string{"ca-certificates"}
		}
		if format == "rpm" { // which removes no directory that is not its own
			info.Contents = append(info.Contents, &files.Content{Type: files.TypeDir, Destination: "/usr/share/doc/till",
				FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: s.time}},
				&files.Content{Type: files.TypeDir, Destination: "/usr/share/doc/till/docs",
					FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: s.time}})
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		to, err := os.Create(filepath.Join(out, s.name("linux", b.Arch)+"."+format))
		if err != nil {
			return err
		}
		if err := packager.Package(info, to); err != nil {
			return err
		}
		if err := to.Close(); err != nil {
			return err
		}
	}
	return nil
}

// untagged is the version of a commit without a tag, by the rules of Go: after v1.2.3, it counts as before 1.2.4.
var untagged = regexp.MustCompile(`^(.*?)[-.](?:0\.)?(\d{14})-[0-9a-f]{12}$`)

// setVersion writes the version as the package format orders it: what comes before a release sorts before it.
func setVersion(info *nfpm.Info, version, format string) error {
	info.VersionSchema = "none"
	var snapshot string
	if m := untagged.FindStringSubmatch(version); m != nil {
		version, snapshot = m[1], m[2]
	}
	base, pre, _ := strings.Cut(version, "-")
	info.Version, info.Prerelease = base, "" // a default is in its place
	if format != "apk" {
		if snapshot != "" {
			pre = strings.Trim(pre+".git"+snapshot, ".")
		}
		info.Prerelease = strings.ReplaceAll(pre, "-", ".")
		return nil
	}
	info.Release = "0"
	switch name, number, _ := strings.Cut(pre, "."); {
	case pre == "" && snapshot != "":
		info.Version += "_alpha" + snapshot
	case pre == "":
	case slices.Contains([]string{"alpha", "beta", "pre", "rc"}, name):
		info.Version += "_" + name + number
		if snapshot != "" {
			info.Version += "_git" + snapshot
		}
	default:
		return fmt.Errorf("apk has no version %s: name it alpha, beta, pre or rc, with a number", version)
	}
	return nil
}

// contents returns the files of a package, where the distribution looks for them.
func (s *stage) contents(b build, format string) (files.Contents, error) {
	zsh, docs := "/usr/share/zsh/site-functions/_till", "/usr/share/doc/till/"
	if format == "deb" {
		zsh = "/usr/share/zsh/vendor-completions/_till"
	}
	all := []file{
		{"/usr/share/bash-completion/completions/till", 0o644, s.completions["till.bash"]},
		{zsh, 0o644, s.completions["_till"]},
		{"/usr/share/fish/vendor_completions.d/till.fish", 0o644, s.completions["till.fish"]},
		{docs + "copyright", 0o644, s.licence},
		{docs + "THIRD_PARTY_NOTICES.gz", 0o644, gzipped(noticeText(s.notices))},
		{docs + "changelog.gz", 0o644, gzipped(s.changes)},
		{docs + "README.md", 0o644, s.readme},
	}
	for _, name := range sorted(s.pages) {
		all = append(all, file{docs + "docs/" + name, 0o644, s.pages[name]})
	}
	for _, name := range sorted(s.man) {
		all = append(all,
			file{"/usr/share/man/man" + name[len(name)-1:] + "/" + name + ".gz", 0o644, gzipped(s.man[name])})
	}
	contents := files.Contents{packed("/usr/bin/till", b.Path, 0o755, s)}
	for _, f := range all {
		source := filepath.Join(s.dir, format, f.Name)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(source, f.Data, 0o644); err != nil {
			return nil, err
		}
		contents = append(contents, packed(f.Name, source, f.Mode, s))
	}
	return contents, nil
}

func packed(destination, source string, mode os.FileMode, s *stage) *files.Content {
	return &files.Content{Source: source, Destination: destination,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: s.time}}
}
