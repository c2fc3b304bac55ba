// Package formattest is the conformance suite of the log formats. It tests the promises of package collector for every
// Parser. A format's test calls Run, Golden and, from a fuzz target, Fuzz.
package formattest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // so that the tests of zones do not depend on the machine

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// Case is a good line and its expected events.
type Case struct {
	Name string
	Line string
	Want []job.Event // empty for a line without an event of a job
}

// BadCase is a line that must be refused.
type BadCase struct {
	Name   string
	Line   string
	Reason string // one of collector's Reason constants
	Field  string // the LineError's Field; empty accepts any
}

// Suite is the test data of a format.
type Suite struct {
	Format  collector.Format
	Options collector.Options
	// Header has the lines that a HeaderParser must have seen before any case.
	Header []string
	Good   []Case
	Bad    []BadCase
	// AtWallClock returns a line whose first event has only a local time, namely wall, in the form "2006-01-02
	// 15:04:05". The function is nil for a format without such lines.
	AtWallClock func(wall string) string
	// Worst are lines that try to make the parser allocate or keep as much as possible: huge arrays and lists, and
	// long names that all differ. None exceeds the maximum length of a line. Short ones are seeds of Fuzz.
	Worst []string
}

// Run tests the promises of package collector on a format.
func Run(t *testing.T, s Suite) {
	t.Helper()
	if s.Format.Name == "" || s.Format.New == nil {
		t.Fatal("a format needs a name and New")
	}
	if len(s.Good) == 0 || len(s.Bad) == 0 || len(s.Worst) == 0 {
		t.Fatal("a suite needs good, bad and worst cases")
	}
	t.Run("good lines say what they should", s.testGood)
	t.Run("bad lines are refused for the right reason", s.testBad)
	t.Run("a line means the same each time", s.testRepeat)
	t.Run("a line end and blanks after a line change nothing", s.testLineEnd)
	t.Run("blank lines say nothing", s.testBlank)
	t.Run("the line is not kept", s.testNotKept)
	t.Run("truncated lines break nothing", s.testTruncated)
	t.Run("mutated lines break nothing", s.testMutated)
	t.Run("hostile texts break nothing", s.testHostile)
	t.Run("size is limited by the machine", s.testMaxProcs)
	t.Run("no line costs much memory", s.testWorst)
	if s.AtWallClock != nil {
		t.Run("local times", s.testZones)
	}
	if len(s.Header) > 0 {
		t.Run("a header can be read first", s.testHeader)
	}
}

// longestSeed is the maximum length, in bytes, of a line of Suite.Worst that is also a seed of Fuzz. Fuzzing is faster
// with short lines.
const longestSeed = 4096

// Fuzz adds the suite's lines as seeds and tests that no input crashes the parser or breaks the laws of its events.
func Fuzz(f *testing.F, s Suite) {
	f.Helper()
	for _, c := range s.Good {
		f.Add([]byte(c.Line))
	}
	for _, c := range s.Bad {
		f.Add([]byte(c.Line))
	}
	for _, line := range s.Header {
		f.Add([]byte(line))
	}
	for _, line := range s.hostileLines() {
		f.Add([]byte(line))
	}
	for _, line := range s.Worst {
		if len(line) <= longestSeed {
			f.Add([]byte(line))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i] // Parse gets one line
		}
		_, _ = s.parse(t, s.parser(), line) // parse checks the events
		checkCost(t, s.parser(), line)
	})
}

// parser returns a parser that has seen the header.
func (s Suite) parser() collector.Parser {
	p := s.Format.New(s.Options)
	if h, ok := p.(collector.HeaderParser); ok {
		for _, line := range s.Header {
			h.Header([]byte(line))
		}
	}
	return p
}

// parse returns the events and the error that p makes of a line. It tests the laws of events and errors (checkEvent,
// checkError).
func (s Suite) parse(t *testing.T, p collector.Parser, line []byte) ([]job.Event, error) {
	t.Helper()
	var events []job.Event
	err := p.Parse(line, func(ev job.Event) { events = append(events, ev) })
	if broken := checkError(err); broken != nil {
		t.Fatalf("line %q: %v", line, broken)
	}
	for _, ev := range events {
		if broken := checkEvent(ev, s.Options); broken != nil {
			t.Fatalf("line %q: event %+v: %v", line, ev, broken)
		}
	}
	return events, err
}

