package slurm_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// shown is a job in a line of squeue.
type shown struct {
	id, raw, state, queue, user string
	procs                       string
	limit                       string
	submit, start, end          int64 // seconds after at(0); except in submit, 0 means none
	reason                      string
	priority, shared            string
	qos                         string
	tres, perNode               string
	dependency, nice            string
}

func (s shown) line() string {
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	when := func(seconds int64) string {
		if seconds == 0 {
			return "N/A"
		}
		return fmt.Sprint(unix + seconds)
	}
	return strings.Join([]string{
		s.id, or(s.raw, s.id), or(s.state, "PENDING"), or(s.queue, "short"), or(s.user, "alice"), "(null)",
		or(s.qos, "normal"),
		or(s.procs, "2"), "1",
		or(s.limit, "2:00"), fmt.Sprint(unix + s.submit), fmt.Sprint(unix + s.submit), when(s.start), when(s.end),
		or(s.reason, "None"),
		or(s.priority, "1000"), or(s.shared, "OK"), or(s.tres, "cpu=2,node=1,billing=2"), "N/A", or(s.perNode, "N/A"),
		"N/A", "1", or(s.dependency, "(null)"), or(s.nice, "0"), "",
	}, "\x1f") + "\n"
}

// stage is a picture that is fed by a log and by snapshots. private is what Slurm reports of PrivateData.
type stage struct {
	t       *testing.T
	state   *cluster.State
	private string
	*slurm.Snapshot
	changes []cluster.Change
}

func newStage(t *testing.T, alone bool, user string) *stage {
	s := &stage{t: t, state: cluster.New("alpha", 0)}
	facts := func() *job.Facts { return &job.Facts{Private: s.private} }
	s.Snapshot = slurm.NewSnapshot(slurm.SnapshotConfig{
		Options: collector.Options{Cluster: "alpha", Location: berlin(t)}, Alone: alone, Facts: facts,
		Picture: func() map[string]slurm.Live {
			live := map[string]slurm.Live{}
			for _, jobs := range [][]*cluster.Job{s.state.Running(), s.state.Queued()} {
				for _, j := range jobs {
					live[j.ID] = slurm.Live{Attributes: j.Reported(), Submit: j.Submit, Eligible: j.Eligible,
						Start: j.Start, Held: j.Held, Suspended: !j.Suspended.IsZero(), Split: j.Split}
				}
			}
			return live
		},
	})
	if s.As("root"); user != "" {
		s.As(user)
	}
	return s
}

// fold applies events and returns the changes in short form.
func (s *stage) fold(events ...job.Event) string {
	var out []string
	for _, ev := range events {
		s.state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) {
			s.changes = append(s.changes, c)
			text := fmt.Sprintf("%d:%s-%v", c.Event.Time.Unix()-unix, c.Event.ID, c.Event.Kind)
			if c.Event.Derived {
				text += "*"
			}
			out = append(out, text)
		}})
	}
	return strings.Join(out, " ")
}

// snap takes a snapshot at a second and returns its changes.
func (s *stage) snap(second int64, jobs ...shown) string {
	s.t.Helper()
	return s.fold(s.answer(second, jobs...).Events...)
}

func (s *stage) answer(second int64, jobs ...shown) source.Answer {
	s.t.Helper()
	var text strings.Builder
	for _, j := range jobs {
		text.WriteString(j.line())
	}
	a := s.Read([]byte(text.String()), at(second))
	if a.Err != nil || a.Lines != len(jobs) || len(a.Bad) > 0 {
		s.t.Fatalf("snapshot at %d: %+v", second, a)
	}
	return a
}

func told1(kind job.Kind, id string, second int64) job.Event {
	return event(kind, id, at(second), job.Attributes{}, job.Times{})
}

