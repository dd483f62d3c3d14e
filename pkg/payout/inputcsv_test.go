package payout

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCSVDelimiter checks that the header determines the delimiter, unless a flag or a first line does.
func TestCSVDelimiter(t *testing.T) {
	rows := func(d string) []string {
		return []string{strings.ReplaceAll("order_id,currency,amount,address,note", ",", d),
			strings.ReplaceAll(`1,Btc,0.5,a,"x`, ",", d) + d + `y"`, strings.ReplaceAll("2,Btc,0.6,b,", ",", d)}
	}
	first := func(line string, others []string) []string { return slices.Concat([]string{line}, others) }
	for name, c := range map[string]struct {
		delimiter string // from the flag
		lines     []string
		between   string // in the note of the first row
	}{
		"commas":                     {"", rows(","), ","},
		"semicolons":                 {"", rows(";"), ";"},
		"tabs":                       {"", rows("\t"), "\t"},
		"quoted names":               {"", first(`"order_id";"currency";"amount";"address";"note"`, rows(";")[1:]), ";"},
		"a flag":                     {";", rows(";"), ";"},
		"a flag for tabs":            {"\t", rows("\t"), "\t"},
		"a line":                     {"", first("sep=;", rows(";")), ";"},
		"a line for tabs":            {"", first("sep=\t", rows("\t")), "\t"},
		"a line in capitals":         {"", first("SEP=,\r", rows(",")), ","},
		"a line after a mark":        {"", first("\ufeffsep=;", rows(";")), ";"},
		"a line that a flag repeats": {";", first("sep=;", rows(";")), ";"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t)
			p.Layout.Delimiter = c.delimiter
			if c.between == "\t" { // no note may contain it
				c.lines[len(c.lines)-2] = strings.Replace(c.lines[len(c.lines)-2], "x\ty", "x", 1)
			}
			_, got := p.must(c.lines...)
			want := "x" + c.between + "y"
			if c.between == "\t" {
				want = "x"
			}
			if len(got) != 2 || got[0].Note != want || got[1].Address != "b" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestCSVWrongDelimiter checks that a wrong delimiter is explained in one sentence.
func TestCSVWrongDelimiter(t *testing.T) {
	for name, c := range map[string]struct {
		delimiter, text, says string
	}{
		"semicolons and a flag": {",", "order_id;currency;amount;address\n",
			"line 1: the columns are separated by semicolons, and not by commas: leave --delimiter out"},
		"tabs and a flag": {";", "order_id\tcurrency\n",
			"line 1: the columns are separated by tabs, and not by semicolons: leave --delimiter out"},
		"a line and a flag": {",", "sep=;\norder_id;currency;amount;address\n",
			"line 1: it says that fields are separated by semicolons, and --delimiter says by commas: leave --delimiter out"},
		"a line with a bar": {"", "sep=|\norder_id|currency\n",
			`line 1: fields cannot be separated by "|": save the file with commas, semicolons or tabs between them`},
		"a line with nothing": {"", "sep=\n",
			`line 1: fields cannot be separated by "": save the file with commas, semicolons or tabs between them`},
		"a line alone": {"", "sep=;\n",
			"line 1: the file is empty: a header belongs on its first line, such as order_id,currency,amount,address"},
		"a field too many": {"", "order_id;currency;amount;address\n1;Btc;1;a;b\n",
			"line 2: it has 5 fields, and the header has 4: a text with a semicolon in it belongs between double quotes"},
		"a field too few": {"", "order_id;currency;amount;address\n1;Btc;1\n",
			"line 2: it has 3 fields, and the header has 4: an empty field still needs its semicolon"},
		"another one below": {"", "order_id;currency;amount;address\n1,Btc,1,a\n",
			"line 2: it has one field, and the header has 4: an empty field still needs its semicolon"},
		"a decimal comma": {"", "order_id;currency;amount;address\n1;Btc;1,5;a\n", "line 2: amount: "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t)
			p.Layout.Delimiter, p.Input = c.delimiter, strings.NewReader(c.text)
			_, err := p.desk.MakePlan(context.Background(), p.input())
			if got := detailsOf(err); len(got) != 1 || !strings.HasPrefix(got[0], c.says) ||
				c.says[len(c.says)-1] != ' ' && got[0] != c.says {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestCSVBlankRows checks that rows without any content are skipped, and that the other rows keep their line
// numbers.
func TestCSVBlankRows(t *testing.T) {
	for name, blank := range map[string]string{
		"delimiters": ",,,", "fewer": ",", "more": ",,,,,,,,", "spaces": " , ,\u00a0,", "spaces alone": "  \t",
		"quotes": `"","",,`, "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t)
			made, rows := p.must(blank, header, blank, "1,Btc,0.5,a", blank, blank, "2,Btc,0.5,b", blank)
			if made.Count != 2 || rows[1].Address != "b" {
				t.Errorf("%d rows: %+v", made.Count, rows)
			}
			if got := p.madeWrong(header, blank, "1,Btc,x,a"); len(got) != 1 || !strings.HasPrefix(got[0], "line 3: amount: ") {
				t.Errorf("%q", got)
			}
			p.refusedEmpty(header, blank, blank)
		})
	}
}

func (p *planner) madeWrong(lines ...string) []string {
	_, err := p.make(lines...)
	return detailsOf(err)
}

// refusedEmpty checks that a file is refused because it has no rows.
func (p *planner) refusedEmpty(lines ...string) {
	p.t.Helper()
	if _, err := p.make(lines...); err == nil || !strings.Contains(err.Error(), "has no rows") {
		p.t.Errorf("%v, want that it has no rows", err)
	}
}

// TestInputInAnotherEncoding checks that a file in another encoding has a single error, which says where the
// wrong encoding begins.
func TestInputInAnotherEncoding(t *testing.T) {
	for name, c := range map[string]struct {
		jsonLines  bool
		text, says string
	}{
		"a name in Latin 1": {false, header + ",note\n1,Btc,x,a,\n2,Btc,1,b,Zo\xeb\n3,Btc,1,c,Zo\xeb\n",
			"line 3: byte 13 (0xeb) is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"},
		"the header": {false, "order_id,w\xe4hrung\n",
			"line 1: byte 11 (0xe4) is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"},
		"behind a mark": {false, "\ufefforder_id,w\xe4hrung\n",
			"line 1: byte 14 (0xe4) is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"},
		"behind a character": {false, header + ",note\n1,Btc,1,a,é\xff\n",
			"line 2: byte 13 (0xff) is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"},
		"a character that is cut": {false, header + ",note\n1,Btc,1,a,\xc3",
			"line 2: byte 11 (0xc3) is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"},
		"a row without content": {false, header + "\n,,\xa0,\n",
			"line 2: byte 3 (0xa0) is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"},
		"JSON lines": {true, `{"order_id":"x"}` + "\n" + `{"order_id":"` + "\xe4" + `"}` + "\n\xff\n",
			"line 2: byte 14 (0xe4) is not UTF-8: save the file as UTF-8"},
		"UTF-16": {false, "\xff\xfeo\x00r\x00\x00\xd8\n\x00",
			"line 1: it has bytes that are no characters: say another --encoding, or save the file as UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlanner(t)
			p.JSONLines, p.Input = c.jsonLines, bytes.NewReader([]byte(c.text))
			_, err := p.desk.MakePlan(context.Background(), p.input())
			if got := detailsOf(err); len(got) != 1 || got[0] != c.says || ruleOf(err) != fmt.Sprint("kind ", Invalid) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