// checkError returns nil if a parser may return err: err is nil, or a *collector.LineError with a known reason and a
// cause.
func checkError(err error) error {
	if err == nil {
		return nil
	}
	var bad *collector.LineError
	if !errors.As(err, &bad) || bad == nil {
		return fmt.Errorf("the error is a %T, not a *collector.LineError", err)
	}
	known := []string{
		collector.ReasonFormat, collector.ReasonField, collector.ReasonTime, collector.ReasonProcs,
		collector.ReasonFuture, collector.ReasonLongLine, collector.ReasonUnknown,
	}
	if !slices.Contains(known, bad.Reason) {
		return fmt.Errorf("reason %q is none of collector's", bad.Reason)
	}
	if bad.Err == nil || bad.Err.Error() == "" {
		return errors.New("the error does not say what is wrong")
	}
	return nil
}

// checkEvent returns the first broken law of an event, nil if the event breaks none.
func checkEvent(ev job.Event, o collector.Options) error {
	t := ev.Times
	switch {
	case ev.Kind < job.Submit || ev.Kind > job.Machine:
		return fmt.Errorf("kind %v", ev.Kind)
	case ev.Cluster != o.Cluster:
		return fmt.Errorf("cluster %q, want %q", ev.Cluster, o.Cluster)
	case ev.ID == "":
		return errors.New("no ID")
	case ev.Time.IsZero():
		return errors.New("no time")
	case ev.Attempt != 0 || ev.Live:
		return errors.New("attempt and live are not the parser's to set")
	case ev.Procs < 0 || ev.Nodes < 0 || ev.TimeLimit < 0:
		return errors.New("a negative size or time limit")
	case o.MaxProcs > 0 && ev.Procs > o.MaxProcs:
		return fmt.Errorf("%d processors of %d", ev.Procs, o.MaxProcs)
	case !t.Start.IsZero() && t.Start.Before(t.Submit), !t.End.IsZero() && t.End.Before(t.Start):
		return errors.New("instants out of order")
	}
	for _, at := range []time.Time{ev.Time, t.Submit, t.Eligible, t.Start, t.End} {
		if _, err := at.MarshalText(); err != nil {
			return fmt.Errorf("a time that RFC 3339 cannot write: %w", err)
		}
	}
	return checkKnown(ev)
}

// checkKnown checks the instants of an event by its kind. A submission has Times.Submit, but neither start nor end. A
// start has Times.Start and an end has Times.End: this instant equals the event's time, and does not lie before the
// submission or the start. A start has Times.End if the record that shows the start shows the end, too.
func checkKnown(ev job.Event) error {
	t := ev.Times
	switch ev.Kind {
	case job.Submit:
		if t.Submit.IsZero() || !t.Start.IsZero() || !t.End.IsZero() {
			return errors.New("a submit has its instant, and no start or end")
		}
	case job.Start:
		if !t.Start.Equal(ev.Time) || ev.Time.Before(t.Submit) || !t.End.IsZero() && t.End.Before(ev.Time) {
			return errors.New("a start happens at Times.Start, not before the submit, nor after the end")
		}
	case job.End:
		if !t.End.Equal(ev.Time) || ev.Time.Before(t.Start) {
			return errors.New("an end happens at Times.End, not before the start")
		}
	default:
		if !t.End.IsZero() {
			return fmt.Errorf("%v has an end", ev.Kind)
		}
	}
	return nil
}

func (s Suite) testGood(t *testing.T) {
	for _, c := range s.Good {
		t.Run(c.Name, func(t *testing.T) {
			got, err := s.parse(t, s.parser(), []byte(c.Line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Errorf("line %s\n(-want +got):\n%s", c.Line, diff)
			}
		})
	}
}

func (s Suite) testBad(t *testing.T) {
	for _, c := range s.Bad {
		t.Run(c.Name, func(t *testing.T) {
			_, err := s.parse(t, s.parser(), []byte(c.Line))
			var bad *collector.LineError
			if !errors.As(err, &bad) {
				t.Fatalf("line %q: got error %v, want a *collector.LineError", c.Line, err)
			}
			if bad.Reason != c.Reason || c.Field != "" && bad.Field != c.Field {
				t.Errorf("line %q: got reason %q, field %q; want %q, %q", c.Line, bad.Reason, bad.Field,
					c.Reason, c.Field)
			}
		})
	}
}
