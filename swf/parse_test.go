package swf_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/swf"
)

// realRecords holds the first records of the archive's logs CTC-SP2 and LANL-CM5, and of the Saliksik log. They have
// decimals, wide fields and tabs.
var realRecords = []struct {
	line string
	want swf.Record
}{
	{
		"    1        0 588530    937  306 142.00    -1   -1  35100    -1  1  97  -1 307  3 -1 -1 -1\n",
		swf.Record{
			ID: 1, Submit: 0, Wait: 588530, Runtime: 937, Allocated: 306, CPUTime: 142, Memory: -1, RequestedProcs: -1,
			TimeLimit: 35100, RequestedMem: -1, Status: 1, User: 97, Group: -1, Executable: 307, Queue: 3,
			Partition: -1, Preceding: -1, ThinkTime: -1,
		},
	},
	{
		"    2      465      5   3362   32 489.25   988   32    900  1024  1   3   3   3  1 -1 -1 -1",
		swf.Record{
			ID: 2, Submit: 465, Wait: 5, Runtime: 3362, Allocated: 32, CPUTime: 489.25, Memory: 988, RequestedProcs: 32,
			TimeLimit: 900, RequestedMem: 1024, Status: 1, User: 3, Group: 3, Executable: 3, Queue: 1, Partition: -1,
			Preceding: -1, ThinkTime: -1,
		},
	},
	{
		"22\t1163\t3\t96\t30\t-1\t-1\t30\t3600\t-1\t1\t36\t36\t-1\t-1\t0\t-1\t-1\r\n",
		swf.Record{
			ID: 22, Submit: 1163, Wait: 3, Runtime: 96, Allocated: 30, CPUTime: -1, Memory: -1, RequestedProcs: 30,
			TimeLimit: 3600, RequestedMem: -1, Status: 1, User: 36, Group: 36, Executable: -1, Queue: -1, Partition: 0,
			Preceding: -1, ThinkTime: -1,
		},
	},
}

func TestParseRecordReadsRealLines(t *testing.T) {
	for _, c := range realRecords {
		var got swf.Record
		if err := swf.ParseRecord([]byte(c.line), &got); err != nil {
			t.Errorf("%q: %v", c.line, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.line, d)
		}
	}
}

// lineWith returns a valid line with one field replaced.
func lineWith(field int, text string) []byte {
	f := strings.Fields("1 2 3 4 5 6 7 8 9 10 1 12 13 14 15 16 17 18")
	f[field-1] = text
	return []byte(strings.Join(f, " "))
}

func TestParseRecordRoundsFractionsToTheNearestUnit(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-1": -1, "007": 7, "7.": 7, "7.4": 7, "7.49999999999999999999": 7, "7.5": 8, "-7.4": -7,
		"-7.5": -8, "-0.6": -1, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"1.6e1": 16, "1e2": 100, "-25E-1": -3, "1e+03": 1000, "000000000000000000000042": 42,
		"9007199254740993.2": 9007199254740993,
	} {
		var r swf.Record
		if err := swf.ParseRecord(lineWith(4, text), &r); err != nil || r.Runtime != want {
			t.Errorf("runtime %q: got %d, %v; want %d", text, r.Runtime, err, want)
		}
	}
}

func TestParseFieldsReturnsWhatFollowsTheRecord(t *testing.T) {
	for _, c := range []struct{ after, want string }{
		{"", ""}, {" \r\n", ""}, {" 19", "19"}, {"\t19 n[1-4] \r\n", "19 n[1-4]"}, {" ; comment", "; comment"},
	} {
		var plain, r swf.Record
		line := append(lineWith(1, "0"), c.after...) // job number 0 is valid
		rest, odd, err := swf.ParseFields(line, &r)
		if err != nil || odd != nil || string(rest) != c.want || swf.ParseRecord(lineWith(1, "0"), &plain) != nil ||
			r != plain {
			t.Errorf("%q: rest %q, record %+v, %v", line, rest, r, err)
		}
	}
}

