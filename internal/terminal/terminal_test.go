package terminal_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"

	"github.com/waitcast/waitcast/internal/terminal"
)

const hostile = "a\x1b[31mb\rc\x00\x7f\u009b\u202e\u2066\u200b\ufeff\U000e0041\xff\u2028é漢d"

// TestLine proves that any name becomes one line of printable characters.
func TestLine(t *testing.T) {
	if got, want := terminal.Line("a\nb\tc"), "a b c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := terminal.Line(hostile), "a?[31mb?c??????????é漢d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWriter proves that the output does not depend on how the text is split between writes, and that line ends and
// tabs stay.
func TestWriter(t *testing.T) {
	for name, cut := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader,
	} {
		var out bytes.Buffer
		if _, err := io.Copy(struct{ io.Writer }{terminal.NewWriter(&out)},
			cut(strings.NewReader(hostile+"\tx\n"))); err != nil {
			t.Fatal(err)
		}
		if want := "a?[31mb?c??????????é漢d\tx\n"; out.String() != want {
			t.Errorf("%s: %q, want %q", name, out.String(), want)
		}
	}
}

// TestJSONWriter proves that JSON keeps its meaning and has only printable characters.
func TestJSONWriter(t *testing.T) {
	valid := strings.ToValidUTF8(hostile, "")
	var out bytes.Buffer
	if err := json.NewEncoder(terminal.NewJSONWriter(&out)).Encode(map[string]string{valid: valid}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.TrimSuffix(out.String(), "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%q", out.String())
	}
	var got map[string]string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got[valid] != valid {
		t.Errorf("%v: %q, want %q", err, got, valid)
	}
}
