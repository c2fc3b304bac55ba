package head

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/residual"
	"github.com/waitcast/waitcast/swf"
)

func load(t testing.TB, name string) *Trace {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/"+name+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tr, err := Read(f.Reader, 0)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestHeadOfQueue compares correlations on real logs with expected ones. For waitcast the expected correlations are
// targets. For Downey's combined predictor they come from a prototype of his method; a difference of 0.03 is allowed,
// because the lengths of his windows are not known. The correlations on CTC-SP2 and LANL-CM5 are only reported.
func TestHeadOfQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("replays traces; left out by -short")
	}
	for _, tc := range []struct {
		trace            string
		waitcast, downey float64
		long             bool
	}{
		{"SDSC-Par-1996-3.1-cln", .89, .77, false},
		{"KTH-SP2-1996-2.1-cln", .82, .61, true},
		{"SDSC-SP2-1998-4.2-cln", .80, .64, true},
		{"CTC-SP2-1996-3.1-cln", 0, 0, true},
		{"LANL-CM5-1994-4.1-cln", 0, 0, true},
	} {
		t.Run(tc.trace, func(t *testing.T) {
			if tc.long && os.Getenv("WAITCAST_LONG") == "" {
				t.Skip("long: set WAITCAST_LONG=1")
			}
			got, err := Run(load(t, tc.trace), Options{})
			if err != nil {
				t.Fatal(err)
			}
			scores := map[string]Score{}
			for _, s := range got.Methods {
				scores[s.Method] = s
				t.Logf("%-16s n %6d, r of logs %.4f, r %.3f, log-pinball %.4v, within 2 %.3f, within 3 %.3f, error "+
					"%.0f s, interval %.0f s, coverage %.3v",
					s.Method, s.N, s.RLog, s.R, s.LogPinball, s.WithinFactor2, s.WithinFactor3, s.MedianAbsError,
					s.Interval, s.Coverage)
			}
			own, exact := scores[Waitcast], scores[Exact]
			if own.RLog < tc.waitcast {
				t.Errorf("waitcast's correlation of logs is %.3f, want %.2f", own.RLog, tc.waitcast)
			}
			if r := scores[DowneyCombined].RLog; tc.downey > 0 && math.Abs(r-tc.downey) > .03 {
				t.Errorf("Downey's combined predictor has %.3f, want %.2f within .03", r, tc.downey)
			}
			if own.N < exact.N || own.RLog <= exact.RLog {
				t.Errorf("waitcast answers %d jobs with %.3f, exact %d with %.3f", own.N, own.RLog, exact.N, exact.RLog)
			}
			for _, level := range Levels() {
				name := levelName(level)
				if c := own.Coverage[name]; c[0] > level+.02 || c[1] < level-.02 {
					t.Errorf("the quantile at %s covers %.3f to %.3f", name, c[0], c[1])
				}
				if !(own.LogPinball[name] < exact.LogPinball[name]) {
					t.Errorf("at %s waitcast's loss is %.4f, exact's %.4f", name, own.LogPinball[name],
						exact.LogPinball[name])
				}
			}
		})
	}
}

// TestNoLeakage proves that forecasts use only the past. It changes everything after an instant: later submissions are
// missing, and the jobs that run or wait at the instant end at other times. All forecasts made up to the instant stay
// the same to the last bit.
func TestNoLeakage(t *testing.T) {
	if testing.Short() {
		t.Skip("replays traces; left out by -short")
	}
	for _, name := range []string{"KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "SDSC-Par-1996-3.1-cln"} {
		t.Run(name, func(t *testing.T) {
			trace := load(t, name)
			trace.Jobs = trace.Jobs[:2500]
			var all []Forecast
			if _, err := Run(trace, Options{Forecast: func(f Forecast) { all = append(all, f) }}); err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			for _, part := range []float64{.45, .8} {
				at := all[int(part*float64(len(all)))].At
				i := 0
				if _, err := Run(cut(t, trace, at, rng), Options{Forecast: func(f Forecast) {
					if f.At > at {
						return
					}
					want := all[i]
					i++
					if f.Job.ID != want.Job.ID || f.Method != want.Method || f.At != want.At {
						t.Fatalf("job %d at %v by %s, want job %d at %v by %s", f.Job.ID, f.At, f.Method, want.Job.ID,
							want.At, want.Method)
					}
					for k, q := range f.Quantiles {
						if math.Float64bits(q) != math.Float64bits(want.Quantiles[k]) {
							t.Fatalf("job %d, %s: %v, with the future known %v", f.Job.ID, f.Method, f.Quantiles,
								want.Quantiles)
						}
					}
				}}); err != nil {
					t.Fatal(err)
				}
				if i < 500 || all[i].At <= at {
					t.Fatalf("only %d forecasts compared", i)
				}
			}
		})
	}
}

