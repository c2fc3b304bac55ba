package liveload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Needs are the properties that a job may have in a binding load, in addition to size, time and user. The zero value
// has none.
type Needs struct {
	// Account and QOS are given at the submission. If they are empty, Slurm takes the user's default.
	Account string `json:"account,omitempty"`
	QOS     string `json:"qos,omitempty"`
	// GPUs is the number of GPUs for each node. GPUType is empty if any type will do. A job with GPUs also requests a
	// number of nodes.
	GPUs    int    `json:"gpus_per_node,omitempty"`
	GPUType string `json:"gpu_type,omitempty"`
	// ProcMemory is the memory in MiB for each processor, NodeMemory that for each node. A job requests at most one of
	// the two.
	ProcMemory int `json:"memory_per_cpu_mib,omitempty"`
	NodeMemory int `json:"memory_per_node_mib,omitempty"`
	// Tasks makes the job an array of that many tasks. At most Throttle tasks may run at once.
	Tasks    int `json:"array_tasks,omitempty"`
	Throttle int `json:"array_throttle,omitempty"`
	// Begin is the minimum time from the submission to the start, in seconds.
	Begin int `json:"begin_seconds,omitempty"`
	// Follows makes the job wait for the end of the job that was submitted this number of submissions before it; 0 for
	// none.
	Follows int `json:"follows,omitempty"`
	// Cancel is the time after the submission at which the job is cancelled if it still waits, in seconds; 0 for never.
	Cancel float64 `json:"cancel_seconds,omitempty"`
}

// Unasked reports whether GET /v1/wait has no parameter for one of the needs.
func (n *Needs) Unasked() bool { return n.Begin > 0 || n.Follows > 0 }

// memoryMiB returns the memory of a whole job, 0 if it requests none.
func (j *Job) memoryMiB() int { return j.ProcMemory*j.Procs + j.NodeMemory*j.Nodes }

// args returns the options of sbatch for the needs. follows is Slurm's number of the job whose end this job waits for.
func (n *Needs) args(follows string) []string {
	var args []string
	add := func(is bool, format string, values ...any) {
		if is {
			args = append(args, fmt.Sprintf(format, values...))
		}
	}
	add(n.Account != "", "--account=%s", n.Account)
	add(n.QOS != "", "--qos=%s", n.QOS)
	add(n.GPUs > 0 && n.GPUType == "", "--gres=gpu:%d", n.GPUs)
	add(n.GPUs > 0 && n.GPUType != "", "--gres=gpu:%s:%d", n.GPUType, n.GPUs)
	add(n.ProcMemory > 0, "--mem-per-cpu=%dM", n.ProcMemory)
	add(n.NodeMemory > 0, "--mem=%dM", n.NodeMemory)
	add(n.Tasks > 0, "--array=0-%d%%%d", n.Tasks-1, n.Throttle)
	add(n.Begin > 0, "--begin=now+%d", n.Begin)
	add(n.Follows > 0 && follows != "", "--dependency=afterany:%s", follows)
	return args
}

// These are the limits of the cluster that scripts/slurm-cluster --binding starts. A part of 8 means 1/8 of the
// processors. A job that requests more than a limit allows is refused or waits forever.
const (
	batchPart     = 8    // QOS batch: 1/8 of the processors for a job, 3/16 for the jobs of a user
	lowPart       = 8    // QOS low: the limits of batch, and 1/4 of the processors for all its jobs together
	biologyGPUs   = 4    // GPUs of all running jobs of the account biology together
	nodeMemoryMiB = 8000 // memory of each node
)

// gpuNodes returns the number of nodes with GPUs, for each of the two types.
func (o *PlanOptions) gpuNodes() int { return o.Nodes * 3 / 16 }

