package liveload

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// bindingPlans returns the binding loads of the given number of seeds.
func bindingPlans(t *testing.T, seeds int, o PlanOptions) [][]Job {
	t.Helper()
	o.Binding = true
	plans := make([][]Job, 0, seeds)
	for seed := range seeds {
		plans = append(plans, mustPlan(t, uint64(seed), o)) //nolint:gosec // small
	}
	return plans
}

// TestBindingPlanCanRun proves that no job requests more than the machine has, or than a limit of scripts/slurm-cluster
// --binding allows. Of the nodes, 3/16 have 2 a100 each, another 3/16 have 4 v100 each, and every node has 8000 MiB.
func TestBindingPlanCanRun(t *testing.T) {
	for _, nodes := range []int{6, 16} {
		all := nodes * 4
		ofType := nodes * 3 / 16
		for _, jobs := range bindingPlans(t, 20, PlanOptions{Jobs: 200, Nodes: nodes}) {
			for i, j := range jobs {
				perNode := map[string]int{"a100": 2, "v100": 4, "": 2}[j.GPUType] // any node with GPUs has at least 2
				most := map[string]int{"": all, "batch": all / 8, "low": all / 4, "high": all}[j.QOS]
				switch {
				case j.Number != i || i > 0 && j.After < jobs[i-1].After:
					t.Fatalf("job %d is out of order: %+v", i, j)
				case j.Procs < 1 || j.Procs > most:
					t.Fatalf("%d processors of at most %d: %+v", j.Procs, most, j)
				case j.GPUs > perNode || j.GPUs > 0 && (j.Nodes < 1 || j.Nodes > ofType):
					t.Fatalf("GPUs: %+v", j)
				case j.Account == "biology" && j.GPUs*j.Nodes > 4:
					t.Fatalf("GPUs of the account: %+v", j)
				case j.Nodes > 0 && (j.Procs > 4*j.Nodes || j.Procs < j.Nodes):
					t.Fatalf("processors of the nodes: %+v", j)
				case j.NodeMemory > 8000 || j.NodeMemory > 0 && (j.Nodes == 0 || j.ProcMemory > 0):
					t.Fatalf("memory of each node: %+v", j)
				case j.ProcMemory > 0 && !fitsMemory(&j, nodes):
					t.Fatalf("memory of each processor: %+v", j)
				case j.Follows > i || j.Begin < 0 || j.Tasks > 0 && (j.Throttle < 1 || j.Throttle >= j.Tasks):
					t.Fatalf("what it waits for: %+v", j)
				case j.Run < 1 || j.Run > 60 || 60*float64(j.Minutes) < 1.5*j.Run:
					t.Fatalf("runtime and limit: %+v", j)
				case j.Queue == "short" && j.Minutes > 10 || j.Queue == "medium" && j.Minutes > 60:
					t.Fatalf("the partition does not allow that limit: %+v", j)
				}
			}
		}
	}
}

// fitsMemory reports whether the nodes that a job requests, or all nodes if it requests none, have enough memory for
// all its processors.
func fitsMemory(j *Job, nodes int) bool {
	each := min(4, 8000/j.ProcMemory) // processors that fit on one node
	if j.Nodes > 0 {
		nodes = j.Nodes
	}
	return j.Procs <= each*nodes
}

// TestBindingPlanMix proves that every kind of need occurs in the intended share of the jobs.
func TestBindingPlanMix(t *testing.T) {
	var n, gpus, typed, memory, arrays, begins, follows, cancels float64
	qos := map[string]float64{}
	for _, jobs := range bindingPlans(t, 40, PlanOptions{Jobs: 400}) {
		for i := range jobs {
			j := &jobs[i]
			n++
			qos[j.QOS]++
			for _, of := range []struct {
				is    bool
				count *float64
			}{
				{j.GPUs > 0, &gpus}, {j.GPUType != "", &typed}, {j.ProcMemory+j.NodeMemory > 0, &memory},
				{j.Tasks > 0, &arrays}, {j.Begin > 0, &begins}, {j.Follows > 0, &follows}, {j.Cancel > 0, &cancels},
			} {
				if of.is {
					*of.count++
				}
			}
		}
	}
	// The jobs of a campaign have the same QOS, so 40 loads have about 4,000 independent draws. For these, 0.03 is four
	// standard errors.
	for name, want := range map[string]float64{"": .3, "batch": .3, "low": .22, "high": .18} {
		if got := qos[name] / n; math.Abs(got-want) > .03 {
			t.Errorf("QOS %q: %.3f of the jobs, want %.2f", name, got, want)
		}
	}
	if got := gpus / n; math.Abs(got-gpuPart) > .03 {
		t.Errorf("GPUs: %.3f of the jobs", got)
	}
	if got := typed / gpus; math.Abs(got-.7) > .05 {
		t.Errorf("a type: %.3f of the jobs with GPUs", got)
	}
	if got := memory / n; math.Abs(got-procMemoryPart-nodeMemoryPart) > .03 {
		t.Errorf("memory: %.3f of the jobs", got)
	}
	for name, count := range map[string]float64{
		"arrays": arrays, "begin": begins, "follows": follows, "cancel": cancels,
	} {
		if part := count / n; part < .005 || part > .05 {
			t.Errorf("%s: %.3f of the jobs, want a few", name, part)
		}
	}
}

