package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
	"go.yaml.in/yaml/v3"
)

// The container example is tested without a container engine. Its containers share a network namespace, which
// Linux can create for the test.

// isolated is the command prefix that runs a command in a new network namespace, with the loopback interface
// up.
var isolated = []string{"unshare", "--user", "--map-root-user", "--net", "sh", "-euc",
	`ip link set lo up; exec "$@"`, "sh"}

// needNamespaces skips a test if the machine does not allow network namespaces.
func needNamespaces(t *testing.T) {
	t.Helper()
	if out, err := exec.Command(isolated[0], append(isolated[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no network namespace can be made here (unshare and ip, and permission to use them, are needed): %v: %s",
			err, out)
	}
}

// composed is the part of the example's compose file that the test can check.
type composed struct {
	Services map[string]struct {
		Build       struct{ Context, Dockerfile string }
		Environment map[string]string
		Command     []string
		Healthcheck struct{ Test []string }
		NetworkMode string                                `yaml:"network_mode"`
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Volumes     []string
		Ports       []string
	}
}

// TestContainers does what a container engine does with the example: it starts the service sandbox in its own
// network, waits until it is healthy, and starts the service shop in the same network.
func TestContainers(t *testing.T) {
	t.Parallel()
	dir := absolute(t, "examples/containers")
	var file composed
	if err := yaml.Unmarshal([]byte(contents(t, dir+"/compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	box, shop := file.Services["sandbox"], file.Services["shop"]
	if len(file.Services) != 2 || box.NetworkMode != "" || shop.NetworkMode != "service:sandbox" ||
		shop.DependsOn["sandbox"].Condition != "service_healthy" {
		t.Fatalf("the services are not a sandbox, and a shop that shares its network once it is healthy: %+v", file)
	}
	if len(box.Healthcheck.Test) < 2 || box.Healthcheck.Test[0] != "CMD" {
		t.Fatalf("the check of health is %q", box.Healthcheck.Test)
	}
	for _, words := range [][]string{box.Command, box.Healthcheck.Test[1:]} {
		cmd, rest, err := tree(t).Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if words[0] != "till" || err != nil || !cmd.Runnable() || len(cmd.Flags().Args()) > 0 {
			t.Errorf("there is no command %q: %v", words, err)
		}
	}
	for name, s := range file.Services {
		dockerfile := contents(t, filepath.Join(dir, s.Build.Context, s.Build.Dockerfile))
		built := regexp.MustCompile(`go build -C /till .* (\./\S+)\n`).FindStringSubmatch(dockerfile)
		version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(contents(t, absolute(t, "go.mod")))
		if built == nil || version == nil || !strings.Contains(dockerfile, "FROM golang:"+version[1]+" ") {
			t.Errorf("the image of %s is not built by the Go of go.mod:\n%s", name, dockerfile)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, s.Build.Context, built[1], "main.go")); err != nil {
			t.Error(err)
		}
	}
	line := slices.Clone(shop.Command)
	for _, volume := range shop.Volumes { // files of this machine that a container sees
		from, to, _ := strings.Cut(strings.TrimSuffix(volume, ":ro"), ":")
		for i, word := range line {
			if rest, below := strings.CutPrefix(word, to+"/"); below {
				line[i] = filepath.Join(dir, from, rest)
			}
		}
	}
	environment := func(set map[string]string) (env []string) {
		for name, value := range set {
			env = append(env, name+"="+value)
		}
		return docsEnv(t, env...)
	}

	needNamespaces(t)
	serving := command(t, environment(box.Environment), slices.Concat(isolated, box.Command)...)
	if err := serving.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serving.Process.Signal(os.Interrupt)
		if err := serving.Wait(); err != nil {
			t.Errorf("the service sandbox: %v", err)
		}
	})
	inside := []string{"nsenter", "--target", fmt.Sprint(serving.Process.Pid), "--user", "--net", "--preserve-credentials"}
	eventually(t, "the health of the service sandbox", func() bool {
		return finish(t, command(t, environment(box.Environment),
			slices.Concat(inside, box.Healthcheck.Test[1:])...)).code == 0
	})
	run := finish(t, command(t, environment(shop.Environment), slices.Concat(inside, line)...))
	if run.code != 0 || !strings.Contains(run.out, "ok: one that is paid is shipped\n") {
		t.Errorf("the service shop ended with %d: %s%s", run.code, run.out, run.err)
	}
	pay := `id=$(till invoice create --title T --currency Usd --item Tea=3.00); till sandbox pay "$id" -q; till ` +
		`invoice get "$id" --jq .status`
	paid := finish(t, command(t, environment(shop.Environment), slices.Concat(inside, []string{"sh", "-euc", pay})...))
	if paid.code != 0 || !strings.HasSuffix(paid.out, "\nPaid\n") {
		t.Errorf("paying in there ended with %d: %s%s", paid.code, paid.out, paid.err)
	}

	// The network has only the loopback interface. Neither this process nor another namespace can reach it.
	interfaces := finish(t, command(t, docsEnv(t), slices.Concat(inside, []string{"cat", "/proc/self/net/dev"})...))
	// The first two lines are headings.
	if lines := strings.Split(strings.TrimSpace(interfaces.out), "\n"); len(lines) != 3 ||
		!strings.Contains(lines[2], "lo:") {
		t.Errorf("its namespace has the interfaces\n%s%s", interfaces.out, interfaces.err)
	}
	ask := []string{"till", "sandbox", "clock", "show", "--retries", "0", "--timeout", "5s"}
	if run := finish(t, command(t, environment(shop.Environment), ask...)); run.code == 0 {
		t.Errorf("it answers outside of its namespace: %s", run.out)
	}
	if run := finish(t, command(t, environment(shop.Environment),
		slices.Concat(isolated, ask)...)); run.code != cmdutil.ExitReadFailed {
		t.Errorf("from another namespace it ended with %d: %s%s", run.code, run.out, run.err)
	}
}

// TestNamespacesScript runs the script that does the same by hand.
func TestNamespacesScript(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	script, left := absolute(t, "examples/containers/namespaces.sh"), t.TempDir()
	env := docsEnv(t, "TMPDIR="+left)
	for name, c := range map[string]struct {
		command []string
		code    int
		out     string
	}{
		"the shop's tests": {[]string{"sh", absolute(t, "examples/shop/test.sh")}, 0, "ok: one that is paid is shipped\n"},
		"its exit code":    {[]string{"sh", "-c", "till sandbox clock show -q && exit 7"}, 7, ""},
		"no command":       {nil, 10, ""},
	} {
		run := finish(t, command(t, env, slices.Concat([]string{"sh", script}, c.command)...))
		if run.code != c.code || !strings.Contains(run.out, c.out) {
			t.Errorf("%s: it ended with %d: %s%s", name, run.code, run.out, run.err)
		}
	}
	if entries, err := os.ReadDir(left); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v behind, %v", entries, err)
	}
	// If no namespace can be created, the script says so.
	if run := finish(t, command(t, withEnv(env, []string{"PATH=" + onlyWithout(t, "unshare")}), "sh", script,
		"true")); run.code != 69 || !strings.Contains(run.err, "no network namespace") {
		t.Errorf("without unshare it ended with %d: %s%s", run.code, run.out, run.err)
	}
}

// onlyWithout returns a PATH on which a program fails.
func onlyWithout(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	writeProgram(t, filepath.Join(dir, name), "exit 1")
	return dir + ":" + os.Getenv("PATH")
}