// TestSnapshotBesideALog checks, step by step, the reports of a snapshot beside a log. A step is a snapshot (its line
// begins with its time) or a line of the log.
func TestSnapshotBesideALog(t *testing.T) {
	waits, runs := shown{id: "5", submit: 10}, shown{id: "5", state: "RUNNING", submit: 10, start: 20}
	held := waits
	held.reason = "JobHeldUser"
	suspended := runs
	suspended.state = "SUSPENDED"
	ends, canceled := runs, waits
	ends.state, ends.end, ends.procs, ends.user = "COMPLETED", 25, "8", "bob"
	canceled.state, canceled.start, canceled.end = "CANCELLED", 25, 25
	type step struct {
		log  []job.Event
		at   int64
		jobs []shown
		want string
	}
	snap := func(at int64, want string, jobs ...shown) step { return step{at: at, jobs: jobs, want: want} }
	log := func(events ...job.Event) step { return step{log: events} }
	submit, start := told1(job.Submit, "5", 10), told1(job.Start, "5", 20)
	for _, c := range []struct {
		name  string
		user  string
		steps []step
	}{
		{"attributes once", "", []step{log(submit), snap(15, "15:5-update", waits), snap(30, "", waits)}},
		{"hold and release", "", []step{log(submit), snap(15, "15:5-hold", held), snap(30, "30:5-release", waits)}},
		{"attributes of a job the log has started", "",
			[]step{log(submit, start), snap(15, "15:5-update", waits), snap(30, "30:5-update", func() shown {
				exclusive := runs
				exclusive.procs = "4"
				return exclusive
			}())}},
		{"jobs of before", "",
			[]step{snap(30, "10:5-submit* 30:5-start 12:6-submit*", runs, shown{id: "6", submit: 12})}},
		{"what is young is the log's", "",
			[]step{snap(11, "", waits), log(submit), snap(21, "21:5-update", runs), snap(36, "36:5-start", runs)}},
		{"a start the log missed", "", []step{log(submit), snap(30, "30:5-start", runs)}},
		{"an end the log missed", "", []step{log(submit, start), snap(30, "30:5-update", runs), snap(45, ""),
			snap(60, "45:5-end"), snap(75, "")}},
		{"not if it was there again", "",
			[]step{log(submit, start), snap(30, "30:5-update", runs), snap(45, ""), snap(60, "", runs), snap(75, "")}},
		{"not while it is young", "", []step{log(submit, start), snap(21, ""), snap(36, ""), snap(51, "36:5-end")}},
		{"a cancel the log missed", "", []step{log(submit), snap(30, ""), snap(45, "30:5-cancel")}},
		{"completing is gone", "",
			[]step{log(submit, start), snap(30, "", shown{id: "5", state: "COMPLETING", submit: 10, start: 20}),
				snap(45, "30:5-end", shown{id: "5", state: "COMPLETING", submit: 10, start: 20})}},
		{"completing and waiting again", "",
			[]step{log(submit, start, told1(job.Requeue, "5", 25)),
				snap(30, "", shown{id: "5", state: "COMPLETING", submit: 10}),
				snap(45, "", shown{id: "5", state: "COMPLETING", submit: 10})}},
		{"a requeue the log missed", "", []step{log(submit, start), snap(30, "", held), snap(45, "45:5-requeue", held),
			snap(60, "60:5-hold", held)}},
		{"a start that the snapshot was too early for", "",
			[]step{log(submit, start), snap(19, "19:5-update", waits), snap(34, "34:5-update", runs)}},
		{"what the log did not tell of an ended job", "",
			[]step{log(submit, start, told1(job.End, "5", 25)), snap(20, ""), snap(35, "25:5-update", ends),
				snap(50, "", ends), snap(65, "", ends)}},
		{"an ended job that came and went", "",
			[]step{snap(20, ""), snap(35, "10:5-submit* 20:5-start* 25:5-end", ends), snap(50, "", ends)}},
		{"an end the log missed, as squeue knows it", "",
			[]step{log(submit, start), snap(20, "20:5-update", waits), snap(35, "25:5-update 25:5-end", ends)}},
		{"an end that is young is the log's", "", []step{log(submit, start), snap(20, "20:5-update", waits),
			snap(26, "", ends), snap(41, "25:5-update 25:5-end", ends)}},
		{"a cancel of a waiting job, as squeue knows it", "",
			[]step{log(submit), snap(20, "20:5-update", waits), snap(35, "25:5-cancel", canceled)}},
		{"the waiting tasks of an array were canceled", "",
			[]step{log(told1(job.Submit, "9", 10)), snap(20, ""), snap(35, "25:9-update 25:9-cancel",
				shown{id: "9_[5-7%1]", raw: "9", state: "CANCELLED", submit: 10, start: 25, end: 25})}},
		{"after the log said so", "",
			[]step{log(told1(job.Submit, "9", 10), told1(job.End, "9", 25)), snap(20, ""), snap(35, "25:9-update",
				shown{id: "9_[5-7%1]", raw: "9", state: "CANCELLED", submit: 10, start: 25, end: 25})}},
		{"ended before the first snapshot", "", []step{snap(35, "", ends)}},
		{"gone only for the picture: it lives anew", "",
			[]step{log(submit, start, told1(job.End, "5", 25)), snap(30, "", runs),
				snap(45, "45:5-submit* 45:5-start", runs), snap(60, "", runs)}},
		{"gone for both", "", []step{log(submit, start, told1(job.End, "5", 25)), snap(24, "", runs), snap(39, "")}},
		{"others' jobs may be hidden", "me",
			[]step{log(submit, start, told1(job.Submit, "6", 11)),
				snap(30, "30:6-update", shown{id: "6", user: "me", submit: 11}),
				snap(45, ""), snap(60, "45:6-cancel")}},
		{"others' jobs are seen", "me",
			[]step{log(submit, start, told1(job.Submit, "6", 11)), snap(30, "30:6-update", shown{id: "6", submit: 11}),
				snap(45, "30:5-end", shown{id: "6", submit: 11}), snap(60, ""), snap(75, "")}},
		{"several queues", "",
			[]step{log(submit), snap(15, "15:5-update", shown{id: "5", queue: "short,medium", submit: 10}),
				log(event(job.Start, "5", at(20), job.Attributes{Queue: "medium"}, job.Times{})),
				snap(30, "", shown{id: "5", queue: "medium", state: "RUNNING", submit: 10, start: 20})}},
		{"an array's waiting tasks are one record", "", []step{
			log(told1(job.Submit, "9", 10)),
			snap(15, "15:9-hold", shown{id: "9_[5-7%1]", raw: "9", submit: 10, reason: "JobArrayTaskLimit"}),
			snap(25, "25:9-release", shown{id: "9_[5-7%1]", raw: "9", submit: 10}),
			log(told1(job.Start, "9_5", 26)),
			snap(40, "40:9_5-update", shown{id: "9_[6-7%1]", raw: "9", submit: 10},
				shown{id: "9_5", raw: "10", state: "RUNNING", user: "bob", submit: 10, start: 26}),
			snap(55, "55:9-update", shown{id: "9_7", raw: "9", submit: 10},
				shown{id: "9_5", raw: "10", state: "RUNNING", user: "bob", submit: 10, start: 26}),
			snap(70, "70:9-start", shown{id: "9_7", raw: "9", state: "RUNNING", submit: 10, start: 60},
				shown{id: "9_5", raw: "10", state: "RUNNING", user: "bob", submit: 10, start: 26}),
		}},
		{"suspended and resumed", "", []step{log(submit, start), snap(30, "30:5-update", suspended),
			snap(45, "30:5-suspend", suspended), snap(60, "", suspended), snap(75, "", runs),
			snap(90, "75:5-resume", runs), snap(105, "", runs)}},
		{"the log told of the suspension", "", []step{log(submit, start), snap(30, "30:5-update", runs),
			snap(45, "", suspended), log(told1(job.Suspend, "5", 45)), snap(60, "", suspended)}},
		{"first seen suspended", "",
			[]step{snap(30, "10:5-submit* 30:5-start 30:5-suspend", suspended), snap(45, "", suspended)}},
		{"held for another reason", "", []step{log(submit), snap(15, "15:5-hold", held),
			snap(30, "30:5-update", held), // the reason has settled
			snap(45, "45:5-hold", shown{id: "5", submit: 10, reason: "Dependency"})}},
		{"a heterogeneous job", "", []step{log(told1(job.Submit, "21", 10)),
			snap(15, "15:21-update 10:21+1-submit*", shown{id: "21+0", raw: "21", submit: 10},
				shown{id: "21+1", raw: "22", submit: 10})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, false, c.user)
			for i, step := range c.steps {
				if step.log != nil {
					s.fold(step.log...)
				} else if got := s.snap(step.at, step.jobs...); got != step.want {
					t.Errorf("step %d: changes\n%q, want\n%q", i, got, step.want)
				}
			}
		})
	}
}

