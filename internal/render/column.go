package render

import "slices"

// Field returns a column of one value: show makes its cell, and of takes the value from a row.
func Field[T, V any](name, about string, show func(V) Cell, of func(T) V) Column[T] {
	return Column[T]{Name: name, About: about, Cell: func(row T) Cell { return show(of(row)) }}
}

// ViewOf returns a view of rows whose JSON is that of the rows themselves. The function id returns what --quiet
// prints.
func ViewOf[T any](id func(T) string, columns ...Column[T]) View[T] {
	return View[T]{ID: id, JSON: Value[T](), Columns: columns}
}

// Whole returns the view with the named columns never cut.
func (v View[T]) Whole(names ...string) View[T] {
	return v.with(names, func(c *Column[T]) { c.Whole = true })
}

// Extra returns the view with the named columns shown only where --columns names them, and in CSV.
func (v View[T]) Extra(names ...string) View[T] {
	return v.with(names, func(c *Column[T]) { c.Extra, c.Detail = true, false })
}

// with returns the view with the named columns changed.
func (v View[T]) with(names []string, change func(*Column[T])) View[T] {
	v.Columns = slices.Clone(v.Columns)
	for i := range v.Columns {
		if slices.Contains(names, v.Columns[i].Name) {
			change(&v.Columns[i])
		}
	}
	return v
}
