package sandbox_test

import (
	"path/filepath"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestResendStruckCallback checks that a person can post a lost delivery, and a delayed one earlier, which is then
// not posted again when its time comes. The script faults shows the faults.
func TestResendStruckCallback(t *testing.T) {
	in := newReceiver(t, nil)
	for do, state := range map[string]string{"lose-callback": "lost", "delay-callback=10m": "pending"} {
		b := callbackBox(t, sandbox.WithFault(sandbox.Fault{Do: do, Match: map[string]string{"current": "Processing"}}))
		b.mustAdvance(b.withCallback(in.URL), "Processing")
		wantStates(t, b, "Processing "+state+" 0")
		d, err := b.Resend(b.Deliveries()[0].ID)
		failIf(t, err != nil || d.State != "delivered" || !d.Due.IsZero(), "it is %s, due at %s, %v", d.State, d.Due, err)
		must(t, b.AdvanceClock(time.Hour))
		wantStates(t, b, "Processing delivered 1")
	}
}

// TestCallbackFaultsCombine checks that of several delays the longest counts, and that a delivery that is
// lost as well is not due, so that a dump of it can be taken back.
func TestCallbackFaultsCombine(t *testing.T) {
	b := callbackBox(t)
	for _, do := range []string{"delay-callback=10m", "delay-callback=1m"} {
		b.fault(sandbox.Fault{Do: do})
	}
	b.fault(sandbox.Fault{Do: "lose-callback", Match: map[string]string{"current": "Completed"}})
	id := b.withCallback(newReceiver(t, nil).URL)
	if d := b.advanceOver(id, "Processing"); !d.Due.Equal(start.Add(10 * time.Minute)) {
		t.Errorf("the delivery is due at %s", d.Due)
	}
	if d := b.advanceOver(id, "Completed"); d.State != "lost" || !d.Due.IsZero() {
		t.Errorf("the delivery is %s, due at %s", d.State, d.Due)
	}
	must(t, b.Restore(dumped(t, b)))
}

// TestDelayCallbackOutlivesTheServer checks that a delay goes on in a dump and in the state's file, and that
// the server that keeps time posts the delivery.
func TestDelayCallbackOutlivesTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	b := fileBox(t, path)
	b.fault(sandbox.Fault{Do: "delay-callback=10m"})
	in := newReceiver(t, nil)
	b.mustAdvance(b.withCallback(in.URL), "Processing")
	text := dumped(t, b)
	must(t, b.Close())
	for _, b := range []box{fileBox(t, path), callbackBox(t, sandbox.WithSeedJSON(text))} {
		wantStates(t, b, "Processing pending 0")
		_, stop := b.serve()
		must(t, b.AdvanceClock(10*time.Minute))
		reaches(t, b, "Processing delivered 1")
		must(t, stop())
	}
	equal(t, len(in.got()), 2, "posts")
}