// TestSnapshotUnlogged proves that an answer reports submissions and ends that the log lacks, and only these: not those
// of before, of the log, of parts of jobs, nor starts.
func TestSnapshotUnlogged(t *testing.T) {
	s := newStage(t, false, "")
	old, logged := shown{id: "5", submit: 1}, shown{id: "6", submit: 25}
	started := logged
	started.state, started.start = "RUNNING", 50
	ended := started
	ended.state, ended.end = "COMPLETED", 80
	array, part := shown{id: "9_1", raw: "10", submit: 40}, shown{id: "21+1", raw: "22", submit: 40}
	s.fold(told1(job.Submit, "6", 25))
	for _, c := range []struct {
		at   int64
		jobs []shown
		want bool
	}{
		{20, []shown{old}, false},
		{30, []shown{old, logged}, false},
		{45, []shown{old, logged, array, part}, false},
		{60, []shown{old, started}, false},
		{75, []shown{old, started, {id: "7", submit: 70}}, true},
		{90, []shown{old, ended, {id: "7", submit: 70}}, true},
		{105, []shown{old, ended, {id: "7", submit: 70}}, false},
	} {
		a := s.answer(c.at, c.jobs...)
		s.fold(a.Events...)
		if a.Unlogged != c.want {
			t.Errorf("at %d: unlogged %t", c.at, a.Unlogged)
		}
	}
}

