package cli

import (
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// twoNetworks starts a sandbox in a network of its own, as the image of a release does without arguments, and then a
// script in another network that reaches it at 10.9.0.2, as in containers. GitLab gives the variables of a job to its
// services, too.
const twoNetworks = `
unshare --net sh -euc 'ip link set lo up; exec till sandbox serve --listen 0.0.0.0:8080 --expose' >serve.txt 2>&1 &
box=$!
trap 'kill $box; wait $box' EXIT
until [ "$(readlink /proc/$box/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add shop type veth peer name box netns "$box"
ip addr add 10.9.0.1/24 dev shop
ip link set shop up
nsenter --target "$box" --net sh -euc 'ip addr add 10.9.0.2/24 dev box; ip link set box up'
export TILL_BASE_URL=http://10.9.0.2:8080
sh -euc "$1"
`

// TestServiceContainers runs what the examples for pipelines run, with the sandbox in another network.
func TestServiceContainers(t *testing.T) {
	t.Parallel()
	isolated := []string{"unshare", "--user", "--map-root-user", "--net", "sh", "-euc", twoNetworks, "sh"}
	if out, err := exec.Command(isolated[0], "--user", "--map-root-user", "--net", "ip", "link").CombinedOutput(); err != nil {
		t.Skipf("no network namespace can be made here (unshare, ip and permission are needed): %v: %s", err, out)
	}
	type step struct{ Run string }
	var github struct {
		Jobs map[string]struct{ Steps []step }
	}
	var gitlab map[string]struct{ Script []string }
	var compose struct {
		Services map[string]struct{ Command []string }
	}
	for file, into := range map[string]any{"github.yml": &github, "gitlab.yml": &gitlab, "compose.yaml": &compose} {
		if err := yaml.Unmarshal([]byte(pageText(t, "examples/ci/"+file)), into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var lines []string
	for _, s := range github.Jobs["shop"].Steps {
		lines = append(lines, s.Run)
	}
	lines = append(lines, gitlab["shop"].Script...)
	lines = append(lines, strings.ReplaceAll(compose.Services["shop"].Command[2], "$$", "$"))
	script := strings.NewReplacer("examples/ci/invoice.sh", absolute(t, "examples/ci/invoice.sh"),
		"/invoice.sh", absolute(t, "examples/ci/invoice.sh")).Replace(strings.Join(lines, "\n"))
	script += "\ncurl -sS --fail -o /dev/null -H 'Host: till:8080' $TILL_BASE_URL/sandbox/health"
	script += "\ncurl -sS -o /dev/null -w '%{http_code}\\n' $TILL_BASE_URL/sandbox/requests\ncat serve.txt"
	cmd := command(t, docsEnv(t, "TILL_API_KEY=till_sandbox_ci", "TILL_BASE_URL=http://till:8080"), append(isolated, script)...)
	cmd.Dir = t.TempDir()
	run := finish(t, cmd)
	if run.code != 0 || strings.Count(run.out, " is paid\n") != 3 || !strings.Contains(run.out, "\n401\n") ||
		!strings.Contains(run.out, "whoever reaches 0.0.0.0:8080 and has the key") {
		t.Errorf("it ended with %d: %s%s", run.code, run.out, run.err)
	}
}
