package daemon_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// try is one attempt of a job. A requeue begins the next one.
type try struct {
	id      string
	attempt int
}

// truth has the data of an attempt, or of the last attempt of a job.
type truth struct {
	submit, start, end time.Time
	how                string // ended, requeued, canceled (without a start), lost; from sacct also "ended or requeued"
	procs              int
	queue              string // all requested queues, for a job that requested several and never ran
	limit              time.Duration
	user, account, qos string
	state              string // sacct's own word
	ran                bool
	restarts           int // number of earlier attempts
}

// allStates are the states for sacct --state. With them, sacct also shows jobs that were cancelled before they could
// compete (sacct(1), --state).
const allStates = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,S,TO"

// accounted returns sacct's data of every attempt of every job, once sacct has the ends of all.
func (c *slurmCluster) accounted() map[try]truth {
	c.t.Helper()
	var rows [][]string
	eventually(c.t, "sacct to know the end of every job", func() bool {
		rows = nil
		seen, over := map[string]bool{}, true
		for line := range strings.Lines(c.run("sacct", "-a", "-X", "-D", "-P", "-n", "-S", "now-1day", "-E", "now",
			"--state="+allStates,
			"--format=JobID,JobIDRaw,State,Submit,Start,End,Partition,TimelimitRaw,ReqCPUS,AllocCPUS,User,Account,QOS,"+
				"NodeList")) {
			r := strings.Split(strings.TrimSpace(line), "|")
			rows, seen[r[1]] = append(rows, r), true
			// For a moment slurmdbd knows only that an attempt has ended.
			over = over && r[5] != "Unknown" && r[6] != ""
		}
		for line := range strings.Lines(c.run("scontrol", "show", "job", "--oneliner")) {
			word, _, _ := strings.Cut(line, " ")
			own, isJob := strings.CutPrefix(word, "JobId=")
			over = over && (seen[own] || !isJob) // a line may be no job, because a name may have a line end
		}
		return over
	})
	tries := map[string][]truth{}
	for _, r := range rows {
		id := sacctName(r[0], r[1])
		tries[id] = append(tries[id], sacctLife(c.t, r))
	}
	all := map[try]truth{}
	for id, lives := range tries {
		slices.SortStableFunc(lives, func(a, b truth) int {
			return cmp.Or(a.end.Compare(b.end),
				a.submit.Compare(b.submit))
		})
		for n, l := range lives {
			if l.how == "ended" && n < len(lives)-1 {
				l.how = "ended or requeued" // NODE_FAIL or PREEMPTED, which sacct shows with and without a requeue
			}
			l.restarts = n
			all[try{id, n}] = l
		}
	}
	return all
}

// sacctName returns a job's id as the collectors form it.
func sacctName(shown, own string) string {
	if head, _, ok := strings.Cut(shown, "_["); ok {
		return head
	}
	if i := strings.IndexAny(shown, "_+"); i > 0 {
		number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
		return slurm.TaskID(number(own), number(shown[:i]), shown[i], number(shown[i+1:]))
	}
	return shown
}

// sacctLife reads a row of sacct with times in Unix seconds. The fields are those that accounted requests.
func sacctLife(t *testing.T, r []string) truth {
	t.Helper()
	when := func(text string) time.Time {
		if unix, err := strconv.ParseInt(text, 10, 64); err == nil && unix > 0 {
			return time.Unix(unix, 0).UTC()
		}
		return time.Time{}
	}
	count := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("sacct's row %q: %v", r, err)
		}
		return n
	}
	l := truth{
		submit: when(r[3]), start: when(r[4]), end: when(r[5]), state: r[2], queue: r[6],
		limit: time.Duration(count(r[7])) * time.Minute,
		procs: count(r[8]), user: r[10], account: r[11], qos: r[12], how: "ended", ran: true,
	}
	switch {
	case r[13] == "None assigned":
		l.how, l.ran = "canceled", false // its start may be the time of the cancellation
		return l
	case l.state == "REQUEUED":
		l.how = "requeued"
	}
	l.procs = count(r[9])
	return l
}

// livesIn returns the journal's data of the last attempt of every job.
func livesIn(k kept) map[string]truth {
	out := map[string]truth{}
	for id, l := range triesIn(k) {
		if before, known := out[id.id]; !known || before.restarts < l.restarts {
			out[id.id] = l
		}
	}
	return out
}

// triesIn returns the journal's data of every attempt.
func triesIn(k kept) map[try]truth {
	events := make([]job.Event, len(k.Entries))
	for i, e := range k.Entries {
		events[i] = e.Event
	}
	return triesOf(events)
}