// TestJobSubmittedWhileSqueueRan proves that the reason of a waiting job counts even if the job was submitted after the
// call of squeue began, so that the time of the snapshot is before the submission.
func TestJobSubmittedWhileSqueueRan(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(event(job.Submit, "5", at(20).Add(500*time.Millisecond), job.Attributes{}, job.Times{}))
	row := shown{id: "5", submit: 20, reason: "BeginTime"}
	if got := s.snap(20, row); got != "20:5-hold" {
		t.Errorf("changes %q", got)
	}
	if j := s.state.Job("5"); !j.Held || j.Reason != "BeginTime" || j.Procs != 2 {
		t.Errorf("the picture has %+v, want it to be held", j)
	}
	if got := s.snap(35, row); got != "35:5-update" { // the reason has settled
		t.Errorf("changes of the next snapshot %q", got)
	}
}

// TestFrequentSnapshotsSettleLater proves that two snapshots in quick succession do not settle a reason, because the
// scheduler may not have examined its jobs between them.
func TestFrequentSnapshotsSettleLater(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10))
	for i, reason := range []string{
		"None", "Priority", "Priority", "Priority", "QOSGrpCpuLimit", "QOSGrpCpuLimit", "AssocGrpCpuLimit",
	} {
		s.snap(15+int64(i), shown{id: "5", submit: 10, reason: reason})
		if got := s.state.Job("5").Settled; got != "" {
			t.Fatalf("settled at %q in second %d", got, 15+i)
		}
	}
	s.snap(22, shown{id: "5", submit: 10, reason: "QOSGrpCpuLimit"}) // a limit, for 3 s
	if got := s.state.Job("5").Settled; got != "QOSGrpCpuLimit" {
		t.Errorf("settled at %q, want the limit", got)
	}
}

