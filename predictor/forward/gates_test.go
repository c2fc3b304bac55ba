package forward_test

import (
	"errors"
	"testing"

	"github.com/waitcast/waitcast/predictor/forward"
)

const day = 86400.

// nights returns a gate for limits above four hours that is shut from 8:00 to 18:00 of each day. It is open now, at
// 6:00.
func nights() forward.Gate {
	g := forward.Gate{Over: 4 * 3600}
	for d := range 7 {
		g.Flips = append(g.Flips, float64(d)*day+2*3600, float64(d)*day+12*3600)
	}
	return g
}

// TestGatesRecur proves that a gate recurs every week. A long job that cannot start in the first night starts in the
// first night with room, and a short one as soon as there is room.
func TestGatesRecur(t *testing.T) {
	s := &forward.State{Capacity: 8, Policy: forward.EASY, Gates: []forward.Gate{nights()},
		Running: []forward.Running{{Procs: 8, Limit: 20 * day, Law: sure(8*day + 3*3600)}}}
	for _, c := range []struct{ limit, want float64 }{
		{4 * 3600, 8*day + 3*3600}, {4*3600 + 1, 8*day + 12*3600}, {0, 8*day + 12*3600},
	} {
		var sim forward.Sim
		got, err := sim.Waits(s, forward.Request{Procs: 1, Limit: c.limit}, 1, 0, nil)
		if w := one(t, got, err); w != c.want {
			t.Errorf("limit %v: wait %v, want %v", c.limit, w, c.want)
		}
	}
}

// TestGatesOfDecades proves that skipping weeks of flips changes nothing: a job behind one that runs for decades starts
// at the right instant for its gate. A gate that applies to a job only from then on is also in the right state.
func TestGatesOfDecades(t *testing.T) {
	for _, end := range []float64{3*forward.Week + 3*3600, 50*forward.Week + 3*3600, 5000*forward.Week + 3*3600} {
		s := &forward.State{Capacity: 8, Policy: forward.EASY, Gates: []forward.Gate{nights()},
			Running: []forward.Running{{Procs: 8, Law: sure(end)}}, Waiting: []forward.Waiting{
				{Procs: 8, Limit: 5 * 3600, Law: sure(3600)}, {Procs: 1, Limit: 3600, Law: sure(3600)}}}
		for _, c := range []struct{ limit, want float64 }{{4 * 3600, end}, {0, end + 10*3600}} {
			var sim forward.Sim
			got, err := sim.Waits(s, forward.Request{Procs: 1, Limit: c.limit}, 1, 0, nil)
			if w := one(t, got, err); w != c.want {
				t.Errorf("until %v, limit %v: wait %v, want %v", end, c.limit, w, c.want)
			}
		}
	}
}

// BenchmarkGatesOfDecades plays a future in which a job behind a gate waits for one that runs for almost a century.
func BenchmarkGatesOfDecades(b *testing.B) {
	s := &forward.State{Capacity: 8, Policy: forward.EASY, Gates: []forward.Gate{nights()},
		Running: []forward.Running{{Procs: 8, Law: sure(5000 * forward.Week)}}}
	var sim forward.Sim
	for b.Loop() {
		if _, err := sim.Waits(s, forward.Request{Procs: 1}, 1, 0, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestShutGateDelaysNobody proves that a job that is skipped because its gate is shut delays no other job: a shorter
// job behind it starts.
func TestShutGateDelaysNobody(t *testing.T) {
	g := nights()
	g.Shut, g.Flips = true, append(g.Flips[1:], forward.Week)
	s := &forward.State{Capacity: 8, Policy: forward.FCFS, Gates: []forward.Gate{g},
		Waiting: []forward.Waiting{{Procs: 8, Limit: 5 * 3600, Law: sure(3600)}}}
	var sim forward.Sim
	got, err := sim.Waits(s, forward.Request{Procs: 8, Limit: 3600}, 1, 0, nil)
	if w := one(t, got, err); w != 0 {
		t.Errorf("a short job behind one whose gate is shut waits %v s, want 0", w)
	}
	got, err = sim.Waits(s, forward.Request{Procs: 8, Limit: 5 * 3600}, 1, 0, nil)
	if w := one(t, got, err); w != 12*3600+3600 {
		t.Errorf("the long job behind it waits %v s, want until it has ended in the night", w)
	}
}

// TestGateThatNeverOpens proves that a gate that never opens is an error and does not hang the simulation.
func TestGateThatNeverOpens(t *testing.T) {
	s := &forward.State{Capacity: 8, Policy: forward.EASY, Gates: []forward.Gate{{Over: 60, Shut: true}, nights()}}
	var sim forward.Sim
	var never *forward.NeverError
	if _, err := sim.Waits(s, forward.Request{Procs: 1, Limit: 3600}, 1, 0, nil); !errors.As(err, &never) {
		t.Errorf("error %v, want a NeverError", err)
	}
}

// TestBadGates proves that invalid gates are refused with their field.
func TestBadGates(t *testing.T) {
	for name, gates := range map[string][]forward.Gate{
		"odd":        {{Over: 1, Flips: []float64{5}}},
		"not rising": {{Over: 1, Flips: []float64{5, 5}}},
		"past":       {{Over: 1, Flips: []float64{0, 5}}},
		"late":       {{Over: 1, Flips: []float64{5, forward.Week + 1}}},
		"over":       {{Over: -1}},
		"order":      {{Over: 2}, {Over: 2}},
	} {
		var sim forward.Sim
		s := &forward.State{Capacity: 1, Gates: gates}
		if _, err := sim.Waits(s, forward.Request{Procs: 1}, 1, 0, nil); !errors.Is(err, forward.ErrBadInput) {
			t.Errorf("%s: error %v, want ErrBadInput", name, err)
		}
	}
}
