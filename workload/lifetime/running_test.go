package lifetime_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/waitcast/waitcast/workload/lifetime"
)

// arrival is a job that begins at an instant and lives for life seconds.
type arrival struct{ start, life float64 }

// play lets a selector observe jobs in the order of their ends, up to an instant, and returns the selector.
func play(t testing.TB, s *lifetime.Selector, jobs []arrival, until float64,
	after func(*lifetime.Selector) *lifetime.Selector) *lifetime.Selector {
	t.Helper()
	ended := map[int]bool{}
	for {
		next := -1
		for i, j := range jobs {
			if !ended[i] && j.start+j.life <= until && (next < 0 || j.start+j.life < jobs[next].start+jobs[next].life) {
				next = i
			}
		}
		if next < 0 {
			return s
		}
		ended[next] = true
		now := jobs[next].start + jobs[next].life
		err := s.ObserveAt(lifetime.Observation{Seconds: jobs[next].life}, jobs[next].start,
			func(since float64) (ages []float64) {
				for i, j := range jobs {
					if !ended[i] && j.start <= now && j.start >= since {
						ages = append(ages, now-j.start)
					}
				}
				return ages
			})
		if err != nil {
			t.Fatal(err)
		}
		if after != nil {
			s = after(s)
		}
	}
}

func stream(n int, gap, mean float64, seed uint64) []arrival {
	rng := rand.New(rand.NewPCG(seed, 3))
	var out []arrival
	at := 0.0
	for range n {
		at += rng.ExpFloat64() * gap
		out = append(out, arrival{at, 1 + rng.ExpFloat64()*mean})
	}
	return out
}

// TestRunningJobsAreCounted proves that laws take running jobs into account. At the beginning of a log mostly short
// jobs have ended. The law must nevertheless be near that of all jobs, not near that of the ended ones.
func TestRunningJobsAreCounted(t *testing.T) {
	const mean = 1000.
	jobs := stream(600, 2, mean, 1) // within about 1.2 mean lifetimes
	candidates := lifetime.Candidates(0)
	with := play(t, lifetime.NewSelector(candidates, lifetime.Options{}), jobs, 600, nil)
	without := lifetime.NewSelector(candidates, lifetime.Options{})
	for _, j := range jobs {
		if j.start+j.life <= 600 {
			observe(t, without, lifetime.Observation{Seconds: j.life})
		}
	}
	aware, blind := with.Law(lifetime.NameKaplanMeier), without.Law(lifetime.NameKaplanMeier)
	if aware == nil || blind == nil {
		t.Fatalf("no law after %d and %d jobs", with.Seen(), without.Seen())
	}
	const at = 200.
	truth := math.Exp(-(at - 1) / mean)
	if a, b := aware.Survival(at), blind.Survival(at); math.Abs(a-truth) > .05 || b > truth-.2 {
		t.Errorf("alive after %v s: %.3f with the running jobs, %.3f without; in truth %.3f", at, a, b, truth)
	}
}

// TestWindowByStartKeepsTheLaw proves that the fitted law stays near the true one after observations have left the
// window. Then laws are fitted to the jobs that began after a certain instant (see ObserveAt). If jobs live longer than
// the window, too few jobs began after it, and laws are fitted to the latest observations.
func TestWindowByStartKeepsTheLaw(t *testing.T) {
	const mean = 1000.
	for name, gap := range map[string]float64{"window longer than lives": 20, "window shorter than lives": .5} {
		jobs := stream(8000, gap, mean, 2) // at least four lives, so that leaving jobs live as long as new ones
		s := play(t, lifetime.NewSelector(lifetime.Candidates(0), lifetime.Options{Window: 400, Refit: 100}), jobs,
			jobs[len(jobs)-1].start, nil)
		law := s.Law(lifetime.NameKaplanMeier)
		for _, at := range []float64{300, 1000} {
			// 400 jobs: three standard errors
			if got, want := law.Survival(at), math.Exp(-(at-1)/mean); math.Abs(got-want) > .09 {
				t.Errorf("%s: alive after %v s: %.3f, want %.3f", name, at, got, want)
			}
		}
	}
}

// TestRestartWithRunningJobs proves that a selector with starts and running jobs is saved and restored at any moment
// without a change.
func TestRestartWithRunningJobs(t *testing.T) {
	jobs := stream(900, 20, 1000, 4)
	candidates := lifetime.Candidates(0)
	whole := play(t, lifetime.NewSelector(candidates, small), jobs, 20_000, nil)
	n := 0
	restarted := play(t, lifetime.NewSelector(candidates, small), jobs, 20_000,
		func(s *lifetime.Selector) *lifetime.Selector {
			if n++; n%23 != 0 {
				return s
			}
			back := lifetime.NewSelector(candidates, lifetime.Options{})
			if err := back.UnmarshalBinary(must[[]byte](t)(s.MarshalBinary())); err != nil {
				t.Fatal(n, ": ", err)
			}
			return back
		})
	if whole.Seen() < 500 || whole.Seen() != restarted.Seen() {
		t.Fatalf("%d and %d jobs", whole.Seen(), restarted.Seen())
	}
	for _, c := range candidates {
		if !reflect.DeepEqual(whole.Law(c.Name), restarted.Law(c.Name)) {
			t.Errorf("%s differs after restarts", c.Name)
		}
	}
	if a, b := must[[]byte](t)(whole.MarshalBinary()), must[[]byte](t)(restarted.MarshalBinary()); !bytes.Equal(a, b) {
		t.Error("bytes differ")
	}
}
