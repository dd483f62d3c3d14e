package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestResend checks that a delivery that is posted again has the same body, and that a delivered one stays so.
func TestResend(t *testing.T) {
	b := callbackBox(t, set("callback_attempts", "1"))
	answers := []int{500, 500, 500, 204, 503, 200}
	in := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(answers[n-1]) })
	b.mustAdvance(b.withCallback(in.URL), "Processing", "Completed") // the body of the first does not show the second
	d := b.Deliveries()[0]
	for i, state := range []string{"failed", "delivered", "delivered"} {
		got, err := b.Resend(d.ID)
		if err != nil || got.State != state || len(got.Attempts) != 2+i || got.Attempts[1+i].Status != answers[2+i] {
			t.Errorf("resend %d: %+v, %v", i, got, err)
		}
		if posts := in.got(); posts[len(posts)-1] != posts[0] {
			t.Errorf("posted was %q", posts[len(posts)-1])
		}
	}
	same(t, at(t, b.post("/sandbox/callbacks/resend", `{"id":"`+strings.ToUpper(d.ID)+`"}`), "attempts", 4, "status"), "200")
	wantStates(t, b, "Processing delivered 5, Completed failed 1")
	b.refused(b.send("POST", "/sandbox/callbacks/resend", `{"id":"`+uuid("x")+`"}`), 404, "not_found", uuid("x"))
	b.refused(b.send("POST", "/sandbox/callbacks/resend", `{}`), 400, "invalid_body", "id")
	must(t, b.Close())
	says(t, second(b.Resend(d.ID)), "closed")
}

// TestCallbackCutOff checks that Close cuts off a request in flight and leaves no goroutine running, and that a
// reset removes its delivery.
func TestCallbackCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box.db")
	for end, cut := range map[string]func(b box) error{"closed": box.Close, "reset": func(b box) error { return b.Reset("") }} {
		out, answer := make(chan struct{}), make(chan struct{})
		in := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			close(out)
			select {
			case <-r.Context().Done():
			case <-answer:
			}
		})
		b := fileBox(t, path, set("callback_timeout", "1m"), set("callback_attempts", "1"))
		must(t, b.Reset(""))
		id := b.withCallback(in.URL)
		advanced := make(chan error, 1)
		go func() { advanced <- b.AdvanceWithdrawal(id, "Processing") }()
		<-out
		must(t, cut(b))
		close(answer)
		must(t, <-advanced)
		quiet(t)
		b.Close()
		b = fileBox(t, path)
		if all := b.Deliveries(); end == "reset" {
			equal(t, len(all), 0, "deliveries after a reset")
		} else if d := all[0]; d.State != "pending" || len(d.Attempts) != 1 || !strings.Contains(d.Attempts[0].Error, end) {
			t.Errorf("it left %+v", d)
		}
		b.Close()
	}
}

// TestServeEndsDespiteCallback checks that Serve does not wait for receivers: a control that does is answered
// with the current state.
func TestServeEndsDespiteCallback(t *testing.T) {
	b := callbackBox(t, set("callback_timeout", "1m"))
	out := make(chan struct{})
	in := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) { close(out); <-r.Context().Done() })
	defer b.Close() // closes before the receiver, which waits for it
	id := b.withCallback(in.URL)
	url, stop := b.serve()
	answered := make(chan string, 1)
	go func() {
		_, text, err := ask(b.Key(), "POST", url+"/sandbox/advance", `{"withdrawal":"`+id+`","status":"Processing"}`)
		answered <- fmt.Sprint(text, err)
	}()
	<-out
	must(t, stop())
	if text := <-answered; !strings.Contains(text, `"state":"pending","attempts":[]`) {
		t.Errorf("answered was %s", text)
	}
}

// TestConcurrentCallbacks checks that many deliveries at the same time are each posted once and in order.
func TestConcurrentCallbacks(t *testing.T) {
	b := fileBox(t, filepath.Join(t.TempDir(), "box.db"), set("callback_on_create", "yes"))
	in := newReceiver(t, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				b.mustAdvance(b.withCallback(in.URL), "Processing", "Completed")
			}
		})
	}
	wg.Wait()
	quiet(t)
	told := map[any]string{}
	for _, p := range in.got() {
		w := decode(t, p.body)
		told[at(t, w, "id")] += fmt.Sprint(" ", at(t, w, "current"))
	}
	equal(t, len(told), 40, "withdrawals that were posted")
	for id, statuses := range told {
		equal(t, statuses, " New Processing Completed", "of %s was posted", id)
	}
}