func TestParseRecordNamesTheFirstBadField(t *testing.T) {
	cases := []struct {
		line   string
		field  int
		reason swf.Reason
	}{
		{"", 1, swf.Missing},
		{"   \t ", 1, swf.Missing},
		{"1 2 3", 4, swf.Missing},
		{string(lineWith(3, "-")), 3, swf.Junk},
		{string(lineWith(3, "--1")), 3, swf.Junk},
		{string(lineWith(3, "+1")), 3, swf.Junk},
		{string(lineWith(3, ".5")), 3, swf.Junk},
		{string(lineWith(3, "1.2.3")), 3, swf.Junk},
		{string(lineWith(3, "1e")), 3, swf.Junk},
		{string(lineWith(3, "e5")), 3, swf.Junk},
		{string(lineWith(3, "1e5x")), 3, swf.Junk},
		{string(lineWith(3, "1e400")), 3, swf.Overflow},
		{string(lineWith(3, "inf")), 3, swf.Junk},
		{string(lineWith(3, "NaN")), 3, swf.Junk},
		{string(lineWith(2, "1\x00")), 2, swf.Junk},
		{string(lineWith(4, "9223372036854775808")), 4, swf.Overflow},
		{string(lineWith(4, "-9223372036854775809")), 4, swf.Overflow},
		{string(lineWith(4, "9223372036854775807.5")), 4, swf.Overflow},
		{string(lineWith(4, "-9223372036854775808.5")), 4, swf.Overflow},
		{string(lineWith(4, strings.Repeat("9", 400))), 4, swf.Overflow},
	}
	for _, c := range cases {
		before := swf.Record{ID: 77}
		r := before
		err := swf.ParseRecord([]byte(c.line), &r)
		var bad *swf.FieldError
		if !errors.As(err, &bad) || bad.Field != c.field || bad.Reason != c.reason {
			t.Errorf("%q: got %v, want field %d %v", c.line, err, c.field, c.reason)
		}
		if r != before {
			t.Errorf("%q: the record was changed to %+v", c.line, r)
		}
	}
}

func TestFieldErrorNamesFieldAndText(t *testing.T) {
	_, odd, err := swf.ParseFields(lineWith(9, "12:00"), new(swf.Record))
	if err != nil || odd == nil {
		t.Fatalf("%v, %v", odd, err)
	}
	for _, part := range []string{"field 9", "requested time", "not a decimal number", `"12:00"`} {
		if !strings.Contains(odd.Error(), part) {
			t.Errorf("error %q lacks %q", odd, part)
		}
	}
}

// TestFieldsThatCannotBeRead proves that only the first four fields end a record.
func TestFieldsThatCannotBeRead(t *testing.T) {
	for text, field := range map[string]int{
		"4&5": 17, "25,5": 6, `"a"`: 14, "12:00": 9, "inf": 6, "x": 11, "-": 5, "99999999999999999999": 8,
	} {
		var want, r swf.Record
		if err := swf.ParseRecord(lineWith(field, "-1"), &want); err != nil {
			t.Fatal(err)
		}
		_, odd, err := swf.ParseFields(lineWith(field, text), &r)
		if err != nil || odd == nil || odd.Field != field || r != want {
			t.Errorf("field %d %q: %+v, %v, %v", field, text, r, odd, err)
		}
	}
	var short swf.Record
	_, odd, err := swf.ParseFields([]byte("1 0 10 100 4"), &short)
	want := swf.Record{ID: 1, Wait: 10, Runtime: 100, Allocated: 4, CPUTime: -1, Memory: -1, RequestedProcs: -1,
		TimeLimit: -1, RequestedMem: -1, Status: -1, User: -1, Group: -1, Executable: -1, Queue: -1, Partition: -1,
		Preceding: -1, ThinkTime: -1}
	if err != nil || odd != nil || short != want {
		t.Errorf("%+v, %v, %v", short, odd, err)
	}
}

func TestParseRecordDoesNotAllocate(t *testing.T) {
	line := []byte(realRecords[2].line)
	var r swf.Record
	if n := testing.AllocsPerRun(100, func() { _ = swf.ParseRecord(line, &r) }); n != 0 {
		t.Errorf("%v allocations per line, want 0", n)
	}
}

func TestRanAndProcs(t *testing.T) {
	cases := []struct {
		rec   swf.Record
		ran   bool
		procs int64
	}{
		{swf.Record{Runtime: 10, Status: swf.StatusCompleted, Allocated: 4, RequestedProcs: 8}, true, 4},
		{swf.Record{Runtime: 10, Status: swf.StatusCancelled, Allocated: -1, RequestedProcs: 8}, true, 8},
		{swf.Record{Runtime: 0, Status: swf.StatusFailed, Allocated: 0, RequestedProcs: 8}, true, 8},
		{swf.Record{Runtime: 0, Status: swf.StatusCancelled, Allocated: -1, RequestedProcs: -1}, false, swf.Unknown},
		{swf.Record{Runtime: -1, Status: swf.StatusCancelled, Allocated: 2, RequestedProcs: 1}, false, 2},
		{swf.Record{Runtime: -1, Status: swf.StatusCompleted, Allocated: 1, RequestedProcs: -1}, false, 1},
	}
	for _, c := range cases {
		if got := c.rec.Ran(); got != c.ran {
			t.Errorf("Ran of %+v = %v, want %v", c.rec, got, c.ran)
		}
		if got := c.rec.Procs(); got != c.procs {
			t.Errorf("Procs of %+v = %d, want %d", c.rec, got, c.procs)
		}
	}
}
