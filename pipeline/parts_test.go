package pipeline

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// slurmStage is a pipeline whose input has the form of Slurm's: a log and the output of squeue.
type slurmStage struct {
	t         *testing.T
	pipeline  *Pipeline
	log       *source.Config
	squeue    *source.Config
	listings  *slurm.Snapshot
	delivered []*source.Delivery
}

func newSlurmStage(t *testing.T, cfg Config, store modelstore.Store) *slurmStage {
	s := &slurmStage{t: t}
	s.pipeline, s.log = newPipeline(cfg, store, collector.Live)
	s.squeue = &source.Config{Name: "squeue", Format: slurm.Squeue(), Options: s.log.Options}
	s.pipeline.AddSource(*s.squeue)
	s.listings = slurm.NewSnapshot(slurm.SnapshotConfig{Options: collector.Options{Cluster: "c", Location: time.UTC},
		Picture: func() map[string]slurm.Live {
			v, jobs := s.pipeline.View("c"), map[string]slurm.Live{}
			for _, j := range append(v.Running[:len(v.Running):len(v.Running)], v.Queued...) {
				jobs[j.ID] = slurm.Live{Attributes: j.Reported(), Submit: j.Submit, Eligible: j.Eligible,
					Start: j.Start, Held: j.Held, Suspended: !j.Suspended.IsZero(), Split: j.Split}
			}
			return jobs
		}})
	return s
}

func (s *slurmStage) deliver(src *source.Config, events ...job.Event) {
	s.t.Helper()
	d := &source.Delivery{Source: src, Events: events, Lines: 1, Checkpoint: fmt.Append(nil, len(s.delivered))}
	s.delivered = append(s.delivered, d)
	take(s.t, s.pipeline, d)
}

// listed is a job as squeue prints it, with times in seconds of the tests' time; a negative time is unknown. A job
// without a reason runs since start.
type listed struct {
	id, user, reason, after string
	procs                   int
	submit, eligible, start float64
	queue                   string  // "a" if empty
	planned                 float64 // the start that squeue expects for a waiting job, 0 for none
}

// list passes the output of squeue at a second to the pipeline.
func (s *slurmStage) list(second float64, jobs ...listed) {
	s.t.Helper()
	if events := s.compare(second, jobs...); len(events) > 0 {
		s.deliver(s.squeue, events...)
	}
}

// compare compares the output of squeue at a second with the picture, and returns the events that follow from it.
func (s *slurmStage) compare(second float64, jobs ...listed) []job.Event {
	s.t.Helper()
	_, format, _ := strings.Cut(strings.Join(slurm.SqueueCommand(nil, ""), " "), "--Format=")
	columns := strings.Split(strings.TrimSuffix(format, ":\x1f"), ":\x1f,")
	var out strings.Builder
	unix := func(second float64) string {
		if second < 0 {
			return "N/A"
		}
		return fmt.Sprint(at(second).Unix())
	}
	for _, j := range jobs {
		state, reason, start := "PENDING", j.reason, "N/A"
		if j.planned > 0 {
			start = unix(j.planned)
		}
		whole, _, _ := strings.Cut(j.id, "_")
		if reason == "" {
			whole = strings.ReplaceAll(j.id, "_", "0") // a running task has a number of its own
			state, reason, start = "RUNNING", "None", unix(j.start)
		}
		has := map[string]string{
			"JobArrayID": j.id, "JobID": whole, "State": state, "Partition": cmp.Or(j.queue, "a"),
			"UserName": j.user, "Account": "lab",
			"QOS": "normal", "NumCPUs": fmt.Sprint(j.procs), "NumNodes": "1", "TimeLimit": "30:00",
			"SubmitTime": unix(j.submit), "EligibleTime": unix(j.eligible), "StartTime": start, "EndTime": "N/A",
			"Reason": reason, "PriorityLong": "1000", "OverSubscribe": "OK", "NumTasks": "1",
			"tres-alloc": fmt.Sprintf("cpu=%d,node=1,billing=1", j.procs), "Dependency": j.after, "Nice": "0",
		}
		for _, name := range columns {
			out.WriteString(cmp.Or(has[name], "N/A") + "\x1f")
		}
		out.WriteByte('\n')
	}
	a := s.listings.Read([]byte(out.String()), at(second))
	if a.Err != nil || len(a.Bad) > 0 {
		s.t.Fatalf("listing at %v: %+v", second, a)
	}
	return a.Events
}