// TestSnapshotConfirmsGuesses proves that a snapshot reports a job's attributes even if they equal the guesses in the
// picture (one processor, the default queue). Otherwise they would stay marked as guessed.
func TestSnapshotConfirmsGuesses(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10), told1(job.Start, "5", 10))
	if j := s.state.Job("5"); j.Procs != 1 || !j.Unsized || !j.Unqueued {
		t.Fatalf("the picture has %+v", j)
	}
	row := shown{id: "5", state: "RUNNING", queue: cluster.DefaultQueue, procs: "1", submit: 10, start: 10}
	if got := s.snap(15, row); got != "15:5-update" {
		t.Errorf("told %q", got)
	}
	if j := s.state.Job("5"); j.Guessed() {
		t.Errorf("the picture still guesses: %+v", j)
	}
	if got := s.snap(30, row); got != "" {
		t.Errorf("told again: %q", got)
	}
}

// TestSnapshotSettledReason proves that the first reason in two successive snapshots is reported once, whether the job
// competes or is held. It stays when the reason changes and when the job starts. A requeued job gets a new one.
func TestSnapshotSettledReason(t *testing.T) {
	s := newStage(t, false, "")
	waits := func(reason string) shown { return shown{id: "5", submit: 10, reason: reason} }
	runs := shown{id: "5", state: "RUNNING", submit: 10, start: 80}
	s.fold(told1(job.Submit, "5", 10))
	for i, step := range []struct {
		row           shown
		want, settled string
	}{
		{waits("None"), "15:5-update", ""}, // the attributes
		{waits("Priority"), "", ""},        // from before the scheduler has considered the job
		{waits("QOSMaxCpuPerUserLimit"), "45:5-hold", ""},
		{waits("QOSMaxJobsPerUserLimit"), "60:5-hold", "QOSMaxJobsPerUserLimit"}, // the same cause
		{waits("QOSMaxJobsPerUserLimit"), "", "QOSMaxJobsPerUserLimit"},
		{waits("Resources"), "90:5-release", "QOSMaxJobsPerUserLimit"},
		{waits("Resources"), "", "QOSMaxJobsPerUserLimit"},
		{runs, "120:5-start", "QOSMaxJobsPerUserLimit"},
		{waits("Resources"), "", "QOSMaxJobsPerUserLimit"},
		{waits("Resources"), "150:5-requeue", ""},
		{waits("SomethingNew"), "", ""}, // an unknown cause
		{waits("Resources"), "", ""},
		{waits("Resources"), "195:5-update", "Resources"},
	} {
		if got := s.snap(15*int64(i+1), step.row); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		if got := s.state.Job("5").Settled; got != step.settled {
			t.Errorf("step %d: settled at %q, want %q", i, got, step.settled)
		}
	}
}

// TestSnapshotAlone proves that without a log the snapshots report the lives of jobs as far as they show them. Only a
// job that was seen waiting counts as submitted while the daemon watched.
func TestSnapshotAlone(t *testing.T) {
	s := newStage(t, true, "")
	waits := shown{id: "5", submit: 10}
	runs := shown{id: "5", state: "RUNNING", submit: 10, start: 11}
	for _, step := range []struct {
		at   int64
		want string
		jobs []shown
	}{
		{10, "10:4-submit* 10:4-start 10:5-submit", []shown{waits, {id: "4", state: "RUNNING", submit: 10, start: 10}}},
		{25, "25:5-start", []shown{runs, {id: "4", state: "RUNNING", submit: 10, start: 10}}},
		{40, "", nil},
		{55, "40:4-end 40:5-end", nil},
	} {
		if got := s.snap(step.at, step.jobs...); got != step.want {
			t.Errorf("at %d: changes\n%q, want\n%q", step.at, got, step.want)
		}
	}
}

// TestSnapshotsInQuickSuccession proves that a job that came and ended between two snapshots is reported with its
// start, even if two more snapshots are taken before its end is old enough to be reported.
func TestSnapshotsInQuickSuccession(t *testing.T) {
	s := newStage(t, true, "")
	waits := shown{id: "5", submit: 10}
	over := shown{id: "5", state: "COMPLETED", submit: 10, start: 20, end: 21}
	for _, step := range []struct {
		at   int64
		want string
		jobs []shown
	}{
		{20, "20:5-submit", []shown{waits}}, {21, "", []shown{over}}, {22, "", []shown{over}}, {23, "", []shown{over}},
		{24, "20:5-start* 21:5-end", []shown{over}}, {25, "", []shown{over}},
	} {
		if got := s.snap(step.at, step.jobs...); got != step.want {
			t.Errorf("at %d: changes %q, want %q", step.at, got, step.want)
		}
	}
}