// These define the jobs of a binding load. Parts are shares of the jobs.
const (
	campaignPart                     = 0.3   // jobs that come in campaigns: a user submits similar jobs in succession
	campaignLeast, campaignMost      = 6, 10 // number of jobs in a campaign
	campaignGap                      = 0.25  // seconds between two jobs of a campaign
	gpuPart                          = 0.18
	procMemoryPart, nodeMemoryPart   = 0.2, 0.15
	arrayPart, beginPart, followPart = 0.05, 0.02, 0.03
	cancelPart                       = 0.04
)

// drawBinding returns the jobs of a binding load without their times. places has the index of each job in its campaign.
func (o *PlanOptions) drawBinding(random *rand.Rand) (jobs []Job, places []int) {
	for len(jobs) < o.Jobs {
		j := o.drawNeedy(random)
		n := 1
		if random.Float64() < campaignPart/(campaignPart+(1-campaignPart)*(campaignLeast+campaignMost)/2) {
			n = campaignLeast + random.IntN(campaignMost-campaignLeast+1)
		}
		for i := range min(n, o.Jobs-len(jobs)) {
			next := j
			if n > 1 { // the jobs of a campaign differ in runtime, and if need be in time limit and queue
				next.Tasks, next.Throttle, next.Begin, next.Cancel = 0, 0, 0, 0
				next.Run = math.Round(100*min(o.Longest, max(o.Shortest, j.Run*math.Exp(random.Float64()-.5)))) / 100
				next.Minutes = max(j.Minutes, int(2*next.Run/60)+1)
				if next.Minutes > 10 {
					next.Queue = "medium"
				}
			}
			jobs, places = append(jobs, next), append(places, i)
		}
	}
	return jobs, places
}

// drawNeedy draws one job of a binding load, with its needs.
func (o *PlanOptions) drawNeedy(random *rand.Rand) Job {
	j := o.draw(random)
	all := o.Nodes * o.CPUs
	most := all
	switch r := random.Float64(); {
	case r < .3:
	case r < .6:
		j.QOS, most = "batch", all/batchPart
	case r < .82:
		j.QOS, most = "low", all/lowPart
	default:
		j.QOS, most = "high", all/4
	}
	j.Account = map[string]string{"root": "physics", "games": "physics", "news": "biology", "mail": "biology"}[j.User]
	for j.Procs > most {
		j.Procs, j.Nodes = (j.Procs+1)/2, 0
	}
	if random.Float64() < gpuPart {
		o.drawGPUs(random, &j, most)
	}
	switch r := random.Float64(); {
	case r < procMemoryPart:
		j.ProcMemory = []int{500, 1500, 2000, 3000}[random.IntN(4)]
		if j.Nodes > 0 || j.Procs > all/4 { // it must fit into the nodes that it requests, or into the machine
			j.ProcMemory = min(j.ProcMemory, nodeMemoryMiB/o.CPUs)
		}
	case r < procMemoryPart+nodeMemoryPart:
		j.NodeMemory = []int{3000, 5000, 7500}[random.IntN(3)]
		if j.Nodes == 0 {
			j.Nodes = (j.Procs + o.CPUs - 1) / o.CPUs
		}
	}
	switch r := random.Float64(); {
	case r < arrayPart && j.Procs <= 4:
		j.Tasks, j.Throttle = 3+random.IntN(4), 1+random.IntN(2)
	case r < arrayPart+beginPart:
		j.Begin = 15 + random.IntN(46)
	case r < arrayPart+beginPart+cancelPart:
		j.Cancel = math.Round(10*(5+40*random.Float64())) / 10
	}
	return j
}

// drawGPUs makes a job request GPUs and at most the given number of processors, on one node or sometimes on two.
func (o *PlanOptions) drawGPUs(random *rand.Rand, j *Job, most int) {
	switch r := random.Float64(); {
	case r < .35:
		j.GPUType, j.GPUs = "a100", 1+random.IntN(2)
	case r < .7:
		j.GPUType, j.GPUs = "v100", 1<<random.IntN(3)
	default:
		j.GPUs = 1 + random.IntN(2)
	}
	j.Nodes = 1
	if o.gpuNodes() > 1 && random.Float64() < .15 && 2*j.GPUs <= biologyGPUs {
		j.Nodes = 2
	}
	j.Procs = min(most, j.Nodes*min(o.CPUs, 1<<random.IntN(3)))
}

