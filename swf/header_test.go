package swf_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/swf"
)

// headerText holds lines as they stand in several logs of the archive.
const headerText = `; Version: 2.2
; UnixStartTime: 835823160
; TimeZone: -18000
; TimeZoneString: US/Eastern
; StartTime: Wed Jun 26 17:06:00 EDT 1996
; MaxNodes: 338 (batch partition; 512 total)
; MaxProcs: 338
; Queues: these are actually LoadLeveler classes
; MaxQueues: 2
; Queue:  1 DSI
; Queue:  6  0
; Queue: 7
;	unlimited timelimit
;
; Partition: 2 two words
`

func parseHeader(t testing.TB, text string) *swf.Header {
	t.Helper()
	h := new(swf.Header)
	for line := range strings.Lines(text) {
		if err := h.ParseLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestHeaderKeepsWhatItKnowsAndTheRestInOrder(t *testing.T) {
	want := &swf.Header{
		UnixStartTime: 835823160, MaxProcs: 338, MaxNodes: 338, TimeZone: -18000, TimeZoneString: "US/Eastern",
		Queues: map[int64]string{1: "DSI", 6: "0"}, Partitions: map[int64]string{2: "two words"},
		Lines: []string{
			"; Version: 2.2", "; StartTime: Wed Jun 26 17:06:00 EDT 1996",
			"; Queues: these are actually LoadLeveler classes", "; MaxQueues: 2", "; Queue: 7",
			";	unlimited timelimit", ";",
		},
	}
	if d := cmp.Diff(want, parseHeader(t, headerText)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestHeaderErrorsNameTheKeyAndKeepTheLine(t *testing.T) {
	for _, line := range []string{
		"; MaxProcs: many", "; MaxProcs:", "; MaxNodes: 1,024", "; MaxNodes: -7", "; UnixStartTime: 1e9",
		"; UnixStartTime: 99999999999999999999", "; Queue: normal", "; Partition: -1 batch",
	} {
		var h swf.Header
		err := h.ParseLine([]byte(line))
		var bad *swf.HeaderError
		if !errors.As(err, &bad) || !strings.Contains(line, bad.Key) || !strings.Contains(err.Error(), bad.Key) {
			t.Errorf("%q: got %v, want a HeaderError that names the key", line, err)
		}
		if d := cmp.Diff(swf.Header{Lines: []string{line}}, h); d != "" {
			t.Errorf("%q (-want +got):\n%s", line, d)
		}
	}
}

func TestHeaderTakesUnknownSizesForNotTold(t *testing.T) {
	h := parseHeader(t, "; MaxProcs: -1\n; MaxNodes: 400(48 interactive)\n")
	if h.MaxProcs != 0 || h.MaxNodes != 400 {
		t.Errorf("got %d processors and %d nodes, want 0 (not told) and 400", h.MaxProcs, h.MaxNodes)
	}
}

func TestQueueName(t *testing.T) {
	h := swf.Header{Queues: map[int64]string{0: "interactive", 3: "normal"}, Partitions: map[int64]string{0: "gpu"}}
	for _, c := range []struct {
		queue, partition int64
		want             string
	}{
		{0, -1, "interactive"},
		{3, 0, "normal"},
		{7, 0, "7"},
		{-1, 0, "gpu"},
		{-1, 4, "4"},
		{-1, -1, "default"},
	} {
		if got := h.QueueName(&swf.Record{Queue: c.queue, Partition: c.partition}); got != c.want {
			t.Errorf("queue %d, partition %d: got %q, want %q", c.queue, c.partition, got, c.want)
		}
	}
}

func TestStartIsTheHeadersInstantInItsZone(t *testing.T) {
	// The KTH header itself has both: UnixStartTime 843480031 and "Mon Sep 23 14:00:31 CEST 1996".
	want := time.Date(1996, 9, 23, 12, 0, 31, 0, time.UTC)
	h := swf.Header{UnixStartTime: 843480031, TimeZone: 3600, TimeZoneString: "Europe/Stockholm"}
	if !h.Start().Equal(want) {
		t.Errorf("start %v, want %v", h.Start(), want)
	}
	if _, err := time.LoadLocation("Europe/Stockholm"); err == nil && h.Start().Hour() != 14 {
		t.Errorf("hour %d, want 14 (summer time)", h.Start().Hour())
	}
	fixed := swf.Header{UnixStartTime: 843480031, TimeZone: 3600, TimeZoneString: "No/Such"}
	if got := fixed.Start().Hour(); got != 13 {
		t.Errorf("hour by the fixed offset %d, want 13", got)
	}
	for _, odd := range []swf.Header{
		{}, {TimeZone: 1 << 40}, {TimeZoneString: "../etc/passwd"}, {TimeZoneString: "Local"},
	} {
		if odd.Location() == nil || odd.Location().String() == "Local" {
			t.Errorf("%+v: location %v, want UTC", odd, odd.Location())
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	want := parseHeader(t, headerText)
	var out bytes.Buffer
	w := swf.NewWriter(&out)
	if err := w.WriteHeader(want); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, parseHeader(t, out.String())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWriterRefusesWhatCouldNotBeReadBack(t *testing.T) {
	for _, h := range []swf.Header{
		{Lines: []string{"no semicolon"}},
		{Lines: []string{"; two\nlines"}},
		{TimeZoneString: "a\nb"},
		{Queues: map[int64]string{1: ""}},
		{Queues: map[int64]string{-1: "x"}},
		{Partitions: map[int64]string{1: " x"}},
	} {
		if err := swf.NewWriter(new(bytes.Buffer)).WriteHeader(&h); err == nil {
			t.Errorf("%+v was written", h)
		}
	}
}