// triesOf folds events and returns every attempt of every job.
func triesOf(events []job.Event) map[try]truth {
	state, out := cluster.New("main", 0), map[try]truth{}
	note := func(ev job.Event, attempt int, j *cluster.Job) {
		l := out[try{ev.ID, attempt}]
		l.submit, l.procs, l.queue, l.limit, l.user, l.account, l.qos = j.Submit, j.Procs, j.Queue, j.TimeLimit, j.User,
			j.Account, j.QOS
		l.restarts = attempt
		switch {
		case attempt > ev.Attempt: // the next attempt
		case ev.Kind == job.Requeue:
			l.end, l.how = ev.Time, "requeued"
		case ev.Kind == job.Start:
			l.start, l.ran = j.Start, true
		case ev.Kind == job.End && ev.Derived:
			l.end, l.how = ev.Times.End, "lost"
		case ev.Kind == job.End:
			l.start, l.end, l.how, l.ran = ev.Times.Start, ev.Times.End, "ended", true
		case ev.Kind == job.Cancel && !j.Running():
			l.end, l.how, l.ran = ev.Time, "canceled", false
		}
		out[try{ev.ID, attempt}] = l
	}
	for _, ev := range events {
		state.Apply(ev, &cluster.Hooks{Changed: func(ch cluster.Change) {
			switch {
			case ch.Event.Kind == job.Machine: // squeue's source reports facts, too
			case ch.After == nil:
				note(ch.Event, ch.Event.Attempt, ch.Before)
			case ch.Event.Kind == job.Requeue:
				note(ch.Event, ch.Event.Attempt, ch.Before)
				note(ch.Event, ch.Event.Attempt+1, ch.After)
			default:
				note(ch.Event, ch.Event.Attempt, ch.After)
			}
		}})
	}
	return out
}

// comparison defines how lives are compared.
type comparison struct {
	attributes bool // includes the request of the job
}

// compareLives compares every attempt with sacct's data.
func (c *slurmCluster) compareLives(source string, want, got map[try]truth, how comparison) {
	c.t.Helper()
	var diffs []string
	for id, w := range want {
		g, ok := got[id]
		if !ok {
			diffs = append(diffs, fmt.Sprintf("%v (%s) is missing", id, w.state))
			continue
		}
		for _, d := range how.differences(&w, &g) {
			diffs = append(diffs, fmt.Sprintf("%v (%s): %s", id, w.state, d))
		}
	}
	for id, g := range got {
		_, ok := want[id]
		if array, part := want[try{whole(id.id), id.attempt}]; part && !array.ran && !g.ran && near(g.end, array.end) {
			continue // Slurm keeps the array tasks that were canceled while they waited as one job
		}
		if !ok {
			diffs = append(diffs, fmt.Sprintf("%v (%s) is not in sacct", id, g.how))
		}
	}
	c.t.Logf("%s: %d tries in sacct, %d differences", source, len(want), len(diffs))
	if slices.Sort(diffs); len(diffs) > 0 {
		c.t.Errorf("%s:\n%s", source, strings.Join(diffs, "\n"))
	}
}

func (c comparison) differences(w, g *truth) (out []string) {
	differ := func(what string, got, should any) {
		out = append(out, fmt.Sprintf("%s %v, want %v", what, got, should))
	}
	if !strings.Contains(w.how, g.how) || g.how == "" {
		differ("it", g.how, w.how)
	}
	if !near(g.submit, w.submit) {
		differ("submit", g.submit, w.submit)
	}
	if w.ran && !near(g.start, w.start) {
		differ("start", g.start, w.start)
	}
	if !near(g.end, w.end) {
		differ("end", g.end, w.end)
	}
	if !c.attributes {
		return out
	}
	if g.procs != w.procs {
		differ("size", g.procs, w.procs)
	}
	if !slices.Contains(strings.Split(w.queue, ","), g.queue) {
		differ("queue", g.queue, w.queue)
	}
	if g.limit != w.limit {
		differ("limit", g.limit, w.limit)
	}
	if g.user != w.user || g.account != w.account || g.qos != w.qos {
		differ("owner", []string{g.user, g.account, g.qos}, []string{w.user, w.account, w.qos})
	}
	return out
}

// near allows a second of difference, because sacct has whole seconds.
func near(a, b time.Time) bool { return a.Truncate(time.Second).Sub(b).Abs() <= time.Second }

// whole returns the id of the array that a task belongs to, or the id itself if it is not one of a task. It is needed
// because the picture separates waiting tasks from their array only after a snapshot.
func whole(id string) string {
	w, _, _ := strings.Cut(id, "_")
	return w
}
