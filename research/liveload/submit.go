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

// Submission submits a load.
type Submission struct {
	Slurm Slurm
	Seed  uint64
	Jobs  []Job
	// TestOnly lets it ask `sbatch --test-only` before each job.
	TestOnly bool
	// URL is the daemon that is asked before each job; empty: none is.
	URL string
	// Others are daemons that are asked at the same instant. Answered receives their answers, in this order, after
	// Record; without Others it is not called.
	Others   []string
	Answered func(Record, []Answer) error
	// Record receives every job's record right after its submission. An error ends the load.
	Record func(*Record) error
}

// Run submits every job at its time, or at once where it is late. A job that Slurm refuses is recorded with the reason.
func (s *Submission) Run(ctx context.Context) error {
	begun := time.Now()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if err := sleep(ctx, time.Until(begun.Add(time.Duration(j.After*float64(time.Second))))); err != nil {
			return err
		}
		r := Record{Seed: s.Seed, Job: *j}
		if s.TestOnly {
			r.TestOnly = s.Slurm.testOnly(ctx, j)
		}
		var others []Answer
		if s.URL != "" {
			r.Answer, others = s.ask(ctx, j)
		}
		r.Submitted = time.Now()
		id, err := s.Slurm.submit(ctx, j)
		if r.ID = id; err != nil {
			r.Trouble = err.Error()
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

// ask asks all daemons at once.
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

// sleep waits for a while.
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

// patience bounds how long the daemon may take for an answer.
const patience = 30 * time.Second

// askWait asks the daemon how long a job would wait.
func askWait(ctx context.Context, base string, j *Job) Answer {
	query := url.Values{
		"queue": {j.Queue}, "user": {j.User}, "procs": {strconv.Itoa(j.Procs)},
		"time_limit": {strconv.Itoa(60 * j.Minutes)},
	}
	if j.Nodes > 0 {
		query.Set("nodes", strconv.Itoa(j.Nodes))
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

// get fetches a page of the daemon's.
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
