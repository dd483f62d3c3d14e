// Package openapi tests the description that the sandbox serves with tools of others: a
// validator, linters, and generators of clients. They come from npm and from Go's module proxy.
package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api/sandbox"
)

func TestDescription(t *testing.T) {
	modules := install(t)
	dir := t.TempDir()
	ok(t, os.Symlink(modules, filepath.Join(dir, "node_modules")))
	for _, name := range []string{"validate.mjs", "calls.ts"} {
		text, err := os.ReadFile(filepath.Join("client", name))
		ok(t, err)
		write(t, dir, name, text)
	}
	b := sandbox.Start(t)
	t.Run("is valid", func(t *testing.T) { isValid(t, b, dir) })
	t.Run("makes a client", func(t *testing.T) { makesClient(t, b, dir) })
}

func write(t *testing.T, dir, name string, text []byte) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	ok(t, os.WriteFile(path, text, 0o600))
	return path
}

// isValid checks the description with a validator that knows the schema of OpenAPI 3.1.
func isValid(t *testing.T, b *sandbox.Running, dir string) {
	run(t, dir, nil, "node", "validate.mjs", write(t, dir, "openapi.json", get(t, b, "/openapi.json")))
}

// makesClient generates a client in TypeScript, calls all operations with it, and checks
// that each one arrived and was answered.
func makesClient(t *testing.T, b *sandbox.Running, dir string) {
	env := []string{"TILL_BASE_URL=" + b.URL, "TILL_API_KEY=" + b.Key()}
	generate(t, dir, env)
	run(t, dir, env, "node", "node_modules/typescript/bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "commonjs", "--outDir", "out", "calls.ts")
	run(t, dir, env, "node", "out/calls.js")

	var log struct {
		Requests []struct {
			Method, Path string
			Status       int
		}
	}
	ok(t, json.Unmarshal(get(t, b, "/sandbox/requests"), &log))
	got := map[string]bool{}
	for _, r := range log.Requests {
		if r.Status == http.StatusOK {
			got[strings.ToLower(r.Method)+" "+r.Path] = true
		}
	}
	var described struct {
		Paths map[string]map[string]any
	}
	ok(t, json.Unmarshal(get(t, b, "/openapi.json"), &described))
	n := 0
	for path, methods := range described.Paths {
		for method := range methods {
			if !strings.HasPrefix(path, "/api/") {
				continue
			}
			if n++; !got[method+" "+path] {
				t.Errorf("the client does not call %s %s with success", method, path)
			}
		}
	}
	if n != 22 {
		t.Errorf("%d operations are described, and the interface has 22", n)
	}
}

const (
	redocly    = "@redocly/cli@2.77.0"
	spectral   = "@stoplight/spectral-cli@6.16.3"
	typescript = "openapi-typescript@7.13.0"
)

// TestLinters fails if a linter that users of OpenAPI run by default reports an error.
func TestLinters(t *testing.T) {
	dir, file := describedIn(t)
	npx(t, dir, redocly, "lint", file)
	write(t, dir, ".spectral.yaml", []byte(`extends: ["spectral:oas"]`))
	npx(t, dir, spectral, "lint", "--fail-severity", "error", file)
}

// TestTypesInTypeScript generates types with another generator than makesClient does.
func TestTypesInTypeScript(t *testing.T) {
	dir, file := describedIn(t)
	npx(t, dir, typescript, file, "-o", "types.ts")
	run(t, dir, nil, "node", filepath.Join(install(t), "typescript/bin/tsc"), "--strict", "--noEmit", "types.ts")
}

// TestClientsInGo generates clients in Go and compiles them.
func TestClientsInGo(t *testing.T) {
	for module, args := range map[string][]string{
		"github.com/oapi-codegen/oapi-codegen/v2@v2.8.2": {"/cmd/oapi-codegen", "-generate", "types,client",
			"-package", "box", "-o", "client.go"},
		"github.com/ogen-go/ogen@v1.25.0": {"/cmd/ogen", "--package", "box", "--target", "."},
	} {
		t.Run(strings.ReplaceAll(module, "/", "-"), func(t *testing.T) {
			dir, file := describedIn(t)
			env := []string{"CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath"}
			path, version, _ := strings.Cut(module, "@")
			fetch := exec.Command("go", "mod", "download", module)
			fetch.Dir = dir
			if output, err := fetch.CombinedOutput(); err != nil {
				missing(t, "go mod download %s: %v: %s", module, err, output)
			}
			generator := append([]string{"run", path + args[0] + "@" + version}, args[1:]...)
			run(t, dir, env, "go", append(generator, file)...)
			write(t, dir, "go.mod", []byte("module box\n\ngo 1.26\n\nrequire "+path+" "+version+"\n"))
			run(t, dir, env, "go", "mod", "tidy")
			run(t, dir, env, "go", "vet", ".")
		})
	}
}

// describedIn returns a directory of the test, and the description in it.
func describedIn(t *testing.T) (dir, file string) {
	t.Helper()
	text, err := os.ReadFile("../../pkg/api/sandbox/openapi.yaml")
	ok(t, err)
	dir = t.TempDir()
	return dir, write(t, dir, "openapi.yaml", text)
}

// npx runs a program of npm, with the packages as the registry has them now.
func npx(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	needPackage(t, name)
	run(t, dir, nil, "npx", append([]string{"--yes", name}, args...)...)
}

// generate runs the command of docs/testing.md, with the package as the registry has it now.
func generate(t *testing.T, dir string, env []string) {
	page, err := os.ReadFile("../../docs/testing.md")
	ok(t, err)
	command := regexp.MustCompile("`(npx --yes (@hey-api/openapi-ts@[0-9.]+) [^`\n]*)`").FindStringSubmatch(string(page))
	if command == nil {
		t.Fatal("docs/testing.md does not say how to generate a client")
	}
	needPackage(t, command[2])
	alone := t.TempDir() // without the modules in dir, which npx would use
	run(t, alone, env, "sh", "-c", command[1])
	ok(t, os.Rename(filepath.Join(alone, "client"), filepath.Join(dir, "client")))
}

// needPackage skips a test where the registry of npm cannot be reached.
func needPackage(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		missing(t, "%v", err)
	}
	if output, err := exec.Command("npm", "view", name, "version").CombinedOutput(); err != nil {
		missing(t, "npm view %s: %v: %s", name, err, output)
	}
}

