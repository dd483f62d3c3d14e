// Package render prints data: rows as a table, JSON, JSON lines, CSV or YAML,
// one thing as any of them, ids alone, or what a filter or template makes of
// the JSON; and charts, as text, as a picture, or in a page with tables. It is
// generic over the row and knows nothing of the service.
//
// # The output contract
//
// Data goes to the writer that is handed in, which is standard output, and
// nothing else ever does: no remark, no progress, no colour that was not asked
// for. Whatever else there is to say, the caller says on standard error.
//
//   - json and jsonl are the service's own text: its fields, its order, its
//     digits. One thing is an object, a list is an array, an empty list is []
//     and, in jsonl, nothing.
//   - yaml is the same data in another notation. Numbers keep their digits,
//     and a string that a YAML reader could take for something else is quoted.
//   - csv has a header row, and every column unless some were named. An amount
//     makes three: the decimal, empty where the decimals are unknown, the
//     integer of the minor unit, and the code.
//   - A table is for eyes. It fits the terminal, and where there is no
//     terminal nothing is cut. Only a table, and ids, escape every character
//     that cannot be seen (see [Safe]).
//   - On a terminal the others escape such characters as JSON does (see
//     [Screen]); anywhere else they are exact.
//   - An empty table or CSV is its header.
//
// jsonl, json, csv and yaml are written as the rows come, in constant memory.
// Anything sorted, a filter and a template need all rows first. A table measures
// the first several thousand rows before it prints them, and prints the others
// as they come; one of rows that can be gone through again (View.Again) measures
// all of them the first time, and keeps none.
//
// # When the rows break off
//
// A list stops at the first error of its iterator. The rows before it are
// written, whole, and the error is returned as it was. JSON is then left
// without its closing bracket, on purpose: a program that overlooks the exit
// code still cannot take the part for the whole. The other formats have no
// such mark, so there the exit code is the only one. Before the first row
// nothing at all is written, and a filter or template is not run on a part.
//
// # Errors
//
// There are three kinds, and no others: a [*UsageError], found before a row is
// asked for or a byte written; the iterator's own; and a [*WriteError] for a
// result that is there and could not be put out.
//
// # Text in CSV
//
// What the service wrote (Text) gets an apostrophe in front where a spreadsheet
// would run it as a formula, and its control characters are shown as escapes,
// because a CSV file is looked at in terminals too; tab and line feed stay,
// inside quotes. Other characters stay as they are: a file is data. What the
// merchant wrote (Own) is left exactly alone, so that an export can be read
// back as it was, and so are numbers.
package render