// play simulates some minutes on a cluster of 32 processors. The QOS "normal" allows each user 8 processors, so ann's
// second job waits until her first one ends. eve's job depends on dan's. bob's job waits for processors and is held for
// a time. gil's job was submitted held, and hal's job has a begin time.
func (s *slurmStage) play() {
	s.t.Helper()
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{
		Nodes:    []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}},
		Queues:   []job.QueueFacts{{Name: "a"}},
		Limits:   []job.Limit{{QOS: "normal", PerUser: true, Procs: 8}},
		Enforced: job.Enforced{Limits: true, QOS: true},
	}
	s.deliver(s.squeue, facts)
	submit := func(id string, second float64) {
		s.deliver(s.log, event(job.Submit, id, second))
	}
	ann1 := listed{id: "1", user: "ann", procs: 8, submit: 1, eligible: 1, start: 1}
	fay := listed{id: "2", user: "fay", procs: 8, submit: 2, eligible: 2, start: 2}
	dan := listed{id: "8", user: "dan", procs: 1, submit: 3, eligible: 3, start: 3}
	ann2 := listed{id: "3", user: "ann", procs: 8, submit: 10, eligible: 10}
	eve := listed{id: "4", user: "eve", procs: 4, submit: 11, eligible: -1, after: "afterany:8(unfulfilled)"}
	bob := listed{id: "5", user: "bob", procs: 4, submit: 12, eligible: 12}
	limit := "QOSMaxCpuPerUserLimit"
	gil := listed{id: "6", user: "gil", procs: 1, submit: 13, eligible: -1}
	hal := listed{id: "7", user: "hal", procs: 1, submit: 14, eligible: 300}
	because := func(j listed, reason string) listed {
		j.reason = reason
		return j
	}
	submit("1", 1)
	s.deliver(s.log, event(job.Start, "1", 1))
	submit("2", 2)
	s.deliver(s.log, event(job.Start, "2", 2))
	submit("8", 3)
	s.deliver(s.log, event(job.Start, "8", 3))
	s.list(6, ann1, fay, dan)
	submit("3", 10)
	submit("4", 11)
	submit("5", 12)
	s.deliver(s.log, event(job.Submit, "6", 13), event(job.Hold, "6", 13))
	submit("7", 14)
	early := []listed{ann1, fay, dan, because(gil, "JobHeldUser"), because(hal, "BeginTime"),
		because(eve, "Dependency")}
	s.list(30, append(early, because(ann2, "Priority"), because(bob, "Resources"))...)
	s.list(60, append(early, because(ann2, limit), because(bob, "Resources"))...)
	s.list(90, append(early, because(ann2, limit), because(bob, "JobHeldUser"))...)
	s.deliver(s.log, event(job.End, "8", 417))
	eve.eligible = 417
	late := []listed{ann1, fay, because(gil, "JobHeldUser"), because(hal, "Resources"), because(ann2, limit),
		because(eve, "Resources")}
	s.list(420, append(late, because(bob, "JobHeldUser"))...)
	bob.eligible = 440
	s.list(450, append(late, because(bob, "Resources"))...)
	s.deliver(s.log, event(job.Start, "4", 500), event(job.Release, "6", 600), event(job.End, "1", 700),
		event(job.Start, "3", 700), event(job.Start, "5", 710), event(job.Start, "6", 720), event(job.Start, "7", 720),
		event(job.End, "2", 800))
}

// partsOf has the fields of a row that concern the parts of a wait.
type partsOf struct {
	Wait, Blocked      float64
	Predicted, Settled string
}

// TestPartsOfWaits proves what the ledger has of jobs whose reasons squeue reports: for how long each job was blocked,
// the predicted cause, and the settled reason. A blocked wait that is forecast is part of the forecast of the whole
// wait.
func TestPartsOfWaits(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	s.play()
	got := map[string]partsOf{}
	for _, r := range store.rows {
		if r.Parts == nil {
			t.Fatalf("job %s has no parts", r.JobID)
		}
		got[r.JobID] = partsOf{r.WaitSeconds, r.Parts.BlockedSeconds, r.Parts.Predicted, r.Parts.Settled}
		for l := range r.Parts.Blocked {
			if b, e, q := r.Parts.Blocked[l], r.Parts.Eligible[l], r.Quantiles[l]; b > q || e > q || b < 0 || e < 0 {
				t.Errorf("job %s: %v blocked and %v eligible of %v", r.JobID, b, e, q)
			}
		}
		blocked := r.Parts.Blocked != nil && r.Parts.Blocked[waittime.Median] > 0
		if blocked != (r.JobID == "3" || r.JobID == "4" || r.JobID == "7") {
			t.Errorf("job %s: forecast blocked for %v", r.JobID, r.Parts.Blocked)
		}
		if r.JobID == "7" && (r.Parts.Blocked[0] < 286 || r.Quantiles[0] < 286) { // blocked from 14 to 300
			t.Errorf("job 7 cannot start within 286 s: forecast %v, blocked for %v", r.Quantiles, r.Parts.Blocked)
		}
	}
	// Ann's second job was blocked from its submission to its start, although the first listing showed another reason.
	// Eve's job was blocked until its eligible time, which Slurm reported later. Bob's job was blocked from the first
	// listing that showed it as held; this ended at its eligible time.
	want := map[string]partsOf{
		"1": {0, 0, "resources", ""}, "2": {0, 0, "resources", ""}, "8": {0, 0, "resources", ""},
		"3": {690, 690, "limit", "QOSMaxCpuPerUserLimit"},
		"4": {489, 406, "hold", "Dependency"},
		// At the submission of bob's job nothing was known about ann's second job. The listing that has bob's job
		// also has the reason of ann's.
		"5": {698, 350, "resources", "Resources"},
		"6": {707, 587, "hold", "JobHeldUser"}, "7": {706, 286, "hold", "BeginTime"},
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("parts (-want +got):\n%s", d)
	}
}

