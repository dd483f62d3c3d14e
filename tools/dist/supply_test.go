package main

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// TestActionsAreNamedByCommit checks that no workflow takes what a tag of somebody else leads to on that day.
func TestActionsAreNamedByCommit(t *testing.T) {
	uses := regexp.MustCompile(`uses: *(\S+)(.*)`)
	pinned := regexp.MustCompile(`^[^@]+@[0-9a-f]{40}$`)
	found := 0
	for _, pattern := range []string{"../../.github/workflows/*.yml", "../../examples/*.yml", "../../examples/*/*.yml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			for _, use := range uses.FindAllStringSubmatch(read(t, name), -1) {
				if found++; !pinned.MatchString(use[1]) || !strings.HasPrefix(use[2], " # v") {
					t.Errorf("%s: %s names no commit with its version", name, use[0])
				}
			}
		}
	}
	if found < 9 {
		t.Errorf("%d actions were found", found)
	}
}

// TestReleaseNeedsTheVulnerabilities checks what happens where the database cannot be reached.
func TestReleaseNeedsTheVulnerabilities(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "curl"), "#!/bin/sh\nexit 7\n", 0o755)
	for flag, code := range map[string]int{"": 0, "--required": 1} {
		cmd := exec.Command("../../.ci/vuln", strings.Fields(flag)...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		text, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(text), "cannot be reached") {
			t.Errorf("%q: %v: %s", flag, cmd.ProcessState, text)
		}
	}
	if text := read(t, "../../.github/workflows/release.yml"); !strings.Contains(text, "run: .ci/vuln --required") {
		t.Error("a release does not look for vulnerabilities")
	}
}

// TestPackagesAreSigned checks that a key in the environment signs the packages, and that none does otherwise.
func TestPackagesAreSigned(t *testing.T) {
	keys := t.TempDir()
	pgp, err := openpgp.NewEntity("Release", "", "release@example.com", nil)
	must(t, err)
	var secret bytes.Buffer
	must(t, pgp.SerializePrivate(&secret, nil))
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)})
	names := map[string]string{"TILL_PGP_KEY": write(t, filepath.Join(keys, "pgp"), secret.String(), 0o600),
		"TILL_APK_KEY": write(t, filepath.Join(keys, "apk"), string(pemKey), 0o600)}
	for _, signed := range []bool{false, true} {
		for name, file := range names {
			if !signed {
				file = ""
			}
			t.Setenv(name, file)
		}
		dir, out := t.TempDir(), t.TempDir()
		s := &stage{dir: dir, version: "1.2.3", time: time.Unix(1e9, 0).UTC()}
		b := build{platform: platform{"linux", "amd64"}, Path: filepath.Join(keys, "apk")}
		s.packages(b, out)
		for format, mark := range map[string]string{"deb": "_gpgorigin", "apk": ".SIGN.RSA."} {
			text := read(t, out, s.name("linux", "amd64")+"."+format)
			if format == "apk" { // a row of gzip streams with tars in them
				first, err := tar.NewReader(gunzipped(t, text)).Next()
				must(t, err)
				text = first.Name
			}
			if strings.Contains(text, mark) != signed {
				t.Errorf("signed is %v, and %s has %q: %v", signed, format, mark, !signed)
			}
		}
		need(t, "rpm")
		tags := run1(t, "rpm", "-qp", "--nosignature", "--qf", "%{SIGPGP:pgpsig} %{RSAHEADER:pgpsig}",
			filepath.Join(out, s.name("linux", "amd64")+".rpm"))
		if strings.Contains(tags, "Key ID") != signed {
			t.Errorf("signed is %v, and the rpm has %s", signed, tags)
		}
	}
}