// missing skips a test because the machine lacks something that CI has. There, the test fails.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("TILL_NEEDS_TOOLS") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func get(t *testing.T, b *sandbox.Running, path string) []byte {
	t.Helper()
	r, err := http.NewRequest("GET", b.URL+path, nil)
	ok(t, err)
	r.Header.Set("Authorization", "Bearer "+b.Key())
	answer, err := http.DefaultClient.Do(r)
	ok(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %s %v", path, answer.StatusCode, text, err)
	}
	return text
}

// install returns the directory of these tools, which it keeps for the next run. The
// test is skipped where there is no npm.
func install(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "%v", err)
		}
	}
	lock, err := os.ReadFile("client/package-lock.json")
	ok(t, err)
	manifest, err := os.ReadFile("client/package.json")
	ok(t, err)
	cache, err := os.UserCacheDir()
	if err != nil {
		missing(t, "%v", err)
	}
	cache = filepath.Join(cache, "till-ci")
	kept := filepath.Join(cache, fmt.Sprintf("openapi-client-%x", sha256.Sum256(slices.Concat(manifest, lock)))[:40])
	modules := filepath.Join(kept, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	ok(t, os.MkdirAll(cache, 0o755))
	fresh, err := os.MkdirTemp(cache, "new-")
	ok(t, err)
	defer os.RemoveAll(fresh)
	err = errors.Join(os.WriteFile(filepath.Join(fresh, "package.json"), manifest, 0o644),
		os.WriteFile(filepath.Join(fresh, "package-lock.json"), lock, 0o644))
	ok(t, err)
	c := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	c.Dir = fresh
	if output, err := c.CombinedOutput(); err != nil {
		missing(t, "npm ci: %v: %s", err, output)
	}
	if err := os.Rename(fresh, kept); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return modules
}

func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if output, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(append([]string{name}, args...), " "), err, output)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
