package cmdutil

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/itchyny/gojq"
)

// jqFilter compiles an expression of --jq. Each result is printed on its own line, strings without quotes. An
// expression can run forever, so ctx ends it. Its function decimal is that of a registry.
func jqFilter(ctx context.Context, m money.Registry, expression string) (
	func(value []byte, w io.Writer) error, error,
) {
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
	return func(value []byte, w io.Writer) error {
		dec := json.NewDecoder(bytes.NewReader(value))
		dec.UseNumber() // keeps every digit
		var data any
		if err := dec.Decode(&data); err != nil {
			return err
		}
		results := code.RunWithContext(ctx, data)
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
