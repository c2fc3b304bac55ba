package pools

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward/learn"
)

// policyEvents draws a history of jobs in three queues that are submitted, start and end. Some events are of unknown
// jobs.
func policyEvents(n int) []policyEvent {
	rng := rand.New(rand.NewPCG(3, 5))
	var out []policyEvent
	at := 1e6
	for range n {
		at += float64(rng.IntN(90))
		e := policyEvent{kind: byte(rng.IntN(3)), at: at, id: uint64(rng.IntN(n/4 + 1))}
		if e.kind == submitEvent {
			e.job = &learn.Job{ID: int64(e.id), Queue: fmt.Sprint("q", rng.IntN(3)), Procs: 1 + rng.IntN(8), Limit: 600}
		}
		out = append(out, e)
	}
	return out
}

func (e *policyEvent) tell(h *policyHistory) {
	if e.job != nil {
		h.submit(e.at, e.id, e.job)
	} else {
		h.other(e.kind, e.at, e.id)
	}
}

func savedHistory(h *policyHistory) []byte {
	var w codec.Writer
	h.write(&w)
	return w
}

// TestCopiedHistoriesGoOnTheSame proves that a copy of a history, and a copy of that copy, learn the same from further
// events as the original, with the same counts, and do not change the original.
func TestCopiedHistoriesGoOnTheSame(t *testing.T) {
	events := policyEvents(3000)
	for _, cut := range []int{0, 1, 700, 2500} {
		plain, original := newPolicyHistory(), newPolicyHistory()
		for i := range events[:cut] {
			events[i].tell(plain)
			events[i].tell(original)
		}
		before := savedHistory(original)
		first := original.copied()
		middle := (cut + len(events)) / 2
		for i := range events[cut:middle] {
			events[cut+i].tell(plain)
			events[cut+i].tell(first)
		}
		second := first.copied()
		for i := range events[middle:] {
			events[middle+i].tell(plain)
			events[middle+i].tell(second)
		}
		if second.learner != nil {
			t.Fatal("a copy learns before it is asked")
		}
		if n := plain.n; second.reaches(n+1) || !second.copied().reaches(n) {
			t.Errorf("cut %d: the copy has %d events, want %d", cut, second.n, n)
		}
		if got, want := second.pools(), plain.pools(); !reflect.DeepEqual(got, want) {
			t.Errorf("cut %d: the copy finds %+v, want %+v", cut, got, want)
		}
		if !bytes.Equal(savedHistory(second), savedHistory(plain)) {
			t.Errorf("cut %d: the copy is saved in other bytes", cut)
		}
		if !bytes.Equal(savedHistory(original), before) {
			t.Errorf("cut %d: a copy has changed its original", cut)
		}
	}
}

// TestCopiedLearnersRotate proves that a copy begins a second learner at the same event as its original machine, and
// that the learners of both receive the same numbers of events.
func TestCopiedLearnersRotate(t *testing.T) {
	machine := func() *Machine {
		m := New(Config{Synchronous: true}, track.NewTracker([]float64{.5}, 0, track.Memory{}))
		t.Cleanup(m.Close)
		return m
	}
	plain := machine()
	at, id := 0.0, uint64(0)
	step := func(machines ...*Machine) {
		at++
		id++
		for _, m := range machines {
			j := &track.Job{Request: track.Request{Queue: "q", Procs: 1}, ID: id}
			m.LearnSubmit(at, j)
			m.LearnEvent(EndEvent, at, j)
		}
	}
	for range learnerEvents/2 - 3 {
		step(plain)
	}
	copied := machine()
	copied.PolicyLearner = plain.PolicyLearner.copied()
	for i := range 6 {
		step(plain, copied)
		young, copiedYoung := plain.PolicyLearner.young != nil, copied.PolicyLearner.young != nil
		if young != copiedYoung || young != (i >= 2) {
			t.Fatalf("step %d: there is a second learner: %v, in the copy: %v", i, young, copiedYoung)
		}
	}
	if plain.PolicyLearner.Old.n != copied.PolicyLearner.Old.n ||
		plain.PolicyLearner.young.n != copied.PolicyLearner.young.n {
		t.Error("the copy has received other events")
	}
}
