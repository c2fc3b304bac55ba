package formattest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// testRepeat parses all lines three times: with one parser, with a second one, and with the second one in reverse
// order. The meaning of a line must not depend on the lines before it (except the header), so that a restart at any
// line changes nothing.
func (s Suite) testRepeat(t *testing.T) {
	lines := s.lines()
	first := s.parseAll(t, s.parser(), lines)
	p := s.parser()
	again := s.parseAll(t, p, lines)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("another parser (-first +again):\n%s", diff)
	}
	slices.Reverse(lines)
	back := s.parseAll(t, p, lines)
	slices.Reverse(back)
	if diff := cmp.Diff(first, back); diff != "" {
		t.Errorf("backwards (-first +again):\n%s", diff)
	}
}

func (s Suite) lines() []string {
	var lines []string
	for _, c := range s.Good {
		lines = append(lines, c.Line)
	}
	for _, c := range s.Bad {
		lines = append(lines, c.Line)
	}
	return lines
}

type outcome struct {
	Events []job.Event
	Error  string
}

func (s Suite) parseAll(t *testing.T, p collector.Parser, lines []string) []outcome {
	t.Helper()
	all := make([]outcome, len(lines))
	for i, line := range lines {
		events, err := s.parse(t, p, []byte(line))
		all[i].Events = events
		if err != nil {
			all[i].Error = err.Error()
		}
	}
	return all
}

func (s Suite) testLineEnd(t *testing.T) {
	for _, c := range s.Good {
		for _, end := range []string{"\r", " ", "\t "} {
			got, err := s.parse(t, s.parser(), []byte(c.Line+end))
			if err != nil {
				t.Fatalf("%s with %q: %v", c.Name, end, err)
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Errorf("%s with %q (-want +got):\n%s", c.Name, end, diff)
			}
		}
	}
}

func (s Suite) testBlank(t *testing.T) {
	for _, line := range []string{"", " ", "\t", "\r", " \r"} {
		got, err := s.parse(t, s.parser(), []byte(line))
		if err != nil || len(got) != 0 {
			t.Errorf("line %q: got %v, %v; want nothing", line, got, err)
		}
	}
}

// testNotKept overwrites the bytes of a line after its call, as the reader of a file does. The events must not change.
func (s Suite) testNotKept(t *testing.T) {
	p := s.parser()
	var got []outcome
	buffer := make([]byte, 0, 1<<16)
	for _, c := range s.Good {
		buffer = append(buffer[:0], c.Line...)
		events, err := s.parse(t, p, buffer)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, outcome{Events: events})
		for i := range buffer {
			buffer[i] = '#'
		}
	}
	for i, c := range s.Good {
		if diff := cmp.Diff(c.Want, got[i].Events); diff != "" {
			t.Errorf("%s, after its line was overwritten (-want +got):\n%s", c.Name, diff)
		}
	}
}

func (s Suite) testTruncated(t *testing.T) {
	for _, line := range s.lines() {
		p := s.parser()
		for n := range len(line) {
			_, _ = s.parse(t, p, []byte(line[:n]))
		}
	}
}

// testMutated replaces, removes and doubles every byte of every line. The results must still obey the laws.
func (s Suite) testMutated(t *testing.T) {
	const others = "\x00\xff ;=:+-*/\"'[],.#9aT\t"
	for _, line := range s.lines() {
		p := s.parser()
		for i := range len(line) {
			for _, c := range []byte(others) {
				b := []byte(line)
				b[i] = c
				_, _ = s.parse(t, p, b)
			}
			_, _ = s.parse(t, p, []byte(line[:i]+line[i+1:]))
			_, _ = s.parse(t, p, []byte(line[:i]+line[i:i+1]+line[i:]))
		}
	}
}

// testMaxProcs parses each good line whose job has at least two processors. If the machine is one processor too small
// for the job, the line must be refused; if it is just large enough, the line must be accepted.
func (s Suite) testMaxProcs(t *testing.T) {
	tried := 0
	for _, c := range s.Good {
		procs := 0
		for _, ev := range c.Want {
			procs = max(procs, ev.Procs)
		}
		if procs < 2 {
			continue
		}
		tried++
		small := s
		small.Options.MaxProcs = procs - 1
		got, err := small.parse(t, small.parser(), []byte(c.Line))
		var bad *collector.LineError
		if !asLineError(err, &bad) || bad.Reason != collector.ReasonProcs || len(got) != 0 {
			t.Errorf("%s on %d processors: got %v, %v; want reason %q", c.Name, procs-1, got, err,
				collector.ReasonProcs)
		}
		small.Options.MaxProcs = procs
		if _, err := small.parse(t, small.parser(), []byte(c.Line)); err != nil {
			t.Errorf("%s on %d processors: %v", c.Name, procs, err)
		}
	}
	if tried == 0 {
		t.Error("no good line has more than one processor")
	}
}

func asLineError(err error, to **collector.LineError) bool {
	bad, ok := err.(*collector.LineError) //nolint:errorlint // a Parser returns it unwrapped
	*to = bad
	return ok
}

