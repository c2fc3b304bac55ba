package forward_test

import (
	"errors"
	"testing"

	"github.com/waitcast/waitcast/predictor/forward"
)

const day = 86400.

// nights is a gate for limits above four hours that is shut in the daytime, seen from six in the morning on.
func nights() forward.Gate {
	g := forward.Gate{Over: 4 * 3600}
	for d := range 7 {
		g.Flips = append(g.Flips, float64(d)*day+2*3600, float64(d)*day+12*3600)
	}
	return g
}

// A gate recurs week after week: a long job that cannot start in the first night starts in the first one in which there
// is room, a short one as soon as there is.
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

// A job that is passed over because its gate is shut delays nobody: a shorter one behind it starts.
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

// A gate that never opens is an error, and does not hang.
func TestGateThatNeverOpens(t *testing.T) {
	s := &forward.State{Capacity: 8, Policy: forward.EASY, Gates: []forward.Gate{{Over: 60, Shut: true}, nights()}}
	var sim forward.Sim
	var never *forward.NeverError
	if _, err := sim.Waits(s, forward.Request{Procs: 1, Limit: 3600}, 1, 0, nil); !errors.As(err, &never) {
		t.Errorf("error %v, want a NeverError", err)
	}
}

// Gates that make no sense are refused by their field.
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
