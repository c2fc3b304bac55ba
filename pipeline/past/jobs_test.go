package past_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/past"
)

// chunks has the stored chunks of one history. A key is the part and the number of the chunk.
type chunks map[string][]byte

func (c chunks) HistoryChunk(_ context.Context, _, _, part string, n int) ([]byte, error) {
	return c[fmt.Sprint(part, n)], nil
}

// drawLeft draws a job that has left. Its id is one of few, so that some ids leave twice.
func drawLeft(t *rapid.T) cluster.Left {
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		if n := rapid.Int64Range(-1, 1<<40).Draw(t, "instant"); n >= 0 {
			return time.Unix(n>>10, n&1023).UTC()
		}
		return time.Time{}
	})
	return cluster.Left{
		ID: rapid.StringN(1, 3, -1).Draw(t, "id"), Attempt: rapid.IntRange(0, 300).Draw(t, "attempt"),
		Submit: instant.Draw(t, "submit"), At: instant.Draw(t, "at"), Began: instant.Draw(t, "began"),
	}
}

// TestJobsAreRemembered proves that lookups return the newest attempt of every job and nothing else: from a Gathering,
// from its Jobs, and from the Jobs that another process loads.
func TestJobsAreRemembered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, stored, newest := past.NewGathering(), chunks{}, map[string]cluster.Left{}
		for _, l := range rapid.SliceOfN(rapid.Custom(drawLeft), 0, 60).Draw(t, "jobs") {
			g.Add(&l)
			newest[l.ID] = l
		}
		err := g.Save(func(n int, data []byte) error { stored[fmt.Sprint(past.JobsPart, n)] = data; return nil })
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := past.LoadJobs(context.Background(), stored, "c", "h")
		if err != nil {
			t.Fatal(err)
		}
		kept := g.Jobs(stored, "c", "h")
		strangers := rapid.SliceOfN(rapid.StringN(1, 3, -1), 5, 5).Draw(t, "strangers")
		for id := range newest {
			strangers = append(strangers, id)
		}
		for _, id := range strangers {
			want, known := newest[id]
			if got, ok := g.Known(id); ok != known || known && !cmp.Equal(got, want) {
				t.Errorf("gathered: job %q is %+v (%t), want %+v (%t)", id, got, ok, want, known)
			}
			for _, jobs := range []*past.Jobs{kept, loaded} {
				got, ok, err := jobs.Known(context.Background(), id)
				if err != nil || ok != known || known && !cmp.Equal(got, want) {
					t.Errorf("stored: job %q is %+v (%t), %v, want %+v (%t)", id, got, ok, err, want, known)
				}
			}
		}
	})
}

// TestDamagedJobsAreAnError proves that stored bytes that are no jobs are an error, and that no bytes cause a panic.
func TestDamagedJobsAreAnError(t *testing.T) {
	g, stored := past.NewGathering(), chunks{}
	g.Add(&cluster.Left{ID: "1", At: time.Unix(7, 0).UTC()})
	var key string
	err := g.Save(func(n int, data []byte) error { key = fmt.Sprint(past.JobsPart, n); stored[key] = data; return nil })
	if err != nil {
		t.Fatal(err)
	}
	whole := stored[key]
	for cut := 1; cut < len(whole); cut++ {
		stored[key] = whole[:cut]
		if _, err := past.LoadJobs(t.Context(), stored, "c", "h"); !errors.Is(err, modelstore.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v, want that it is damaged", cut, len(whole), err)
		}
	}
}

// TestEventsComeChunkByChunk proves that events are read in order across chunks and get the cluster of the history, and
// that a damaged chunk is an error.
func TestEventsComeChunkByChunk(t *testing.T) {
	stored := chunks{}
	for n, ids := range [][]string{{"1", "2"}, {"3"}} {
		var events []history.Event
		for _, id := range ids {
			events = append(events, history.Event{Event: job.Event{Kind: job.Submit, Cluster: "as it was written",
				ID: id, Time: time.Unix(5, 0).UTC(), Live: true}})
		}
		data, err := history.EncodeChunk(events)
		if err != nil {
			t.Fatal(err)
		}
		stored[fmt.Sprint(past.EventsPart, n)] = data
	}
	var got []string
	read := past.NewEvents(stored, "c", &past.History{ID: "h"})
	for {
		ev, err := read.Peek(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ev == nil {
			break
		}
		if ev.Cluster != "c" || ev.Live {
			t.Errorf("event of cluster %q, live %t", ev.Cluster, ev.Live)
		}
		got = append(got, ev.ID)
		read.Pass()
	}
	if d := cmp.Diff([]string{"1", "2", "3"}, got); d != "" {
		t.Error(d)
	}
	stored[past.EventsPart+"0"] = []byte{9, 9}
	read = past.NewEvents(stored, "c", &past.History{ID: "h"})
	if _, err := read.Peek(t.Context()); !errors.Is(err, history.ErrDamaged) {
		t.Errorf("a damaged chunk: %v", err)
	}
}

// TestTrim trims a history of three chunks of two submissions, each ten seconds after the one before. It proves that
// chunks are dropped whole, at most as many as asked for, and that From is the instant of the first event that is left.
func TestTrim(t *testing.T) {
	stored := chunks{}
	for n := range 3 {
		events := []history.Event{}
		for i := range 2 {
			events = append(events, history.Event{Event: job.Event{Kind: job.Submit, ID: fmt.Sprint(n, i),
				Time: time.Unix(int64(10*(2*n+i)), 0).UTC()}})
		}
		data, err := history.EncodeChunk(events)
		if err != nil {
			t.Fatal(err)
		}
		stored[fmt.Sprint(past.EventsPart, n)] = data
	}
	whole := &past.History{ID: "h", Events: 6, Submissions: 6, From: time.Unix(0, 0).UTC()}
	for _, c := range []struct {
		before      int64
		most        int
		first, from int
	}{{100, 1, 1, 20}, {100, 2, 2, 40}, {100, 9, 3, 50}, {35, 9, 2, 40}, {35, 1, 1, 20}, {30, 9, 1, 20}, {5, 9, 0, 0}} {
		got, err := whole.Trim(t.Context(), stored, "c", time.Unix(c.before, 0), c.most)
		if err != nil {
			t.Fatal(err)
		}
		left := int64(6 - 2*c.first)
		if got.First != c.first || got.Events != left || got.Submissions != left || got.From.Unix() != int64(c.from) {
			t.Errorf("before %d, at most %d: %+v, want chunk %d, %d events from %d", c.before, c.most, got, c.first,
				left, c.from)
		}
		if c.first == 0 && got != whole {
			t.Errorf("before %d: not the same description, though nothing was dropped", c.before)
		}
	}
}
