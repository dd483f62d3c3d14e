package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/template"

	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"github.com/itchyny/gojq"
)

// filter prints what it makes of decoded JSON.
type filter = func(value any, w io.Writer) error

// newFilter returns the filter of --jq or --template, or nil.
func (s *Session) newFilter(ctx context.Context) (filter, error) {
	switch {
	case s.JQ != "":
		return jqFilter(ctx, s.Money, s.JQ)
	case s.Template != "":
		return templateFilter(s.Money, s.Template)
	}
	return nil, nil
}

// templateFilter parses a template. A template gets an object for one thing, and for a list the array of all its
// rows, so it begins with {{range .}}. A missing field prints "<no value>". In addition to the standard functions
// there is json, which prints a value as JSON, and decimal, which prints an amount in units. If the output does not
// end with a line feed, one is added.
func templateFilter(m money.Registry, text string) (filter, error) {
	parsed, err := template.New("template").Funcs(template.FuncMap{
		"json":    func(value any) string { return string(render.Encode(value)) },
		"decimal": func(amount any) string { return decimalOf(m, amount) },
	}).Parse(text)
	if err != nil {
		return nil, exit.UsageError(fmt.Sprintf("--template does not parse: %v", err), "")
	}
	return func(value any, w io.Writer) error {
		var result bytes.Buffer
		failed := parsed.Execute(&result, value)
		if failed == nil && result.Len() > 0 && !bytes.HasSuffix(result.Bytes(), []byte("\n")) {
			result.WriteByte('\n')
		}
		if _, err := w.Write(result.Bytes()); err != nil { // including the output before an error
			return err
		}
		if failed != nil {
			return exit.UsageError(fmt.Sprintf("--template: %v", failed), "look at the whole answer with -o json")
		}
		return nil
	}, nil
}

// jqFilter compiles an expression of --jq. Each result is printed on its own line, strings without quotes. An
// expression can run forever, so ctx ends it. Its function decimal is that of a registry.
func jqFilter(ctx context.Context, m money.Registry, expression string) (filter, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, exit.UsageError(fmt.Sprintf("--jq: the expression %q does not parse: %v", expression, err),
			"check it against the jq manual")
	}
	decimal := gojq.WithFunction("decimal", 0, 0, func(amount any, _ []any) any {
		if text := decimalOf(m, amount); text != "" {
			return text
		}
		return nil
	})
	code, err := gojq.Compile(query, decimal)
	if err != nil {
		return nil, exit.UsageError(fmt.Sprintf("--jq: the expression %q cannot be used: %v", expression, err),
			"check it against the jq manual")
	}
	return func(value any, w io.Writer) error {
		results := code.RunWithContext(ctx, value)
		for result, ok := results.Next(); ok; result, ok = results.Next() {
			if err, failed := result.(error); failed {
				return jqError(ctx, err)
			}
			if err := printResult(w, result); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func printResult(w io.Writer, result any) error {
	line, isText := result.(string)
	if !isText {
		encoded, err := gojq.Marshal(result)
		if err != nil {
			return err
		}
		line = string(encoded)
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// jqError returns what a result that is an error means: an expression that ends itself has no error.
func jqError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("--jq was stopped: %w", ctx.Err())
	}
	if halt, ok := err.(*gojq.HaltError); ok && halt.Value() == nil {
		return nil
	}
	return exit.UsageError(fmt.Sprintf("--jq: %v", err), "look at the whole answer with -o json")
}

// decimalOf returns the decimal of a decoded amount such as {"Crypto":{"Btc":50000000}}. It returns "" for
// anything else, and if the decimals are unknown.
func decimalOf(m money.Registry, value any) string {
	text, err := json.Marshal(value)
	var amount api.BigAmount
	if err != nil || json.Unmarshal(text, &amount) != nil {
		return ""
	}
	decimals := m.DecimalsOf(amount.Kind, amount.Code)
	if decimals == money.Unknown {
		return ""
	}
	return money.Decimal(amount.Minor.Big(), decimals)
}
