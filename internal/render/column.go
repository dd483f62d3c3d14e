package render

import "slices"

// Field returns a column of one value: show makes its cell, and of takes the value from a row.
func Field[T, V any](name, about string, show func(V) Cell, of func(T) V) Column[T] {
	return Column[T]{Name: name, About: about, Cell: func(row T) Cell { return show(of(row)) }}
}

// Whole returns the view with the named columns never cut.
func (v View[T]) Whole(names ...string) View[T] {
	v.Columns = slices.Clone(v.Columns)
	for i := range v.Columns {
		c := &v.Columns[i]
		c.Whole = c.Whole || slices.Contains(names, c.Name)
	}
	return v
}
