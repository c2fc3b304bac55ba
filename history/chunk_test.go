package history

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
)

// decoded returns the events of a chunk.
func decoded(chunk []byte) (events []Event, err error) {
	err = DecodeChunk(chunk, func(ev *Event) error {
		events = append(events, *ev)
		return nil
	})
	return events, err
}

// TestChunks proves that events come back from a chunk unchanged, but without their positions in files. The same events
// give the same bytes, and no cut or changed byte gives other events.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		events := rapid.SliceOfN(rapid.Custom(drawEvent), 0, 20).Draw(rt, "events")
		chunk, err := EncodeChunk(events)
		if err != nil {
			rt.Fatal(err)
		}
		var want []Event
		for _, ev := range events {
			ev.File, ev.Line, ev.order = Stored, 0, 0
			want = append(want, ev)
		}
		got, err := decoded(chunk)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Event{})); err != nil || diff != "" {
			rt.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		again, err := EncodeChunk(got)
		if diff := cmp.Diff(chunk, again); err != nil || diff != "" {
			rt.Fatalf("the same events give other bytes: %v\n%s", err, diff)
		}
		at := rapid.IntRange(0, len(chunk)-1).Draw(rt, "at")
		if _, err := decoded(chunk[:at]); !errors.Is(err, ErrDamaged) {
			rt.Fatalf("%d bytes of %d: %v", at, len(chunk), err)
		}
		chunk[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "change"))
		got, err = decoded(chunk)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Event{})); err == nil && diff != "" ||
			err != nil && !errors.Is(err, ErrDamaged) {
			rt.Fatalf("a changed byte: %v (-want +got):\n%s", err, diff)
		}
	})
}

// TestChunkOfOldVersion proves that texts which versions before 0.2 stored unchanged are made printable.
func TestChunkOfOldVersion(t *testing.T) {
	old := job.Attributes{Queue: "caf\xe9", User: `caf\xe9`, Name: "a\x00"}
	chunk, err := EncodeChunk([]Event{{Event: job.Event{Kind: job.Submit, ID: "1", Attributes: old}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decoded(chunk)
	want := job.Attributes{Queue: `caf\xe9`, User: `caf\xe9`, Name: `a\x00`}
	if err != nil || len(got) != 1 || got[0].Attributes != want {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestChunkStops proves that an error of the function that takes the events ends the decoding.
func TestChunkStops(t *testing.T) {
	chunk, err := EncodeChunk(make([]Event, 3))
	if err != nil {
		t.Fatal(err)
	}
	stop, n := errors.New("stop"), 0
	err = DecodeChunk(chunk, func(*Event) error {
		n++
		return stop
	})
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%d events, %v", n, err)
	}
}

// TestRepeats compares the repetitions that are found with a comparison of all pairs of events: an event counts as a
// repetition exactly if an earlier event equals it.
func TestRepeats(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var before []job.Event
		var seen repeats
		at := time.Unix(1_000_000_000, 0).UTC()
		for range rapid.IntRange(0, 40).Draw(rt, "events") {
			at = at.Add(time.Duration(rapid.IntRange(0, 1).Draw(rt, "later")) * time.Second)
			ev := Event{File: rapid.IntRange(0, 9).Draw(rt, "file"), Event: job.Event{Kind: job.Submit, Time: at,
				ID: rapid.StringMatching("[ab]").Draw(rt, "id")}}
			want := false
			for _, b := range before {
				want = want || cmp.Equal(b, ev.Event)
			}
			if got := seen.again(&ev); got != want {
				rt.Fatalf("%v after %v: %v", ev.Event, before, got)
			}
			before = append(before, ev.Event)
		}
	})
}

// TestRepeatsOfOneFile proves that events of one kind that a job has several times in one second count as often as the
// file that has most of them.
func TestRepeatsOfOneFile(t *testing.T) {
	var seen repeats
	var passed []int
	for file, times := range []int{2, 1, 2, 3} {
		n := 0
		for range times {
			if !seen.again(&Event{File: file, Event: job.Event{Kind: job.Requeue, ID: "1", Time: time.Unix(5, 0)}}) {
				n++
			}
		}
		passed = append(passed, n)
	}
	if diff := cmp.Diff([]int{2, 0, 0, 1}, passed); diff != "" {
		t.Errorf("requeues of each file (-want +got):\n%s", diff)
	}
}

// TestChunkOfFormerOrder proves that a chunk of 0.1.0, in which an end without a known start came before the submission
// of the same second, is read in the order in which the job lived. An end that is known to belong to an earlier attempt
// keeps its place.
func TestChunkOfFormerOrder(t *testing.T) {
	at := time.Unix(9, 0).UTC()
	event := func(kind job.Kind, id string, start time.Time) Event {
		return Event{File: Stored, Event: job.Event{Kind: kind, ID: id, Time: at, Times: job.Times{Start: start}}}
	}
	end, cancel, other := event(job.End, "1", time.Time{}), event(job.Cancel, "2", time.Time{}),
		event(job.End, "3", time.Unix(5, 0).UTC())
	submit, second, start := event(job.Submit, "1", time.Time{}), event(job.Submit, "2", time.Time{}),
		event(job.Start, "1", at)
	again, unknown := event(job.Submit, "3", time.Time{}), event(job.End, "4", time.Time{})
	chunk, err := EncodeChunk([]Event{end, cancel, other, unknown, submit, second, again, start})
	if err != nil {
		t.Fatal(err)
	}
	chunk[0] = endsFirst
	got, err := decoded(chunk)
	want := []Event{other, unknown, submit, second, again, start, end, cancel}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Event{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestChunkWithoutGroups proves that a chunk of the former version, whose events have no groups, is read.
func TestChunkWithoutGroups(t *testing.T) {
	want := []Event{{File: Stored, Event: job.Event{Kind: job.Submit, ID: "1", Time: time.Unix(5, 0).UTC()}},
		{File: Stored, Event: job.Event{Kind: job.Start, ID: "1", Time: time.Unix(9, 0).UTC()}}}
	chunk, err := EncodeChunk(want)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain, err := z.DecodeAll(chunk[1:], nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	// without the column of groups, which is last: a number for each event, and one text of length 0
	older := w.EncodeAll(plain[:len(plain)-len(want)-1], []byte{1})
	got, err := decodeChunk(older)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Event{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
