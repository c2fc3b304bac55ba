package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// states has the states of the running and waiting jobs, by name. The waiting tasks of an array are one entry.
type states map[string]string

// moment has the jobs' states at an instant, or during a call of squeue.
type moment struct {
	from, to time.Time
	jobs     states
}

// recorder records every picture that a daemon publishes.
type recorder struct {
	mu    sync.Mutex
	views []moment
	stop  func()
}

// recordPictures checks a daemon's picture every few milliseconds until stop is called.
func recordPictures(d *running) *recorder {
	r := &recorder{}
	quit, done := make(chan struct{}), make(chan struct{})
	r.stop = sync.OnceFunc(func() { close(quit); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		var last *readmodel.View
		for {
			if v := d.Views()[0]; v != last {
				last = v
				now := time.Now()
				r.mu.Lock()
				r.views = append(r.views, moment{from: now, to: now, jobs: statesOf(v)})
				r.mu.Unlock()
			}
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return r
}

// between returns the pictures that were current at some instant of the interval.
func (r *recorder) between(from, to time.Time) []states {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []states
	for i, v := range r.views {
		if v.from.After(to) {
			break
		}
		if i == len(r.views)-1 || r.views[i+1].from.After(from) {
			out = append(out, v.jobs)
		}
	}
	return out
}

func statesOf(v *readmodel.View) states {
	out := states{}
	for _, j := range v.Queued {
		out[whole(j.ID)] = "waits"
	}
	for _, j := range v.Running {
		out[j.ID] = "runs"
	}
	return out
}

// look runs squeue once.
func (c *slurmCluster) look() moment {
	c.t.Helper()
	m := moment{from: time.Now(), jobs: states{}}
	for line := range strings.Lines(c.run("squeue", "-h", "-a", "-o", "%i %A %T")) {
		f := strings.Fields(line)
		id := f[0]
		if w, _, _ := strings.Cut(strings.ReplaceAll(id, "+", "_"), "_"); w == f[1] {
			id = w
		}
		switch f[2] {
		case "PENDING":
			m.jobs[whole(id)] = "waits"
		case "RUNNING", "SUSPENDED":
			m.jobs[id] = "runs"
		}
	}
	m.to = time.Now()
	return m
}

// against returns the states that squeue showed but no picture had, and those that all pictures had but squeue did not
// show, within lag before and after the call of squeue.
func (r *recorder) against(shown moment, lag time.Duration) (wrong []string) {
	views := r.between(shown.from.Add(-lag), shown.to.Add(lag))
	at := shown.from.UTC().Format("15:04:05.000")
	for id, state := range shown.jobs {
		if !slices.ContainsFunc(views, func(v states) bool { return v[id] == state }) {
			wrong = append(wrong, fmt.Sprintf("%s: job %s %s in squeue, never so in %d pictures", at, id, state,
				len(views)))
		}
	}
	for id, state := range views[0] {
		stays := !slices.ContainsFunc(views, func(v states) bool { return v[id] != state })
		if stays && shown.jobs[id] != state {
			wrong = append(wrong, fmt.Sprintf("%s: job %s %s in the picture, %q in squeue", at, id, state,
				shown.jobs[id]))
		}
	}
	return wrong
}
