package users_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/workload/users"
)

func take(g *users.Generator, n int) []users.Arrival {
	var out []users.Arrival
	for a := range g.All() {
		if out = append(out, a); len(out) == n {
			break
		}
	}
	return out
}

// anyTrace draws a log of up to 60 weeks with users of all kinds.
func anyTrace(t *rapid.T) users.Trace {
	trace := users.Trace{Name: "drawn", End: float64(rapid.IntRange(20, 60).Draw(t, "weeks")) * week}
	add := func(user int64, at float64) {
		if at < trace.End {
			trace.Jobs = append(trace.Jobs, users.Job{
				Index: len(trace.Jobs), User: user, Procs: 1 + len(trace.Jobs)%7, Submit: at,
				Runtime: float64(len(trace.Jobs) % 5000), Estimate: 6000,
			})
		}
	}
	for user := range int64(rapid.IntRange(2, 12).Draw(t, "users")) {
		at := rapid.Float64Range(0, 18*week).Draw(t, "first")
		n := rapid.IntRange(1, 30).Draw(t, "jobs")
		gap := rapid.SampledFrom([]float64{0, 60, hour, day, week, 3 * week}).Draw(t, "gap")
		for range n {
			add(user, at)
			at += math.Floor(gap * rapid.Float64Range(0, 2).Draw(t, "x"))
		}
	}
	// One user of either kind, so that the selection is never empty.
	add(100, 9*week)
	add(101, week)
	add(101, 15*week)
	return trace
}

func anyConfig(t *rapid.T) users.Config {
	return users.Config{
		Seed: rapid.Uint64().Draw(t, "seed"), Load: rapid.Float64Range(.5, 4).Draw(t, "load"),
		Length: rapid.Float64Range(1, 150).Draw(t, "length") * week, Stationary: rapid.Bool().Draw(t, "stationary"),
	}
}

// TestEveryJobIsAJobOfItsUser proves for any log what resampling promises. Jobs are in the order of submission, moved
// by whole weeks and otherwise unchanged. Every member repeats the jobs of one user of the log, one by one and with the
// same gaps, independently of the other members.
func TestEveryJobIsAJobOfItsUser(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace, cfg := anyTrace(t), anyConfig(t)
		p, err := users.Split(trace, users.Options{Edge: -1})
		if err != nil {
			t.Fatal(err)
		}
		g, err := users.NewGenerator(cfg, users.Source{Pools: p})
		if err != nil {
			t.Fatal(err)
		}
		last := map[int64]users.Arrival{}
		now := 0.
		for a := range g.All() {
			original := trace.Jobs[a.Index]
			shift := a.Submit - original.Submit
			if a.Submit < now || a.Submit >= cfg.Length {
				t.Fatalf("job %d at %v after %v, end %v", a.Serial, a.Submit, now, cfg.Length)
			}
			now = a.Submit
			if weeks := shift / week; math.Abs(weeks-math.Round(weeks)) > 1e-9 {
				t.Fatalf("job %d was moved by %v weeks", a.Serial, weeks)
			}
			want := original
			want.Submit, want.User, want.Wait = a.Submit, a.User, -1
			if a.Job != want || a.Original.ID != original.User {
				t.Fatalf("job %+v is not %+v", a.Job, original)
			}
			if before, ok := last[a.User]; ok {
				follows(t, p, before, a, trace)
			}
			last[a.User] = a
		}
	})
}

// follows checks that a is the job of the same original user that follows the job before in the log, or that a begins
// another pass over that user's jobs.
func follows(t *rapid.T, p *users.Pools, before, a users.Arrival, trace users.Trace) {
	jobs := a.Original.Jobs
	at := slices.IndexFunc(jobs, func(j users.Job) bool { return j.Index == before.Index })
	if before.Original != a.Original {
		t.Fatalf("member %d is users %d and %d", a.User, before.Original.ID, a.Original.ID)
	}
	next := jobs[(at+1)%len(jobs)]
	if next.Index != a.Index {
		t.Fatalf("member %d: job %d follows %d", a.User, a.Index, before.Index)
	}
	gap, want := a.Submit-before.Submit, next.Submit-trace.Jobs[before.Index].Submit
	if at+1 < len(jobs) {
		if math.Abs(gap-want) > 1e-5 {
			t.Fatalf("member %d: %v s after the job before, %v s in the log", a.User, gap, want)
		}
		return
	}
	if a.Original.Class != users.LongTerm {
		t.Fatalf("%v member %d starts over", a.Original.Class, a.User)
	}
	if math.Abs(gap-want-p.End) > week {
		t.Fatalf("member %d: a pass takes %v weeks, the log %v", a.User, (gap-want)/week, p.Weeks())
	}
}