func slurmConfig() Config {
	cfg := testConfig()
	cfg.Clusters[0].Procs = 0
	return cfg
}

// TestScoresOfParts proves that the output of squeue leads to scores of the parts of waits and to counts of reasons.
// Five of the eight jobs were blocked, and for all five jobs with a settled reason the predicted cause was right. The
// rows of the ledger give the same scores.
func TestScoresOfParts(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	s.play()
	scores := s.pipeline.View("c").Scores
	var all []*accuracy.Score
	for _, one := range scores {
		all = append(all, one)
	}
	sum := accuracy.Sum(all)
	p := sum.Parts
	if p.Whole.N != 8 || p.Whole.Nonzero != 5 || p.Blocked.Nonzero != 5 || p.Eligible.Nonzero != 4 {
		t.Errorf("%d jobs, %d waited, %d were blocked, %d competed; want 8, 5, 5 and 4", p.Whole.N, p.Whole.Nonzero,
			p.Blocked.Nonzero, p.Eligible.Nonzero)
	}
	if jobs, agreed := p.Reasons.Agreed(); jobs != 5 || agreed != 5 || p.Reasons[0][0] != 1 {
		t.Errorf("%d of %d agree in %v, want all of 5, with bob's, who waits for processors", agreed, jobs, p.Reasons)
	}
	for l := range p.Whole.LogPinball {
		if p.Whole.LogPinball[l] != sum.LogPinball[l] {
			t.Errorf("the whole wait loses %v among its parts and %v by itself", p.Whole.LogPinball, sum.LogPinball)
		}
	}
	again := accuracy.NewScore(len(waittime.Levels()))
	for i := range store.rows {
		again.Add(&store.rows[i])
	}
	near := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if d := gocmp.Diff(again.Parts, p, near); d != "" {
		t.Errorf("by the ledger (-) and as published (+): %s", d)
	}
}

// TestCauseWithinABurst examines the forecasts of several jobs of one user that are submitted within a second. Together
// they reach the user's limit, but the log has neither their sizes nor their owner. A job of another user behind them
// is not delayed, because jobs that a limit blocks delay no other job.
func TestCauseWithinABurst(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{
		Nodes:  []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}},
		Queues: []job.QueueFacts{{Name: "a"}}, Limits: []job.Limit{{QOS: "normal", PerUser: true, Procs: 8}},
		Enforced: job.Enforced{Limits: true, QOS: true},
	}
	s.deliver(s.squeue, facts)
	var rows []listed
	for i, user := range []string{"ann", "ann", "ann", "bob"} {
		id := fmt.Sprint(i + 1)
		s.deliver(s.log, event(job.Submit, id, 10+float64(i)/4))
		rows = append(rows, listed{id: id, user: user, procs: 8, submit: 10, eligible: 10})
	}
	rows[0].start, rows[3].start = 11, 11
	rows[1].reason, rows[2].reason = "QOSMaxCpuPerUserLimit", "QOSMaxCpuPerUserLimit"
	s.list(30, rows...)
	s.list(60, rows...)
	s.deliver(s.log, event(job.End, "1", 100), event(job.Start, "2", 100), event(job.End, "2", 200),
		event(job.Start, "3", 200), event(job.End, "3", 300))
	got := map[string]string{}
	for _, r := range store.rows {
		got[r.JobID] = r.Parts.Predicted
	}
	want := map[string]string{"1": "resources", "2": "limit", "3": "limit", "4": "resources"}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("predicted causes (-want +got):\n%s", d)
	}
}

