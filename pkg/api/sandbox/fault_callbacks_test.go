package sandbox_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/till/pkg/api/sandbox"
)

// TestCallbackFaultMatchesAWithdrawal checks that a field that no withdrawal has is refused.
func TestCallbackFaultMatchesAWithdrawal(t *testing.T) {
	for field, advice := range map[string]string{"extern_order_id": "did you mean external_order_id?", "x": "use id",
		"currency.Crypto": ""} {
		_, err := sandbox.CheckFault(sandbox.Fault{Do: "lose-callback", Match: map[string]string{field: "1"}})
		failIf(t, (err == nil) != (advice == "") || err != nil && !strings.Contains(err.Error(), advice),
			"%s: %v", field, err)
	}
	says(t, second(sandbox.CheckFault(sandbox.Fault{Do: "stale-list=999999h"})), "at most 36500d")
	b := newBox(t, set("currencies", "Btc"))
	b.refused(b.send("POST", invoicePath, usdInvoice), 400, "unknown_currency", "setting currencies")
}

// TestLoseCallback checks that the fault is matched against the withdrawal, and that a person can still post a lost
// delivery.
func TestLoseCallback(t *testing.T) {
	b := callbackBox(t, sandbox.WithFault(sandbox.Fault{Do: "lose-callback",
		Match: map[string]string{"current": "Processing", "currency.Crypto": "Btc"}}))
	in := newReceiver(t, nil)
	b.mustAdvance(b.withCallback(in.URL), "Processing", "Completed")
	equal(t, in.told(t), "Completed", "the receiver was told")
	wantStates(t, b, "Processing lost 0, Completed delivered 1")
	d, err := b.Resend(b.Deliveries()[0].ID)
	failIf(t, err != nil || d.State != "delivered", "resent, it is %s, %v", d.State, err)
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
	dump, err := b.Dump()
	if err == nil {
		err = b.Restore(dump)
	}
	if err != nil {
		t.Error(err)
	}
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

// TestResendDelayedCallback checks that a person can post a delayed delivery earlier, and that it is not
// posted again when its time comes.
func TestResendDelayedCallback(t *testing.T) {
	b := callbackBox(t, sandbox.WithFault(sandbox.Fault{Do: "delay-callback=10m"}))
	in := newReceiver(t, nil)
	b.mustAdvance(b.withCallback(in.URL), "Processing")
	d, err := b.Resend(b.Deliveries()[0].ID)
	failIf(t, err != nil || d.State != "delivered" || !d.Due.IsZero(), "it is %s, due at %s, %v", d.State, d.Due, err)
	must(t, b.AdvanceClock(time.Hour))
	wantStates(t, b, "Processing delivered 1")
}
