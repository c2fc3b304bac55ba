package pools

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/predictor/engine/track"
)

// members draws jobs whose sizes are powers of two and whose limits are the largest of their classes, so that the
// classes lose no information.
func members(t *rapid.T, name string) []Member {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Member {
		return Member{
			key: 1, group: rapid.Uint64Range(1, 3).Draw(t, "user"), Procs: 1 << rapid.IntRange(0, 5).Draw(t, "size"),
			Limit:    classLimits[rapid.IntRange(0, len(classLimits)-1).Draw(t, "limit")],
			Start:    float64(rapid.IntRange(0, 900).Draw(t, "start")),
			Submit:   float64(rapid.IntRange(0, 900).Draw(t, "submit")),
			Expected: float64(rapid.IntRange(1, 4000).Draw(t, "expected")),
			Queue:    rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue"),
		}
	}), 0, 60).Draw(t, name)
}

// classLimits holds the largest time limits of some classes (track.LimitClass); 0 means no limit.
var classLimits = []float64{60, 120, 240, 480, 960, 0}

func drawnFacts(t *rapid.T) *Facts {
	f := &Facts{Procs: rapid.IntRange(0, 400).Draw(t, "procs"), Running: members(t, "running"),
		Waiting: members(t, "waiting")}
	for i := range f.Running {
		f.inUse.Jobs++
		f.inUse.Procs += float64(f.Running[i].Procs)
	}
	return f
}

// groupOf computes a Group of ages directly.
func groupOf(ages []float64) Group {
	g := noGroup()
	if len(ages) > 0 {
		g = Group{float64(len(ages)), slices.Max(ages), slices.Min(ages)}
	}
	return g
}

func alike(a, b Group) bool {
	same := func(x, y float64) bool { return x == y || x != x && y != y }
	return a.Jobs == b.Jobs && same(a.Oldest, b.Oldest) && same(a.Newest, b.Newest)
}

// TestWaiters proves that each group consists of the jobs that its comment names. A census of the same jobs gives the
// same groups if classes are exact.
func TestWaiters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawnFacts(t)
		const at = 5000
		r := track.Request{Queue: "a", Procs: 1 << rapid.IntRange(0, 5).Draw(t, "size"),
			Limit: rapid.SampledFrom(classLimits).Draw(t, "limit")}
		got := f.Waiters(at, &r, 2)
		noLonger := func(j *Member) bool { return r.Limit <= 0 || j.Limit > 0 && j.Limit <= r.Limit }
		pick := func(of func(*Member) bool) Group {
			var ages []float64
			for i := range f.Waiting {
				if of(&f.Waiting[i]) {
					ages = append(ages, at-f.Waiting[i].Submit)
				}
			}
			return groupOf(ages)
		}
		fits := func(j *Member) bool { return j.Procs <= f.Free(at) }
		smaller := 0.0
		for _, j := range f.Waiting {
			if j.Procs <= r.Procs {
				smaller += float64(j.Procs)
			}
		}
		for _, c := range []struct {
			name      string
			got, want Group
		}{
			{"fitting", got.Fitting, pick(fits)},
			{"dominated", got.Dominated, pick(func(j *Member) bool {
				return fits(j) && j.Procs <= r.Procs && noLonger(j)
			})},
			{"of the queue", got.OfQueue, pick(func(j *Member) bool { return fits(j) && j.Queue == "a" })},
			{"larger", got.Larger, pick(func(j *Member) bool { return j.Procs > r.Procs })},
			{"smaller", got.Smaller, pick(func(j *Member) bool { return j.Procs <= r.Procs })},
			{"same user", got.SameUser, pick(func(j *Member) bool { return j.Procs == r.Procs && j.group == 2 })},
		} {
			if !alike(c.got, c.want) {
				t.Fatalf("%s: %v, want %v", c.name, c.got, c.want)
			}
		}
		if got.SmallerProcs != smaller {
			t.Fatalf("%v processors, want %v", got.SmallerProcs, smaller)
		}
		counted := newCensus(1000, f).waiters(at, f.Free(at), &r)
		for _, c := range [][2]Group{{counted.Fitting, got.Fitting}, {counted.Dominated, got.Dominated},
			{counted.Larger, got.Larger}, {counted.Smaller, got.Smaller}} {
			if !alike(c[0], c[1]) {
				t.Fatalf("counted %+v, want %+v", counted, got)
			}
		}
		if counted.SmallerProcs != smaller || math.Abs(counted.MeanAge-got.MeanAge) > 1e-6 {
			t.Fatalf("counted %+v, want %+v", counted, got)
		}
	})
}

