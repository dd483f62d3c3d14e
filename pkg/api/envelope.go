package api

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// envelope is the service's error: {"error":{"code":1,"reason":"...","description":"..."}}. It is well-formed
// if error is the only key and the three fields are present with their types. Only a well-formed envelope is
// trusted, because a proxy answers with the same statuses without knowing what the service did.
type envelope struct {
	Code        int64
	Reason      string
	Description string
}

func parseEnvelope(body []byte) (envelope, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return envelope{}, err
	}
	return e, nil
}

func (e *envelope) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	return oneKey(dec, "answer", func(key string) error {
		if key != "error" {
			return errors.New(`the only key must be "error"`)
		}
		var code, reason, description bool
		err := eachKey(dec, "error", func(key string) error {
			var err error
			switch key {
			case "code":
				code = true
				e.Code, err = integer(dec, "code")
			case "reason":
				reason = true
				e.Reason, err = str(dec, "reason")
			case "description":
				description = true
				e.Description, err = str(dec, "description")
			default:
				err = dec.SkipValue()
			}
			return err
		})
		if err == nil && !(code && reason && description) {
			return errors.New("error: code, reason and description belong in it")
		}
		return err
	})
}

// str reads a string.
func str(dec *jsontext.Decoder, what string) (string, error) {
	if dec.PeekKind() != '"' {
		return "", unexpected(dec, what, "a string")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}
