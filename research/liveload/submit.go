package liveload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Submission describes how Run submits a load.
type Submission struct {
	Slurm Slurm
	Seed  uint64
	// Jobs are the jobs that the function Plan returned for the options in the field Plan.
	Plan PlanOptions
	Jobs []Job
	// TestOnly is true if `sbatch --test-only` is run before each submission.
	TestOnly bool
	// URL is the address of the daemon that is asked before each submission; empty for none.
	URL string
	// Others are the addresses of daemons that are asked at the same instant. Answered is called after Record, with the
	// record and the answers of these daemons, in the order of Others. Without Others it is not called.
	Others   []string
	Answered func(Record, []Answer) error
	// Record is called with the record of every job just after its submission. If it returns an error, the load ends.
	Record func(*Record) error
}

// Run creates the reservations of the load, and submits every job at its time, or at once if that time is over. Just
// before, it requests the forecasts of `sbatch --test-only` (if TestOnly is set) and of the daemons at URL and Others.
// A job that Slurm refuses is recorded with the reason.
func (s *Submission) Run(ctx context.Context) error {
	begun := time.Now()
	windows, err := Windows(s.Plan, s.Jobs)
	if err != nil {
		return err
	}
	for i := range windows {
		if err := s.Slurm.reserve(ctx, &windows[i], begun); err != nil {
			return err
		}
	}
	var cancels sync.WaitGroup
	defer cancels.Wait()
	ids := make([]string, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		follows := ""
		if j.Follows > 0 {
			follows = ids[i-j.Follows]
		}
		if err := sleep(ctx, time.Until(begun.Add(time.Duration(j.After*float64(time.Second))))); err != nil {
			return err
		}
		r := Record{Seed: s.Seed, Job: *j}
		if s.TestOnly {
			r.TestOnly = s.Slurm.testOnly(ctx, j, follows)
		}
		var others []Answer
		if s.URL != "" {
			r.Answer, others = s.ask(ctx, j)
		}
		r.Submitted = time.Now()
		id, err := s.Slurm.submit(ctx, j, follows)
		if r.ID = id; err != nil {
			r.Trouble = err.Error()
		}
		if ids[i] = id; j.Cancel > 0 && id != "" {
			cancels.Go(func() { s.cancel(ctx, id, j.Cancel) })
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.Record(&r); err != nil {
			return err
		}
		if len(others) > 0 {
			if err := s.Answered(r, others); err != nil {
				return err
			}
		}
	}
	return nil
}

// cancel cancels a job if it still waits after the given number of seconds.
func (s *Submission) cancel(ctx context.Context, id string, after float64) {
	if sleep(ctx, time.Duration(after*float64(time.Second))) == nil {
		_ = s.Slurm.cancelWaiting(ctx, id) // the job may have ended
	}
}

// ask requests the forecast of a job from all daemons at the same time. first is the answer of the daemon at URL, and
// others has those of Others.
func (s *Submission) ask(ctx context.Context, j *Job) (first Answer, others []Answer) {
	others = make([]Answer, len(s.Others))
	var all sync.WaitGroup
	for i, url := range s.Others {
		all.Go(func() { others[i] = askWait(ctx, url, j) })
	}
	first = askWait(ctx, s.URL, j)
	all.Wait()
	return first, others
}

// sleep waits for a duration. If the context ends before, it returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// patience is the maximum time that the daemon may take for an answer.
const patience = 30 * time.Second

// askWait requests the forecast of a job from the daemon whose address is base.
func askWait(ctx context.Context, base string, j *Job) Answer {
	query := url.Values{
		"queue": {j.Queue}, "user": {j.User}, "procs": {strconv.Itoa(j.Procs)},
		"time_limit": {strconv.Itoa(60 * j.Minutes)},
	}
	if j.Nodes > 0 {
		query.Set("nodes", strconv.Itoa(j.Nodes))
	}
	for name, value := range j.parameters() {
		query.Set(name, value)
	}
	a := Answer{Asked: time.Now()}
	status, body, err := get(ctx, base+"/v1/wait?"+query.Encode())
	a.Seconds = time.Since(a.Asked).Seconds()
	switch {
	case err != nil:
		a.Refusal = err.Error()
	case status != http.StatusOK || !json.Valid(body):
		a.Refusal = fmt.Sprintf("%d: %s", status, body)
	default:
		a.Wait = body
	}
	return a
}

// get requests a URL of the daemon and returns status and body of the answer.
func get(ctx context.Context, target string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, body, errors.Join(err, response.Body.Close())
}
