package residual

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
)

// traced is one start or end of a recorded job.
type traced struct {
	at     float64
	id     int
	starts bool
}

type lived struct {
	Job
	seconds float64
}

func readTrace(t *testing.T, name string) ([]lived, []traced) {
	t.Helper()
	file, err := swf.Open(refdata.Shared(t, "traces/"+name+".swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var jobs []lived
	var events []traced
	var rec swf.Record
	for {
		if err := file.Next(&rec); errors.Is(err, io.EOF) {
			break
		} else if err != nil || !rec.Ran() || rec.Wait < 0 {
			continue
		}
		start := float64(rec.Submit + rec.Wait)
		events = append(events, traced{start, len(jobs), true}, traced{start + float64(rec.Runtime), len(jobs), false})
		jobs = append(jobs, lived{Job{
			Queue: file.Header().QueueName(&rec), User: strconv.FormatInt(rec.User, 10), Procs: int(rec.Procs()),
			Limit: float64(rec.TimeLimit),
		}, float64(rec.Runtime)})
	}
	slices.SortStableFunc(events, func(a, b traced) int { return cmp.Compare(a.at, b.at) })
	return jobs, events
}

// TestCalibratedOnTraces proves that the laws are calibrated. It uses the jobs of the second half of each trace, and
// laws that were made at their starts. A share near u of the lifetimes ends by the quantile of u. The same holds for
// the remaining lifetimes an hour after the start.
func TestCalibratedOnTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("replays traces; left out by -short")
	}
	for _, name := range []string{"KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "SDSC-Par-1996-3.1-cln"} {
		t.Run(name, func(t *testing.T) {
			jobs, events := readTrace(t, name)
			m := New(Config{})
			const cells = 4
			var whole, later [cells]float64
			n, late := 0.0, 0.0
			for i, e := range events {
				j := &jobs[e.id]
				if e.starts {
					m.Started(int64(e.id), j.Job, e.at)
				} else {
					m.Ended(int64(e.id), e.at)
					continue
				}
				if i < len(events)/2 {
					continue
				}
				law := m.Law(j.Job, e.at)
				addLevel(&whole, law, 0, j.seconds)
				n++
				if j.seconds > 3600 {
					addLevel(&later, law, 3600, j.seconds)
					late++
				}
			}
			for i := range cells {
				t.Logf("quarter %d: %.3f of %.0f jobs, %.3f of the %.0f an hour old", i, whole[i]/n, n,
					later[i]/late, late)
				if math.Abs(whole[i]/n-1./cells) > .06 || math.Abs(later[i]/late-1./cells) > .11 {
					t.Errorf("quarter %d of the law holds %.3f of the lifetimes and %.3f of what remained at an hour",
						i, whole[i]/n, later[i]/late)
				}
			}
		})
	}
}

// addLevel adds the part of a lifetime's level that lies in each quarter. A lifetime on an atom, or known only to the
// second, may lie anywhere in its range.
func addLevel(quarters *[4]float64, law *Law, age, seconds float64) {
	alive := law.Survival(age)
	from := 1 - law.Survival(max(age, seconds-.5))/alive
	until := 1 - law.Survival(seconds+.5)/alive
	// Killed jobs count for the atom and everything beyond it. KTH-SP2's clock kills up to two minutes early.
	if law.Limit() > age && seconds >= atLimit*law.Limit() {
		from = 1 - law.Survival(atLimit*law.Limit())/alive
		until = 1
	}
	width := max(1e-9, until-from)
	for q := range quarters {
		lo, hi := float64(q)/4, float64(q+1)/4
		quarters[q] += max(0, min(hi, from+width)-max(lo, from)) / width
	}
}