func TestSameSeedSameWorkload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := users.Split(anyTrace(t), users.Options{Edge: -1})
		if err != nil {
			t.Fatal(err)
		}
		cfg := anyConfig(t)
		run := func(cfg users.Config) []users.Arrival {
			g, err := users.NewGenerator(cfg, users.Source{Pools: p})
			if err != nil {
				t.Fatal(err)
			}
			return take(g, 300)
		}
		if !slices.Equal(run(cfg), run(cfg)) {
			t.Fatal("the same settings gave two workloads")
		}
		longer := cfg
		longer.Length *= 2
		short, long := run(cfg), run(longer)
		if !slices.Equal(short, long[:len(short)]) {
			t.Fatal("a longer workload begins in another way")
		}
	})
}

func TestSeedsDiffer(t *testing.T) {
	p := split(t, sample(), users.Options{})
	a := take(generator(t, users.Config{Seed: 1}, users.Source{Pools: p}), 200)
	b := take(generator(t, users.Config{Seed: 2}, users.Source{Pools: p}), 200)
	if slices.Equal(a, b) {
		t.Error("two seeds gave the same workload")
	}
}

// members returns, for each user of a pool, the set of the members that repeat this user.
func members(arrivals []users.Arrival, class users.Class) map[int64]map[int64]bool {
	out := map[int64]map[int64]bool{}
	for _, a := range arrivals {
		if a.Original.Class == class {
			if out[a.Original.ID] == nil {
				out[a.Original.ID] = map[int64]bool{}
			}
			out[a.Original.ID][a.User] = true
		}
	}
	return out
}

// TestNobodyIsReplicatedBeforeAllAreIn proves the paper's rule for long-term users, at any load: no user is selected
// for the second time before every user has been selected once, and so on.
func TestNobodyIsReplicatedBeforeAllAreIn(t *testing.T) {
	trace := users.Trace{End: 40 * week}
	for u := range int64(10) {
		trace.Jobs = append(trace.Jobs, campaign(u, 5, 150)...)
	}
	p := split(t, trace, users.Options{})
	rapid.Check(t, func(t *rapid.T) {
		load := rapid.Float64Range(.05, 5).Draw(t, "load")
		g, err := users.NewGenerator(users.Config{Seed: rapid.Uint64().Draw(t, "seed"), Load: load},
			users.Source{Pools: p})
		if err != nil {
			t.Fatal(err)
		}
		n, want := 0, int(math.Round(10*load))
		copies := members(take(g, math.MaxInt), users.LongTerm)
		for u := range int64(10) {
			k := len(copies[u])
			n += k
			if k != want/10 && k != want/10+1 {
				t.Fatalf("load %v: user %d is there %d times", load, u, k)
			}
		}
		if n != want {
			t.Fatalf("load %v: %d members of 10 users, want %d", load, n, want)
		}
	})
}

func TestReplicasStartFarApart(t *testing.T) {
	trace := users.Trace{End: 40 * week, Jobs: campaign(1, 0, 240)}
	for i := range trace.Jobs {
		trace.Jobs[i].Index = i
	}
	p := split(t, trace, users.Options{})
	first := map[int64]users.Arrival{}
	for a := range generator(t, users.Config{Load: 4}, users.Source{Pools: p}).All() {
		if _, ok := first[a.User]; !ok {
			first[a.User] = a
		}
	}
	var weeks []int
	for _, a := range first {
		weeks = append(weeks, a.Index/7)
	}
	slices.Sort(weeks)
	if len(weeks) != 4 {
		t.Fatalf("%d members", len(weeks))
	}
	for i := range weeks[1:] {
		if weeks[i+1]-weeks[i] < 6 {
			t.Errorf("replicas start in weeks %v of an activity of 35; want 8 or 9 apart", weeks)
		}
	}
}

