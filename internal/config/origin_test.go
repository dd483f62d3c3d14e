package config

import "testing"

func TestOriginTexts(t *testing.T) {
	for _, c := range []struct {
		origin       Origin
		text, phrase string
	}{
		{Origin{}, "default", "default"},
		{Origin{Kind: FromFlag, Name: "api-key-file"}, "flag --api-key-file", "--api-key-file"},
		{Origin{Kind: FromVariable, Name: "TILL_API_KEY"}, "environment TILL_API_KEY", "the variable TILL_API_KEY"},
		{Origin{Kind: FromProfile, Name: "live"}, "profile live", "profile live"},
		{Origin{Kind: FromProfile, Name: "live", Setting: keyCommand}, "profile live, api_key_command",
			"the api_key_command of the profile live"},
		{Origin{Kind: FromProfile, Name: "live", Setting: keyPath}, "profile live, api_key_file",
			"the api_key_file of the profile live"},
		{Origin{Kind: FromFile, Name: "current"}, "configuration current", "configuration current"},
		{Origin{Kind: FromKeyring}, "keyring", "the keyring"},
		{Origin{Kind: FromSandbox}, "the sandbox", "the sandbox"},
		{Origin{Kind: FromCaller}, "given", "given"},
	} {
		if got := c.origin.String(); got != c.text {
			t.Errorf("%+v is %q, want %q", c.origin, got, c.text)
		}
		if got := c.origin.Phrase(); got != c.phrase {
			t.Errorf("%+v is %q as a phrase, want %q", c.origin, got, c.phrase)
		}
	}
}