// TestBeginTimeBehindALimit proves that a begin time counts even if squeue gives a limit as the reason; Slurm reports a
// limit before a begin time. The time at which a job finally became eligible is not used in the forecast at its
// submission.
func TestBeginTimeBehindALimit(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{Queues: []job.QueueFacts{{Name: "a"}},
		Nodes: []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}}}
	s.deliver(s.squeue, facts)
	s.deliver(s.log, event(job.Submit, "1", 10), event(job.Submit, "2", 10))
	limited := listed{id: "1", user: "ann", procs: 8, submit: 10, eligible: 300, reason: "QOSMaxCpuPerUserLimit"}
	after := listed{id: "2", user: "ann", procs: 8, submit: 10, eligible: -1, reason: "Dependency",
		after: "afterany:9(unfulfilled)"}
	s.list(12, limited, after)
	after.eligible, after.reason = 250, "Resources"
	s.list(260, limited, after)
	s.deliver(s.log, event(job.Start, "1", 310), event(job.Start, "2", 310))
	for _, r := range store.rows {
		if begins := r.Quantiles[0] >= 290; begins != (r.JobID == "1") {
			t.Errorf("job %s: forecast %v", r.JobID, r.Quantiles)
		}
	}
	if len(store.rows) != 2 {
		t.Errorf("%d rows", len(store.rows))
	}
}

// TestBeginTimeOfAJobSubmittedWhileSqueueRan proves that a begin time counts in the forecast of a job that was
// submitted while squeue ran, so that the time of the listing, which shows the job, is before its submission.
func TestBeginTimeOfAJobSubmittedWhileSqueueRan(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{Queues: []job.QueueFacts{{Name: "a"}},
		Nodes: []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}}}
	s.deliver(s.squeue, facts)
	s.deliver(s.log, event(job.Submit, "1", 10.5))
	s.list(10.25, listed{id: "1", user: "ann", procs: 8, submit: 10, eligible: 300, reason: "BeginTime"})
	s.deliver(s.log, event(job.Start, "1", 310))
	if len(store.rows) != 1 || len(store.rows[0].Quantiles) == 0 || store.rows[0].Quantiles[0] < 289 {
		t.Errorf("rows %+v, want one whose forecast is at least 289 s", store.rows)
	}
}

// TestCauseOfADependencyInABurst proves that the predicted cause of a job is a hold if it waits for a job that was
// submitted just before it, even if the log has not shown the other job yet.
func TestCauseOfADependencyInABurst(t *testing.T) {
	store := &memory{}
	s := newSlurmStage(t, slurmConfig(), store)
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{Queues: []job.QueueFacts{{Name: "a"}},
		Nodes: []job.NodeGroup{{Queues: []string{"a"}, Count: 4, Node: job.NodeResources{Procs: 8}}}}
	s.deliver(s.squeue, facts)
	s.deliver(s.log, event(job.Submit, "1", 10), event(job.Submit, "2", 10.5))
	s.deliver(s.log, event(job.Start, "1", 11))
	s.list(12, listed{id: "2", user: "ann", procs: 1, submit: 10, eligible: -1, reason: "Dependency",
		after: "afterany:1(unfulfilled)"})
	s.deliver(s.log, event(job.End, "1", 40), event(job.Start, "2", 41))
	for _, r := range store.rows {
		if r.JobID == "2" && r.Parts.Predicted != "hold" {
			t.Errorf("job 2 is predicted to wait because of %q", r.Parts.Predicted)
		}
	}
	if len(store.rows) == 0 {
		t.Error("no rows")
	}
}

// TestPartsSurviveKills proves that rows and scores are the same if the writer is killed and restored between any two
// transactions.
func TestPartsSurviveKills(t *testing.T) {
	undisturbed := newStore(t)
	s := newSlurmStage(t, slurmConfig(), undisturbed)
	restore(t, s.pipeline, "one")
	s.play()
	want := keeps(t, undisturbed, s.pipeline)
	if len(want.Rows) != 8 {
		t.Fatalf("%d rows", len(want.Rows))
	}
	store := newStore(t)
	var last *Pipeline
	for _, d := range s.delivered {
		next := newSlurmStage(t, slurmConfig(), store)
		restore(t, next.pipeline, "one")
		take(t, next.pipeline, d)
		last = next.pipeline
	}
	if d := gocmp.Diff(want, keeps(t, store, last)); d != "" {
		t.Errorf("undisturbed (-) and killed (+) differ: %.3000s", d)
	}
}
