package engine

import (
	"bytes"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster/fairshare"
	"github.com/waitcast/waitcast/cluster/joblimits"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// recounted compares the engine's counts of jobs with new counts.
func recounted(t *rapid.T, e *Engine) {
	all, running := track.JobCounts{}, track.Amount{}
	queues, users := map[string]*track.JobCounts{}, map[string][2]track.Amount{}
	live := 0
	for _, j := range e.tracker.Jobs {
		live++
		u := users[j.User]
		switch j.State {
		case track.Waiting:
			all.Add(j, 1)
			if queues[j.Queue] == nil {
				queues[j.Queue] = &track.JobCounts{}
			}
			queues[j.Queue].Add(j, 1)
			u[0].Add(j, 1)
		case track.Held:
			u[0].Add(j, 1)
		default:
			running.Add(j, 1)
			u[1].Add(j, 1)
		}
		users[j.User] = u
	}
	if all != e.tracker.Waiting || running != e.tracker.Running || int(running.Jobs) != len(e.tracker.RunningJobs) ||
		int(all.Total.Jobs) != len(e.tracker.Line.Waiting()) {
		t.Fatalf("counted %v waiting, %v running; %v and %v, in the line %d", e.tracker.Waiting.Total,
			e.tracker.Running, all.Total, running, len(e.tracker.Line.Waiting()))
	}
	for name, q := range e.tracker.Queues {
		want := track.JobCounts{}
		if queues[name] != nil {
			want = *queues[name]
		}
		if q.Waiting != want || len(q.Line.Waiting()) != int(want.Total.Jobs) {
			t.Fatalf("queue %q: counted %v, in the line %d, want %v", name, q.Waiting.Total,
				len(q.Line.Waiting()), want.Total)
		}
	}
	for name, u := range e.tracker.Users {
		if w := users[name]; u.UserFacts.Waiting != w[0] || u.UserFacts.Running != w[1] ||
			len(u.Line.Waiting()) != int(w[0].Jobs) {
			t.Fatalf("user %q: counted %v and %v, want %v", name, u.UserFacts.Waiting, u.UserFacts.Running, w)
		}
	}
}

func sound(t *rapid.T, f Forecast) {
	for _, q := range [][]float64{f.Quantiles, f.Combined} {
		for i, v := range q {
			if !(v >= 0) || math.IsInf(v, 0) || i > 0 && v < q[i-1] {
				t.Fatalf("quantiles %v", q)
			}
		}
	}
	if f.Quantiles == nil != (f.Basis == "") || f.JobsAhead < 0 || f.ProcsAhead < 0 || f.Free < 0 || f.Needed < 0 {
		t.Fatalf("forecast %+v", f)
	}
}

// requests draws requests, with valid and invalid numbers.
func requests() *rapid.Generator[track.Request] {
	return rapid.Custom(func(t *rapid.T) track.Request {
		return track.Request{
			Queue: rapid.SampledFrom([]string{"a", "b", "", "c"}).Draw(t, "queue"),
			User:  rapid.SampledFrom([]string{"x", "y", ""}).Draw(t, "user"),
			Procs: rapid.OneOf(rapid.IntRange(1, 40),
				rapid.SampledFrom([]int{-1, 0, 1 << 40, math.MaxInt})).Draw(t, "procs"),
			Limit: rapid.OneOf(rapid.Float64Range(0, 5000),
				rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -1, 1e300})).Draw(t, "limit"),
			Priority: rapid.SampledFrom([]float64{0, 0, 1, 500, 900, 1e300, math.NaN()}).Draw(t, "priority"),
			Account:  rapid.SampledFrom([]string{"lab", "", "other"}).Draw(t, "account"),
			QOS:      rapid.SampledFrom([]string{"normal", "", "odd"}).Draw(t, "qos"),
			Nodes:    rapid.SampledFrom([]int{0, 1, -7, math.MaxInt}).Draw(t, "nodes"),
			GPUs:     rapid.SampledFrom([]int{0, 1, 3, -7, math.MaxInt}).Draw(t, "gpus"),
			Memory:   rapid.SampledFrom([]int64{0, 1 << 30, -7, math.MaxInt64}).Draw(t, "memory"),
			Name:     rapid.SampledFrom([]string{"", "1", "2", "9", "9_1", "9_2"}).Draw(t, "name"),
			Array:    rapid.SampledFrom([]string{"", "", "9"}).Draw(t, "array"),
			After: rapid.SampledFrom([]string{"", "", "", "1", "2,1", "9_*", "9_1,7", "9_3", ",_,"}).
				Draw(t, "after"),
			Throttle: rapid.SampledFrom([]int{0, 0, 1, 2, -7, math.MaxInt}).Draw(t, "throttle"),
			Tasks:    rapid.SampledFrom([]int{0, 0, 1, 5, 300, -7, math.MaxInt}).Draw(t, "tasks"),
			Queues:   rapid.SampledFrom([]string{"", "", "a:0,b:-70", "b:5,c:0", "a", ":,:", "a:0"}).Draw(t, "queues"),
		}
	})
}

