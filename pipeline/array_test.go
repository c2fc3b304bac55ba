package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// arrayEvents returns the log of a busy machine with an array, and the second at which the array is submitted, after
// half of the log. The first atOnce elements start at the instant of the submission, the others one after another; one
// element is cancelled.
func arrayEvents(t testing.TB, elements, atOnce int) (events []job.Event, submitted float64) {
	t.Helper()
	events = alive(workload(t, 160, 9))
	submitted = events[len(events)/2].Time.Sub(at(0)).Seconds() + 0.5
	array := sized(inQueue(event(job.Submit, "9000", submitted), "a", 2, 3600), 2)
	array.Tasks, array.Times.Submit = elements, array.Time
	events = append(events, array)
	for i := range elements {
		id, begin := fmt.Sprintf("9000[%d]", i+1), submitted
		if i >= atOnce {
			begin += float64(100 * i)
		}
		if i == elements/2 {
			events = append(events, event(job.Cancel, id, begin+50), array)
			continue
		}
		events = append(events, event(job.Start, id, begin), event(job.End, id, begin+60))
	}
	sortByTime(events)
	return alive(events), submitted
}

// TestRowsOfElements proves that every element of an array gets one row of the ledger, and that the rows of the first
// and the last element to start have forecasts.
func TestRowsOfElements(t *testing.T) {
	for _, atOnce := range []int{0, 3, 12} {
		t.Run(fmt.Sprint(atOnce, " at once"), func(t *testing.T) {
			store := &memory{}
			p, src := newPipeline(testConfig(), store, collector.Live)
			events, submitted := arrayEvents(t, 12, atOnce)
			take(t, p, &source.Delivery{Source: src, Events: events})
			rows, forecasts := map[string]modelstore.Row{}, 0
			for _, r := range store.rows {
				if !strings.HasPrefix(r.JobID, "9000") {
					continue
				}
				if _, twice := rows[r.JobID]; twice || !r.Submit.Equal(at(submitted)) {
					t.Errorf("row %+v: told twice %v", r, twice)
				}
				if rows[r.JobID] = r; r.Quantiles != nil {
					forecasts++
				} else if r.Reason != accuracy.ReasonArrayTask {
					t.Errorf("%s has no forecast for the reason %q", r.JobID, r.Reason)
				}
			}
			if len(rows) != 12 || forecasts != 2 {
				t.Errorf("%d rows, %d of them with a forecast; want 12 and 2", len(rows), forecasts)
			}
			first, last := rows["9000[1]"], rows["9000[12]"]
			if atOnce == 12 { // in this case the cancelled element is the last
				last = rows["9000[7]"]
			}
			if first.Quantiles == nil || last.Quantiles == nil ||
				last.Quantiles[len(last.Quantiles)-1] < first.Quantiles[len(first.Quantiles)-1] {
				t.Errorf("the first element: %+v\nthe last: %+v", first, last)
			}
			if got := rows["9000[7]"]; got.Outcome != modelstore.Cancelled {
				t.Errorf("the element that was cancelled: %+v", got)
			}
			if l := p.writers["c"].ledger; l.open["9000"] != nil || p.writers["c"].state.Job("9000") != nil {
				t.Error("the array is still there when all of its elements have started")
			}
		})
	}
}

// TestForecastOfAnArrayKnowsNoStart proves that the forecast of an array's last element does not depend on the number
// of elements that start at the instant of the submission.
func TestForecastOfAnArrayKnowsNoStart(t *testing.T) {
	quantiles := func(atOnce int) []float64 {
		store := &memory{}
		p, src := newPipeline(testConfig(), store, collector.Live)
		events, _ := arrayEvents(t, 12, atOnce)
		take(t, p, &source.Delivery{Source: src, Events: events})
		for _, r := range store.rows {
			if r.JobID == "9000[12]" {
				return r.Quantiles
			}
		}
		return nil
	}
	if want, got := quantiles(0), quantiles(5); want == nil || differences(want, got) != "" {
		t.Errorf("forecast %v where none started at once, %v where 5 did", want, got)
	}
}

// These are the points in the course of a listing at which the first tasks of an array start: before squeue lists the
// array, after the listing but before its comparison with the picture, after the comparison but before its events are
// applied, and after that.
const (
	beforeListing = iota
	beforeComparison
	beforeEvents
	afterEvents
)

