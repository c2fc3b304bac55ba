package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// finishedJobs returns jobs that were over at an instant, as an import tells them; every seventh never ran.
func finishedJobs(t testing.TB, n int, over float64, seed uint64) []job.Event {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	var out []job.Event
	for i := range n {
		end := over - math.Floor(rng.Float64()*30*3600)
		start := end - math.Floor(math.Exp(rng.Float64()*10))
		ev := sized(event(job.End, fmt.Sprint("past", i), end), 1<<rng.IntN(7))
		ev.Queue, ev.User = string(rune('a'+rng.IntN(2))), "u"
		ev.Times = job.Times{Submit: at(start - math.Floor(rng.Float64()*5000)), Start: at(start), End: at(end)}
		if i%7 == 6 {
			ev.Times.Start = time.Time{}
		}
		whole, ok := Finished(ev)
		if !ok {
			t.Fatalf("%+v is not finished", ev)
		}
		out = append(out, whole)
	}
	return out
}

// withImport returns a pipeline that has taken in live deliveries, with parts of an import put in after some of them,
// at the positions given.
func withImport(t testing.TB, procs int, store modelstore.Store, live []job.Event, past map[int][]job.Event) *Pipeline {
	t.Helper()
	cfg := testConfig()
	cfg.Clusters[0].Procs = procs
	p, src := newPipeline(cfg, store, collector.Live)
	imports := ImportSource(collector.Options{Cluster: "c"})
	p.AddImport(imports)
	tell := func(s *source.Config, events []job.Event) {
		take(t, p, &source.Delivery{Source: s, Events: events, Lines: len(events), CaughtUp: true})
	}
	for i, ev := range live {
		tell(src, []job.Event{ev})
		if some := past[i]; some != nil {
			tell(&imports, some)
		}
	}
	return p
}

// picture is what a view shows of the jobs that live.
func picture(v *readmodel.View) []cluster.Job {
	var out []cluster.Job
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			one := *j
			one.Seq = 0 // counts the imported ones too
			out = append(out, one)
		}
	}
	return out
}

// waited is a row of the ledger without the forecast.
type waited struct {
	id            string
	attempt       int
	submit, start time.Time
	how           string
	wait          float64
	replayed      bool
}

func waitsOf(rows []modelstore.Row) []waited {
	var out []waited
	for _, r := range rows {
		out = append(out, waited{r.JobID, r.Attempt, r.Submit, r.Start, r.Outcome, r.WaitSeconds, r.Replayed})
	}
	return out
}

// TestImportLeavesThePicture proves that jobs of the past, put anywhere between the records of a log that is followed,
// change nothing of who runs and waits, of the clock and of the rows of the ledger; that the windows of lifetimes learn
// all of them, wherever they came; and that the same import told again changes nothing at all.
func TestImportLeavesThePicture(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds for each random case: not with -short")
	}
	fewer(t, 12) // each takes two seconds
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		procs := rapid.SampledFrom([]int{0, 128}).Draw(rt, "capacity") // 0: the highest use
		live := mangle(workload(t, 60, seed), seed)
		past := finishedJobs(t, 40, -1, seed)
		positions, rng := map[int][]job.Event{}, rand.New(rand.NewPCG(seed, 19))
		for _, ev := range past {
			i := rng.IntN(len(live))
			positions[i] = append(positions[i], ev)
		}
		var plain, mixed, after memory
		without := withImport(t, procs, &plain, live, nil)
		with := withImport(t, procs, &mixed, live, positions)
		last := withImport(t, procs, &after, live, map[int][]job.Event{len(live) - 1: past})

		want, got := without.View("c"), with.View("c")
		if d := cmp.Diff(picture(want), picture(got)); d != "" {
			rt.Errorf("the import (+) changes the picture:\n%s", d)
		}
		if !got.At.Equal(want.At) || got.Used != want.Used || got.Capacity != want.Capacity {
			rt.Errorf("at %s, %d of %d processors; without the import at %s, %d of %d", got.At, got.Used, got.Capacity,
				want.At, want.Used, want.Capacity)
		}
		if d := cmp.Diff(waitsOf(plain.rows), waitsOf(mixed.rows), cmp.AllowUnexported(waited{})); d != "" {
			rt.Errorf("the import (+) changes the ledger:\n%s", d)
		}
		for _, queue := range []string{"a", "b"} {
			a, b := with.View("c").Models.Queue(queue), last.View("c").Models.Queue(queue)
			for class := range a.Lifetimes {
				x, y := a.Lifetimes[class], b.Lifetimes[class]
				if x.Law.Model != y.Law.Model || x.Law.R2 != y.Law.R2 || x.Sample.N() != y.Sample.N() {
					rt.Errorf("queue %s: the window depends on when the import came: %+v, %+v", queue, x.Law, y.Law)
				}
			}
		}
		if n := got.Counts.Ended - want.Counts.Ended; n != 35 { // 40 less those that never ran
			rt.Errorf("%d lifetimes were taken in, want 35", n)
		}

		before := len(mixed.entries)
		imports := ImportSource(collector.Options{Cluster: "c"})
		state := lanes(t, with)
		take(t, with, &source.Delivery{Source: &imports, Events: past})
		if len(mixed.entries) != before {
			rt.Errorf("told again, the import makes %d entries", len(mixed.entries)-before)
		}
		if d := cmp.Diff(state, lanes(t, with)); d != "" {
			rt.Errorf("told again (+), the import changes the state:\n%s", d)
		}
	})
}