// cut returns a copy of the trace that differs after the instant at: later submissions are missing, and jobs that have
// not ended by then get other runtimes.
func cut(t *testing.T, trace *Trace, at float64, rng *rand.Rand) *Trace {
	t.Helper()
	jobs, err := trace.schedule()
	if err != nil {
		t.Fatal(err)
	}
	out := &Trace{Procs: trace.Procs}
	for _, j := range jobs {
		if j.Submit > at {
			continue
		}
		if j.End > at {
			j.Runtime = 1 + math.Floor(20000*rng.Float64()) + max(0, at-j.Start)
		}
		out.Jobs = append(out.Jobs, j)
	}
	return out
}

// TestCampaignsEndTogether proves that DefaultRho agrees with traces: the residual lifetimes of jobs that run at the
// same time are correlated if the jobs have the same user, and hardly correlated otherwise.
func TestCampaignsEndTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("replays traces; left out by -short")
	}
	for _, name := range []string{
		"KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "SDSC-Par-1996-3.1-cln", "CTC-SP2-1996-3.1-cln",
	} {
		t.Run(name, func(t *testing.T) {
			trace := load(t, name)
			jobs, err := trace.schedule()
			if err != nil {
				t.Fatal(err)
			}
			c := &campaigns{laws: residual.New(residual.Config{})}
			if err := replay(jobs[:len(jobs)/2], trace.Procs, c); err != nil {
				t.Fatal(err)
			}
			mean := c.sum / c.n
			variance := c.squares/c.n - mean*mean
			same, other := (c.same/c.sames-mean*mean)/variance, (c.other/c.others-mean*mean)/variance
			t.Logf("correlation of one user's jobs %.3f, of different users' %.3f", same, other)
			if math.Abs(same-residual.DefaultRho) > .2 || math.Abs(other) > .1 {
				t.Errorf("correlation of one user's jobs %.3f, want %.1f within .2; of different users' %.3f, want 0 "+
					"within .1", same, residual.DefaultRho, other)
			}
		})
	}
}

// campaigns is a watcher that converts the residual lifetimes of running jobs to normal scores, and adds up the
// products of these for pairs of jobs that run at the same time.
type campaigns struct {
	laws                       *residual.Model
	same, sames, other, others float64
	n, sum, squares            float64
}

func (c *campaigns) started(i int64, j *Job) { c.laws.Started(i, j.Job, j.Start) }
func (c *campaigns) ended(i int64, j *Job)   { c.laws.Ended(i, j.End) }
func (c *campaigns) asked(a *ask) error {
	if a.passed < 500 || a.passed%5 != 0 {
		return nil
	}
	scores := make([]float64, len(a.running))
	for i, r := range a.running {
		law := c.laws.Law(r.Job, a.at)
		life := r.End - r.Start
		s := (law.Survival(life) + law.Survival(math.Nextafter(life, 0))) / 2 / law.Survival(a.at-r.Start)
		scores[i] = -math.Sqrt2 * math.Erfinv(2*max(.001, min(.999, s))-1)
		c.n, c.sum, c.squares = c.n+1, c.sum+scores[i], c.squares+scores[i]*scores[i]
	}
	for i, r := range a.running {
		var same, sames, other, others float64
		for k, o := range a.running {
			switch {
			case k == i:
			case o.User == r.User:
				same, sames = same+scores[i]*scores[k], sames+1
			default:
				other, others = other+scores[i]*scores[k], others+1
			}
		}
		if sames > 0 {
			c.same, c.sames = c.same+same/sames, c.sames+1
		}
		if others > 0 {
			c.other, c.others = c.other+other/others, c.others+1
		}
	}
	return nil
}