// TestSnapshotAttributes proves that the picture after a snapshot has the attributes that squeue printed.
func TestSnapshotAttributes(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10))
	s.snap(15, shown{id: "5", queue: "short,medium", procs: "48", limit: "1-02:03:04", submit: 10, reason: "Dependency",
		priority: "77", shared: "NO", tres: "cpu=48,mem=4G,node=1,gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1"})
	j := *s.state.Job("5")
	want := cluster.Job{
		ID: "5", Seq: 1, FirstQueue: "short", Order: at(10), Submit: at(10), Eligible: at(10), Held: true,
		Updated: at(15), Attributes: job.Attributes{
			Queue: "short", User: "alice", QOS: "normal", Procs: 48, Nodes: 1, TimeLimit: 26*time.Hour + 3*time.Minute +
				4*time.Second,
			Memory: 4 << 30, GPUs: 3, Whole: true, Priority: 77, Reason: "Dependency", Queues: "short,medium",
		},
	}
	if d := cmp.Diff(want, j); d != "" {
		t.Errorf("-want +got: %s", d)
	}
}

// TestSnapshotQueues proves that a waiting job has all the queues that it requested, and counts in the first of them;
// that it loses them when it is moved to one queue, and when it starts in the queue that squeue then shows.
func TestSnapshotQueues(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10), told1(job.Submit, "6", 11))
	both := []shown{{id: "5", queue: "short,medium", qos: "low,high", submit: 10},
		{id: "6", queue: "short,medium", submit: 11}}
	moved := []shown{{id: "5", queue: "long", submit: 10},
		{id: "6", queue: "medium", state: "RUNNING", submit: 11, start: 40}}
	for _, step := range []struct {
		at                      int64
		jobs                    []shown
		queue5, all5, q6, both6 string
	}{
		{15, both, "short", "short,medium", "short", "short,medium"},
		{30, both, "short", "short,medium", "short", "short,medium"},
		{45, moved, "long", "long", "medium", ""},
	} {
		changes := s.snap(step.at, step.jobs...)
		if step.at == 30 && changes != "" {
			t.Errorf("a listing without news has the changes %q", changes)
		}
		a, b := s.state.Job("5"), s.state.Job("6")
		if step.at < 45 && a.QOS != "low" {
			t.Errorf("of several QOS %q counts, want the first", a.QOS)
		}
		if a.Queue != step.queue5 || a.Queues != step.all5 || b.Queue != step.q6 || b.Queues != step.both6 {
			t.Errorf("at %d: %q of %q and %q of %q", step.at, a.Queue, a.Queues, b.Queue, b.Queues)
		}
	}
}

// TestSnapshotPlanned proves that the first start that squeue expects within a minute of the submission is kept, also
// when the job starts, and no later one.
func TestSnapshotPlanned(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10), told1(job.Submit, "6", 10))
	s.snap(15, shown{id: "5", submit: 10}, shown{id: "6", submit: 10})
	s.snap(30, shown{id: "5", submit: 10, start: 400}, shown{id: "6", submit: 10})
	s.snap(90, shown{id: "5", submit: 10, start: 500}, shown{id: "6", submit: 10, start: 500})
	s.snap(110, shown{id: "5", state: "RUNNING", submit: 10, start: 100}, shown{id: "6", submit: 10, start: 500})
	if j := s.state.Job("5"); !j.Planned.Equal(at(400)) || !j.Running() {
		t.Errorf("planned for %v", j.Planned)
	}
	if j := s.state.Job("6"); !j.Planned.IsZero() {
		t.Errorf("a later plan for %v is kept", j.Planned)
	}
}

