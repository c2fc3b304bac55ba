package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// TestBadLinesAreQuarantinedOnce proves that the bad lines after the newest committed checkpoint, which a restart reads
// again, are in the quarantine once, also if the deliveries are then of other lengths and if the daemon is killed
// between two of them. Lines that are new are quarantined, even if they equal an old one.
func TestBadLinesAreQuarantinedOnce(t *testing.T) {
	src := &source.Config{
		Name: "log", Format: collector.Format{Name: "test", Order: collector.BySubmit},
		Options: collector.Options{Cluster: "c"},
	}
	bad := func(texts ...string) (lines []source.BadLine) {
		for _, text := range texts {
			lines = append(lines,
				source.BadLine{Reason: collector.ReasonFormat, Err: errors.New("bad"), Text: []byte(text)})
		}
		return lines
	}
	// A start in the far future keeps all later checkpoints from being committed.
	submit, far := event(job.Submit, "1", 1), event(job.Start, "1", 1e6)
	long := event(job.Submit, fmt.Sprintf("%*d", maxText+1, 2), 2) // is refused: there is no room for its id
	store := newStore(t)
	lives := [][]*source.Delivery{
		{{Bad: bad("a"), Checkpoint: []byte("1")},
			{Events: []job.Event{submit, far, long}, Bad: bad("b", "b"), Checkpoint: []byte("2")}},
		{{Bad: bad("b")}}, // killed in the middle
		{{Events: []job.Event{submit, far}, Bad: bad("b", "b")},
			{Events: []job.Event{long}, Bad: bad("c", "b"), Checkpoint: []byte("3"), CaughtUp: true},
			{Bad: bad("b"), Checkpoint: []byte("4"), CaughtUp: true}},
	}
	want := [][]string{{"a", "", "b", "b"}, {}, {"c", "b", "b"}}
	for i, life := range lives {
		p := mustNew(New(testConfig(), store, func() time.Time { return at(0) }, zap.NewNop(),
			NewMetrics(prometheus.NewRegistry())))
		if err := p.Restore(t.Context(), "f"); err != nil {
			t.Fatal(err)
		}
		p.AddSource(*src)
		before, err := store.CountBadLines(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range life {
			d.Source = src
			take(t, p, d)
		}
		lines, err := store.BadLines(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(lines)
		var got []string
		for _, b := range lines[before:] {
			got = append(got, string(b.Text))
		}
		if fmt.Sprint(got) != fmt.Sprint(want[i]) {
			t.Errorf("life %d quarantined %q, want %q", i, got, want[i])
		}
		p.Close()
	}
}

// TestOpenBadLinesAreBounded proves that a log full of bad lines does not make the daemon keep them all, and that the
// newest are recognized.
func TestOpenBadLinesAreBounded(t *testing.T) {
	var o openBad
	line := func(i int) *modelstore.BadLine { return &modelstore.BadLine{Text: fmt.Append(nil, i)} }
	for i := range 3 * mostOpenBad {
		o.add(line(i))
	}
	data := o.encode()
	if len(data) != 8*mostOpenBad || o.count() != 3*mostOpenBad {
		t.Fatalf("%d bytes, %d lines", len(data), o.count())
	}
	again := newOpenBad(data)
	if !again.add(line(2*mostOpenBad-1)) || again.add(line(2*mostOpenBad)) || again.add(line(3*mostOpenBad-1)) {
		t.Error("the newest lines are not recognized")
	}
}
