// Package render prints data: rows as a table, JSON, JSON lines, CSV or YAML; one
// thing in any of these formats; ids alone; or the result of a filter or template
// for the JSON. It also draws charts, as text, as a picture, or in a page with
// tables. It is generic over the row and knows nothing of the service.
//
// # The output contract
//
// Data goes to the writer that the caller passes, which is standard output, and
// nothing else does: no remark, no progress, no colour that was not requested.
//
//   - json and jsonl are the service's own text: its fields, its order, its
//     digits. One thing is an object and a list is an array. An empty list is []
//     and, in jsonl, nothing.
//   - yaml is the same data in another notation. Numbers keep their digits,
//     and a string that a YAML reader could take for something else is quoted.
//   - csv has a header row, and every column unless some are named. An amount
//     has three columns: the decimal, empty if the decimals are unknown, the
//     integer of the minor unit, and the code. Text from the service (Text)
//     cannot run as a formula. Text from the merchant (Own) is unchanged, so
//     that an export can be read back.
//   - A table is for people. Its columns are the same everywhere, and it fits the
//     terminal. Without a terminal, nothing is cut. Only a table, and ids, escape
//     every invisible character (see [Safe]); on a terminal, the other formats
//     escape them as JSON does (see [Screen]).
//
// jsonl, json, csv and yaml are written as the rows come, in constant memory.
// Sorted output, a filter and a template need all rows first. A table measures
// the first several thousand rows before it prints them, and prints the others
// as they come. If the rows can be gone through again (View.Again), the table
// measures all of them in the first pass, and keeps none.
//
// # A table on a narrow terminal
//
// On a terminal, the digits of amounts are grouped by spaces. Columns without any
// text, and columns of counts ([Count]) that are all 0, are left out unless they
// are named. If a table is too wide for the terminal, the following gives way, in
// this order.
//
//  1. UUIDs and digests are shortened to eight characters.
//  2. Times are shortened to their minute.
//  3. Notes ([Note], [Title]) and labels are cut in the middle, and other texts
//     are broken between words, to 12 columns or to the header if that is wider,
//     and no more than necessary.
//  4. Each row takes as many lines as its columns need, in their order.
//
// Numbers, words ([Word]) and the texts of a column that is Whole are on one line.
// Only a text that is wider than the terminal is broken between words. No two
// labels ([Label]) become alike.
//
// # Errors
//
// There are only three kinds: a [*usage.Error], found before a row is requested
// or a byte written; the iterator's own error; and a [*WriteError] for a result
// that could not be written.
//
// A list stops at the first error of its iterator. It writes the rows before the
// error whole, and returns the error unchanged. JSON is then left without its
// closing bracket, on purpose: a program that overlooks the exit code still
// cannot take the part for the whole. If the error comes before the first row,
// nothing is written. A filter or template never runs on a part.
package render