// drawLimits draws limits on running jobs, or nil for none.
func drawLimits(t *rapid.T) *joblimits.Set {
	some := rapid.SampledFrom([]int{0, 1, 2, 20, job.NoneAllowed, math.MaxInt})
	enforced := job.Enforced{Limits: rapid.Bool().Draw(t, "enforced")}
	preemption := rapid.SampledFrom([]*job.Preemption{nil, {By: "qos", Modes: []string{"CANCEL"}}}).
		Draw(t, "preemption")
	rules := []job.QOSRules{{Name: "normal", Preempts: []string{"odd"}}, {Name: "odd", GraceTime: 30e9}}
	return joblimits.New(&job.Facts{Enforced: enforced, Preemption: preemption, QOSRules: rules, Limits: []job.Limit{
		{QOS: "normal", PerUser: true, Jobs: some.Draw(t, "most jobs"), GPUs: some.Draw(t, "most GPUs")},
		{Account: "lab", Procs: some.Draw(t, "most procs"), Memory: int64(some.Draw(t, "most memory")),
			RunMinutes: job.Amounts{Procs: int64(some.Draw(t, "most minutes"))}},
	}})
}

// drawPriorities draws the rules by which priorities change, or nil for constant priorities.
func drawPriorities(t *rapid.T) *fairshare.Priorities {
	shares := rapid.IntRange(0, 3)
	return fairshare.NewPriorities(&job.Facts{
		Weights: &job.Weights{Age: rapid.IntRange(0, 1000).Draw(t, "age"), MaxAge: time.Hour,
			FairShare: rapid.SampledFrom([]int{0, 1000}).Draw(t, "fair share"), HalfLife: 5 * time.Minute,
			Period: time.Duration(rapid.IntRange(0, 100).Draw(t, "period")) * time.Second,
			Flags:  rapid.SampledFrom([][]string{nil, {"NO_FAIR_TREE"}, {"INCR_ONLY"}}).Draw(t, "flags")},
		AccountShares: []job.Share{{Account: "lab", Raw: shares.Draw(t, "raw"), Usage: 70}, {Account: "other", Raw: 1}},
		Shares: []job.Share{{Account: "lab", User: "x", Raw: 1, Usage: 70, Factor: .5},
			{Account: "lab", User: "y", Raw: shares.Draw(t, "raw"), Factor: 1}, {Account: "other", User: "x", Raw: 1}},
		Enforced: job.Enforced{Limits: rapid.Bool().Draw(t, "limits enforced")},
	})
}

