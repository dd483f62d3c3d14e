package sheet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxRecord is the most bytes in a line of a file, with its end.
const maxRecord = 64 << 10

// maxEndless is the most bytes of a line that are skipped to find its end. /dev/zero has none.
const maxEndless = 64 << 20

// textLines reads the lines of a file without their ends.
type textLines struct {
	in       *bufio.Reader // of maxRecord bytes
	encoding string
	sure     bool   // it is windows-1252: a line of it is no UTF-8
	json     bool   // it cannot be in another encoding
	kind     string // what it is instead of text
	line     int
}

// newLines returns the lines of a file. A byte order mark decides its encoding, whatever the layout says.
func newLines(in io.Reader, encoding string) *textLines {
	raw := bufio.NewReaderSize(in, maxRecord)
	start, _ := raw.Peek(firstBytes)
	t := &textLines{in: raw, encoding: encoding, kind: noText(start)}
	switch {
	case bytes.HasPrefix(start, []byte(mark)), encoding == "" && !isWide(start):
		t.encoding = UTF8
	case encoding == UTF16, isWide(start): // without a mark, as Windows writes it
		t.encoding = UTF16
		t.in = bufio.NewReaderSize(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(raw), maxRecord)
	}
	return t
}

const mark = "\ufeff" // the byte order mark

// isWide reports whether a file begins with the byte order mark of UTF-16.
func isWide(start []byte) bool {
	return bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff})
}

// firstBytes is how much of a file shows its format.
const firstBytes = 100

// noText says what a file is that begins so, and what to do, if it is one of a spreadsheet and no text.
func noText(start []byte) string {
	if other := OtherFormat(start); other != "" || !bytes.HasPrefix(start, []byte("PK\x03\x04")) {
		return other
	}
	return "it is a workbook, and no text: call it .xlsx or say --format xlsx, or save it as CSV"
}

// OtherFormat says what a file is, and what to do, if it is one of a spreadsheet that cannot be read at all.
func OtherFormat(file []byte) string {
	start := file[:min(len(file), firstBytes)]
	switch {
	case bytes.Contains(start, []byte("mimetypeapplication/vnd.oasis.opendocument")):
		return "it is an OpenDocument file (.ods): save it as .xlsx or CSV"
	case bytes.HasPrefix(start, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return "it is a workbook in the old format (.xls), or one with a password: save it as .xlsx without a password, or as CSV"
	}
	return ""
}

// next returns a line, which may be empty. If the line is not valid text, it says why instead.
func (t *textLines) next() (text, why string, err error) {
	if t.kind != "" {
		return "", t.kind, ErrInput
	}
	line, err := t.in.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return "", "", err
	}
	t.line++
	long := err == bufio.ErrBufferFull
	for n := 0; err == bufio.ErrBufferFull; n++ {
		if n == maxEndless/maxRecord {
			return "", "it has no end", ErrInput
		}
		_, err = t.in.ReadSlice('\n')
	}
	switch {
	case err != nil && err != io.EOF:
		return "", "", err
	case long:
		return "", fmt.Sprintf("it is longer than %d bytes", maxRecord), nil
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	if t.encoding == Windows1252 {
		if line, err = t.fromANSI(line); err != nil {
			return "", "it is UTF-8, and not windows-1252, which would show other letters: say --encoding utf-8", err
		}
	}
	switch {
	case !utf8.Valid(line):
		_, i, _ := transform.Bytes(encoding.UTF8Validator, line)
		why = fmt.Sprintf("byte %d (0x%02x) is not UTF-8: save the file as UTF-8", i+1, line[i])
		if !t.json {
			why += ", or say --encoding windows-1252"
		}
		return "", why, ErrEncoding
	case t.encoding != UTF8 && bytes.ContainsRune(line, utf8.RuneError):
		return "", "it has bytes that are no characters: say another --encoding, or save the file as UTF-8", ErrEncoding
	}
	if t.line == 1 {
		line = bytes.TrimPrefix(line, []byte(mark))
	}
	if text = strings.TrimSuffix(string(line), "\r"); strings.Contains(text, "\r") {
		return "", "it has a carriage return within it: save the file with other line ends", nil
	}
	return text, "", nil
}

// fromANSI decodes a line of windows-1252. A text in it is valid UTF-8 only if it has nothing but ASCII: the
// first line with more shows which of the two the file is.
func (t *textLines) fromANSI(line []byte) ([]byte, error) {
	if !bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return line, nil
	}
	if !t.sure && utf8.Valid(line) {
		return nil, ErrEncoding
	}
	t.sure = true
	return charmap.Windows1252.NewDecoder().Bytes(line)
}
