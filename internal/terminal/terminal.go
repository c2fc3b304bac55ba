// Package terminal prints text from other sources: names in logs and arguments, file names, and messages of servers.
// Such text must not control a terminal or look like other text. Characters that cannot be printed are replaced:
// control characters, format characters such as those that reverse the direction of writing (U+202E), and bytes that
// are not UTF-8.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// replacement replaces each character that cannot be printed.
const replacement = '?'

// Line returns a text that can be a part of one line, for example a name or a message. Line ends and tabs become
// spaces.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !printable(r):
			return replacement
		}
		return r
	}, text)
}

func printable(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }

// NewWriter returns a writer of text for people. It keeps line ends and tabs, and replaces all other characters that
// cannot be printed. All text that a command prints passes through it, so that unexpected names can do no harm.
func NewWriter(to io.Writer) io.Writer {
	return &writer{to: to, other: func(out *bytes.Buffer, r rune) {
		if r == '\n' || r == '\t' {
			out.WriteRune(r)
		} else {
			out.WriteRune(replacement)
		}
	}}
}

// NewJSONWriter returns a writer of JSON. It writes characters that cannot be printed as escapes, so that the meaning
// of the JSON stays the same.
func NewJSONWriter(to io.Writer) io.Writer {
	return &writer{to: to, other: func(out *bytes.Buffer, r rune) {
		switch {
		case r == '\n' || r == '\t': // these are between values; within strings they are escaped
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(out, `\u%04x`, r)
		}
	}}
}

// writer writes printable characters unchanged. For each other character it calls the function other.
type writer struct {
	to    io.Writer
	other func(out *bytes.Buffer, r rune)
	rest  []byte // first bytes of a character whose last bytes are not written yet
	out   bytes.Buffer
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	w.out.Reset()
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		if printable(r) {
			w.out.Write(text[:size])
		} else {
			w.other(&w.out, r)
		}
		text = text[size:]
	}
	w.rest = append([]byte(nil), text...)
	if _, err := w.to.Write(w.out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