// TestAnyEvents proves for any events in any order with any numbers that nothing fails, quantiles rise from 0, counts
// are right, and a restored engine gives the same forecasts.
func TestAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{First: 40, Downey: rapid.Bool().Draw(t, "downey")}
		e, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { e.Close() }()
		times := rapid.OneOf(rapid.Float64Range(0, 5000),
			rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e300, -5, 0}))
		var view *View
		clock := 0.0
		for range rapid.IntRange(1, 120).Draw(t, "events") {
			now := times.Draw(t, "now")
			if rapid.Bool().Draw(t, "forward") {
				clock += math.Abs(math.Mod(now, 100))
				if now = clock; math.IsNaN(clock) {
					clock = 0
				}
			}
			id := rapid.Uint64Range(0, 30).Draw(t, "id")
			r := requests().Draw(t, "request")
			fresh := 1000 + e.tracker.Entered // no job has this id
			switch rapid.IntRange(0, 17).Draw(t, "kind") {
			default:
				view = e.View(now)
				if got := view.Forecast(&r); view.Instant == e.tracker.Clock {
					want := e.Submit(now, fresh, r)
					if e.tracker.Clock == view.Instant && !same(got, want) {
						t.Fatalf("view %+v, submission %+v", got, want)
					}
				}
			case 1:
				sound(t, e.Submit(now, id, r))
			case 2:
				sound(t, e.SubmitAt(view, now, times.Draw(t, "later"), id, r))
			case 3, 4, 5:
				e.Start(now, id, rapid.Bool().Draw(t, "learn"))
			case 6, 7:
				e.End(now, id)
			case 8:
				e.Gone(now, id)
			case 9:
				e.Hold(now, id, Hold{Limit: rapid.Bool().Draw(t, "by a limit"), Until: times.Draw(t, "held until"),
					After: rapid.SampledFrom([]string{"", "1", "2,9", "9_*"}).Draw(t, "held after")})
			case 10:
				e.Release(now, id)
			case 11:
				e.Requeued(now, id)
			case 12:
				e.Lost(now, id)
			case 13:
				e.Update(now, id, r)
			case 14:
				e.SetPool(r.Queue, pools.PoolConfig{Name: r.User, Procs: r.Procs, PolicyKnown: true, Policy: 4,
					Order: []string{"b", "a"}})
				e.SetOutages(r.User, []pools.Outage{{From: now, Until: times.Draw(t, "until"), Procs: r.Procs}})
			case 15:
				data, err := e.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				other, _ := New(cfg)
				if err := other.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
				want, got := e.View(now).Forecast(&r), other.View(now).Forecast(&r)
				if !same(want, got) {
					t.Fatalf("restored %+v, want %+v", got, want)
				}
				e.Close()
				e = other
			case 16:
				e.SetLimits(drawLimits(t))
			case 17:
				e.SetPriorities(now, drawPriorities(t))
			}
			recounted(t, e)
			if view != nil && rapid.IntRange(0, 3).Draw(t, "asked") == 0 { // most of the time goes into forecasts
				sound(t, view.Forecast(&r))
			}
		}
	})
}

// TestBounded proves that memory is bounded, and that a user or queue with jobs is not forgotten.
func TestBounded(t *testing.T) {
	const users = 1000
	e := quick(t, Config{First: 1e9, Users: users})
	e.Submit(0, 0, track.Request{Queue: "stays", User: "stays", Procs: 1})
	for i := range uint64(3 * users) {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) +
			string(rune('a'+i/17576%26))
		r := track.Request{Queue: name, User: name, Procs: 1 + int(i%7)}
		e.tracker.Law(&track.Job{Request: r}, 0)
		now := float64(i)
		e.enter(now, now, i+1, r, &pendingForecast{}) // not forecast, which would take long
		e.Start(now, i+1, false)
		e.End(now+1, i+1)
	}
	if len(e.tracker.Users) > users || len(e.tracker.Queues) > track.MostQueues ||
		len(e.tracker.InOrder) != len(e.tracker.Queues) || len(e.tracker.Jobs) != 1 ||
		len(e.pools.PolicyLearner.Old.Queues) > pools.MaxLearntQueues {
		t.Errorf("%d users, %d queues, %d jobs, %d queues heard of", len(e.tracker.Users), len(e.tracker.Queues),
			len(e.tracker.Jobs), len(e.pools.PolicyLearner.Old.Queues))
	}
	if e.tracker.Users["stays"] == nil || e.tracker.Queues["stays"] == nil {
		t.Error("one that has a job was forgotten")
	}
	v := e.View(1e6)
	n := 0
	for i := range v.Users {
		n += len(v.Users[i])
	}
	if n != len(e.tracker.Users) || len(v.Queues.All) != len(e.tracker.Queues) {
		t.Errorf("the view knows %d users and %d queues, the engine %d and %d", n, len(v.Queues.All),
			len(e.tracker.Users), len(e.tracker.Queues))
	}
}

