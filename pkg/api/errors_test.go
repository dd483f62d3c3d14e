package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOutcomeIsWritten(t *testing.T) {
	for outcome, want := range map[Outcome]string{Unknown: "unknown", Rejected: "rejected", NotSent: "not sent",
		Failed: "failed", 9: "unknown", -1: "unknown"} {
		text, err := json.Marshal(map[string]Outcome{"o": outcome})
		if err != nil || string(text) != `{"o":"`+want+`"}` || fmt.Sprint(outcome) != want {
			t.Errorf("%d is %s, %s, %v", int(outcome), outcome, text, err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("", "o", outcome)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("", "o", outcome)
		if strings.Count(log.String(), want) != 2 {
			t.Errorf("%d is logged as %s", int(outcome), &log)
		}
		var again Outcome
		if err := json.Unmarshal([]byte(`"`+want+`"`), &again); err != nil || again.String() != want {
			t.Errorf("%s is read as %s, %v", want, again, err)
		}
	}
	for _, text := range []string{`"Rejected"`, `""`, `1`, `"notsent"`} {
		o := NotSent
		if err := json.Unmarshal([]byte(text), &o); err == nil || o != NotSent {
			t.Errorf("%s is read as %s", text, o)
		}
	}
}

// printed returns a value as every verb, log and encoder writes it.
func printed(value any) string {
	var shown strings.Builder
	fmt.Fprintf(&shown, "%v %+v %#v %s %q %x\n", value, value, value, value, value, value)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("", "value", value)
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("", "value", value)
	text, _ := json.Marshal(value)
	return shown.String() + string(text)
}

// keyError is an error of a transport that holds the request but does not show it.
type keyError struct{ Header http.Header }

func (keyError) Error() string { return "it broke" }

// TestPrintedErrorShowsNoKey checks that no way to print an error prints the key, even if its cause holds the
// request.
func TestPrintedErrorShowsNoKey(t *testing.T) {
	client := must[*Client](t)(New("http://127.0.0.1", WithAPIKey(aKey), WithRetries(0),
		WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, keyError{r.Header.Clone()}
		}))))
	_, read := client.Withdrawals.Get(t.Context(), "w-1")
	_, create := client.Withdrawals.Create(t.Context(), sampleCreate())
	var held keyError
	if !errors.As(create, &held) || !leaks(fmt.Sprintf("%#v", held)) {
		t.Error("the test would not find the key where it is")
	}
	for _, err := range []error{read, create, fmt.Errorf("wrapped: %w", create)} {
		for _, value := range []any{err, *failure(t, err), []error{err}, map[string]any{"e": failure(t, err)}} {
			if shown := printed(value); leaks(shown) {
				t.Errorf("the key is in %s", shown)
			}
		}
	}
}

// TestErrorLogsOutcomeAndEnvelope checks that a log has the outcome and the service's words.
func TestErrorLogsOutcomeAndEnvelope(t *testing.T) {
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "error",
		error(&Error{Op: "o", Method: "POST", Path: "/p", Outcome: Rejected, Status: 429, Envelope: true, Code: 7,
			Reason: "r", Description: "d", RetryAfter: 1500 * time.Millisecond}))
	want := `"error":{"message":"o: the service asks for fewer calls: r: d (code 7, HTTP ` +
		`429)","outcome":"rejected","op":"o","method":"POST","path":"/p","status":429,"code":7,"reason":"r",` +
		`"description":"d","retry_after":1.5}`
	if !strings.Contains(log.String(), want) {
		t.Errorf("got %s", &log)
	}
}