// playArray simulates array 90, which has six tasks and a limit of two running tasks. The log reports the submission at
// second 5000, and squeue lists the array at 5002. The first two tasks start at the given point, for example
// beforeListing.
func (s *slurmStage) playArray(starts int) {
	s.t.Helper()
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{Queues: []job.QueueFacts{{Name: "a"}},
		Nodes: []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}}}
	s.deliver(s.squeue, facts)
	for i := range 12 { // the user's earlier jobs
		id, begin := fmt.Sprint(i+1), float64(100*i)
		s.deliver(s.log, event(job.Submit, id, begin), event(job.Start, id, begin+1))
		s.list(begin+30, listed{id: id, user: "ann", procs: 1, submit: begin, eligible: begin, start: begin + 1})
		s.deliver(s.log, event(job.End, id, begin+61))
	}
	waiting := func(tasks string) listed {
		return listed{id: "90_[" + tasks + "%2]", user: "ann", procs: 1, submit: 5000, eligible: 5000,
			reason: "JobArrayTaskLimit"}
	}
	running := func(id string, start float64) listed {
		return listed{id: id, user: "ann", procs: 1, submit: 5000, eligible: 5000, start: start}
	}
	start := func(place int, second float64) {
		if place == starts {
			s.deliver(s.log, event(job.Start, "90_1", second), event(job.Start, "90_2", second))
		}
	}
	s.deliver(s.log, event(job.Submit, "90", 5000))
	rows := []listed{waiting("1-6")}
	if starts == beforeListing {
		rows = []listed{waiting("3-6"), running("90_1", 5001), running("90_2", 5001)}
	}
	start(beforeListing, 5001)
	start(beforeComparison, 5003)
	events := s.compare(5002, rows...)
	start(beforeEvents, 5003)
	s.deliver(s.squeue, events...)
	start(afterEvents, 5003)
	s.list(5017, waiting("3-6"), running("90_1", 5003), running("90_2", 5003))
	for i, next := range [][]string{{"90_3", "90_4"}, {"90_5", "90"}} {
		end := 5063 + 60*float64(i)
		s.deliver(s.log, event(job.End, fmt.Sprint("90_", 2*i+1), end), event(job.End, fmt.Sprint("90_", 2*i+2), end),
			event(job.Start, next[0], end+1), event(job.Start, next[1], end+1))
	}
}

// TestForecastOfAnArrayCountsEachTaskOnce proves that the forecast of an array's last task does not depend on the point
// at which the first tasks start, nor on how often the writer was killed.
func TestForecastOfAnArrayCountsEachTaskOnce(t *testing.T) {
	cfg := slurmConfig()
	cfg.SnapshotEvents = 1
	var want []float64
	for _, starts := range []int{afterEvents, beforeEvents, beforeComparison, beforeListing} {
		undisturbed := newStore(t)
		s := newSlurmStage(t, cfg, undisturbed)
		restore(t, s.pipeline, "one")
		s.playArray(starts)
		all := keeps(t, undisturbed, s.pipeline)
		var got []float64
		for _, r := range all.Rows {
			if r.JobID == "90" {
				got = r.Quantiles
			}
		}
		if want == nil {
			want = got
		}
		if len(got) == 0 || differences(want, got) != "" {
			t.Errorf("starts at place %d: forecast %v, want %v", starts, got, want)
		}
		store := newStore(t)
		var last *Pipeline
		for _, d := range s.delivered {
			next := newSlurmStage(t, cfg, store)
			restore(t, next.pipeline, "one")
			take(t, next.pipeline, d)
			last = next.pipeline
		}
		if d := differences(all, keeps(t, store, last)); d != "" {
			t.Errorf("starts at place %d: undisturbed (-) and killed (+) differ: %.3000s", starts, d)
		}
	}
}

// TestRowsOfUncountedElements proves that the elements of an array get rows even if no log reports how many there are.
func TestRowsOfUncountedElements(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	end := float64(100)
	events := []job.Event{sized(inQueue(event(job.Submit, "9000", end), "a", 2, 0), 2)}
	for i := range 4 {
		begun := event(job.Start, fmt.Sprintf("9000.%d", i+1), end+float64(10*i+10))
		begun.Times.Submit = at(end)
		events = append(events, begun)
	}
	take(t, p, &source.Delivery{Source: src, Events: alive(append(events, event(job.Submit, "later", 500),
		event(job.Submit, "last", 900)))})
	var got []string
	for _, r := range store.rows {
		got = append(got, fmt.Sprintf("%s %s %v %s", r.JobID, r.Outcome, r.WaitSeconds, r.Reason))
	}
	want := []string{"9000.1 started 10 ", "9000.2 started 20 " + accuracy.ReasonArrayTask,
		"9000.3 started 30 " + accuracy.ReasonArrayTask, "9000.4 started 40 " + accuracy.ReasonArrayTask}
	if d := differences(want, got); d != "" {
		t.Errorf("rows (-want +got): %s", d)
	}
}