// crowded returns a log of 60 weeks to which two temporary users come every week, for a week each. User 1000 has a
// flurry.
func crowded() users.Trace {
	trace := users.Trace{Name: "crowded", End: 60 * week}
	for i := range int64(120) {
		trace.Jobs = append(trace.Jobs, campaign(i, int(i)*7/2, 6)...)
	}
	for i := range 50 {
		trace.Jobs = append(trace.Jobs,
			users.Job{User: 1000, Procs: 1, Runtime: 1, Submit: 30*week + 3*day + float64(i)})
	}
	return trace
}

// newcomers returns how many members submit their first job in each week of the workload after the first week, by
// class.
func newcomers(arrivals []users.Arrival, class users.Class) map[int]int {
	seen, out := map[int64]bool{}, map[int]int{}
	for _, a := range arrivals {
		if !seen[a.User] && a.Original.Class == class && a.Submit >= week {
			out[int(a.Submit/week)]++
		}
		seen[a.User] = true
	}
	return out
}

func sum(counts map[int]int) float64 {
	n := 0
	for _, k := range counts {
		n += k
	}
	return float64(n)
}

func TestTemporaryUsersKeepComing(t *testing.T) {
	p := split(t, crowded(), users.Options{})
	const weeks = 2000
	arrivals := take(generator(t, users.Config{Length: weeks * week, Load: 1.5}, users.Source{Pools: p}), math.MaxInt)
	per := newcomers(arrivals, users.Temporary)
	// 1.5 times 2 per week, and a little for the flurry's user; the standard deviation of the mean is about .04.
	if mean := sum(per) / weeks; math.Abs(mean-1.5*p.Arrivals) > .16 || math.Abs(p.Arrivals-2) > .1 {
		t.Errorf("%v temporary users come a week; the log has %v", mean, p.Arrivals)
	}
	// No user comes twice in a week.
	seen := map[[2]int64]int64{}
	first := map[int64]bool{}
	for _, a := range arrivals {
		if first[a.User] || a.Submit < week {
			first[a.User] = true
			continue
		}
		first[a.User] = true
		key := [2]int64{a.Original.ID, int64(a.Submit / week)}
		if other, ok := seen[key]; ok {
			t.Fatalf("user %d came as members %d and %d in week %d", a.Original.ID, other, a.User, key[1])
		}
		seen[key] = a.User
	}
}

// TestRareBehaviorsComeAtTheirRate proves what the paper calls RB_NPW: on average RarePerWeek rare users come per week,
// in place of other temporary users: the number of both together does not change.
func TestRareBehaviorsComeAtTheirRate(t *testing.T) {
	p := split(t, crowded(), users.Options{Rare: []users.RareBehavior{{User: 1000, From: 0, Until: math.Inf(1)}}})
	const weeks = 4000
	for _, rate := range []float64{0, .125, .25, .5} {
		arrivals := take(generator(t, users.Config{Length: weeks * week, RarePerWeek: rate}, users.Source{Pools: p}),
			math.MaxInt)
		rare, regular := sum(newcomers(arrivals, users.Rare))/weeks, sum(newcomers(arrivals, users.Temporary))/weeks
		if math.Abs(rare-rate) > .04 || math.Abs(rare+regular-p.Arrivals) > .1 {
			t.Errorf("rate %v: %v rare and %v other users a week, want %v in all", rate, rare, regular, p.Arrivals)
		}
	}
}

func TestWeightsBiasTheWorkload(t *testing.T) {
	trace := users.Trace{End: 40 * week}
	for u := range int64(20) {
		trace.Jobs = append(trace.Jobs, campaign(u, 5, 150)...)
		trace.Jobs = append(trace.Jobs, campaign(100+u, 7*int(u)+50, 10)...)
	}
	p := split(t, trace, users.Options{})
	odd := func(u *users.User) float64 { return float64(u.ID % 2) }
	arrivals := take(generator(t, users.Config{Weight: odd}, users.Source{Pools: p}), math.MaxInt)
	for u, m := range members(arrivals, users.LongTerm) {
		if u%2 == 0 || len(m) != 2 {
			t.Errorf("long-term user %d is there %d times; want the odd ones twice", u, len(m))
		}
	}
	for u := range members(arrivals, users.Temporary) {
		if u%2 == 0 {
			t.Errorf("temporary user %d was selected", u)
		}
	}
}

