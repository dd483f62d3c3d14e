package api

import (
	"errors"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

func TestChangesNothing(t *testing.T) {
	for _, tt := range []struct {
		method, target string
		reads          bool
	}{
		{"GET", "/api/anything?id=1", true}, {"POST", "/api/merchant_withdrawal/list?page=1", true},
		{"POST", "/api/reseller/withdraw/list", true},
		{"POST", "/api/invoice", false}, {"POST", "/api/merchant_withdrawal/List", false}, {"DELETE", "/api/invite", false},
	} {
		reads, err := changesNothing("https://pay.example.com/v1", tt.method, tt.target)
		if err != nil || reads != tt.reads {
			t.Errorf("%s %s: %t, %v", tt.method, tt.target, reads, err)
		}
	}
	if _, err := changesNothing("https://pay.example.com", "POST", "/api/merchant_withdrawal/create"); !errors.Is(err,
		api.ErrUseCreate) {
		t.Errorf("a create: %v", err)
	}
	if _, err := changesNothing("https://pay.example.com/api/merchant_withdrawal", "POST", "/create"); !errors.Is(err,
		api.ErrUseCreate) {
		t.Errorf("a create whose path is a part of the base URL: %v", err)
	}
	var invalid *api.InvalidError
	if _, err := changesNothing("https://pay.example.com", "TRACE", "/"); !errors.As(err, &invalid) {
		t.Errorf("a method that is not sent: %v", err)
	}
}

func TestCheckAnswer(t *testing.T) {
	for _, text := range []string{`{"a":[1.50,null]}`, " 1 ", `"x"`} {
		if err := checkAnswer([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", " ", "{", "{}{}", `{"a":1,"a":2}`, "<html>", "\"\xff\"",
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "[0" + strings.Repeat(",0", maxAnswerValues+1) + "]"} {
		if err := checkAnswer([]byte(text)); err == nil {
			t.Errorf("%.40q is taken", text)
		}
	}
}
