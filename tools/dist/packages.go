package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages writes the deb, the rpm and the apk for a platform.
func (s *stage) packages(b build, out string) {
	for _, format := range []string{"deb", "rpm", "apk"} {
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "till", Arch: b.Arch, Platform: "linux", MTime: s.time, DisableGlobbing: true,
			Section: "utils", Priority: "optional", License: expression(s.linked),
			Maintainer: "the till authors <till@example.com>", Vendor: "the till authors",
			Homepage: "https://example.com/till",
			Description: "command line of a merchant payment service\n" +
				"Pays out at most once, makes invoices and looks after resellers, from scripts\n" +
				"and terminals. It has the whole service as a sandbox, to try it and to test\n" +
				"without a network.",
			Overridables: nfpm.Overridables{
				RPM: nfpm.RPM{BuildHost: "localhost", Group: "Applications/Internet",
					Summary: "command line of a merchant payment service"},
			},
		})
		nameKeys(info)
		check(setVersion(info, s.version, format))
		if format == "apk" {
			info.Description, _, _ = strings.Cut(info.Description, "\n")
			info.Depends = []string{"ca-certificates-bundle"}
		} else {
			info.Recommends = []string{"ca-certificates"}
		}
		switch format {
		case "deb":
			info.License = "" // Debian has it in copyright
		case "rpm":
			_, info.Description, _ = strings.Cut(info.Description, "\n") // the first line is the summary
			info.Changelog = s.rpmChanges(info)
		}
		info.Contents = s.contents(b, info, format)
		check(nfpm.PrepareForPackager(info, format))
		to := checked(os.Create(filepath.Join(out, s.name("linux", b.Arch)+"."+format)))
		check(checked(nfpm.Get(format)).Package(info, to))
		check(to.Close())
	}
}

// nameKeys lets a package be signed with the keys that the environment names: an OpenPGP key for the deb and the rpm, and
// an RSA key for the apk, each in a file without a passphrase. Without keys, a package has no signature, and the same
// bytes wherever it is made.
func nameKeys(info *nfpm.Info) {
	pgp := os.Getenv("TILL_PGP_KEY")
	info.Deb.Signature.KeyFile, info.RPM.Signature.KeyFile = pgp, pgp
	info.APK.Signature.KeyFile = os.Getenv("TILL_APK_KEY")
}

// untagged is the version of a commit without a tag, by the rules of Go: after v1.2.3, it counts as before
// 1.2.4.
var untagged = regexp.MustCompile(`^(.*?)[-.](?:0\.)?(\d{14})-[0-9a-f]{12}$`)

// setVersion writes the version as the package format orders it: what comes before a release sorts before it.
func setVersion(info *nfpm.Info, version, format string) error {
	info.VersionSchema = "none"
	var snapshot string
	if m := untagged.FindStringSubmatch(version); m != nil {
		version, snapshot = m[1], m[2]
	}
	base, pre, _ := strings.Cut(version, "-")
	info.Version, info.Prerelease, info.Release = base, "", "1" // defaults are in their places
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
func (s *stage) contents(b build, info *nfpm.Info, format string) files.Contents {
	const docs = "/usr/share/doc/till/"
	completions, licences := "/usr/share/zsh/site-functions/", "/usr/share/licenses/till/"
	var all []file
	if format == "deb" {
		completions = "/usr/share/zsh/vendor-completions/"
		all = append(all,
			file{docs + "copyright", 0o644, append(s.licence[:len(s.licence):len(s.licence)],
				"\nThe program contains software by others, under the licences in\n"+docs+"THIRD_PARTY_NOTICES.gz.\n"...)},
			file{docs + "THIRD_PARTY_NOTICES.gz", 0o644, s.noticesGz},
			file{docs + "changelog.gz", 0o644, gzipped(s.changes)},
			file{docs + "changelog.Debian.gz", 0o644, gzipped(debianChanges(info, s.time))},
			file{"/usr/share/lintian/overrides/till", 0o644,
				[]byte("# Go programs are statically linked.\ntill: statically-linked-binary [usr/bin/till]\n")})
	} else {
		all = append(all,
			file{licences + "LICENSE", 0o644, s.licence},
			file{licences + "THIRD_PARTY_NOTICES", 0o644, s.notices},
			file{docs + "CHANGELOG.md", 0o644, s.changes})
	}
	all = append(all,
		file{"/usr/share/bash-completion/completions/till", 0o644, s.completions["till.bash"]},
		file{completions + "_till", 0o644, s.completions["_till"]},
		file{"/usr/share/fish/vendor_completions.d/till.fish", 0o644, s.completions["till.fish"]})
	dirs := map[string]bool{docs: true, licences: true}
	for _, page := range s.pages {
		page.Name = docs + page.Name
		all = append(all, page)
		dirs[path.Dir(page.Name)+"/"] = true
	}
	for _, name := range sorted(s.man) {
		all = append(all,
			file{"/usr/share/man/man" + name[len(name)-1:] + "/" + name + ".gz", 0o644, gzipped(s.man[name])})
	}
	contents := files.Contents{s.packed(files.TypeFile, "/usr/bin/till", b.Path, 0o755)}
	for _, f := range all {
		source := filepath.Join(s.dir, format, f.Name)
		check(os.MkdirAll(filepath.Dir(source), 0o755))
		check(os.WriteFile(source, f.Data, 0o644))
		kind := files.TypeFile
		switch {
		case format != "rpm": // no other format marks its files
		case strings.HasPrefix(f.Name, licences):
			kind = files.TypeRPMLicence
		case strings.HasPrefix(f.Name, docs), strings.HasPrefix(f.Name, "/usr/share/man/"):
			kind = files.TypeRPMDoc
		}
		contents = append(contents, s.packed(kind, f.Name, source, f.Mode))
	}
	if format == "rpm" { // which removes no directory that is not its own
		for _, dir := range slices.Sorted(maps.Keys(dirs)) {
			contents = append(contents, s.packed(files.TypeDir, dir, "", 0o755))
		}
	}
	return contents
}

// debianChanges is the changelog of the package itself, in the format of Debian.
func debianChanges(info *nfpm.Info, at time.Time) []byte {
	return fmt.Appendf(nil, "till (%s) unstable; urgency=medium\n\n  * Release. What is new is in changelog.gz.\n\n -- %s  %s\n",
		packageVersion(info), info.Maintainer, at.Format(time.RFC1123Z))
}

// rpmChanges writes the changelog of the package itself, as nfpm reads it, and returns the file's name.
func (s *stage) rpmChanges(info *nfpm.Info) (name string) {
	name = filepath.Join(s.dir, "changes.yaml")
	text := fmt.Sprintf("- semver: %q\n  date: %s\n  packager: %q\n  changes:\n  - note: %q\n", packageVersion(info),
		s.time.Format(time.RFC3339), info.Maintainer, "Release. What is new is in CHANGELOG.md.")
	check(os.WriteFile(name, []byte(text), 0o644))
	return name
}

// packageVersion is the version as Debian and rpm write it, with the release of the package.
func packageVersion(info *nfpm.Info) string {
	version := info.Version
	if info.Prerelease != "" {
		version += "~" + info.Prerelease
	}
	return version + "-" + info.Release
}

func (s *stage) packed(kind, destination, source string, mode os.FileMode) *files.Content {
	return &files.Content{Type: kind, Source: source, Destination: destination,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: s.time}}
}
