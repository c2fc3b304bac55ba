package liveload

import (
	"context"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/job"
)

// Stretch is a time for which polls of squeue found a job waiting for one reason. It is a line of reasons.jsonl.
type Stretch struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	// From and To are the times of the first and the last poll that found it; Polls is their number.
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Polls int       `json:"polls"`
}

const (
	// pollEvery is the time between two polls of squeue.
	pollEvery = time.Second
	// settledPolls is the number of consecutive polls that must find the same reason before it counts as settled.
	// Slurm's main loop and its backfill examine a job every two seconds here, so both have seen the job by then.
	settledPolls = 4
)

// watcher follows the reasons for which jobs wait.
type watcher struct {
	open map[string]*Stretch
	keep func(*Stretch) error // receives each stretch at its end
}

// look processes the result of a poll.
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

// watch follows the reasons of the run's jobs until the returned function is called. That function returns the first
// error.
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
				r.say("squeue: %v", err) // slurmctld is busy; the next poll may succeed
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// steadyReason returns the first known reason of a job that was found in settledPolls consecutive polls, "" if there is
// none. stretches are those of the job, in order.
func steadyReason(stretches []Stretch) string {
	for _, s := range stretches {
		if s.Reason != "None" && s.Polls >= settledPolls {
			return s.Reason
		}
	}
	return ""
}

// blockedSeconds returns for how long a limit or a hold blocked a job. Each poll counts for the time until the next.
func blockedSeconds(stretches []Stretch) float64 {
	seconds := 0.0
	for _, s := range stretches {
		if isBlocked(s.Reason) {
			seconds += s.To.Sub(s.From).Seconds() + pollEvery.Seconds()
		}
	}
	return seconds
}

// isBlocked reports whether a reason prevents a job from starting even if enough is free for it.
func isBlocked(reason string) bool {
	cause := job.CauseOf(reason)
	return cause == job.LimitReached || cause == job.OnHold
}
