package api

import (
	"errors"
	"strings"
	"testing"
)

func TestParseCallback(t *testing.T) {
	body := []byte(" " + goodRecord + "\n")
	w, err := ParseCallback(body)
	if err != nil || w.ID != "w1" || w.ExternalOrderID != "4711" {
		t.Errorf("%+v, %v", w, err)
	}
	copy(body, strings.Repeat("#", len(body))) // the caller may reuse it
	if string(w.RawJSON()) != goodRecord {
		t.Errorf("its text is %s", w.RawJSON())
	}
	for _, body := range append(everyType["Withdrawal"].invalid(), "", "null", goodRecord+goodRecord) {
		if w, err := ParseCallback([]byte(body)); err == nil || w.ID != "" {
			t.Errorf("%s: %+v, %v", body, w, err)
		}
	}
	if _, err := ParseCallback([]byte(goodRecord + strings.Repeat(" ", MaxCallback))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large one: %v", err)
	}
}