// TestVacancy proves that Vacancy gives the same results as a list of the running jobs sorted by their ends, and so
// does a census of up to 128 processors.
func TestVacancy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawnFacts(t)
		const at = 1000
		procs := rapid.IntRange(1, 500).Draw(t, "request")
		var c Scratch
		got := f.Vacancy(at, &track.Request{Procs: procs}, &c)
		limits, expected := f.endings(at, nil, nil)
		for _, by := range []struct {
			got  VacancyBy
			ends []ending
		}{{got.ByLimits, limits}, {got.ByExpected, expected}} {
			want := plainVacancy(by.ends, f.Free(at), procs)
			same := by.got.Seconds == want.Seconds || math.IsNaN(by.got.Seconds) && math.IsNaN(want.Seconds)
			if !same || by.got.InAnHour != want.InAnHour || by.got.InFourHours != want.InFourHours {
				t.Fatalf("%+v, want %+v", by.got, want)
			}
			if f.inUse.Procs > censusPoints {
				continue
			}
			releases := newReleases(at, slices.Clone(by.ends))
			counted := releases.by(at, f.Free(at), procs)
			same = math.Abs(counted.Seconds-want.Seconds) < 1e-6 ||
				math.IsNaN(counted.Seconds) && math.IsNaN(want.Seconds)
			if !same || counted.InAnHour != want.InAnHour || counted.InFourHours != want.InFourHours {
				t.Fatalf("counted %+v, want %+v", counted, want)
			}
		}
	})
}

// plainVacancy computes the result of vacancyBy from a sorted list.
func plainVacancy(ends []ending, free, procs int) VacancyBy {
	ends = slices.SortedFunc(slices.Values(ends), func(a, b ending) int { return cmp.Compare(a.in, b.in) })
	out := VacancyBy{Seconds: math.NaN(), InAnHour: float64(free), InFourHours: float64(free)}
	if procs <= free {
		out.Seconds = 0
	}
	sum := free
	for _, e := range ends {
		if sum += e.procs; sum >= procs && math.IsNaN(out.Seconds) {
			out.Seconds = e.in
		}
		if e.in <= 3600 {
			out.InAnHour += float64(e.procs)
		}
		if e.in <= 4*3600 {
			out.InFourHours += float64(e.procs)
		}
	}
	return out
}

// TestCensusIsCoarse proves that a census of more processors than it has points is late by at most the processors of
// one point.
func TestCensusIsCoarse(t *testing.T) {
	var ends []ending
	for i := range 10_000 {
		ends = append(ends, ending{float64(i + 1), 1 + i%3})
	}
	total := 0
	for _, e := range ends {
		total += e.procs
	}
	r := newReleases(0, slices.Clone(ends))
	if len(r.ends) > censusPoints {
		t.Fatalf("%d points, want at most %d", len(r.ends), censusPoints)
	}
	for procs := 1; procs <= total; procs += 97 {
		exact := plainVacancy(ends, 0, procs).Seconds
		late := plainVacancy(ends, 0, min(total, procs+total/censusPoints+3)).Seconds
		if got := r.by(0, 0, procs).Seconds; !(got >= exact && got <= late) {
			t.Fatalf("%d processors: %v, want from %v to %v", procs, got, exact, late)
		}
	}
}
