package accuracy

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

func second(s int) time.Time { return time.Unix(1_000_000_000+int64(s), 0).UTC() }

// waits is a job that was submitted at second 100, with its Blocking.
type waits struct {
	job      cluster.Job
	blocking Blocking
}

func newWaits() *waits { return &waits{job: cluster.Job{Submit: second(100)}} }

// told applies an event at a second to the job in the same way as the fold of a cluster.
func (w *waits) told(kind job.Kind, at int, change func(*job.Event)) {
	ev := job.Event{Kind: kind, Time: second(at), Live: true}
	if change != nil {
		change(&ev)
	}
	before := w.job
	w.job.Attributes = w.job.Merge(ev.Attributes)
	if !ev.Times.Eligible.IsZero() {
		w.job.Eligible = ev.Times.Eligible
	}
	switch kind {
	case job.Hold:
		w.job.Held = true
	case job.Release:
		w.job.Held = false
	}
	if !w.job.Held {
		w.job.Reason = ""
	}
	after := w.job
	w.blocking.Observe(&ev, &before, &after, w.job.Submit)
}

// TestBlockingByHand checks the blocked times of some jobs against values worked out by hand. The jobs wait from second
// 100 to second 1000.
func TestBlockingByHand(t *testing.T) {
	listed := func(reason string) func(*job.Event) { return func(ev *job.Event) { ev.Reason = reason } }
	settled := func(ev *job.Event) { ev.Settled = "Priority" }
	eligible := func(s int) func(*job.Event) { return func(ev *job.Event) { ev.Times.Eligible = second(s) } }
	for _, c := range []struct {
		name string
		tell func(w *waits)
		want int
	}{
		{"nothing was told", func(*waits) {}, 0},
		{"eligible at once", func(w *waits) { w.told(job.Update, 130, eligible(100)) }, 0},
		{"a limit in the first listing holds since the submission", func(w *waits) {
			w.told(job.Hold, 130, listed("QOSMaxCpuPerUserLimit"))
		}, 900},
		{"and until the listing without it", func(w *waits) {
			w.told(job.Hold, 130, listed("QOSMaxCpuPerUserLimit"))
			w.told(job.Release, 400, nil)
		}, 300},
		{"after a listing that showed it as competing, too: none was settled", func(w *waits) {
			w.told(job.Update, 130, eligible(100))
			w.told(job.Hold, 160, listed("AssocGrpCpuLimit"))
			w.told(job.Release, 400, nil)
		}, 300},
		{"a limit that is reached later", func(w *waits) {
			w.told(job.Update, 130, settled)
			w.told(job.Hold, 160, listed("AssocGrpCpuLimit"))
			w.told(job.Release, 400, nil)
		}, 240},
		{"the first listing of a daemon that was started knows no earlier", func(w *waits) {
			w.told(job.Hold, 160, func(ev *job.Event) { ev.Reason, ev.Live = "AssocGrpCpuLimit", false })
		}, 840},
		{"twice", func(w *waits) {
			w.told(job.Hold, 130, listed("QOSMaxCpuPerUserLimit"))
			w.told(job.Release, 200, settled)
			w.told(job.Hold, 300, listed("QOSMaxCpuPerUserLimit"))
			w.told(job.Hold, 350, listed("JobHeldUser"))
			w.told(job.Release, 450, nil)
		}, 250},
		{"a log has holds as they happen", func(w *waits) {
			w.told(job.Hold, 500, nil)
			w.told(job.Release, 620, nil)
		}, 120},
		{"a dependency: the scheduler knows when it was fulfilled", func(w *waits) {
			w.told(job.Hold, 130, listed("Dependency"))
			w.told(job.Release, 430, eligible(417))
		}, 317},
		{"no listing saw it", func(w *waits) { w.told(job.Update, 430, eligible(417)) }, 317},
		{"a begin time, and a start at the next occasion", func(w *waits) {
			w.told(job.Hold, 130, func(ev *job.Event) { ev.Reason, ev.Times.Eligible = "BeginTime", second(970) })
		}, 870},
		{"a dependency that no listing saw, and a limit later", func(w *waits) {
			w.told(job.Update, 430, func(ev *job.Event) { ev.Settled, ev.Times.Eligible = "Priority", second(417) })
			w.told(job.Hold, 500, listed("QOSMaxCpuPerUserLimit"))
			w.told(job.Release, 600, nil)
		}, 417},
		{"held and released while it was eligible: the new instant is of the hold alone", func(w *waits) {
			w.told(job.Update, 130, func(ev *job.Event) { ev.Settled, ev.Times.Eligible = "Priority", second(100) })
			w.told(job.Hold, 500, listed("JobHeldUser"))
			w.told(job.Release, 620, eligible(610))
		}, 110},
		{"eligible only after its start, by another clock", func(w *waits) { w.told(job.Update, 130, eligible(2000)) },
			900},
	} {
		w := newWaits()
		c.tell(w)
		if got := w.blocking.Of(second(100), second(1000)); got != time.Duration(c.want)*time.Second {
			t.Errorf("%s: blocked for %v, want %d s", c.name, got, c.want)
		}
	}
}

// TestBlockingLaws proves that calls of Of do not change the blocked time, and that it is never longer than the wait.
// If a log reports all holds when they happen, it is the total length of the holds, to the second.
func TestBlockingLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, held := newWaits(), make([]bool, 1000)
		exact := rapid.Bool().Draw(t, "exact")
		at := 100
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			at = min(999, at+rapid.IntRange(0, 150).Draw(t, "later"))
			kind := rapid.SampledFrom([]job.Kind{job.Hold, job.Release, job.Update}).Draw(t, "kind")
			w.told(kind, at, func(ev *job.Event) {
				ev.Priority = rapid.Int64().Draw(t, "priority")
				if !exact {
					ev.Reason = rapid.SampledFrom([]string{"", "Dependency", "Resources"}).Draw(t, "reason")
					ev.Times.Eligible = second(rapid.IntRange(0, 1500).Draw(t, "eligible"))
				}
			})
			for s := at; s < len(held); s++ {
				held[s] = w.job.Held
			}
		}
		end := rapid.IntRange(at, 999).Draw(t, "end")
		got := w.blocking.Of(second(100), second(end))
		if again := w.blocking.Of(second(100), second(end)); again != got {
			t.Fatalf("%v, asked again %v", got, again)
		}
		if got < 0 || got > time.Duration(end-100)*time.Second {
			t.Fatalf("blocked for %v of a wait of %d s", got, end-100)
		}
		if !exact {
			return
		}
		want := 0
		for s := 100; s < end; s++ {
			if held[s] {
				want++
			}
		}
		if got != time.Duration(want)*time.Second {
			t.Fatalf("blocked for %v, want %d s", got, want)
		}
	})
}