// TestForgetsByAge proves that users and runs that were not seen for longer than configured are forgotten, once per day
// of event time. A user with a job is not forgotten. An engine that is saved and restored at any event forgets the same
// at the same instants. What a copy forgets stays in its original.
func TestForgetsByAge(t *testing.T) {
	const day = 86400.
	cfg := Config{First: 1e9, ForgetAfter: 10 * 24 * time.Hour}
	e, witness := quick(t, cfg), quick(t, cfg)
	run := func(at float64, id uint64, user string, ends bool) {
		for _, of := range []*Engine{e, witness} {
			of.Submit(at, id, track.Request{Queue: "q", User: user, Procs: 2, Limit: 600})
			of.Start(at+5, id, true)
			if ends {
				of.End(at+60, id)
			}
		}
	}
	run(0, 1, "runs on", false)
	run(0, 2, "gone", true)
	run(100, 3, "other", true)
	for d := 1.; d < 15; d++ {
		run(d*day+100, 100+uint64(d), "daily", true)
		other := quick(t, cfg)
		data, err := witness.MarshalBinary()
		check(t, err)
		check(t, other.UnmarshalBinary(data))
		witness.Close()
		witness = other
		copied, err := e.Copy()
		check(t, err)
		copied.Submit((d+30)*day, 1000, track.Request{Queue: "q", User: "later", Procs: 1}) // only the copy forgets
		copied.Close()
		// what is 10 days old at the beginning of a day is forgotten then
		if kept := e.tracker.Users["gone"] != nil; kept != (d <= 10) {
			t.Errorf("day %v: a user who was seen on day 0 is kept: %v", d, kept)
		}
	}
	for _, name := range []string{"runs on", "daily"} {
		if e.tracker.Users[name] == nil {
			t.Errorf("user %q was forgotten", name)
		}
	}
	if f := e.Stats().Forgotten; f.UsersByAge != 2 || f.UsersForRoom != 0 || f.Laws.HistoriesByAge != 2 {
		t.Errorf("counted as forgotten: %+v", f)
	}
	if v := e.View(15 * day); v.Users.Find("gone") != nil || v.Users.Find("daily") == nil {
		t.Error("a view knows a user who was forgotten, or does not know one who was not")
	}
	one, err := e.MarshalBinary()
	check(t, err)
	two, err := witness.MarshalBinary()
	check(t, err)
	if !bytes.Equal(one, two) {
		t.Error("an engine that was restored again and again ends elsewhere")
	}
}

// fuzzed returns an engine for fuzzing its saved state.
func fuzzed(t testing.TB) *Engine {
	e, err := New(Config{First: 40, Downey: true})
	check(t, err)
	e.SetPool("short", pools.PoolConfig{Name: "p", Procs: 64, PolicyKnown: true, Policy: 4, Order: []string{"short"}})
	for _, h := range happenings(9, 60) {
		h.tell(e)
	}
	return e
}

// FuzzEngine proves that an engine refuses changed saved state, or continues with it.
func FuzzEngine(f *testing.F) {
	e := fuzzed(f)
	defer e.Close()
	data, err := e.MarshalBinary()
	check(f, err)
	fresh := func() codec.Savable {
		e, _ := New(Config{First: 40, Downey: true}) // as above
		return e
	}
	codectest.Fuzz(f, data, fresh, func(t *testing.T, v codec.Savable) {
		e := v.(*Engine)
		defer e.Close()
		e.Submit(1e9, 1, track.Request{Queue: "short", User: "u1", Procs: 3})
		e.Start(2e9, 1, true)
		_, err := e.MarshalBinary()
		check(t, err)
	})
}

// FuzzView proves that an engine refuses a changed saved view, or restores one that can forecast and can be saved.
func FuzzView(f *testing.F) {
	e := fuzzed(f)
	defer e.Close()
	data, err := e.View(0).MarshalBinary()
	check(f, err)
	codectest.Fuzz(f, data, func() codec.Savable { return &savableView{e: e} }, func(t *testing.T, v codec.Savable) {
		v.(*savableView).Forecast(&track.Request{Queue: "short", User: "u1", Procs: 3})
		_, err := v.MarshalBinary()
		check(t, err)
	})
}
