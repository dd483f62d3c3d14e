package metrics

import (
	"os"
	"strings"
	"testing"
)

func TestTopicNamesEveryMetric(t *testing.T) {
	topic, err := os.ReadFile("../cli/help/monitoring.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all() {
		if !strings.Contains(string(topic), "\n  "+m.name+"\n") {
			t.Errorf("till help monitoring does not name %s", m.name)
		}
	}
}
