package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// clocked is a pipeline whose clock the test sets. The pipeline follows a log that the test writes.
type clocked struct {
	t     testing.TB
	store modelstore.Store
	now   time.Time
	p     *Pipeline
	src   *source.Config
}

func newClocked(t testing.TB, store modelstore.Store, offset *time.Duration) *clocked {
	c := &clocked{t: t, store: store, now: at(0)}
	c.src = &source.Config{
		Name: "c/log", Format: collector.Format{Name: "test", Order: collector.Live},
		Options: collector.Options{Cluster: "c"}, ClockOffset: offset,
	}
	c.start()
	return c
}

// start begins a new process with the same store, as after a kill of the previous process.
func (c *clocked) start() {
	c.t.Helper()
	cfg := testConfig()
	cfg.Forecasts = false // the clock does not depend on forecasts
	now := func() time.Time { return c.now }
	c.p = mustNew(New(cfg, c.store, now, zap.NewNop(), NewMetrics(prometheus.NewRegistry())))
	if err := c.p.Restore(context.Background(), "one"); err != nil {
		c.t.Fatal(err)
	}
	c.p.AddSource(*c.src)
}

// write sets the clock and adds events to the log, which the pipeline reads at once. since is the time since the
// pipeline last reached the end of the log.
func (c *clocked) write(seconds float64, since time.Duration, events ...job.Event) {
	c.t.Helper()
	c.now = at(seconds)
	d := &source.Delivery{Source: c.src, Events: events, Lines: len(events), Checkpoint: []byte("x"), Read: c.now,
		Since: c.now.Add(-since), Ahead: map[int]source.BadLine{}}
	for i := range events {
		d.Ahead[i] = source.BadLine{Path: "log", Number: int64(i + 1)}
	}
	take(c.t, c.p, d)
}

// tick sets the clock and applies the set-aside events whose time it has reached.
func (c *clocked) tick(seconds float64) {
	c.t.Helper()
	c.now = at(seconds)
	if err := c.p.readmitDue(context.Background()); err != nil {
		c.t.Fatal(err)
	}
	c.p.publishAtOnce()
}

func (c *clocked) status() readmodel.SourceStatus { return c.p.View("c").Sources[0] }

func (c *clocked) journal() []job.Event {
	c.t.Helper()
	var out []job.Event
	for _, e := range keeps(c.t, c.store, c.p).Entries {
		out = append(out, e.Event)
	}
	return out
}

