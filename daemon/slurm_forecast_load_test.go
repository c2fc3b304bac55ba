package daemon_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// These constants define the machine and the load of the comparison. They are those of the reference load, whose jobs
// take 6 to 60 s, on its usual 32 nodes of 4 processors, with as many arrivals as the machine can process. Shorter jobs
// would favor Waitcast: Slurm's predictions come from time limits, which are in whole minutes.
const (
	forecastNodes, forecastCPUs = 32, 4
	forecastJobs                = 300
	shortestRun, longestRun     = 6.0, 60.0 // in seconds
	meanGap                     = 2.5       // in seconds between submissions
	phase                       = 60.0      // in seconds; phases of many and of few arrivals alternate
)

// planned is a job of the load.
type planned struct {
	after       time.Duration // earliest time of submission, counted from the first one
	user, queue string
	nodes, cpus int
	minutes     int
	run         float64 // in seconds
}

// planLoad draws the jobs: runtimes are log-uniform, numbers of nodes are powers of two up to a quarter of the machine,
// and limits are 2 to 10 times the runtime, in whole minutes.
func planLoad(seed uint64, jobs int) []planned {
	random := rand.New(rand.NewPCG(seed, 6))
	users := []string{"root", "games", "games", "news", "mail", "mail", "mail"} // every system has these users
	widths := 1 + int(math.Log2(forecastNodes/4))
	at, out := 0.0, make([]planned, jobs)
	for i := range out {
		p := planned{after: time.Duration(at * float64(time.Second)), user: users[random.IntN(len(users))],
			queue: "medium",
			nodes: 1 << random.IntN(widths)}
		p.run = shortestRun * math.Pow(longestRun/shortestRun, random.Float64())
		p.minutes = int(p.run*(2+8*random.Float64())/60) + 1
		p.cpus = p.nodes * forecastCPUs
		if p.nodes == 1 {
			p.cpus = 1 + random.IntN(forecastCPUs) // small jobs share a node
		}
		switch r := random.Float64(); {
		case r > .95:
			p.queue = "long"
		case r < .65 && p.minutes <= 10: // the partition short accepts no longer jobs
			p.queue = "short"
		}
		gap := 3 * meanGap
		if int(at/phase)%2 == 0 {
			gap = .6 * meanGap
		}
		at += random.ExpFloat64() * gap
		out[i] = p
	}
	return out
}

// args returns the arguments of sbatch, without the command.
func (p *planned) args() []string {
	return []string{
		"--output=/dev/null", "--chdir=/tmp", "--uid=" + p.user, "-p", p.queue, "-N", strconv.Itoa(p.nodes), "-n",
		strconv.Itoa(p.cpus), "-t", strconv.Itoa(p.minutes),
		"--wrap", fmt.Sprintf("sleep %.2f", p.run),
	}
}

// likeReference makes the cluster order jobs by age, size and partition, and plan as often as the reference cluster.
// The controller must be restarted for that.
func (c *slurmCluster) likeReference() {
	c.t.Helper()
	path := filepath.Join(c.dir, "slurm.conf")
	text, err := os.ReadFile(path) //nolint:gosec // ours
	if err != nil {
		c.t.Fatal(err)
	}
	conf := strings.NewReplacer(
		"PriorityType=priority/basic",
		"PriorityType=priority/multifactor\nPriorityMaxAge=1-0\nPriorityWeightAge=10000\nPriorityWeightJobSize=500\n"+
			"PriorityWeightPartition=1000\nPriorityWeightFairshare=0\nDebugFlags=NO_CONF_HASH",
		"bf_interval=2,bf_resolution=5,bf_continue,sched_interval=2,batch_sched_delay=0",
		"bf_interval=5,bf_resolution=5,bf_window=1440,bf_max_job_test=1000,bf_continue",
		"PartitionName=short ", "PartitionName=short PriorityJobFactor=100 ",
		"PartitionName=medium ", "PartitionName=medium PriorityJobFactor=50 ",
		"PartitionName=long ", "PartitionName=long PriorityJobFactor=10 ",
	).Replace(string(text))
	if err := os.WriteFile(path, []byte(conf), 0o644); err != nil { //nolint:gosec // jobs of other users read it
		c.t.Fatal(err)
	}
	c.restart()
	got := c.run("scontrol", "show", "config")
	for _, want := range []string{"priority/multifactor", "bf_interval=5", "PriorityWeightPartition = 1000"} {
		if !strings.Contains(got, want) {
			c.t.Fatalf("no %s in the configuration:\n%s", want, got)
		}
	}
}

// restart restarts the controller, and waits until all nodes are up.
func (c *slurmCluster) restart() {
	c.t.Helper()
	pid, err := os.ReadFile(filepath.Join(c.dir, "slurmctld.pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.run("scontrol", "shutdown", "slurmctld")
	eventually(c.t, "slurmctld to end", func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
	again := exec.Command("slurmctld", "-D")
	again.Env = append(os.Environ(), c.conf())
	again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := again.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { // before the cluster is taken down
		_ = again.Process.Signal(syscall.SIGTERM)
		_ = again.Wait() // killed
	})
	eventually(c.t, "slurmctld to answer, with all nodes", func() bool {
		_, err := c.try("scontrol", "ping")
		idle, _ := c.try("sinfo", "-h", "-N", "-p", "short", "-t", "idle", "-o", "%N")
		return err == nil && len(strings.Fields(idle)) == forecastNodes
	})
}

// wouldStart returns the start that sbatch --test-only predicts for a request; the zero time if it gives none.
func (c *slurmCluster) wouldStart(p *planned) time.Time {
	c.t.Helper()
	cmd := exec.Command("sbatch", append([]string{"--test-only"}, p.args()...)...)
	cmd.Env = append(os.Environ(), c.conf())
	out, err := cmd.CombinedOutput()
	_, rest, ok := strings.Cut(string(out), "to start at ")
	if !ok {
		c.t.Logf("sbatch --test-only: %v: %s", err, out)
		return time.Time{}
	}
	word, _, _ := strings.Cut(rest, " ")
	at, err := time.ParseInLocation("2006-01-02T15:04:05", word, time.Local)
	if err != nil {
		c.t.Errorf("sbatch --test-only: %v", err)
	}
	return at
}

// estimate is a start that Slurm predicted for a job, with the time of the prediction.
type estimate struct{ asked, start time.Time }

// estimates has the first prediction of squeue --start for each job.
type estimates struct {
	mu    sync.Mutex
	first map[string]estimate
	stop  func()
}

// watchEstimates runs squeue --start every second until stop is called.
func (c *slurmCluster) watchEstimates() *estimates {
	e := &estimates{first: map[string]estimate{}}
	quit, done := make(chan struct{}), make(chan struct{})
	e.stop = sync.OnceFunc(func() { close(quit); <-done })
	c.t.Cleanup(e.stop)
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				e.take(time.Now(), c.run("squeue", "--start", "-h", "-t", "PD", "-o", "%i|%S"))
			}
		}
	}()
	return e
}

// take adds one output of squeue: lines with a job's number and its predicted start in Unix seconds, or N/A.
func (e *estimates) take(asked time.Time, answer string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range strings.Lines(answer) {
		id, start, _ := strings.Cut(strings.TrimSpace(line), "|")
		unix, err := strconv.ParseInt(start, 10, 64)
		if _, known := e.first[id]; !known && err == nil && unix > 0 {
			e.first[id] = estimate{asked, time.Unix(unix, 0)}
		}
	}
}