// TestSnapshotBadOutput proves that output of another program is refused as a whole. One unreadable line among good
// ones is reported, and as long as it exists no job counts as gone.
func TestSnapshotBadOutput(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10), told1(job.Submit, "6", 10), told1(job.Submit, "7", 10))
	for _, output := range []string{
		"\x00\x01\x02", "slurm_load_jobs error: Unable to contact slurm controller\n",
		"             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n",
		strings.ReplaceAll(shown{id: "5", submit: 10}.line(), "\x1f", "|"),
		strings.Replace(shown{id: "5", submit: 10}.line(), "5\x1f", "", 1), // one column less
		strings.Repeat("5\x1f", 1000) + "\n",
	} {
		a := s.Read([]byte(output), at(30))
		if a.Err == nil || len(a.Events) > 0 || len(a.Bad) == 0 {
			t.Errorf("%q: %+v", output, a)
		} else if !strings.Contains(a.Err.Error(), "want 24 fields") {
			t.Errorf("%q: %v", output, a.Err)
		}
	}
	bad := shown{id: "7", state: "PONDERING", submit: 10}.line()
	for _, second := range []int64{45, 60, 75} { // job 6 is missing, but the bad line may be its line
		a := s.Read([]byte(shown{id: "5", submit: 10}.line()+bad), at(second))
		if a.Err != nil || len(a.Bad) != 1 || a.Bad[0].Number != 2 || a.Bad[0].Reason != collector.ReasonUnknown ||
			string(a.Bad[0].Text)+"\n" != bad {
			t.Fatalf("%+v", a)
		}
		s.fold(a.Events...)
	}
	if len(s.state.Queued()) != 3 {
		t.Errorf("%d jobs wait, want all 3", len(s.state.Queued()))
	}
}

// TestSnapshotBadFields proves that each unreadable field is named.
func TestSnapshotBadFields(t *testing.T) {
	good := shown{id: "5", state: "RUNNING", submit: 10, start: 20}
	for _, c := range []struct {
		field  string
		change func(*shown)
	}{
		{"JobArrayID", func(s *shown) { s.id, s.raw = "x", "5" }},
		{"JobArrayID", func(s *shown) { s.id, s.raw = "5_1x", "5" }},
		{"JobArrayID", func(s *shown) { s.id, s.raw = "5_[]", "5" }},
		{"JobId", func(s *shown) { s.id, s.raw = "5_[1-x]", "5" }},
		{"JobID", func(s *shown) { s.raw = "0" }},
		{"State", func(s *shown) { s.state = "R" }},
		{"JobId", func(s *shown) { s.id, s.raw = "5_[3-1]", "5" }},
		{"PriorityLong", func(s *shown) { s.priority = "high" }},
		{"tres-alloc", func(s *shown) { s.tres = "cpu=x" }},
		{"tres-alloc", func(s *shown) { s.tres = "cpu=4,mem=M" }},
		{"NumCPUs", func(s *shown) { s.procs = "4-8" }},
		{"NumCPUs", func(s *shown) { s.procs = "0" }},
		{"TimeLimit", func(s *shown) { s.limit = "2" }},
		{"TimeLimit", func(s *shown) { s.limit = "x:00" }},
		{"TimeLimit", func(s *shown) { s.limit = "soon" }},
		{"SubmitTime", func(s *shown) { s.submit = -unix }},
		{"StartTime", func(s *shown) { s.start = 0 }},
		{"end", func(s *shown) { s.state, s.end = "FAILED", 15 }},
	} {
		line := good
		c.change(&line)
		s := newStage(t, false, "")
		a := s.Read([]byte(line.line()), at(30))
		if a.Err == nil || !strings.Contains(a.Err.Error(), "field "+c.field+":") {
			t.Errorf("%q: %v, want one about %s", line.line(), a.Err, c.field)
		}
	}
}