// stores runs a test with each kind of database. open opens an empty one.
func stores(t *testing.T, test func(t *testing.T, open func(testing.TB) modelstore.Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, newStore) })
	t.Run("postgres", func(t *testing.T) {
		server := pgtest.New(t, pgtest.Options{})
		test(t, func(t testing.TB) modelstore.Store {
			store, err := postgres.Open(t.Context(), server.NewDatabase(t), postgres.Options{Space: "c"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			if _, err := store.Acquire(t.Context(), "test", time.Hour); err != nil {
				t.Fatal(err)
			}
			return store
		})
	})
}

// life returns the events of a job of one processor. It is submitted at the given second, and starts 10 s and ends 100
// s after its submission. All times are shifted by shift seconds.
func life(id int, second, shift float64) []job.Event {
	name := fmt.Sprint("j", id)
	submit, start, end := sized(event(job.Submit, name, second+shift), 1), event(job.Start, name, second+shift+10),
		event(job.End, name, second+shift+100)
	start.Times.Start, end.Times.Start, end.Times.End = start.Time, start.Time, end.Time
	return []job.Event{submit, start, end}
}

// TestSetAside proves that a single record dated 20 h ahead does not advance the picture to that time. The record is
// set aside, also over restarts, is shown and counted, and is used when the clock reaches its time.
func TestSetAside(t *testing.T) {
	const hour = 3600
	stores(t, func(t *testing.T, open func(testing.TB) modelstore.Store) {
		store := open(t)
		c := newClocked(t, store, nil)
		for i := range 20 {
			c.write(float64(i), time.Second, sized(event(job.Submit, fmt.Sprint(i), float64(i)), 1))
		}
		c.write(20, time.Second, sized(event(job.Submit, "ahead", 20*hour), 1))
		check := func(when string) {
			t.Helper()
			if v := c.p.View("c"); !v.At.Equal(at(19)) || len(v.Queued) != 20 {
				t.Errorf("%s: as of %s with %d jobs, want %s with 20", when, v.At, len(v.Queued), at(19))
			}
			if s := c.status(); s.SetAside != 1 || !s.SetAsideUntil.Equal(at(20*hour)) || s.ClockOffset != 0 {
				t.Errorf("%s: %+v", when, s)
			}
		}
		check("at first")
		c.tick(30)
		check("a little later")
		c.now = at(-hour) // another clock
		c.start()
		check("after a restart")
		bad, err := store.BadLines(t.Context(), 0)
		if err != nil || len(bad) != 1 || bad[0].Reason != collector.ReasonFuture || bad[0].Path != "log" {
			t.Errorf("the quarantine has %+v, %v", bad, err)
		}
		c.tick(20 * hour)
		if v := c.p.View("c"); !v.At.Equal(at(20*hour)) || len(v.Queued) != 21 || c.status().SetAside != 0 {
			t.Errorf("once the clock is there: as of %s with %d jobs, %+v", v.At, len(v.Queued), c.status())
		}
		entries := len(c.journal())
		c.start()
		if c.tick(21 * hour); len(c.journal()) != entries || c.status().SetAside != 0 ||
			len(c.p.View("c").Queued) != 21 {
			t.Errorf("after another restart: %d entries instead of %d, %+v", len(c.journal()), entries, c.status())
		}
	})
}

// TestSetAsideIsTheSameEvent proves that an event that is set aside is saved with all fields that the fold uses,
// including those that the journal does not store.
func TestSetAsideIsTheSameEvent(t *testing.T) {
	e := asideEvent{event: event(job.End, "9", 10), read: at(1), prompt: true}
	e.event.All, e.event.Tasks, e.event.Total = true, 3, 5
	var saved, restored aside
	saved.add(e)
	var batch modelstore.Batch
	if err := saved.save("log", &batch); err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for _, c := range batch.Checkpoints {
		data[c.Source] = c.Data
	}
	if err := restored.restore("log", data); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(saved.groups, restored.groups, gocmp.AllowUnexported(asideEvent{})); d != "" {
		t.Errorf("saved (-) and restored (+): %s", d)
	}
}

// TestSetAsideEnds proves that a record of another century causes a condition for a day after it was read, also over a
// restart, and that the condition then ends even if no other record comes. The record is still set aside and counted
// after that day. Another such record causes the condition again.
func TestSetAsideEnds(t *testing.T) {
	const hour, century = 3600, 100 * 365 * 24 * 3600
	c := newClocked(t, newStore(t), nil)
	check := func(when string, count int, shown bool) {
		t.Helper()
		s := c.status()
		if got := slices.ContainsFunc(s.Conditions, ofAside); got != shown || s.SetAside != count {
			t.Errorf("%s: %d are set aside, want %d; the condition stands: %t, want %t", when, s.SetAside, count, got,
				shown)
		}
	}
	quiet := func(seconds float64) {
		t.Helper()
		c.now = at(seconds)
		if err := c.p.doDueWork(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.write(0, time.Second, sized(event(job.Submit, "now", 0), 1))
	check("before", 0, false)
	c.write(20, time.Second, sized(event(job.Submit, "far", century), 1))
	check("at first", 1, true)
	quiet(24 * hour)
	check("a little less than a day later", 1, true)
	c.start()
	quiet(24 * hour)
	check("after a restart", 1, true)
	quiet(24*hour + 20)
	check("a day later", 1, false)
	c.start()
	c.tick(24*hour + 21)
	check("after another restart", 1, false)
	c.write(30*hour, time.Second, sized(event(job.Submit, "farther", century+1), 1))
	check("after another record", 2, true)
}

// TestSetAsideOutrun proves that a submission that was set aside does not begin a second attempt of a job if later
// records have reported the job in the meantime.
func TestSetAsideOutrun(t *testing.T) {
	for _, over := range []bool{false, true} {
		c := newClocked(t, newStore(t), nil)
		events := life(1, 100, 0)
		ahead := events[0]
		ahead.Time = at(7200)
		c.write(100, time.Second, ahead)
		c.write(110, time.Second, events[1])
		if over {
			c.write(200, time.Second, events[2])
		}
		c.tick(7200)
		v := c.p.View("c")
		if len(v.Queued) != 0 || len(v.Running) != map[bool]int{true: 0, false: 1}[over] || c.status().SetAside != 0 {
			t.Errorf("over %v: %d jobs wait and %d run, %+v", over, len(v.Queued), len(v.Running), c.status())
		}
	}
}

// TestClockOffset proves that the times of a log that are all shifted by the same offset are corrected, whether they
// are ahead or behind, and that no record is lost. A restart with another clock after each record changes nothing.
func TestClockOffset(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts at every step: not with -short")
	}
	lives := 20
	if os.Getenv("WAITCAST_LONG") != "" {
		lives = 40
	}
	stores(t, func(t *testing.T, open func(testing.TB) modelstore.Store) {
		for name, shift := range map[string]float64{"an hour ahead": 3600, "an hour behind": -3600,
			"30 days ahead": 30 * 86400, "6 minutes ahead": 360} {
			t.Run(name, func(t *testing.T) {
				undisturbed, killed := newClocked(t, newStore(t), nil), newClocked(t, open(t), nil)
				for i := range lives {
					second := float64(200 * i)
					for n, ev := range life(i, second, shift) {
						at := second + []float64{0, 10, 100}[n] + 0.5
						undisturbed.write(at, time.Second, ev)
						killed.write(at, time.Second, ev)
						undisturbed.tick(at + 1)
						killed.tick(at + 1)
						killed.now = killed.now.Add(-5 * time.Hour)
						killed.start()
					}
				}
				want := time.Duration(shift) * time.Second
				for _, c := range []*clocked{undisturbed, killed} {
					if s := c.status(); (s.ClockOffset-want).Abs() > time.Second || s.SetAside != 0 {
						t.Errorf("measured %s and %d set aside, want %s and 0", s.ClockOffset, s.SetAside, want)
					}
					end := at(float64(lives-1)*200 + 100)
					if v := c.p.View("c"); v.At.Sub(end).Abs() > 2*time.Second || v.Counts.Ended != int64(lives) {
						t.Errorf("as of %s after %d ends, want %s after %d", v.At, v.Counts.Ended, end, lives)
					}
				}
				if d := differences(undisturbed.journal(), killed.journal()); d != "" {
					t.Errorf("undisturbed (-) and killed (+) differ: %.2000s", d)
				}
			})
		}
	})
}

// TestClockLeftAlone proves that no time is corrected if the log's clock is about right. Jitter, hosts whose clocks
// differ by minutes, lines that are written or read late, and history do not count as an offset.
func TestClockLeftAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, of := range map[string]func(i int) (ahead float64, since time.Duration){
		"a few seconds":           func(int) (float64, time.Duration) { return rng.Float64()*6 - 3, time.Second },
		"four minutes ahead":      func(int) (float64, time.Duration) { return 240, time.Second },
		"four minutes behind":     func(int) (float64, time.Duration) { return -240, time.Second },
		"a disk that stood still": func(i int) (float64, time.Duration) { return -1800 + float64(i), 40 * time.Minute },
		"copied every half hour":  func(i int) (float64, time.Duration) { return float64(i%60)*30 - 1800, time.Second },
		"an old log again":        func(int) (float64, time.Duration) { return -1e6, time.Second },
		"history":                 func(int) (float64, time.Duration) { return -1e6, 1e6 * time.Second },
	} {
		c := newClocked(t, newStore(t), nil)
		var told []job.Event
		for i := range 120 {
			ahead, since := of(i)
			second := float64(10 * i)
			told = append(told, sized(event(job.Submit, fmt.Sprint(i), second+ahead), 1))
			c.write(second, since, told[i])
		}
		kept := c.journal()
		for i := range told {
			if !kept[i].Time.Equal(told[i].Time) {
				t.Fatalf("%s: event %d of %s is kept as of %s", name, i, told[i].Time, kept[i].Time)
			}
		}
		if s := c.status(); s.ClockOffset != 0 || s.SetAside != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestClockChanges proves that the correction follows an offset that begins, changes and ends. That happens when local
// times are read in a wrong zone and summer time begins or ends. No record is lost or dated ahead.
func TestClockChanges(t *testing.T) {
	c := newClocked(t, newStore(t), nil)
	second, n := 0.0, 0
	phase := func(shift float64) {
		for range 60 {
			second += 20
			n++
			c.write(second, time.Second, sized(event(job.Submit, fmt.Sprint(n), second+shift), 1))
			if v := c.p.View("c"); v.At.After(c.now.Add(clockTolerance)) {
				t.Fatalf("shifted by %v s: as of %s at %s", shift, v.At, c.now)
			}
		}
		want := time.Duration(shift) * time.Second
		if s := c.status(); s.ClockOffset != want {
			t.Errorf("shifted by %s: measured %s", want, s.ClockOffset)
		}
	}
	for _, shift := range []float64{0, 3600, 7200, 3600, 0, -3600, 0} {
		phase(shift)
	}
	c.tick(second + 7200)
	if s := c.status(); s.SetAside != 0 || len(c.journal()) != n {
		t.Errorf("%d events in the journal of %d, %+v", len(c.journal()), n, s)
	}
}

// TestClockConfigured proves that no offset is measured if one is configured.
func TestClockConfigured(t *testing.T) {
	none := time.Duration(0)
	c := newClocked(t, newStore(t), &none)
	for i := range 60 {
		c.write(float64(i), time.Second, sized(event(job.Submit, fmt.Sprint(i), float64(i)-3600), 1))
	}
	if s := c.status(); s.ClockOffset != 0 || !c.p.View("c").At.Equal(at(59-3600)) {
		t.Errorf("%+v, as of %s", s, c.p.View("c").At)
	}
}

// TestAsideBounded proves that the number of records that are set aside is limited. A record beyond the limit is a
// bad line.
func TestAsideBounded(t *testing.T) {
	c := newClocked(t, newStore(t), nil)
	var events []job.Event
	for i := range asideMost + 5 {
		events = append(events, sized(event(job.Submit, fmt.Sprint(i), 1e6+float64(i)), 1))
	}
	c.write(0, 24*time.Hour, events...)
	if s := c.status(); s.SetAside != asideMost {
		t.Errorf("%d set aside, want %d", s.SetAside, asideMost)
	}
	c.start()
	if s := c.status(); s.SetAside != asideMost {
		t.Errorf("%d set aside after a restart, want %d", s.SetAside, asideMost)
	}
}

// dying is a store whose process is killed after left further transactions.
type dying struct {
	modelstore.Store
	left int
	kill func()
}

func (s *dying) Commit(ctx context.Context, batch modelstore.Batch) error {
	if s.left == 0 {
		s.kill()
		return context.Canceled
	}
	s.left--
	return s.Store.Commit(ctx, batch)
}

// dieAfter passes a delivery to the writer, which is killed after the given number of transactions.
func (c *clocked) dieAfter(transactions int, d *source.Delivery) {
	c.t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	c.p.store, c.p.partEvents = &dying{c.store, transactions, kill}, 100
	if err := c.p.step(ctx, d, nil); err == nil {
		c.t.Fatalf("a delivery of %d events took at most %d transactions", len(d.Events), transactions)
	}
}

// TestClockKilledBetweenParts proves that all events of a delivery are judged by the same inputs. After a kill between
// two of its transactions, its lines are read again as history, later and with another clock. Their events are still
// corrected, kept or set aside as without the kill.
func TestClockKilledBetweenParts(t *testing.T) {
	if testing.Short() {
		t.Skip("restarts at every step: not with -short")
	}
	const hour, count = 3600, 300
	events := make([]job.Event, count)
	for i := range events {
		shift := float64(hour)
		switch {
		case i%100 == 60:
			shift = 20 * hour
		case i%100 >= 30 && i%100 < 40: // records of a host with a right clock
			shift = 0
		}
		events[i] = sized(event(job.Submit, fmt.Sprint(i), float64(i)/count+shift), 1)
	}
	run := func(t *testing.T, store modelstore.Store, killed ...float64) *clocked {
		c := newClocked(t, store, nil)
		delivery := func(since time.Duration) *source.Delivery {
			d := &source.Delivery{Source: c.src, Events: slices.Clone(events), Lines: count, Checkpoint: []byte("x"),
				Read: c.now, Since: c.now.Add(-since)}
			d.Ahead = map[int]source.BadLine{}
			for i := range events {
				d.Ahead[i] = source.BadLine{Path: "log", Number: int64(i + 1)}
			}
			return d
		}
		c.now = at(1)
		d := delivery(time.Second)
		for _, later := range killed {
			c.dieAfter(1, d)
			c.now = at(later)
			c.start()
			d = delivery(24 * time.Hour)
		}
		take(t, c.p, d)
		return c
	}
	stores(t, func(t *testing.T, open func(testing.TB) modelstore.Store) {
		for name, killed := range map[string][]float64{"once": {30 * 60}, "when the clock has passed all": {21 * hour},
			"with an earlier clock": {-5 * hour}} {
			undisturbed, killed := run(t, newStore(t)), run(t, open(t), killed...)
			if s := undisturbed.status(); s.ClockOffset != time.Hour || s.SetAside != 3 {
				t.Fatalf("undisturbed: %+v", s)
			}
			if a, b := undisturbed.status(), killed.status(); a.ClockOffset != b.ClockOffset ||
				a.SetAside != b.SetAside {
				t.Errorf("%s: undisturbed %+v, killed %+v", name, a, b)
			}
			for _, c := range []*clocked{undisturbed, killed} {
				bad, err := c.store.BadLines(t.Context(), 0)
				if err != nil || len(bad) != 3 {
					t.Errorf("%s: the quarantine has %d lines, want 3, %v", name, len(bad), err)
				}
				c.tick(22 * hour)
			}
			if d := differences(undisturbed.journal(), killed.journal()); d != "" {
				t.Errorf("%s: undisturbed (-) and killed (+) differ: %.2000s", name, d)
			}
			if data, err := killed.store.Checkpoints(t.Context()); err != nil ||
				strings.Contains(string(data[clockKey(killed.src.Name)]), `"open"`) {
				t.Errorf("%s: judgements are kept although the delivery is over: %s, %v", name,
					data[clockKey(killed.src.Name)], err)
			}
		}
	})
}

// TestClockOfAnswers proves that no offset is measured from the answers of a polled scheduler, because these have
// events of long ago. A record ahead of the clock is set aside once, even if the scheduler repeats it.
func TestClockOfAnswers(t *testing.T) {
	c := newClocked(t, newStore(t), nil)
	answer := func(seconds float64) {
		c.now = at(seconds)
		d := &source.Delivery{Source: c.src, Answered: true, CaughtUp: true, Read: c.now, Since: c.now}
		for i := range 30 { // an array, submitted two hours ago
			d.Events = append(d.Events, sized(event(job.Submit, fmt.Sprint(i), -7200), 1))
		}
		d.Events = append(d.Events, sized(event(job.Submit, "ahead", 7200), 1))
		take(t, c.p, d)
	}
	for i := range 5 {
		answer(float64(15 * i))
	}
	if s := c.status(); s.ClockOffset != 0 || s.SetAside != 1 || !c.p.View("c").At.Equal(at(-7200)) {
		t.Errorf("%+v, as of %s", s, c.p.View("c").At)
	}
	bad, err := c.store.BadLines(t.Context(), 0)
	if err != nil || len(bad) != 1 {
		t.Errorf("the quarantine has %d lines, want 1, %v", len(bad), err)
	}
	if c.tick(7200); c.status().SetAside != 0 || len(c.p.View("c").Queued) != 31 {
		t.Errorf("once the clock is there: %d jobs, %+v", len(c.p.View("c").Queued), c.status())
	}
}
