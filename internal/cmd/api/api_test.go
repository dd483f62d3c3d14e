package api

import (
	"strings"
	"testing"
)

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