// TestImportedAndFollowed proves that a job told by an import and by a followed log counts once, whichever comes first.
func TestImportedAndFollowed(t *testing.T) {
	live := []job.Event{sized(event(job.Submit, "1", 0), 4), sized(event(job.Start, "1", 5), 4),
		sized(event(job.End, "1", 65), 4),
		sized(event(job.Submit, "2", 100), 4)}
	for i := range live {
		live[i].User, live[i].Queue = "u", "a"
		live[i].Times.Submit = live[i].Time
		if i < 3 {
			live[i].Times.Submit = at(0)
		}
	}
	live[2].Times.Start = at(5)
	whole, ok := Finished(live[2])
	if !ok {
		t.Fatal("an end with its start is not finished")
	}
	var later memory
	p := withImport(t, 128, &later, live, map[int][]job.Event{3: {whole}})
	if c := p.writers["c"].state.View().Counts; c.Ended != 1 || c.Duplicates != 1 {
		t.Errorf("imported after it was followed: %+v, want one end and a duplicate", c)
	}
	var first memory
	p, src := newPipeline(testConfig(), &first, collector.Live)
	imports := ImportSource(collector.Options{Cluster: "c"})
	p.AddImport(imports)
	take(t, p, &source.Delivery{Source: &imports, Events: []job.Event{whole}})
	take(t, p, &source.Delivery{Source: src, Events: live})
	if c := p.writers["c"].state.View().Counts; c.Ended != 1 || c.Submitted != 2 || c.Duplicates != 3 {
		t.Errorf("imported before it was followed: %+v, want one end, two submissions, three duplicates", c)
	}
}

// TestFinished proves which events tell the whole of a job.
func TestFinished(t *testing.T) {
	end := event(job.End, "1", 9)
	end.Times = job.Times{Submit: at(1), Eligible: at(2), Start: at(3)}
	never := end
	never.Times.Start = time.Time{}
	all, blind, start := end, event(job.Cancel, "1", 9), end
	all.All, start.Kind = true, job.Start
	for name, c := range map[string]struct {
		ev   job.Event
		ok   bool
		kind job.Kind
		want job.Times
	}{
		"ran": {
			end, true, job.End, job.Times{Submit: at(1), Eligible: at(2), Start: at(3), End: at(9)},
		},
		"never ran":                {never, true, job.Cancel, job.Times{Submit: at(1), Eligible: at(2)}},
		"canceled, who knows when": {ev: blind},
		"a kill":                   {ev: all},
		"a start":                  {ev: start},
	} {
		got, ok := Finished(c.ev)
		if ok != c.ok || ok && (got.Kind != c.kind || got.Times != c.want || got.Live) {
			t.Errorf("%s: %v, %+v", name, ok, got)
		}
	}
}

// TestGate proves what an import leaves to the sources that are followed, and what is too old for it.
func TestGate(t *testing.T) {
	cfg := testConfig()
	cfg.Retention = time.Hour
	p, src := newPipeline(cfg, nil, collector.Live)
	array := event(job.Submit, "9", 7200)
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{sized(event(job.Submit, "1", 7200), 4), array}})
	p.publish()
	gate := p.ImportFilter("c", at(7000))
	for id, want := range map[string]Standing{"1": Followed, "9_4": Followed, "9+1": Followed, "19_4": Past,
		"91": Past} {
		ev := event(job.End, id, 6000)
		if got := gate.Standing(&ev); got != want {
			t.Errorf("job %s: %v, want %v", id, got, want)
		}
	}
	for second, want := range map[float64]Standing{3599: Forgotten, 3600: Past, 7000: Past, 7001: Followed} {
		ev := event(job.End, "x", second)
		if got := gate.Standing(&ev); got != want {
			t.Errorf("a job that ended at %v s: %v, want %v", second, got, want)
		}
	}
	take(t, p, &source.Delivery{Source: src, Events: []job.Event{event(job.Cancel, "1", 9000)}})
	p.publish()
	gate.Refresh()
	ev := event(job.End, "1", 6000)
	if got := gate.Standing(&ev); got != Past {
		t.Errorf("job 1, which has left: %v", got)
	}
}
