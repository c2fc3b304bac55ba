package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
)

// either draws a sequence of events, hostile or sensible.
func either(t *rapid.T) []job.Event {
	if rapid.Bool().Draw(t, "hostile") {
		return rapid.Custom(hostile).Draw(t, "events")
	}
	return rapid.Custom(history).Draw(t, "events")
}

// TestFoldIsDeterministicAndReplays proves that the same events give the same bytes, and that replaying the journal of
// the changes gives the same bytes again, change by change.
func TestFoldIsDeterministicAndReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := either(t)
		a, b, replayed := New("c", 0), New("c", 0), New("c", 0)
		changes, _ := feed(a, nil, events...)
		feed(b, nil, events...)
		if d := cmp.Diff(bytesOf(t, a), bytesOf(t, b)); d != "" {
			t.Fatalf("the same events gave another state: %s", d)
		}
		again := replay(t, replayed, changes)
		if d := cmp.Diff(changes, again); d != "" {
			t.Fatalf("the replay made other changes (-live +replay): %s", d)
		}
		if d := cmp.Diff(bytesOf(t, a), bytesOf(t, replayed)); d != "" {
			t.Fatalf("the replay ended elsewhere (-live +replay): %s", d)
		}
	})
}

// TestReadingAgainChangesNothing proves that reading any part of a log again changes nothing. Records of jobs that
// did not exist are left out: the fold may ignore such a record at first and use it at the second reading.
func TestReadingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.Custom(history).Draw(t, "events")
		s := New("c", 0)
		var told []job.Event
		for _, ev := range events {
			if s.Job(ev.ID) != nil || ev.Kind == job.Submit || ev.Kind == job.Start || ev.Kind == job.End {
				told = append(told, ev)
			}
			feed(s, nil, ev)
		}
		before := bytesOf(t, s)
		from := rapid.IntRange(0, len(told)).Draw(t, "from")
		to := rapid.IntRange(from, len(told)).Draw(t, "to")
		changes, _ := feed(s, nil, told[from:to]...)
		if len(changes) > 0 {
			t.Fatalf("reading\n%s\nagain after\n%s\nmade changes: %s", script(told[from:to]), script(events),
				script(journal(changes)))
		}
		if d := cmp.Diff(before, bytesOf(t, s)); d != "" {
			t.Fatalf("reading again changed the state: %s", d)
		}
	})
}

// TestCodecInTheMiddle proves that saving and restoring in the middle of a sequence changes nothing.
func TestCodecInTheMiddle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := either(t)
		cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
		whole, parted := New("c", 0), New("c", 0)
		feed(whole, nil, events...)
		feed(parted, nil, events[:cut]...)
		data, err := parted.MarshalBinary()
		if err != nil {
			t.Fatalf("%v", err)
		}
		restored := New("c", 0)
		if err := restored.UnmarshalBinary(data); err != nil {
			t.Fatalf("%v", err)
		}
		check(t, restored)
		feed(restored, nil, events[cut:]...)
		if d := cmp.Diff(bytesOf(t, whole), bytesOf(t, restored)); d != "" {
			t.Fatalf("restoring left a trace (-whole +parted): %s", d)
		}
	})
}

// TestInvariants proves that the picture is consistent after every event, and that no view changes after it was taken.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New("c", 0)
		type kept struct {
			view            *View
			running, queued []Job
		}
		var views []kept
		for _, ev := range either(t) {
			feed(s, nil, ev)
			check(t, s)
			v := s.View()
			views = append(views, kept{v, values(v.Running), values(v.Queued)})
		}
		for i, k := range views {
			if d := cmp.Diff(k.running, values(k.view.Running)) + cmp.Diff(k.queued, values(k.view.Queued)); d != "" {
				t.Fatalf("view %d changed after it was taken: %s", i, d)
			}
		}
	})
}

func values(jobs []*Job) []Job {
	out := make([]Job, len(jobs))
	for i, j := range jobs {
		out[i] = *j
	}
	return out
}
