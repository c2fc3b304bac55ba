package livemodels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
)

// leave adds a job that left to a history. With negative seconds the job never ran.
func leave(h *history, user, queue string, submit, seconds float64) {
	j := &cluster.Job{Order: at(submit)}
	j.User, j.Queue, j.Procs, j.TimeLimit = user, queue, 4, time.Hour
	h.add(j, 30*time.Second, seconds)
}

// TestHistoryIsBounded proves that a history keeps the newest jobs, at most the configured number. It forgets a user
// together with the user's last job, and never stores the name of a user.
func TestHistoryIsBounded(t *testing.T) {
	const limit = 5000
	h := newHistory(limit)
	for i := range 4 * limit {
		leave(h, fmt.Sprintf("secret%d", i/10), "q", float64(i), 5)
		if h.n > limit || len(h.users) != len(h.hashes) {
			t.Fatalf("%d jobs of %d users, %d hashes after %d", h.n, len(h.users), len(h.hashes), i+1)
		}
	}
	jobs, origin := h.view().Jobs("q")
	if len(jobs) < limit-blockJobs || len(jobs) > limit || len(h.users) > len(jobs)/10+1 {
		t.Errorf("%d jobs of %d users are kept, want nearly %d", len(jobs), len(h.users), limit)
	}
	if newest := origin.Add(time.Duration(jobs[len(jobs)-1].Submit) * time.Second); !newest.Equal(at(4*limit - 1)) {
		t.Errorf("the newest is of %s", newest)
	}
	if bytes.Contains(savedHistory(t, h), []byte("secret")) {
		t.Error("what is saved names a user")
	}
	none := newHistory(0)
	if leave(none, "u", "q", 0, 5); none.n != 0 || none.view().Limit != 0 {
		t.Errorf("%d jobs are kept of none", none.n)
	}
}

// TestJobsOfAForgottenQueue proves that a queue whose jobs are all forgotten has none, and no instant of a first one.
func TestJobsOfAForgottenQueue(t *testing.T) {
	h := newHistory(300)
	leave(h, "u", "old", 0, 5)
	for i := range 5000 {
		leave(h, "u", "new", float64(i), 5)
	}
	if jobs, origin := h.view().Jobs("old"); len(jobs) != 0 || !origin.IsZero() {
		t.Errorf("%d jobs since %v, want none", len(jobs), origin)
	}
}

// TestHistoryViewAndRestart proves that later jobs do not change a view, and that a restored history continues like the
// one that was saved.
func TestHistoryViewAndRestart(t *testing.T) {
	h := newHistory(3000)
	rng := rand.New(rand.NewPCG(3, 3))
	one := func(h *history, rng *rand.Rand, i int) {
		leave(h, fmt.Sprint("u", rng.IntN(9)), string(rune('a'+rng.IntN(2))), float64(i)-100*rng.Float64(),
			float64(rng.IntN(50)-10))
	}
	for i := range 2500 {
		one(h, rng, i)
	}
	view := h.view()
	before, origin := view.Jobs("a")
	restored := newHistory(3000)
	if err := (*savableHistory)(restored).UnmarshalBinary(savedHistory(t, h)); err != nil {
		t.Fatal(err)
	}
	more := rand.New(rand.NewPCG(4, 4))
	again := rand.New(rand.NewPCG(4, 4))
	for i := range 4000 {
		one(h, more, 2500+i)
		one(restored, again, 2500+i)
	}
	if d := cmp.Diff(savedHistory(t, h), savedHistory(t, restored)); d != "" {
		t.Error("a restored history is another one")
	}
	after, o := view.Jobs("a")
	if d := cmp.Diff(before, after); d != "" || !o.Equal(origin) {
		t.Errorf("the view has changed: %s", d)
	}
	codectest.Check(t, savedHistory(t, h), func() codec.Savable { return (*savableHistory)(newHistory(3000)) })
}

// savableHistory is a history with methods to save and restore it without other models.
type savableHistory history

func (h *savableHistory) MarshalBinary() ([]byte, error) {
	return codec.Save("history", 1, 0, (*history)(h).fields)
}

func (h *savableHistory) UnmarshalBinary(data []byte) error {
	return codec.Restore((*history)(h), "history", 1, data, (*history).fields)
}

func savedHistory(t *testing.T, h *history) []byte {
	t.Helper()
	data, err := (*savableHistory)(h).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// at returns the instant that is the given number of seconds after the tests' first.
func at(seconds float64) time.Time {
	return time.Unix(1_000_000_000, 0).UTC().Add(time.Duration(seconds * float64(time.Second)))
}
