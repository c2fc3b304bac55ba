package job_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/waitcast/waitcast/job"
)

// TestPrintable checks the form of texts that are not printable, and that all other texts stay as they are.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"batch é 漢 😀":                    "batch é 漢 😀",
		"caf\xe9":                        `caf\xe9`, // Latin-1
		"caf\xe9\xe8":                    `caf\xe9\xe8`,
		"a\x00b":                         `a\x00b`,
		"\x1b[31mred\a":                  `\x1b[31mred\x07`,
		"tab\tend\x7f":                   `tab\x09end\x7f`,
		"\u009b31m":                      `\xc2\x9b31m`,      // a control sequence in one character
		"\xc0\xaf":                       `\xc0\xaf`,         // overlong
		"\xed\xa0\x80":                   `\xed\xa0\x80`,     // a surrogate
		"\xff\xfea\x00b":                 `\xff\xfea\x00b`,   // UTF-16
		"\xf4\x90\x80":                   `\xf4\x90\x80`,     // above U+10FFFF
		"\xe6\xbc":                       `\xe6\xbc`,         // cut off
		`caf\xe9`:                        `caf\x5cxe9`,       // the text of an escape
		`\x5c`:                           `\x5cx5c`,          //
		`\x5cxe9`:                        `\x5cx5cxe9`,       //
		`C:\x\xa`:                        `C:\x\xa`,          // no escape
		`a\x2db\x41\xFF`:                 `a\x2db\x41\xFF`,   // Printable writes none of these
		"\\x\xe9":                        `\x\xe9`,           //
		"\ufffd\ufeff":                   "\ufffd\ufeff",     // valid
		"\xe2\x80\xa8":                   "\u2028",           // a line separator is no control character
		"\xff\u2028\x01":                 "\\xff\u2028\\x01", //
		"DOM\\user":                      "DOM\\user",        //
		strings.Repeat("\xff", 3) + "\\": `\xff\xff\xff\`,    //
	} {
		if got := job.Printable(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// TestPrintableTextsDiffer proves that two texts never become one, that the result is valid and free of control
// characters, and that a stored result is read unchanged.
func TestPrintableTextsDiffer(t *testing.T) {
	pieces := []string{`\`, `\xff`, `\x5c`, `\x1b`, "xff", "x5c", "\xff", "\x1b", "é", "\xc3", "\xa9", "a"}
	const most = 4
	seen := map[string]string{}
	var try func(text string, left int)
	try = func(text string, left int) {
		got := job.Printable(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q became %q", text, got)
		}
		if other, ok := seen[got]; ok && other != text {
			t.Fatalf("%q and %q both became %q", text, other, got)
		}
		seen[got] = text
		if again := job.Stored(got); again != got {
			t.Fatalf("%q was stored as %q and read as %q", text, got, again)
		}
		for _, p := range pieces {
			if left > 0 {
				try(text+p, left-1)
			}
		}
	}
	try("", most)
}

// TestEachText proves that no text of an event or of facts is left out, however deep it lies.
func TestEachText(t *testing.T) {
	facts := &job.Facts{
		Version: "v", QOSs: []string{"a", "b"}, Weights: &job.Weights{Flags: []string{"c"}},
		Nodes: []job.NodeGroup{{Queues: []string{"d"}, Node: job.NodeResources{Features: "e"}}},
	}
	job.EachText(facts, strings.ToUpper)
	got := facts.Version + strings.Join(facts.QOSs, "") + facts.Weights.Flags[0] + facts.Nodes[0].Queues[0] +
		facts.Nodes[0].Node.Features
	if got != "VABCDE" {
		t.Errorf("got %s", got)
	}
	// The texts of an event are those that EachText finds by its type, without the cluster, which is configured.
	var ev, same job.Event
	fill := func(string) string { return "t" }
	job.EachText(&ev, func(string) string { t.Fatal("an empty text was passed"); return "" })
	for _, text := range []*string{&ev.ID, &ev.Queue, &ev.User, &ev.Account, &ev.QOS, &ev.Name, &ev.NodeNames,
		&ev.GPUType, &ev.Reason, &ev.Group, &ev.After, &ev.Settled, &ev.Queues} {
		*text = "s"
	}
	same = ev
	n := 0
	job.EachText(&same, func(string) string { n++; return "t" })
	ev.EachText(fill)
	if ev != same || n != 13 {
		t.Errorf("%d texts: %+v, want %+v", n, ev, same)
	}
}
