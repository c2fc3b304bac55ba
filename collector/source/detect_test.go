package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// letters returns a format whose records begin with the given letter. A record that ends in "!" is about a job. Lines
// that begin with another letter are refused.
func letters(letter string) collector.Format {
	return collector.Format{Name: letter, New: func(collector.Options) collector.Parser { return letterParser(letter) }}
}

type letterParser string

func (p letterParser) Parse(line []byte, emit func(job.Event)) error {
	if !strings.HasPrefix(string(line), string(p)) {
		return collector.Bad(collector.ReasonFormat, "", "not %s", string(p))
	}
	if strings.HasSuffix(string(line), "!") {
		emit(job.Event{})
	}
	return nil
}

// watched is a detector for a log of format a. It knows the formats a, b and c.
type watched struct{ detector }

func newWatched() *watched {
	return &watched{newDetector(&Config{Format: letters("a"),
		Others: []collector.Format{letters("a"), letters("b"), letters("c")}})}
}

// see passes a line to the detector n times.
func (w *watched) see(n int, text string) {
	for range n {
		line := tail.Line{Path: "/log", Text: []byte(text)}
		found := 0
		err := letterParser("a").Parse(line.Text, func(job.Event) { found++ })
		var bad *collector.LineError
		switch {
		case errors.As(err, &bad):
			w.fruitless(&line, bad.Reason)
		case found > 0:
			w.good()
		default:
			w.fruitless(&line, "")
		}
	}
}

func (w *watched) want(t *testing.T, words string) {
	t.Helper()
	switch {
	case words == "" && w.problem != nil:
		t.Errorf("a problem: %v", w.problem)
	case words != "" && w.problem == nil:
		t.Errorf("no problem, want %q", words)
	case words != "" && (!strings.Contains(w.problem.Error(), words) || w.problem.Path != "/log" ||
		!w.problem.Reason.Standing()):
		t.Errorf("problem %q, want %q", w.problem, words)
	}
}

// TestDetector proves that lines without events never make the format doubtful, however many they are. Enough lines of
// another format make it doubtful, even after a long pause and after right lines. A right line ends the doubt.
func TestDetector(t *testing.T) {
	w := newWatched()
	w.see(1000, "a, and nothing more")
	w.want(t, "")
	w.see(enoughLines-1, "b!")
	w.see(1, "a!")
	w.see(enoughLines-1, "b!")
	w.want(t, "")
	w.see(1, "b!")
	w.want(t, "it looks like b:")
	w.see(1, "b!")
	w.see(1, "a, and nothing more")
	w.want(t, "it looks like b:")
	w.see(1, "a!")
	w.want(t, "")
	w.see(1000, "a, and nothing more")
	w.see(2000, "c!")
	w.want(t, "it looks like c:")
}

// TestDetectorAtTheEnd proves that at the end of a log without any job so far, a few lines suffice for a decision,
// while a log with jobs keeps its format.
func TestDetectorAtTheEnd(t *testing.T) {
	w := newWatched()
	w.ended("/log")
	w.want(t, "")
	w.see(1, "b!")
	w.want(t, "")
	w.ended("/log")
	w.want(t, "it looks like b:")
	w = newWatched()
	w.see(1, "a!")
	w.see(1, "b!")
	w.ended("/log")
	w.want(t, "")
}

// TestDetectorDoesNotGuess proves that a format is no candidate if it finds no event in the lines, or refuses many of
// them. For garbage there is no candidate.
func TestDetectorDoesNotGuess(t *testing.T) {
	w := newWatched()
	for range 20 {
		w.see(1, "b, and nothing more")
		w.see(1, "c!")
		w.see(1, "garbage")
	}
	w.want(t, "")
	w.see(hopelessLines, "garbage")
	w.want(t, "nor of another known format")
}

// TestDetectorIsBounded proves that a log of garbage needs bounded memory.
func TestDetectorIsBounded(t *testing.T) {
	w := newWatched()
	w.see(100, "a"+strings.Repeat("x", 2*sampleBytes))
	w.see(10_000, "a"+strings.Repeat("x", sampleBytes/2))
	size := 0
	for _, line := range w.sample {
		size += cap(line)
	}
	if len(w.sample) > sampleLines || size > 2*sampleLines*sampleBytes {
		t.Errorf("%d lines of together %d bytes", len(w.sample), size)
	}
}