// testHeader tests three promises. The lines of the header are recognized. The first record is not taken for a
// header. A parser that got the header by Header continues like one that read it in the file.
func (s Suite) testHeader(t *testing.T) {
	p, ok := s.Format.New(s.Options).(collector.HeaderParser)
	if !ok {
		t.Fatal("the suite has a header, but the parser is no collector.HeaderParser")
	}
	for _, line := range s.Header {
		if !p.Header([]byte(line)) {
			t.Errorf("%q is not recognized as header", line)
		}
	}
	record := slices.IndexFunc(s.Good, func(c Case) bool { return len(c.Want) > 0 })
	if record < 0 {
		t.Fatal("no good line says anything")
	}
	if p.Header([]byte(s.Good[record].Line)) {
		t.Errorf("%q is taken for header", s.Good[record].Line)
	}
	streamed := s.Format.New(s.Options)
	for _, line := range s.Header {
		if got, err := s.parse(t, streamed, []byte(line)); err != nil || len(got) != 0 {
			t.Errorf("header line %q: got %v, %v; want nothing", line, got, err)
		}
	}
	want := s.parseAll(t, streamed, s.lines())
	if diff := cmp.Diff(want, s.parseAll(t, p, s.lines())); diff != "" {
		t.Errorf("header in the file and header first differ (-file +first):\n%s", diff)
	}
}

// zoneCases are local times and the instants that they may mean. The clock changes are those of the IANA data base.
// In Berlin 2024-03-31 02:00 +01 became 03:00 +02, and 2024-10-27 03:00 +02 became 02:00 +01. In New York 2024-11-03
// 02:00 -04 became 01:00 -05. On Lord Howe Island 2024-04-07 02:00 +11 became 01:30 +10:30. In Havana 2024-03-10
// 00:00 -05 became 01:00 -04. In Apia 2011-12-30 did not exist.
var zoneCases = [...]struct{ zone, wall, first, second string }{
	{"UTC", "2024-03-31 02:30:00", "2024-03-31T02:30:00Z", ""},
	{"Asia/Manila", "2024-03-31 02:30:00", "2024-03-30T18:30:00Z", ""},
	{"Europe/Berlin", "2024-02-29 12:00:00", "2024-02-29T11:00:00Z", ""},
	{"Europe/Berlin", "2024-03-31 01:59:59", "2024-03-31T00:59:59Z", ""},
	{"Europe/Berlin", "2024-03-31 02:30:00", "2024-03-31T01:30:00Z", "2024-03-31T00:30:00Z"}, // skipped
	{"Europe/Berlin", "2024-03-31 03:00:00", "2024-03-31T01:00:00Z", ""},
	{"Europe/Berlin", "2024-10-27 01:59:59", "2024-10-26T23:59:59Z", ""},
	{"Europe/Berlin", "2024-10-27 02:30:00", "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z"}, // twice
	{"Europe/Berlin", "2024-10-27 03:00:00", "2024-10-27T02:00:00Z", ""},
	{"Europe/Berlin", "2024-10-27 23:59:59", "2024-10-27T22:59:59Z", ""},
	{"America/New_York", "2024-11-03 00:59:59", "2024-11-03T04:59:59Z", ""},
	{"America/New_York", "2024-11-03 01:30:00", "2024-11-03T05:30:00Z", "2024-11-03T06:30:00Z"}, // twice
	{"America/New_York", "2024-11-03 02:00:00", "2024-11-03T07:00:00Z", ""},
	{"Australia/Lord_Howe", "2024-04-07 01:45:00", "2024-04-06T14:45:00Z", "2024-04-06T15:15:00Z"}, // twice
	{"America/Havana", "2024-03-10 00:30:00", "2024-03-10T05:30:00Z", "2024-03-10T04:30:00Z"},      // skipped
	{"America/Havana", "2024-03-10 01:00:00", "2024-03-10T05:00:00Z", ""},
	{"Pacific/Apia", "2011-12-29 23:59:59", "2011-12-30T09:59:59Z", ""},
	{"Pacific/Apia", "2011-12-31 00:00:00", "2011-12-30T10:00:00Z", ""},
}

// testZones reads local times in several zones, forwards and then backwards. Each time is read by a fresh parser and by
// a kept parser of the zone. Their results must agree: the cached UTC offset of one day must not be used for another
// day.
func (s Suite) testZones(t *testing.T) {
	shared := make(map[string]collector.Parser)
	at := func(p collector.Parser, wall string) string {
		got, err := s.parse(t, p, []byte(s.AtWallClock(wall)))
		if err != nil || len(got) == 0 {
			t.Fatalf("%q: got %v, %v", s.AtWallClock(wall), got, err)
		}
		return got[0].Time.UTC().Format(time.RFC3339)
	}
	cases := slices.Clone(zoneCases[:])
	for range 2 {
		for _, c := range cases {
			loc, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			inZone := s
			inZone.Options.Location = loc
			if shared[c.zone] == nil {
				shared[c.zone] = inZone.parser()
			}
			fresh, kept := at(inZone.parser(), c.wall), at(shared[c.zone], c.wall)
			if fresh != c.first && (c.second == "" || fresh != c.second) {
				t.Errorf("%s in %s: got %s, want %s", c.wall, c.zone, fresh, strings.TrimSpace(c.first+" "+c.second))
			}
			if kept != fresh {
				t.Errorf("%s in %s: got %s after other lines, %s without", c.wall, c.zone, kept, fresh)
			}
		}
		slices.Reverse(cases)
	}
}
