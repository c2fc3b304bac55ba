package daemon_test

import (
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
)

// TestRealSlurmPreemption uses a real Slurm that is filled for minutes with jobs of QOS low. It proves that a job of
// QOS high, which may preempt them, starts within seconds and was forecast to do so, but a job of QOS normal was not.
// It also proves that squeue's priority includes a nice value.
func TestRealSlurmPreemption(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 2, 4, "--accounting")
	me := c.run("id", "-un")
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts(),
		"{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	d.caughtUp()
	for range 8 {
		c.sbatch("sleep 500", "-p", "short", "-t", "10", "--qos=low", "--account=physics")
	}
	var full time.Time // the machine is full until then, because no job of QOS low ends by itself earlier
	d.eventually("jobs of QOS low fill the machine, and are known", func() bool {
		v, low := d.Views()[0], 0
		for _, j := range v.Running {
			if j.QOS == "low" && !j.DetailsPending() {
				if end := j.Start.Add(500 * time.Second); low == 0 || end.Before(full) {
					full = end
				}
				low++
			}
		}
		return low == 8 && v.Facts != nil && v.Facts.Preemption != nil
	})
	plain := c.sbatch("sleep 500", "-p", "short", "-t", "10", "--qos=low", "--account=physics")
	nice := c.sbatch("sleep 500", "-p", "short", "-t", "10", "--qos=low", "--account=physics", "--nice=1000")
	find := func(jobs []*cluster.Job, id string) *cluster.Job {
		for _, j := range jobs {
			if j.ID == id {
				return j
			}
		}
		return nil
	}
	d.eventually("the priorities of two that wait", func() bool {
		v := d.Views()[0]
		a, b := find(v.Queued, plain), find(v.Queued, nice)
		return a != nil && b != nil && a.Priority > 0 && b.Priority > 0
	})
	v := d.Views()[0]
	a, b := find(v.Queued, plain), find(v.Queued, nice)
	if lower := a.Priority - b.Priority; lower < 1000 || lower > 1100 { // each later job has one less
		t.Errorf("a nice value of 1000 makes a priority lower by %d", lower)
	}
	median := func(qos string) float64 {
		w := d.mustWait("queue=short&procs=4&time_limit=5m&user=" + me + "&account=physics&qos=" + qos)
		if w.WaitSeconds.P50 == nil {
			t.Fatalf("%s: no median: %+v", qos, w)
		}
		t.Logf("%s: %.0f s; %s", qos, *w.WaitSeconds.P50, w.Reason)
		return *w.WaitSeconds.P50
	}
	high, normal := median("high"), median("normal")
	id := c.sbatch("sleep 60", "-p", "short", "-n", "4", "-t", "5", "--qos=high", "--account=physics")
	var started *cluster.Job
	d.eventually("the job of QOS high starts", func() bool {
		started = find(d.Views()[0].Running, id)
		return started != nil
	})
	d.eventually("the job's processors are taken from jobs of QOS low", func() bool {
		requeued := 0
		for _, j := range slices.Concat(d.Views()[0].Queued, d.Views()[0].Running) {
			if j.QOS == "low" && j.Attempt > 0 {
				requeued++
			}
		}
		return requeued >= 4
	})
	// A busy machine takes some time to preempt a job, but less than the rest of the jobs of QOS low.
	was := started.Start.Sub(started.Submit).Seconds()
	if !started.Start.Before(full) || high > was+15 || high > 60 {
		t.Errorf("high: said %.0f s, was %.0f s", high, was)
	}
	if normal < 4*high || normal < 60 {
		t.Errorf("high: said %.0f s; normal: said %.0f s", high, normal)
	}
}

// TestRealSlurmMagneticReservation proves on a real Slurm that nodes reserved for a user by a magnetic reservation,
// which jobs need not name, are free in the user's forecasts, but not in those of others.
func TestRealSlurmMagneticReservation(t *testing.T) {
	t.Parallel() // the test waits for jobs most of the time
	c := newSlurm(t, 2, 4, "--accounting")
	me := c.run("id", "-un")
	d := c.site("{format: slurm-log, path: LOG}", c.asksFacts(),
		"{format: slurm-squeue, command: ASK, interval: 1s}").start(t)
	d.caughtUp()
	c.run("scontrol", "create", "reservation", "reservationname=games", "starttime=now", "duration=120",
		"flags=magnetic", "nodes=n02", "users=games")
	for range 4 {
		c.sbatch("sleep 500", "-p", "short", "-t", "10", "--account=physics")
	}
	d.eventually("the other node is full, and the reservation known", func() bool {
		v, known := d.Views()[0], 0
		for _, j := range v.Running {
			if !j.DetailsPending() && j.Account != "" {
				known++
			}
		}
		return known == 4 && v.Facts != nil && len(v.Facts.Outages) == 1 && v.Pool("short").Used[cluster.Procs] == 4
	})
	median := func(user string) float64 {
		w := d.mustWait("queue=short&procs=4&time_limit=5m&account=physics&user=" + user)
		if w.WaitSeconds.P50 == nil {
			t.Fatalf("%s: no median: %+v", user, w)
		}
		t.Logf("%s: %.0f s; %s", user, *w.WaitSeconds.P50, w.Reason)
		return *w.WaitSeconds.P50
	}
	games, other := median("games"), median(me)
	id := c.sbatch("sleep 60", "-p", "short", "-n", "4", "-t", "5", "--uid=games", "--account=physics")
	var started *cluster.Job
	d.eventually("the job of games starts", func() bool {
		for _, j := range d.Views()[0].Running {
			if j.ID == id {
				started = j
			}
		}
		return started != nil
	})
	if was := started.Start.Sub(started.Submit).Seconds(); was > 60 || games > was+15 || other < 60 {
		t.Errorf("games: said %.0f s, was %.0f s; others: said %.0f s", games, was, other)
	}
}
