// Package planfile has the JSON of a plan's file. Package payout reads, writes and checks these files.
package planfile

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// File is the JSON of a plan's file. No value of this type is made: the file is written and read line by
// line.
type File struct {
	Head
	Rows   []Row  `json:"rows"`
	Digest string `json:"digest" schema:"digest"`
}

// Head is the part before the rows.
type Head struct {
	Account  string        `json:"account"`
	BaseURL  string        `json:"base_url"`
	Made     time.Time     `json:"made"`
	Expires  time.Time     `json:"expires"`
	Batch    string        `json:"batch,omitzero"`
	Since    string        `json:"since,omitzero"`
	Gone     int64         `json:"gone,omitzero"`   // how many accepted orders of the batch the plan lacks
	Layout   *sheet.Layout `json:"layout,omitzero"` // how the file of the rows was read, if it was no plain one
	Limits   money.Limits  `json:"limits"`
	Totals   []Total       `json:"totals"`
	Warnings []string      `json:"warnings"`
}

// Total is the sum of the rows of one unit.
type Total struct {
	Amount api.BigAmount `json:"amount"`
	Rows   int           `json:"rows"`
	Pays   string        `json:"pays"`
}

// Row is a row in the form that a plan has.
type Row struct {
	OrderID  string       `json:"order_id" schema:"order-id"`
	Currency api.Currency `json:"currency"`
	Amount   api.Amount   `json:"amount"`
	Pays     string       `json:"pays"` // the amount for the reader
	Address  string       `json:"address"`
	Memo     string       `json:"memo,omitzero"`
	Callback string       `json:"callback,omitzero"`
	sheet.KeptIfAny
	Line   int  `json:"line,omitzero"`   // of the file that the plan was made of
	Warned bool `json:"warned,omitzero"` // one of the warnings is about it
}

// Append appends a row in the same form as json.Marshal writes it. It is much faster, and a plan has many
// rows.
func (r Row) Append(b []byte) ([]byte, error) {
	var err error
	text := func(before, value string) {
		b = append(b, before...)
		if err == nil {
			b, err = jsontext.AppendQuote(b, value)
		}
	}
	text(`{"order_id":`, r.OrderID)
	text(`,"currency":{`, string(r.Currency.Kind))
	text(`:`, r.Currency.Code)
	text(`},"amount":{`, string(r.Amount.Kind))
	text(`:{`, r.Amount.Code)
	b = strconv.AppendInt(append(b, ':'), r.Amount.Minor, 10)
	text(`}},"pays":`, r.Pays)
	kept := sheet.Kept(r.KeptIfAny)
	for i, value := range kept.Texts(&r.Address, &r.Memo, &r.Callback) {
		if *value != "" {
			text(`,"`+sheet.Names()[int(sheet.Address)+i]+`":`, *value)
		}
	}
	if r.Line != 0 {
		b = strconv.AppendInt(append(b, `,"line":`...), int64(r.Line), 10)
	}
	if r.Warned {
		b = append(b, `,"warned":true`...)
	}
	return append(b, '}'), err
}

// BeforeRows is the line that begins the rows.
const BeforeRows = `  "rows": [`

// Append appends the head, including the line that begins the rows. Each of its members has a line, and so has
// each element of a list.
func (h Head) Append(b []byte) ([]byte, error) {
	text, err := json.Marshal(h, json.Deterministic(true)) // a layout has a map
	if err != nil {
		return b, err
	}
	members := jsontext.NewDecoder(bytes.NewReader(text)) // which finds no error in what was just written
	_, _ = members.ReadToken()
	b = append(b, "{\n"...)
	for members.PeekKind() == '"' {
		name, _ := members.ReadValue()
		b = fmt.Appendf(b, "  %s: ", name)
		if members.PeekKind() == '[' {
			b = appendList(b, members)
		} else {
			value, _ := members.ReadValue()
			b = append(b, value...)
		}
		b = append(b, ",\n"...)
	}
	return append(b, BeforeRows+"\n"...), nil
}

func appendList(b []byte, list *jsontext.Decoder) []byte {
	_, _ = list.ReadToken()
	b = append(b, '[')
	before, after := "\n    ", ""
	for list.PeekKind() != ']' {
		element, _ := list.ReadValue()
		b = append(append(b, before...), element...)
		before, after = ",\n    ", "\n  "
	}
	_, _ = list.ReadToken()
	return append(append(b, after...), ']')
}
