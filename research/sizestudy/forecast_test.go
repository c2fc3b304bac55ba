package sizestudy

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/simulator"
)

// sure is a law of lifetimes under which every job has the same residual lifetime, in seconds.
type sure float64

func (s sure) Residual(float64, float64) float64 { return float64(s) }

// watch simulates a workload in which all jobs keep their requested sizes. It calls look whenever a job comes to the
// head of the queue or is submitted, depending on when.
func watch(t *testing.T, w *Workload, when simulator.MoldTime,
	look func(f *forecaster, p *simulator.Pool, j *simulator.Job)) {
	t.Helper()
	f := newForecaster(w, 1)
	s := must(simulator.New(simulator.Config{
		Procs: w.Procs, Policy: new(simulator.EASY), Arrivals: simulator.FromSlice(w.Jobs),
		Mold: &simulator.Mold{When: when, Choose: func(p *simulator.Pool, j *simulator.Job) { look(f, p, j) }},
	}))(t)
	if err := s.Advance(math.Inf(1), f.observe); err != nil {
		t.Fatal(err)
	}
}

// TestHeadIsForward proves that for the same lifetimes the waits at the head equal those of package forward, which the
// daemon uses.
func TestHeadIsForward(t *testing.T) {
	var sizes []size
	for _, n := range []int{1, 2, 3, 8, 21, 50, 100} {
		sizes = append(sizes, size{procs: n})
	}
	var sim forward.Sim
	asked, waited := 0, 0
	watch(t, stretch(t, 1500, .9, 1), simulator.AtHead, func(f *forecaster, p *simulator.Pool, _ *simulator.Job) {
		waits := f.head(p, sizes)
		if asked++; asked%7 != 0 {
			return
		}
		for future := range futures {
			state := forward.State{Capacity: p.Procs(), Policy: forward.EASY}
			for r := range p.Running() {
				job := p.Job(r)
				k, age := f.fate(job, p.Now()), p.Now()-job.Start
				state.Running = append(state.Running,
					forward.Running{Procs: p.Held(r), Age: age, Law: sure(k.law.Residual(age, k.levels[future]))})
			}
			for i, n := range sizes {
				want, err := sim.Waits(&state, forward.Request{Procs: n.procs}, 1, 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := waits[i][future]; math.Abs(got-want[0]) > 1e-6*(1+want[0]) {
					t.Fatalf("at %v, %d processors, future %d: %v s, forward says %v", p.Now(), n.procs, future,
						got, want[0])
				}
				if want[0] > 0 {
					waited++
				}
			}
		}
	})
	if waited < 1000 {
		t.Errorf("only %d waits were compared", waited)
	}
}

// TestJoining proves that the forecast wait at submission rises with the size of the job and, unless it is 0, is not
// shorter than the wait would be at the head. Of two consecutive jobs that find others waiting, the one with the longer
// forecast must usually wait longer, in 60 % of the pairs.
func TestJoining(t *testing.T) {
	sizes := []size{{1, 600}, {4, 600}, {16, 600}, {64, 600}, {100, 600}}
	w := stretch(t, 3000, .9, 1)
	played := must(w.Play(Settings{Rule: Request}))(t)
	var concordant, discordant float64
	var last, lastWait float64
	watch(t, w, simulator.AtSubmit, func(f *forecaster, p *simulator.Pool, j *simulator.Job) {
		if p.Waiting() == 0 {
			return
		}
		alone, waits := f.head(p, sizes), f.joining(p, sizes)
		for i := range sizes {
			for k := range futures {
				if waits[i][k] < alone[i][k]-1e-6 && waits[i][k] > 0 || i > 0 && waits[i][k] < waits[i-1][k]-1e-6 {
					t.Fatalf("%d processors: %v s, alone %v, fewer %v", sizes[i].procs, waits[i][k], alone[i][k],
						waits[max(0, i-1)][k])
				}
			}
		}
		own, sum := f.joining(p, []size{{j.Procs, j.Limit}}), 0.
		for _, x := range own[0] {
			sum += math.Log(x + 60)
		}
		wait := math.Log(played.Wait[j.ID] + 60)
		if d := (sum - last) * (wait - lastWait); d > 0 {
			concordant++
		} else if d < 0 {
			discordant++
		}
		last, lastWait = sum, wait
	})
	if !(concordant > 1.5*discordant) {
		t.Errorf("of neighbors %v are in order and %v are not", concordant, discordant)
	}
}
