package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestStartsThatTheLogLacks proves what becomes of jobs whose end shows that they ran, although the log has no start. A
// job whose start comes late gets a row with its true wait. A job whose start never comes gets no row, so it counts
// neither as cancelled nor as a longer wait, and the cluster has the condition starts_unseen.
func TestStartsThatTheLogLacks(t *testing.T) {
	store := &memory{}
	p, src := newPipeline(testConfig(), store, collector.Live)
	of := func(kind job.Kind, id string, second float64) job.Event {
		ev := sized(event(kind, id, second), 2)
		ev.Queue, ev.Live = "a", true
		return ev
	}
	end := func(id string, second float64) job.Event {
		ev := event(job.End, id, second)
		ev.Ran, ev.Live = true, true
		return ev
	}
	listed := of(job.End, "1", 60)
	listed.Times = job.Times{Submit: at(0), Start: at(20), End: at(60)}
	conditions := func() (names []readmodel.ConditionName) {
		for _, c := range p.Conditions() {
			if c.Name != readmodel.SourceReading {
				names = append(names, c.Name)
			}
		}
		return names
	}
	unseen := []readmodel.ConditionName{readmodel.StartsUnseen}
	for _, step := range []struct {
		events []job.Event
		want   []readmodel.ConditionName
	}{
		{[]job.Event{of(job.Submit, "1", 0), of(job.Submit, "2", 1), of(job.Submit, "3", 2)}, nil},
		{[]job.Event{end("1", 60), of(job.End, "3", 61)}, unseen}, // no source of this cluster has starts
		{[]job.Event{listed}, nil},
		{[]job.Event{end("2", 70)}, unseen},
		{[]job.Event{of(job.Submit, "4", 400)}, unseen}, // the grace is over
		{[]job.Event{of(job.Submit, "5", 400+25*3600)}, nil},
	} {
		take(t, p, deliveries(src, step.events, 10, 1)...)
		if got := conditions(); !slices.Equal(got, step.want) {
			t.Errorf("after %v of job %s: conditions %v, want %v", step.events[0].Kind, step.events[0].ID, got,
				step.want)
		}
	}
	outcomes := map[string]modelstore.Row{}
	for _, r := range store.rows {
		outcomes[r.JobID] = r
	}
	if r := outcomes["1"]; r.Outcome != modelstore.Started || r.WaitSeconds != 20 {
		t.Errorf("the row of the job whose start came late: %+v", r)
	}
	if r, ok := outcomes["2"]; ok {
		t.Errorf("a job whose start is unknown has a row: %+v", r)
	}
	if r := outcomes["3"]; r.Outcome != modelstore.Cancelled {
		t.Errorf("the row of a cancelled job: %+v", r)
	}
	if c := p.View("c").Counts; c.UnseenStarts != 1 || c.Started != 1 || c.Cancelled != 1 {
		t.Errorf("counts %+v", c)
	}
}

// TestUntriedScheduler proves that a version of the scheduler that is newer than all tried ones is a harmless
// condition.
func TestUntriedScheduler(t *testing.T) {
	for _, untried := range []bool{false, true} {
		s := newSlurmStage(t, slurmConfig(), &memory{})
		facts := event(job.Machine, job.MachineID, 0)
		facts.Facts = &job.Facts{Version: "99.05.1", Untried: untried}
		s.deliver(s.squeue, facts)
		found := slices.DeleteFunc(s.pipeline.View("c").Conditions(), func(c readmodel.Condition) bool {
			return c.Name != readmodel.SchedulerUntried
		})
		if (len(found) == 1) != untried ||
			untried && (!found[0].Harmless() || !strings.Contains(found[0].Reason, "99.05.1")) {
			t.Errorf("untried %v: %+v", untried, found)
		}
	}
}
