package slurm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// arrayRow returns squeue's row for the waiting tasks of an array.
func arrayRow(list string) shown { return shown{id: "9_[" + list + "]", raw: "9", submit: 10} }

// taskRow returns squeue's row for a running task.
func taskRow(index int, start int64) shown {
	return shown{id: fmt.Sprintf("9_%d", index), raw: fmt.Sprint(100 + index), state: "RUNNING", submit: 10,
		start: start}
}

// TestSnapshotCountsTasks proves that a waiting array is one event with the number of its tasks, in each notation. In a
// truncated list the visible tasks are counted.
func TestSnapshotCountsTasks(t *testing.T) {
	for list, want := range map[string]int{
		"0-99999": 100_000, "0-999": 1000, "3-6,8%2": 5, "0-9:3%2": 4, "7": 1, "5-3999:2%3": 1998, "1,3,5,...": 3,
		"1,3,5,10...": 3, "1-100,10...%7": 100,
	} {
		s := newStage(t, false, "")
		events := s.answer(30, arrayRow(list)).Events
		if len(events) != 1 || events[0].ID != "9" || events[0].Tasks != want {
			t.Errorf("%s: %+v, want one event of array 9 with %d tasks", list, events, want)
		}
	}
}

// TestSnapshotCorrectsTasks proves how a snapshot corrects the number of waiting tasks, depending on the array in the
// picture and on the other rows of squeue. The row of the array always comes from a snapshot at second 60.
func TestSnapshotCorrectsTasks(t *testing.T) {
	type picture = map[string]slurm.Live
	waits := func(tasks int) slurm.Live {
		return slurm.Live{Attributes: job.Attributes{
			Queue: "short", User: "alice", QOS: "normal", Procs: 2, Nodes: 1, TimeLimit: 120e9, Priority: 1000,
			Tasks: tasks,
		}, Submit: at(10), Eligible: at(10)}
	}
	since := func(start int64) slurm.Live {
		live := waits(0)
		live.Start = at(start)
		return live
	}
	for _, c := range []struct {
		name    string
		alone   bool
		picture picture
		rows    []shown
		want    []string
	}{
		{"as told", false, picture{"9": waits(3)}, []shown{arrayRow("1-3")}, nil},
		{"not known yet", false, picture{"9": waits(0)}, []shown{arrayRow("1-3")}, []string{"update 9 3"}},
		{"the log missed starts", false, picture{"9": waits(5)}, []shown{arrayRow("1-3")}, []string{"update 9 3"}},
		{"the log missed a kill that was refused", false, picture{"9": waits(2)}, []shown{arrayRow("1-3")},
			[]string{"update 9 3"}},
		{"a start that the log will tell", false, picture{"9": waits(4)},
			[]shown{arrayRow("1-3"), taskRow(4, 59)}, nil},
		{"the same where the number was not known", false, picture{"9": waits(0)},
			[]shown{arrayRow("1-3"), taskRow(4, 59)}, []string{"update 9 4"}},
		{"a start that the snapshot tells: the fold counts it", false, picture{"9": waits(4)},
			[]shown{arrayRow("1-3"), taskRow(4, 50)}, []string{"start 9_4 0"}},
		{"the same alone", true, picture{"9": waits(4)}, []shown{arrayRow("1-3"), taskRow(4, 59)},
			[]string{"start 9_4 0"}},
		{"a start that the snapshot tells, and more are gone", false, picture{"9": waits(9)},
			[]shown{arrayRow("1-3"), taskRow(4, 50)}, []string{"start 9_4 0", "update 9 3"}},
		{"the log was faster than squeue", false, picture{"9": waits(2), "9_1": since(60)},
			[]shown{arrayRow("1-3")}, nil},
		{"a task that waits by itself", false, picture{"9": waits(2), "9_1": waits(0)}, []shown{arrayRow("1-3")}, nil},
		{"a task that waits by itself in squeue, too", false, picture{"9": waits(2), "9_7": waits(0)},
			[]shown{arrayRow("1-2"), {id: "9_7", raw: "107", submit: 10}}, nil},
		{"the last one", false, picture{"9": waits(1)}, []shown{{id: "9_7", raw: "9", submit: 10}}, nil},
		{"the last one, of two", false, picture{"9": waits(2)}, []shown{{id: "9_7", raw: "9", submit: 10}},
			[]string{"update 9 1"}},
		{"a list that was cut off, of more", false, picture{"9": waits(70)}, []shown{arrayRow("1,3,5,...")}, nil},
		{"a list that was cut off, of fewer", false, picture{"9": waits(2)}, []shown{arrayRow("1,3,5,...")},
			[]string{"update 9 3"}},
		{"nobody knew of any", false, picture{}, []shown{arrayRow("1-3"), taskRow(4, 50)},
			[]string{"start 9_4 0", "update 9 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, c.alone, "")
			s.Snapshot = slurm.NewSnapshot(slurm.SnapshotConfig{
				Options: collector.Options{Cluster: "alpha"}, Alone: c.alone,
				Picture: func() map[string]slurm.Live { return c.picture },
			})
			var got []string
			for range 2 { // a second snapshot would report what is missing from both
				got = nil
				for _, ev := range s.answer(60, c.rows...).Events {
					got = append(got, fmt.Sprintf("%v %s %d", ev.Kind, ev.ID, ev.Tasks))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// TestTasksStartWhileASnapshotIsRead proves that each waiting task counts once, wherever the starts of an array's first
// tasks come: before the listing, between the listing and its comparison, or after the comparison, but before the fold
// has the snapshot's events. Array 9 has the tasks 1 to 6. The log reports its submission at second 20, and squeue
// lists it at second 22. The next listing then has nothing to correct.
func TestTasksStartWhileASnapshotIsRead(t *testing.T) {
	start := func(index int, second int64) job.Event {
		return told1(job.Start, fmt.Sprintf("9_%d", index), second)
	}
	row := func(list string) shown { return shown{id: "9_[" + list + "%2]", raw: "9", submit: 20} }
	runs := func(index int, second int64) shown {
		r := taskRow(index, second)
		r.submit = 20
		return r
	}
	ended := runs(1, 20)
	ended.state, ended.end = "COMPLETED", 20
	for _, c := range []struct {
		name          string
		before, after []job.Event // what the log reports before the comparison, and after it
		rows          []shown
		want          int
	}{
		{"none has started", nil, nil, []shown{row("1-6")}, 6},
		{"before the listing", []job.Event{start(1, 21), start(2, 21)}, nil,
			[]shown{row("3-6"), runs(1, 21), runs(2, 21)}, 4},
		{"before the listing, and the log reports it later", nil, []job.Event{start(1, 21), start(2, 21)},
			[]shown{row("3-6"), runs(1, 21), runs(2, 21)}, 4},
		{"one before the listing, which the log reports later, and one after the listing", nil,
			[]job.Event{start(1, 21), start(2, 23)}, []shown{row("2-6"), runs(1, 21)}, 4},
		{"between the listing and the comparison", []job.Event{start(1, 23), start(2, 23)}, nil,
			[]shown{row("1-6")}, 4},
		{"after the comparison", nil, []job.Event{start(1, 23), start(2, 23)}, []shown{row("1-6")}, 4},
		{"before and after the comparison", []job.Event{start(1, 23)}, []job.Event{start(2, 23)},
			[]shown{row("1-6")}, 4},
		{"the listing reports an old start, which the log reports later", nil, []job.Event{start(1, 20)},
			[]shown{row("2-6"), runs(1, 20)}, 5},
		{"the listing reports an old start, which the log lacks", nil, nil, []shown{row("2-6"), runs(1, 20)}, 5},
		{"a task has come and gone in the log", []job.Event{start(1, 20), told1(job.End, "9_1", 21)}, nil,
			[]shown{row("2-6"), runs(1, 20)}, 5},
		{"a task has come and gone in the listing", nil, nil, []shown{row("2-6"), ended}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, false, "")
			s.snap(5)
			s.fold(told1(job.Submit, "9", 20))
			s.fold(c.before...)
			answer := s.answer(22, c.rows...)
			s.fold(c.after...)
			s.fold(answer.Events...)
			whole := s.state.Job("9")
			if whole.Tasks != c.want || whole.Throttle != 2 {
				t.Errorf("%d tasks wait with throttle %d, want %d with 2", whole.Tasks, whole.Throttle, c.want)
			}
			next := []shown{row(fmt.Sprintf("%d-6", 7-c.want))}
			for _, j := range s.state.Running() {
				next = append(next, shown{id: j.ID, raw: "10" + j.ID[2:], state: "RUNNING", submit: 20,
					start: j.Start.Unix() - unix})
			}
			if s.snap(37, next...); s.state.Job("9").Tasks != c.want {
				t.Errorf("%d tasks after the next listing, want %d", s.state.Job("9").Tasks, c.want)
			}
		})
	}
}

// TestSnapshotPriority proves that a priority is reported when it has changed by more than a twentieth, and only for
// waiting jobs.
func TestSnapshotPriority(t *testing.T) {
	s := newStage(t, false, "")
	s.fold(told1(job.Submit, "5", 10))
	waits := func(priority string) shown { return shown{id: "5", submit: 10, priority: priority} }
	for i, step := range []struct {
		row  shown
		want string
	}{
		{waits("1000"), "15:5-update"}, {waits("1050"), ""}, {waits("950"), ""}, {waits("1051"), "60:5-update"},
		{waits("0"), ""}, {shown{id: "5", state: "RUNNING", submit: 10, start: 80, priority: "5000"}, "90:5-start"},
	} {
		if got := s.snap(15*int64(i+1), step.row); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	if got := s.state.Job("5").Priority; got != 1051 {
		t.Errorf("priority %d, want 1051", got)
	}
}

// TestSnapshotGPUs proves that a job has the GPUs that Slurm accounts for, or otherwise those that it requested.
func TestSnapshotGPUs(t *testing.T) {
	for _, c := range []struct {
		name, tres, perNode string
		gpus                int
		gpuType             string
	}{
		{"none", "cpu=2,mem=4000M,node=1,billing=2", "N/A", 0, ""},
		{"in all", "cpu=2,gres/gpu=3", "N/A", 3, ""},
		{"by type", "cpu=2,gres/gpu:a100=3", "N/A", 3, "a100"},
		{"both", "cpu=2,gres/gpu=3,gres/gpu:a100=3", "gres:gpu:7", 3, "a100"},
		{"of two types", "cpu=2,gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1", "N/A", 3, ""},
		{"of a type and any", "cpu=2,gres/gpu=3,gres/gpu:a100=2", "N/A", 3, ""},
		{"not accounted", "cpu=2", "gres:gpu:a100:2", 2, "a100"},
		{"not accounted, newer", "cpu=2", "gres/gpu:a100:2", 2, "a100"},
		{"not accounted, one", "cpu=2", "gres:gpu", 1, ""},
		{"not accounted, one of a type", "cpu=2", "gpu:a100", 1, "a100"},
		{"not accounted, of two types", "cpu=2", "gres:gpu:v100:1,gres:gpu:a100:1", 2, ""},
		{"other things", "cpu=2,license/matlab=4,gres/craynetwork=1", "gres:craynetwork:3", 0, ""},
	} {
		s := newStage(t, false, "")
		s.snap(30, shown{id: "5", submit: 10, tres: c.tres, perNode: c.perNode})
		if j := s.state.Job("5"); j.GPUs != c.gpus || j.GPUType != c.gpuType {
			t.Errorf("%s: %d GPUs of type %q, want %d of %q", c.name, j.GPUs, j.GPUType, c.gpus, c.gpuType)
		}
	}
}

// TestSnapshotMemory proves that memory is read in Slurm's units, each 1,024 times the previous one.
func TestSnapshotMemory(t *testing.T) {
	for text, want := range map[string]int64{
		"4000M": 4000 << 20, "62.50G": 125 << 29, "1T": 1 << 40, "512K": 512 << 10, "300": 300 << 20, "0": 0,
	} {
		s := newStage(t, false, "")
		s.snap(30, shown{id: "5", submit: 10, tres: "cpu=2,mem=" + text + ",node=1"})
		if got := s.state.Job("5").Memory; got != want {
			t.Errorf("%s is %d bytes, want %d", text, got, want)
		}
	}
}

// TestSnapshotThrottle proves that the throttle of an array comes from squeue's list of waiting tasks, and also applies
// to the array's running tasks. It is reported when it changes or is removed. A single last task shows no throttle.
func TestSnapshotThrottle(t *testing.T) {
	s := newStage(t, true, "")
	throttles := func(second int64, want int, rows ...shown) {
		t.Helper()
		s.snap(second, rows...)
		for _, id := range []string{"9", "9_1"} {
			if j := s.state.Job(id); j == nil || j.Throttle != want {
				t.Errorf("at %d: job %s is %+v, want throttle %d", second, id, j, want)
			}
		}
	}
	throttles(30, 2, arrayRow("3-6,8%2"), taskRow(1, 20))
	throttles(40, 5, arrayRow("3-6,8%5"), taskRow(1, 20))
	throttles(50, 5, shown{id: "9_8", raw: "9", submit: 10}, taskRow(1, 20))
	s = newStage(t, true, "")
	s.snap(30, arrayRow("3-6"))
	if got := s.state.Job("9").Throttle; got != 0 {
		t.Errorf("throttle %d of an array without any", got)
	}
	s.snap(40, arrayRow("3-6%1"))
	s.snap(50, arrayRow("3-6"))
	if got := s.state.Job("9").Throttle; got != job.NoThrottle {
		t.Errorf("throttle %d after it was taken away, want %d", got, job.NoThrottle)
	}
	s.snap(60, arrayRow("3-6"))
	if got := s.snap(75, arrayRow("3-6")); got != "" {
		t.Errorf("told %q of an array as it was", got)
	}
}

// TestSnapshotDependency checks the jobs on which a job depends, by texts that squeue of a real Slurm 22.05 printed.
func TestSnapshotDependency(t *testing.T) {
	for text, want := range map[string]string{
		"(null)": "", "afterok:1(unfulfilled)": "1",
		"afterany:1(unfulfilled),afterok:2(unfulfilled)":    "1,2",
		"afterany:3_*(unfulfilled)":                         "3_*",
		"afterok:3_1(unfulfilled)":                          "3_1",
		"afterok:1(fulfilled),afterok:2(unfulfilled)":       "2",
		"aftercorr:3_*(unfulfilled)":                        "3_7",
		"afterok:1(unfulfilled)?afterany:2(unfulfilled)":    job.UnknownAfter,
		"after:1+3(unfulfilled)":                            job.UnknownAfter,
		"singleton(unfulfilled)":                            job.UnknownAfter,
		"afterany:1(unfulfilled),afternotok:2(unfulfilled)": job.UnknownAfter,
		"afterany:oops(unfulfilled)":                        job.UnknownAfter,
	} {
		s := newStage(t, true, "")
		row := shown{id: "9_7", raw: "20", submit: 10, reason: "Dependency", dependency: text}
		s.snap(30, row)
		j := s.state.Job("9_7")
		if j == nil || j.After != want || !j.Held {
			t.Errorf("%s: %+v, want to wait for %q", text, j, want)
		}
		s.snap(45, row) // now the job's reason has settled
		if got := s.snap(60, row); got != "" {
			t.Errorf("%s: told %q again", text, got)
		}
	}
	s := newStage(t, true, "")
	s.snap(30, shown{id: "5", submit: 10, reason: "Dependency", dependency: "afterok:1(unfulfilled)"})
	for i, c := range []struct{ text, want string }{
		{"afterok:2(unfulfilled)", "2"}, {"singleton(unfulfilled)", job.UnknownAfter},
	} {
		s.snap(45+15*int64(i), shown{id: "5", submit: 10, reason: "Dependency", dependency: c.text})
		if j := s.state.Job("5"); j.After != c.want {
			t.Errorf("changed to %s: waits for %q, want %q", c.text, j.After, c.want)
		}
	}
}
