package swf_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/swf"
)

// FuzzParseRecord proves that no line makes the parser panic, that every refusal is a FieldError with a field of the
// format, and that what is accepted survives being written and read again.
func FuzzParseRecord(f *testing.F) {
	for _, c := range realRecords {
		f.Add([]byte(c.line))
	}
	for _, s := range []string{
		"", "1 2 3", "-", goodA + " 19", "1 2 3 4 5 1e9", "1\x00", string(lineWith(4, "9223372036854775808")),
		string(lineWith(4, "-9223372036854775808.4")), string(lineWith(6, "0.000000000000000000001")),
		string(lineWith(6, "-0")), string(lineWith(6, "-0.0")),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var r swf.Record
		if err := swf.ParseRecord(line, &r); err != nil {
			var bad *swf.FieldError
			if !errors.As(err, &bad) || bad.Field < 1 || bad.Field > swf.Fields || r != (swf.Record{}) {
				t.Fatalf("%q: error %#v, record %+v", line, err, r)
			}
			return
		}
		var out bytes.Buffer
		w := swf.NewWriter(&out)
		if err := errors.Join(w.Write(&r), w.Flush()); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var again swf.Record
		if err := swf.ParseRecord(out.Bytes(), &again); err != nil || again != r {
			t.Fatalf("%q: first %+v, then %+v, %v", line, r, again, err)
		}
	})
}

// FuzzHeader proves that no header line panics, that every refusal is a HeaderError, and that a header read is written
// and read again unchanged.
func FuzzHeader(f *testing.F) {
	f.Add([]byte(headerText))
	for _, s := range []string{
		"; Queue: -1 x\n", ";Queue:1\t\tx", "Queue: 1 x", "; MaxNodes: 338 (batch partition; 512 total)", ";;", ":",
		"; TimeZoneString:", "; Note: a\rb\n", " ; TimeZone: -0",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var h swf.Header
		for line := range bytes.Lines(text) {
			var bad *swf.HeaderError
			if err := h.ParseLine(line); err != nil && !errors.As(err, &bad) {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if h.Location() == nil {
			t.Fatal("no location")
		}
		var out bytes.Buffer
		w := swf.NewWriter(&out)
		if err := errors.Join(w.WriteHeader(&h), w.Flush()); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var again swf.Header
		for line := range bytes.Lines(out.Bytes()) {
			_ = again.ParseLine(line) // lines refused before are refused again and kept again
		}
		if d := cmp.Diff(h, again); d != "" {
			t.Fatalf("%q (-first +again):\n%s", text, d)
		}
	})
}