// TestMixedLogsKeepWeekdayAndTimeOfDay mixes a log that begins on a Wednesday at noon with one that begins on a Sunday.
// The jobs of both keep their weekday and time of day.
func TestMixedLogsKeepWeekdayAndTimeOfDay(t *testing.T) {
	a, b := sample(), sample()
	a.Monday, b.Monday = 2.5*day, 6*day
	b.Start -= 3 * day
	for i := range b.Jobs {
		b.Jobs[i].Submit += 1e9
	}
	b.Start, b.End = 1e9-3*day, 1e9+30*week
	sources := []users.Source{
		{Pools: split(t, a, users.Options{})},
		{Pools: split(t, b, users.Options{}), LongTerm: 2, Temporary: 3, Procs: func(n int) int { return n * 5 }},
	}
	by := [2]int{}
	for x := range generator(t, users.Config{Length: 100 * week}, sources...).All() {
		by[x.Source]++
		trace, procs := &a, 2
		if x.Source == 1 {
			trace, procs = &b, 10
		}
		was := trace.Monday + trace.Jobs[x.Index].Submit
		if weeks := (a.Monday + x.Submit - was) / week; math.Abs(weeks-math.Round(weeks)) > 1e-6 || x.Procs != procs {
			t.Fatalf("job %d of source %d: %v weeks later, %d processors", x.Index, x.Source, weeks, x.Procs)
		}
	}
	if by[0] == 0 || float64(by[1])/float64(by[0]) < 1.7 {
		t.Errorf("%v jobs of the two; want more than twice as many of the second", by)
	}
}

func TestGeneratorRefuses(t *testing.T) {
	p := split(t, sample(), users.Options{})
	for name, c := range map[string]struct {
		cfg     users.Config
		sources []users.Source
		want    string
	}{
		"no source": {users.Config{}, nil, "no source"},
		"no pools":  {users.Config{}, []users.Source{{}}, "source 0"},
		"load":      {users.Config{Load: math.NaN()}, []users.Source{{Pools: p}}, "load factor"},
		"length":    {users.Config{Length: -1}, []users.Source{{Pools: p}}, "length"},
		"weight": {users.Config{Weight: func(*users.User) float64 { return -1 }}, []users.Source{{Pools: p}},
			"weight of user"},
		"no rare pool":   {users.Config{RarePerWeek: .1}, []users.Source{{Pools: p}}, "Options.Rare"},
		"factor":         {users.Config{}, []users.Source{{Pools: p, LongTerm: math.Inf(1)}}, "factor LongTerm"},
		"nothing at all": {users.Config{Load: .01}, []users.Source{{Pools: p, Temporary: -1}}, "no long-term user"},
		"rare above rate": {users.Config{RarePerWeek: 9},
			[]users.Source{
				{Pools: split(t, sample(), users.Options{Rare: []users.RareBehavior{{User: 3, Until: 1e9}}})},
			}, "more than"},
	} {
		if _, err := users.NewGenerator(c.cfg, c.sources...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error about %q", name, err, c.want)
		}
	}
	_, err := users.NewGenerator(users.Config{Load: .01}, users.Source{Pools: p, Temporary: -1})
	if !errors.Is(err, users.ErrNoJobs) {
		t.Errorf("%v does not wrap ErrNoJobs", err)
	}
}

func TestEndlessWorkloadIsAStream(t *testing.T) {
	p := split(t, sample(), users.Options{})
	for name, s := range map[string]users.Source{
		"all": {Pools: p}, "only long-term": {Pools: p, Temporary: -1}, "only temporary": {Pools: p, LongTerm: -1},
	} {
		got := take(generator(t, users.Config{Length: math.Inf(1)}, s), 20_000)
		if len(got) != 20_000 {
			t.Errorf("%s: the stream ended after %d jobs", name, len(got))
		}
	}
}