// TestBindingPlanIsOfItsSeed proves that the same seed gives the same binding load, that another seed gives another
// load, and that the mean load is as requested.
func TestBindingPlanIsOfItsSeed(t *testing.T) {
	o := PlanOptions{Binding: true, Jobs: 400}
	jobs := mustPlan(t, 7, o)
	if !reflect.DeepEqual(jobs, mustPlan(t, 7, o)) || reflect.DeepEqual(jobs, mustPlan(t, 8, o)) {
		t.Error("the load does not follow from its seed")
	}
	work := 0.0
	for i := range jobs {
		work += float64(jobs[i].Procs*max(1, jobs[i].Tasks)) * jobs[i].Run
	}
	if load := work / (jobs[len(jobs)-1].After * 64); load < .9 || load > .9*1.1 {
		t.Errorf("the mean load is %.2f, want 0.9 and a little", load)
	}
	if _, err := Plan(1, PlanOptions{Binding: true, Nodes: 5}); err == nil {
		t.Error("a cluster that is too small for GPUs was no error")
	}
}

// TestSbatchArgs proves that every need becomes an option of sbatch, as in the manual of sbatch, and that the request
// to GET /v1/wait has the totals over all nodes.
func TestSbatchArgs(t *testing.T) {
	j := Job{User: "mail", Queue: "short", Procs: 8, Nodes: 2, Minutes: 3, Run: 1.5, Needs: Needs{
		Account: "biology", QOS: "low", GPUs: 2, GPUType: "v100", NodeMemory: 5000, Tasks: 4, Throttle: 2, Begin: 30,
		Follows: 1, Cancel: 5,
	}}
	want := []string{"--output=/dev/null", "--chdir=/tmp", "--uid=mail", "-p", "short", "-n", "8", "-t", "3", "-N", "2",
		"--account=biology", "--qos=low", "--gres=gpu:v100:2", "--mem=5000M", "--array=0-3%2", "--begin=now+30",
		"--dependency=afterany:17", "--wrap", "sleep 1.50"}
	if got := sbatchArgs(&j, "17"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	asked := map[string]string{"account": "biology", "qos": "low", "gpus": "4", "gpu_type": "v100", "memory": "10000M"}
	if got := j.parameters(); !reflect.DeepEqual(got, asked) {
		t.Errorf("asked with %v, want %v", got, asked)
	}
	j = Job{Procs: 3, Needs: Needs{GPUs: 1, ProcMemory: 500}}
	if got := j.args(""); !slices.Equal(got, []string{"--gres=gpu:1", "--mem-per-cpu=500M"}) {
		t.Errorf("got %q", got)
	}
	if got := j.parameters()["memory"]; got != "1500M" {
		t.Errorf("memory of 3 processors of 500 MiB: %s", got)
	}
}

// TestWindows proves that the reservation for a user and the maintenance lie within the time of the load and do not
// overlap.
func TestWindows(t *testing.T) {
	o := PlanOptions{Binding: true, Jobs: 50}
	jobs := mustPlan(t, 3, o)
	windows, err := Windows(o, jobs)
	if err != nil || len(windows) != 2 {
		t.Fatalf("%v, %v", windows, err)
	}
	course, service := windows[0], windows[1]
	span := jobs[len(jobs)-1].After
	if course.User != "news" || service.User != "" || course.After <= 0 ||
		course.After+course.Seconds > service.After || service.After < .8*span || service.After+service.Seconds > span {
		t.Errorf("%+v in a load of %g s", windows, span)
	}
	begun := time.Date(2026, 11, 23, 10, 0, 0, 0, time.Local)
	got := (&Window{Name: "service", After: 90, Seconds: 30, First: 1, Last: 8}).args(begun)
	want := []string{"create", "reservation", "ReservationName=service", "StartTime=2026-11-23T10:01:30",
		"EndTime=2026-11-23T10:02:00", "Nodes=n[01-08]", "Users=root", "Flags=MAINT"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if windows, err := Windows(PlanOptions{}, jobs); err != nil || windows != nil {
		t.Errorf("a load without binding has %v, %v", windows, err)
	}
}
