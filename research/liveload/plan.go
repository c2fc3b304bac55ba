package liveload

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// PlanOptions define a load. The zero value of a field means its default.
type PlanOptions struct {
	// Jobs is the number of submissions, 300 by default.
	Jobs int `json:"jobs"`
	// Nodes is the number of nodes of the cluster, 16 by default. CPUs is the number of processors of each, 4 by
	// default.
	Nodes int `json:"nodes"`
	CPUs  int `json:"cpus"`
	// Shortest and Longest bound the runtimes, in seconds; 1 and 60 by default. Between them runtimes are log-uniform.
	Shortest float64 `json:"shortest_seconds"`
	Longest  float64 `json:"longest_seconds"`
	// Load is the submitted work in processor-seconds, divided by the processors and by the duration of the load; 0.9
	// by default. Because the rate of arrivals grows, the load in the last tenth of the time is more than 1.5 times as
	// high.
	Load float64 `json:"load"`
	// FairShareBurst lets a user without earlier usage submit 1/7 of all jobs within 1/10 of the time.
	FairShareBurst bool `json:"fair_share_burst"`
	// Binding gives the jobs further needs (see Needs), so that the limits of scripts/slurm-cluster --binding affect
	// them.
	Binding bool `json:"binding,omitempty"`
}

// The rate of arrivals grows linearly from firstRate to lastRate times its mean. In addition it is multiplied by
// busyRate in every second minute, and by quietRate in the minutes between.
const (
	firstRate, lastRate = 0.35, 1.65
	busyRate, quietRate = 1.4, 0.6
)

// These define FairShareBurst: the user submits the share burstShare of the jobs. The burst lasts from burstBegin to
// burstEnd, as shares of the duration of the load.
const (
	burstBegin, burstEnd = 0.6, 0.7
	burstShare           = 1.0 / 7
)

// planStream separates the random numbers of plans from those of other programs with the same seed.
const planStream = 17

func (o *PlanOptions) fill() error {
	o.Jobs, o.Nodes, o.CPUs = cmp.Or(o.Jobs, 300), cmp.Or(o.Nodes, 16), cmp.Or(o.CPUs, 4)
	o.Shortest, o.Longest, o.Load = cmp.Or(o.Shortest, 1), cmp.Or(o.Longest, 60), cmp.Or(o.Load, 0.9)
	switch {
	case o.Jobs < 1 || o.Nodes < 1 || o.CPUs < 1 || o.Nodes*o.CPUs < 4:
		return fmt.Errorf("load of %d jobs for %d nodes of %d processors: give at least 1 job and 4 processors",
			o.Jobs, o.Nodes, o.CPUs)
	case !(o.Shortest > 0 && o.Shortest <= o.Longest && o.Longest <= 300):
		return fmt.Errorf("runtimes of %g to %g s: give rising positive numbers up to 300", o.Shortest, o.Longest)
	case o.Binding && (o.Nodes < 6 || o.FairShareBurst):
		return fmt.Errorf("a binding load on %d nodes: give at least 6, and no burst", o.Nodes)
	case !(o.Load > 0 && o.Load <= 10):
		return fmt.Errorf("a load of %g: give a number above 0 and up to 10", o.Load)
	}
	return nil
}

// Job is one submission of a load.
type Job struct {
	// Number is the index of the job in the load, from 0.
	Number int `json:"number"`
	// After is the time of the submission, in seconds after the first submission of the load.
	After float64 `json:"after_seconds"`
	User  string  `json:"user"`
	Queue string  `json:"queue"`
	Procs int     `json:"procs"`
	// Nodes is the requested number of whole nodes; 0 leaves it to Slurm.
	Nodes int `json:"nodes,omitempty"`
	// Minutes is the time limit in minutes.
	Minutes int `json:"limit_minutes"`
	// Run is the runtime of the job in seconds.
	Run float64 `json:"run_seconds"`
	Needs
}

// Limit returns the time limit.
func (j *Job) Limit() time.Duration { return time.Duration(j.Minutes) * time.Minute }

// Plan draws the jobs of a load, in the order of their submissions. The same seed and options give the same load. The
// duration of the load is chosen by the work of its jobs, so that every seed has the mean load o.Load.
func Plan(seed uint64, o PlanOptions) ([]Job, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, planStream))
	var jobs []Job
	var places []int
	if o.Binding {
		jobs, places = o.drawBinding(random)
	} else {
		for range o.Jobs {
			jobs = append(jobs, o.draw(random))
		}
	}
	work := 0.0
	for i := range jobs {
		work += jobs[i].work()
	}
	seconds := work / (o.Load * float64(o.Nodes*o.CPUs))
	if o.Binding {
		arrive(random, jobs, places, seconds)
	} else {
		o.scatter(random, jobs, seconds)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(a.After, b.After) })
	first := jobs[0].After
	for i := range jobs {
		jobs[i].Number, jobs[i].After = i, math.Round((jobs[i].After-first)*1000)/1000
	}
	if o.Binding {
		follow(random, jobs)
	}
	return jobs, nil
}

// scatter draws the times of the submissions of jobs in a load that takes the given number of seconds. The first jobs
// form the burst, if there is one, and get its user.
func (o *PlanOptions) scatter(random *rand.Rand, jobs []Job, seconds float64) {
	for i := range jobs {
		if burst := o.FairShareBurst && i < int(float64(o.Jobs)*burstShare); burst {
			jobs[i].User = "news"
			jobs[i].After = seconds * (burstBegin + (burstEnd-burstBegin)*random.Float64())
		} else {
			jobs[i].After = drawArrival(random, seconds)
		}
	}
}

// draw draws a job without its submission time. Runtimes are log-uniform. Of the sizes, 2/3 are powers of two up to
// half of the cluster, and the others are any numbers up to a quarter of it. Time limits are 2 to 10 times the runtime,
// rounded up to whole minutes.
func (o *PlanOptions) draw(random *rand.Rand) Job {
	users := []string{"root", "games", "games", "news", "mail", "mail", "mail"} // every Debian system has these users
	if o.FairShareBurst {
		users = []string{"root", "root", "games", "games", "games", "games", "mail"}
	}
	procs := o.Nodes * o.CPUs
	j := Job{User: users[random.IntN(len(users))], Run: o.Shortest * math.Pow(o.Longest/o.Shortest, random.Float64())}
	j.Run = math.Round(j.Run*100) / 100
	j.Minutes = int(j.Run*(2+8*random.Float64())/60) + 1
	if random.Float64() < 2.0/3 {
		j.Procs = 1 << random.IntN(1+int(math.Log2(float64(procs)/2)))
	} else {
		j.Procs = 1 + random.IntN(procs/4)
	}
	if whole := random.Float64() < .5; whole && j.Procs%o.CPUs == 0 {
		j.Nodes = j.Procs / o.CPUs
	}
	switch r := random.Float64(); {
	case r < .6 && j.Minutes <= 10: // the maximum in the partition short
		j.Queue = "short"
	case r < .9:
		j.Queue = "medium"
	default:
		j.Queue = "long"
	}
	return j
}

// drawArrival draws an instant in [0, seconds) with a density proportional to the rate of arrivals.
func drawArrival(random *rand.Rand, seconds float64) float64 {
	for {
		x := random.Float64()
		rate := firstRate + (lastRate-firstRate)*x
		if int(x*seconds/60)%2 == 0 {
			rate *= busyRate
		} else {
			rate *= quietRate
		}
		if random.Float64()*lastRate*busyRate < rate {
			return x * seconds
		}
	}
}