// TestRestartWithinAnArray proves that entries, rows and state are the same in the end if the daemon ends at any commit
// within the log of an array and is started again, although it then reads some lines again.
func TestRestartWithinAnArray(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts at every step: not with -short")
	}
	events, _ := arrayEvents(t, 40, 10)
	r := read(t, testConfig(), events)
	places := 2
	if os.Getenv("WAITCAST_LONG") != "" {
		places = 4
	}
	for _, c := range disturbances() {
		t.Run(c.name, func(t *testing.T) {
			for stop := 1 + rand.IntN(3); stop < len(r.deliveries); stop += 1 + len(r.deliveries)/places {
				if d := differences(r.want, r.disturbed(t, c, stop)); d != "" {
					t.Fatalf("after delivery %d of %d, undisturbed (-) and disturbed (+) differ: %.3000s", stop,
						len(r.deliveries), d)
				}
			}
		})
	}
}

// bounded is a store that fails the test if a checkpoint is committed before all events. It counts commits.
type bounded struct {
	memory
	t        *testing.T
	commits  int
	killAt   int // number of the commit that fails; 0 for none
	together int // largest number of entries of one transaction
}

func (b *bounded) Commit(ctx context.Context, batch modelstore.Batch) error {
	b.commits++
	if b.commits == b.killAt {
		return modelstore.ErrClosed
	}
	position := func(c modelstore.Checkpoint) bool { return !strings.HasSuffix(c.Source, badSuffix) }
	if slices.ContainsFunc(batch.Checkpoints, position) &&
		len(b.memory.entries)+len(batch.Entries) < b.want() {
		b.t.Error("a checkpoint is committed before the events that it stands for")
	}
	b.together = max(b.together, len(batch.Entries))
	return b.memory.Commit(ctx, batch)
}

func (b *bounded) want() int { return 50_000 }

// TestCommitsAreBounded proves that a delivery of many events is committed in parts, and its checkpoint with the last
// part. If the process is killed between two parts, the first part is stored without a checkpoint.
func TestCommitsAreBounded(t *testing.T) {
	cfg := Config{Clusters: []ClusterConfig{{Name: "c", Procs: 128}}, Models: livemodels.Config{Plain: true}}
	d := func(src *source.Config) *source.Delivery {
		events := make([]job.Event, 50_000)
		for i := range events {
			events[i] = sized(event(job.Submit, fmt.Sprint(i+1), float64(i)), 1)
		}
		return &source.Delivery{Source: src, Events: events, Checkpoint: []byte("end")}
	}
	calm := &bounded{t: t}
	p, src := newPipeline(cfg, calm, collector.Live)
	take(t, p, d(src))
	if calm.together > groupEvents || calm.commits < 3 || len(calm.entries) != 50_000 || len(calm.checkpoints) != 1 {
		t.Errorf("%d commits of at most %d entries, %d entries and %d checkpoints in all", calm.commits, calm.together,
			len(calm.entries), len(calm.checkpoints))
	}
	killed := &bounded{t: t, killAt: 2}
	p, src = newPipeline(cfg, killed, collector.Live)
	if err := p.step(context.Background(), d(src), nil); !errors.Is(err, modelstore.ErrClosed) {
		t.Fatalf("the second commit gave %v", err)
	}
	if n := len(killed.entries); n == 0 || n > groupEvents || len(killed.checkpoints) != 0 {
		t.Errorf("%d entries and %d checkpoints were committed, want at most %d and none", n, len(killed.checkpoints),
			groupEvents)
	}
}

// TestCommitsAreBoundedInBytes proves that a delivery with long texts is committed in parts of at most about 16 MiB of
// texts. Too long names are truncated, and an event with a too long id is a bad line.
func TestCommitsAreBoundedInBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, which sees the same in TestCommitsAreBounded")
	}
	store := &bounded{t: t}
	p, src := newPipeline(Config{Clusters: []ClusterConfig{{Name: "c", Procs: 128}},
		Models: livemodels.Config{Plain: true}}, store, collector.Live)
	events := make([]job.Event, 10_000)
	for i := range events {
		events[i] = sized(event(job.Submit, fmt.Sprint(i+1), float64(i)), 1)
		events[i].Name = strings.Repeat("é", 1<<16)
	}
	events[9] = event(job.Submit, strings.Repeat("9", maxText+1), 9)
	take(t, p, &source.Delivery{Source: src, Events: events})
	if most := groupBytes/(entryBytes+maxText) + 1; store.together > most || len(store.entries) != 9999 ||
		len(store.bad) != 1 {
		t.Errorf("%d entries in one commit, want at most %d; %d in all, %d bad lines", store.together, most,
			len(store.entries), len(store.bad))
	}
	if got := store.entries[0].Event.Name; got != strings.Repeat("é", maxText/2) {
		t.Errorf("a name of %d bytes is kept as %d", 1<<17, len(got))
	}
}
