package formattest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job"
)

// Hostile returns texts that damage or malice puts into the fields of a log, by name: bytes that are not UTF-8, control
// characters, sequences that control a terminal, and a text of a million characters. None has a character that
// separates fields or quotes.
func Hostile() map[string]string {
	return map[string]string{
		"Latin-1": "caf\xe9", "another byte": "caf\xe8", "an escape": `caf\xe9`, "overlong": "a\xc0\xafb",
		"a surrogate": "a\xed\xa0\x80b", "UTF-16": "\xff\xfea\x00b\x00", "above Unicode": "a\xf4\x90\x80\x80",
		"cut off": "a\xe6\xbc", "NUL": "a\x00b", "a terminal's sequence": "a\x1b[31mb\a", "C1": "a\u009b31mb",
		"DEL": "a\x7fb", "reversed": "a\u202eb", "long": strings.Repeat("x", 1_000_000),
	}
}

// testHostile puts hostile texts into every name of every good line. The line has events with that name, or is
// refused. Two names that differ in one byte stay two names. The neighbours of the line keep their meaning.
func (s Suite) testHostile(t *testing.T) {
	neighbour := s.Good[slices.IndexFunc(s.Good, func(c Case) bool { return len(c.Want) > 0 })]
	for i, c := range s.Good {
		p := s.parser()
		for _, word := range words.FindAllStringIndex(c.Line, -1) {
			if !isName(c.Line[word[0]:word[1]], c.Want) {
				continue
			}
			with := func(text string) []job.Event {
				events, err := s.parse(t, p, []byte(c.Line[:word[1]]+text+c.Line[word[1]:]))
				for i := range events {
					events[i].EachText(job.Printable)
				}
				if len(events) == 0 && err == nil {
					t.Errorf("%s: with %.20q at %q the line says nothing", c.Name, text, c.Line[:word[1]])
				}
				return events
			}
			for _, text := range Hostile() {
				if i == 0 || len(text) <= longestSeed { // the long text takes long
					with(text)
				}
			}
			plain, one, other := with(""), with("\xfe"), with("\xff")
			if len(one) > 0 && len(other) > 0 && !cmp.Equal(one, plain) && cmp.Equal(one, other) {
				t.Errorf("%s: two names become one at %q", c.Name, c.Line[:word[1]])
			}
		}
		if got, err := s.parse(t, p, []byte(neighbour.Line)); err != nil || !cmp.Equal(got, neighbour.Want) {
			t.Errorf("after %s: got %v, %v", c.Name, got, err)
		}
	}
}

// isName reports whether a word is a name in an event. Ids do not count: a log may have lines without a job's id.
func isName(word string, events []job.Event) bool {
	return slices.ContainsFunc(events, func(ev job.Event) bool {
		found := false
		ev.ID = ""
		ev.EachText(func(text string) string {
			found = found || text == word
			return text
		})
		return found
	})
}

// hostileLines returns the good lines with hostile bytes in one field each, in all fields in turn.
func (s Suite) hostileLines() (lines []string) {
	for _, c := range s.Good {
		for _, word := range words.FindAllStringIndex(c.Line, -1) {
			lines = append(lines, c.Line[:word[1]]+"\xff\x00\x1b[m\xed\xa0\x80"+c.Line[word[1]:])
		}
	}
	return lines
}
