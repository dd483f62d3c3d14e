// Package render prints data: rows as a table, JSON, JSON lines, CSV or YAML; one
// thing in any of these formats; ids alone; or the result of a filter or template
// for the JSON. It also draws charts, as text, as a picture, or in a page with
// tables. It is generic over the row and knows nothing of the service.
//
// # The output contract
//
// Data goes to the writer that the caller passes, which is standard output.
// Nothing else goes there: no remark, no progress, no colour that was not
// requested. The caller prints everything else on standard error.
//
//   - json and jsonl are the service's own text: its fields, its order, its
//     digits. One thing is an object and a list is an array. An empty list is []
//     and, in jsonl, nothing.
//   - yaml is the same data in another notation. Numbers keep their digits,
//     and a string that a YAML reader could take for something else is quoted.
//   - csv has a header row, and every column unless some are named. An amount
//     has three columns: the decimal, empty if the decimals are unknown, the
//     integer of the minor unit, and the code.
//   - A table is for people. Its columns are the same everywhere. It fits the
//     terminal (see below). Without a terminal, nothing is cut. Only a table,
//     and ids, escape every invisible character (see [Safe]).
//   - On a terminal the other formats escape such characters as JSON does (see
//     [Screen]). Elsewhere they are exact.
//   - An empty table or CSV is its header.
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
//  3. Texts and labels are cut in the middle, to 12 columns or to the header if
//     that is wider, and no more than necessary.
//  4. Each row takes as many lines as its columns need, in their order.
//
// Numbers, words ([Word]) and the texts of a column that is Whole are never cut. A
// text of such a column that is wider than the terminal is broken between words.
// No character is cut in half.
//
// If several things in a table have the same label ([Label]), or one has none,
// the beginning of the id follows the label. It is never cut.
//
// # When the rows break off
//
// A list stops at the first error of its iterator. It writes the rows before the
// error whole, and returns the error unchanged. JSON is then left without its
// closing bracket, on purpose: a program that overlooks the exit code still
// cannot take the part for the whole. The other formats have no such mark, so
// only the exit code shows the error. If the error comes before the first row,
// nothing is written. A filter or template never runs on a part.
//
// # Errors
//
// There are only three kinds: a [*usage.Error], found before a row is requested
// or a byte written; the iterator's own error; and a [*WriteError] for a result
// that could not be written.
//
// # Text in CSV
//
// Text from the service (Text) gets an apostrophe in front if a spreadsheet would
// run it as a formula. Its control characters are shown as escapes, because
// people look at CSV files in terminals too; tab and line feed stay, inside
// quotes. Other characters stay as they are: a file is data. Text from the
// merchant (Own) and numbers are unchanged, so that an export can be read back.
package render
