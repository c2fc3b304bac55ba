package liveload

import (
	"context"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Stretch is a period in which all polls of squeue found a job waiting for the same reason. It is a line of
// reasons.jsonl.
type Stretch struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	// From and To are the times of the first and the last of these polls; Polls is their number.
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Polls int       `json:"polls"`
}

const (
	// pollEvery is the time between two polls of squeue.
	pollEvery = time.Second
	// settledPolls is the number of consecutive polls that must find the same reason so that it counts as settled. On
	// the clusters of this study Slurm's main loop and its backfill examine a job every two seconds, so both have
	// examined it by then.
	settledPolls = 4
)

// watcher turns the results of polls of squeue into stretches. open has the stretches that have not ended, by job.
type watcher struct {
	open map[string]*Stretch
	keep func(*Stretch) error // receives each stretch at its end
}

// look processes the result of a poll: found has the reason of each waiting job. A stretch ends if its job has another
// reason, or waits no longer.
func (w *watcher) look(at time.Time, found map[string]string) error {
	for id, s := range w.open {
		if found[id] == s.Reason {
			continue
		}
		if err := w.keep(s); err != nil {
			return err
		}
		delete(w.open, id)
	}
	for id, reason := range found {
		s := w.open[id]
		if s == nil {
			s = &Stretch{ID: id, Reason: reason, From: at}
			w.open[id] = s
		}
		s.To = at
		s.Polls++
	}
	return nil
}

// watch polls squeue and writes the stretches of the run's jobs to reasons.jsonl, until the returned function is
// called. That function returns an error of writing the last stretches.
func (r *run) watch(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{open: map[string]*Stretch{}, keep: func(s *Stretch) error {
		return appendLine(filepath.Join(r.dir, reasonsFile), s)
	}}
	ended := make(chan error, 1)
	go func() {
		for {
			found, err := r.slurm.reasons(ctx)
			if err == nil {
				err = w.look(time.Now(), found)
			}
			if ctx.Err() != nil || sleep(ctx, pollEvery) != nil {
				ended <- w.look(time.Now(), nil)
				return
			}
			if err != nil {
				r.say("squeue: %v", err) // slurmctld may be busy; the next poll may succeed
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// steadyReason returns the first reason other than "None" that settledPolls consecutive polls found for a job, "" if
// there is none. stretches are those of the job, in order.
func steadyReason(stretches []Stretch) string {
	for _, s := range stretches {
		if s.Reason != "None" && s.Polls >= settledPolls {
			return s.Reason
		}
	}
	return ""
}

// blockedSeconds returns for how many seconds a limit or a hold blocked a job with the given stretches. Each poll
// counts for the time until the next poll.
func blockedSeconds(stretches []Stretch) float64 {
	seconds := 0.0
	for _, s := range stretches {
		if isBlocked(s.Reason) {
			seconds += s.To.Sub(s.From).Seconds() + pollEvery.Seconds()
		}
	}
	return seconds
}

// isBlocked reports whether a reason is a limit or a hold, which keeps a job from starting even on an empty cluster.
func isBlocked(reason string) bool {
	cause := job.CauseOf(reason)
	return cause == job.LimitReached || cause == job.OnHold
}
