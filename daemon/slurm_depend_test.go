package daemon_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
)

// TestRealSlurmArraysAndDependencies proves, on a real Slurm with free processors, that forecasts at the submission
// include the throttle of an array, the job on which a job depends, and a job's begin time. It compares medians with
// true waits: of the last task of an array that may run two tasks at once, of a job that depends on another one, and of
// a job with a begin time. They must agree within a factor of 1.5, or 15 s.
func TestRealSlurmArraysAndDependencies(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 4, 16)
	d := c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ASK, interval: 1s}",
		c.asksFacts()).start(t) // otherwise the highest use so far, 30 processors, would count as the machine
	d.caughtUp()
	d.eventually("the processors are known", func() bool { return d.Views()[0].Facts != nil })
	const runtime = 16 // in seconds; the user's earlier jobs took as long
	work := fmt.Sprintf("sleep %d", runtime)
	for range 30 {
		c.sbatch(work, "-p", "short", "-t", "1")
	}
	d.eventually("30 jobs have ended", func() bool { return d.Views()[0].Counts.Ended >= 30 })
	first := c.sbatch(work, "-p", "short", "-t", "1")
	second := c.sbatch(work, "-p", "short", "-t", "1", "-d", "afterok:"+first)
	third := c.sbatch(work, "-p", "short", "-t", "1", "-d", "afterany:"+first+":"+second)
	array := c.sbatch(work, "-p", "short", "-t", "1", "--array=1-6%2")
	const pause = 30 // in seconds: longer than the waits of jobs without it
	begins := c.sbatch(work, "-p", "short", "-t", "1", fmt.Sprintf("--begin=now+%d", pause))
	find := func(jobs []*cluster.Job, id string) *cluster.Job {
		for _, j := range jobs {
			if j.ID == id {
				return j
			}
		}
		return nil
	}
	for id, want := range map[string]string{second: first, third: first + "," + second} {
		d.eventually("what job "+id+" waits for", func() bool {
			j := find(d.Views()[0].Queued, id)
			return j != nil && j.Held && j.After == want
		})
	}
	d.eventually("two tasks run, the array waits", func() bool {
		v := d.Views()[0]
		whole := find(v.Queued, array)
		return whole != nil && whole.Tasks == 4 && whole.Throttle == 2 && whole.Held &&
			find(v.Running, array+"_1") != nil && find(v.Running, array+"_1").Throttle == 2
	})
	d.eventually("the begin time", func() bool {
		j := find(d.Views()[0].Queued, begins)
		return j != nil && j.Held && j.Reason == "BeginTime"
	})
	said := map[string]float64{}
	for _, id := range []string{second, third, array, begins} {
		status, body := d.get("/v1/jobs/" + id)
		var w wire.JobAnswer
		if err := json.Unmarshal([]byte(body), &w); status != http.StatusOK || err != nil {
			t.Fatalf("job %s: status %d, %v: %s", id, status, err, body)
		}
		if f := w.Forecast; f != nil && f.AtSubmit.P50 != nil {
			said[id] = *f.AtSubmit.P50
		}
	}
	ideal := map[string]float64{second: runtime, third: 2 * runtime, array: 2 * runtime, begins: pause}
	started := map[string]*cluster.Job{}
	d.eventually("all start", func() bool {
		for _, j := range d.Views()[0].Running {
			if _, asked := said[j.ID]; asked && started[j.ID] == nil {
				started[j.ID] = j
			}
		}
		return len(started) == len(said)
	})
	for id, what := range map[string]string{second: "after one", third: "after two", array: "the last task of six",
		begins: "the begin time"} {
		p50, known := said[id]
		if !known {
			t.Errorf("%s: no median", what)
			continue
		}
		was := started[id].Start.Sub(started[id].Order).Seconds()
		// A busy machine delays the jobs before this one, which cannot be forecast. So any median between the wait and
		// the wait without delays is right.
		t.Logf("%s: said %.0f s, was %.0f s; without delays it would be %.0f s", what, p50, was, ideal[id])
		low, high := math.Min(was, ideal[id]), math.Max(was, ideal[id])
		if p50 < low/1.5 || p50 > max(1.5*high, high+15) {
			t.Errorf("%s: the median is %.0f s, the wait was %.0f s", what, p50, was)
		}
	}
}