// arrive sets the times of the jobs of a binding load, which takes the given number of seconds. The jobs of a campaign
// come campaignGap apart.
func arrive(random *rand.Rand, jobs []Job, places []int, seconds float64) {
	for i := range jobs {
		if n := places[i]; n > 0 {
			jobs[i].After = jobs[i-n].After + campaignGap*float64(n)
		} else {
			jobs[i].After = drawArrival(random, seconds)
		}
	}
}

// follow makes a few jobs wait for the end of another job, one of the eight submitted before. These jobs are no arrays,
// have no begin time, and are not cancelled. jobs are in the order of their submissions.
func follow(random *rand.Rand, jobs []Job) {
	for i := range jobs {
		j := &jobs[i]
		if j.Begin > 0 || j.Tasks > 0 || j.Cancel > 0 || random.Float64() >= followPart {
			continue
		}
		if back := 1 + random.IntN(8); back <= i {
			j.Follows = back
		}
	}
}

// work returns the work of a job in processor-seconds, with all tasks.
func (j *Job) work() float64 { return float64(j.Procs*max(1, j.Tasks)) * j.Run }

// Window is a time in which nodes are reserved.
type Window struct {
	Name string
	// After is the time from the first submission to the beginning of the window. Seconds is the duration of the
	// window.
	After, Seconds float64
	// First and Last are the numbers of the first and the last reserved node; nodes are counted from 1.
	First, Last int
	// User is the user who may use the nodes. If it is empty, nobody may: the window is a maintenance.
	User string
}

// Windows returns the windows of a binding load: a reservation of two nodes for one user, and near the end a
// maintenance of half of the nodes. Other loads have none.
func Windows(o PlanOptions, jobs []Job) ([]Window, error) {
	if err := o.fill(); err != nil || !o.Binding || len(jobs) == 0 {
		return nil, err
	}
	span := jobs[len(jobs)-1].After
	return []Window{
		{Name: "course", After: math.Round(.3 * span), Seconds: math.Round(.2 * span), First: 1, Last: 2, User: "news"},
		{Name: "service", After: math.Round(.85 * span), Seconds: math.Round(.1 * span), First: 1, Last: o.Nodes / 2},
	}, nil
}

// args returns the arguments with which scontrol creates the reservation. begun is the time of the first submission.
func (w *Window) args(begun time.Time) []string {
	from := begun.Add(time.Duration(w.After * float64(time.Second)))
	until := from.Add(time.Duration(w.Seconds * float64(time.Second)))
	args := []string{"create", "reservation", "ReservationName=" + w.Name,
		"StartTime=" + from.Format("2006-01-02T15:04:05"), "EndTime=" + until.Format("2006-01-02T15:04:05"),
		fmt.Sprintf("Nodes=n[%02d-%02d]", w.First, w.Last), "Users=" + cmp.Or(w.User, "root")}
	if w.User == "" {
		args = append(args, "Flags=MAINT")
	}
	return args
}

// gpusTotal returns the number of GPUs on all nodes of a job.
func (j *Job) gpusTotal() int { return j.GPUs * j.Nodes }

// parameters returns the parameters of GET /v1/wait for a job, apart from queue, user, size and time limit.
func (j *Job) parameters() map[string]string {
	out := map[string]string{}
	for name, text := range map[string]string{"account": j.Account, "qos": j.QOS, "gpu_type": j.GPUType} {
		if text != "" {
			out[name] = text
		}
	}
	if n := j.gpusTotal(); n > 0 {
		out["gpus"] = strconv.Itoa(n)
	}
	if m := j.memoryMiB(); m > 0 {
		out["memory"] = strconv.Itoa(m) + "M"
	}
	return out
}
