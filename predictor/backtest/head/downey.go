package head

import (
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// fewest is the minimum number of ended jobs to which a law is fitted. If a class of a queue has fewer, the law of that
// class in all queues is used.
const fewest = 30

// downey has Downey's laws of lifetimes, fitted to the ended jobs: two for each queue, and two for all queues together.
// One of the two is for one-processor jobs, the other for larger jobs.
type downey struct {
	windows map[[2]string]*uniformlog.Window
	fits    map[[2]string]headqueue.Lifetime
}

func newDowney() *downey {
	return &downey{windows: map[[2]string]*uniformlog.Window{}, fits: map[[2]string]headqueue.Lifetime{}}
}

func classes(j *Job) [2][2]string {
	class := job.Class(j.Procs)
	return [2][2]string{{j.Queue, class}, {"", class}}
}

func (d *downey) ended(j *Job) {
	for _, key := range classes(j) {
		w := d.windows[key]
		if w == nil {
			w = uniformlog.NewWindow(0, 0)
			d.windows[key] = w
		}
		_ = w.Add(instant(j.Start), j.End-j.Start) // invalid lifetimes are left out
		delete(d.fits, key)
	}
}

// of returns the law for the queue and the class of a job. It returns nil if too few jobs have ended.
func (d *downey) of(j *Job) headqueue.Lifetime {
	for _, key := range classes(j) {
		if law, ok := d.fits[key]; ok {
			return law
		}
		w := d.windows[key]
		if w == nil || w.N() < fewest {
			continue
		}
		if fit, err := w.Fit(instant(j.Start)); err == nil {
			law := &fit.Model
			d.fits[key] = law
			return law
		}
	}
	return nil
}

func instant(seconds float64) time.Time { return time.Unix(int64(seconds), 0) }
