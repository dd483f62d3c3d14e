package render

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Struct returns the view of rows that are structs, and are printed as JSON as they are. Each field with a tag
// such as
//
//	Plan string `json:"plan" column:"own: file of the plan"`
//
// is a column with its name in JSON. The tag says how it is shown and what it means: its first word is own,
// text, word, id or time for a text, count for a number of things, and value for the others. The words whole,
// extra and detail set the fields of Column. A list is a text of its elements. --quiet prints the field that is id in
// JSON.
func Struct[T any](id string) View[T] {
	view := View[T]{JSON: Value[T]()}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := func(row T) reflect.Value { return reflect.ValueOf(row).FieldByIndex(field.Index) }
		if name == id {
			view.ID = func(row T) string { return value(row).String() }
		}
		words, about, tagged := strings.Cut(field.Tag.Get("column"), ": ")
		if !tagged {
			continue
		}
		how := strings.Fields(words)
		view.Columns = append(view.Columns, Column[T]{Name: name, About: about, Whole: slices.Contains(how, "whole"),
			Extra: slices.Contains(how, "extra") || slices.Contains(how, "detail"), Detail: slices.Contains(how, "detail"),
			Cell: func(row T) Cell { return cellOf(how[0], value(row)) }})
	}
	return view
}

// cellOf returns the cell of a field. That of a nil pointer is empty.
func cellOf(how string, v reflect.Value) Cell {
	switch kind := v.Kind(); {
	case kind == reflect.Pointer && v.IsNil():
		return Cell{}
	case kind == reflect.Pointer:
		return cellOf(how, v.Elem())
	case kind == reflect.Bool:
		return Bool(v.Bool())
	case kind == reflect.Slice:
		return Own(strings.Trim(fmt.Sprint(v), "[]"))
	case how == "count":
		return Count(int(v.Int()))
	case kind != reflect.String:
		return Int(v.Int())
	}
	return map[string]func(string) Cell{"own": Own, "text": Text, "word": Word, "id": ID, "time": Time}[how](v.String())
}