// TestSnapshotWaysToWrite checks limits and local times in all forms that squeue writes.
func TestSnapshotWaysToWrite(t *testing.T) {
	for limit, want := range map[string]time.Duration{
		"0:30": 30 * time.Second, "2:00": 2 * time.Minute, "1:02:03": time.Hour + 2*time.Minute + 3*time.Second,
		"7-00:00:00": 7 * 24 * time.Hour,
		"UNLIMITED":  0, "NOT_SET": 0, "Partition_Limit": 0, "49710-06:28:00": 0,
	} {
		s := newStage(t, false, "")
		s.fold(s.answer(30, shown{id: "5", submit: 10, limit: limit}).Events...)
		if got := s.state.Job("5").TimeLimit; got != want {
			t.Errorf("limit %s is %s, want %s", limit, got, want)
		}
	}
	s := newStage(t, false, "")
	local := strings.ReplaceAll(shown{id: "5", submit: 10}.line(), fmt.Sprint(unix+10), "2026-11-20T09:00:10") // Berlin
	s.fold(s.Read([]byte(local), at(30)).Events...)
	if got := s.state.Job("5").Submit; !got.Equal(at(10)) {
		t.Errorf("submitted at %v, want %v", got, at(10))
	}
}

// TestSnapshotBlocked proves that a waiting job competes only if its reason concerns processors.
func TestSnapshotBlocked(t *testing.T) {
	for reason, want := range map[string]bool{
		"Priority": false, "Resources": false, "None": false, "Cleaning": false,
		"ReqNodeNotAvail, UnavailableNodes:n01":                                                       false,
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": false,
		"Dependency": true, "DependencyNeverSatisfied": true, "BeginTime": true, "JobHeldUser": true,
		"JobHeldAdmin":      true,
		"JobArrayTaskLimit": true, "AssocGrpCPUMinutesLimit": true, "AssocMaxJobsLimit": true,
		"QOSMaxCpuPerUserLimit": true, "QOSGrpNodeLimit": true,
		"PartitionTimeLimit": true, "PartitionConfig": true, "Licenses": true, "job requeued in held state": true,
		"launch failed requeued held": true,
	} {
		s := newStage(t, false, "")
		s.snap(30, shown{id: "5", submit: 10, reason: reason})
		if got := s.state.Job("5").Held; got != want {
			t.Errorf("%s: held is %v, want %v", reason, got, want)
		}
	}
}

// FuzzSnapshot proves that for any output nothing panics, every line counts as good or bad, and the events can be
// folded.
func FuzzSnapshot(f *testing.F) {
	f.Add(shown{id: "5", submit: 10}.line() + shown{id: "9_[5-7%1]", raw: "9", submit: 10}.line())
	f.Add(shown{id: "21+1", raw: "22", state: "RUNNING", submit: 10, start: 20, limit: "UNLIMITED"}.line())
	f.Add(strings.Repeat("\x1f", 22))
	f.Fuzz(func(t *testing.T, output string) {
		s := newStage(t, false, "")
		s.fold(told1(job.Submit, "5", 10))
		for _, second := range []int64{30, 45, 60} {
			a := s.Read([]byte(output), at(second))
			s.fold(a.Events...)
			if a.Err != nil && (len(a.Events) > 0 || len(a.Bad) == 0) || len(a.Bad) > a.Lines {
				t.Fatalf("%+v", a)
			}
		}
	})
}

// TestSnapshotNice proves that the nice value of a job is known while the job waits and after its start, even if a user
// resets it.
func TestSnapshotNice(t *testing.T) {
	s := newStage(t, true, "")
	for i, c := range []struct {
		row  shown
		want int64
	}{
		{shown{id: "5", submit: 10}, 0},
		{shown{id: "5", submit: 10, nice: "100"}, 100},
		{shown{id: "5", submit: 10, nice: "0"}, job.NoNice},
		{shown{id: "5", submit: 10, nice: "-20"}, -20},
		{shown{id: "5", submit: 10, nice: "-20", state: "RUNNING", start: 16}, -20},
	} {
		s.snap(15+int64(i), c.row)
		if j := s.state.Job("5"); j == nil || j.Nice != c.want {
			t.Errorf("%+v: job %+v, want a nice value of %d", c.row, j, c.want)
		}
	}
	if a := s.Read([]byte(shown{id: "5", submit: 10, nice: "much"}.line()), at(30)); a.Err == nil {
		t.Error("a nice value that is no number is taken")
	}
}
