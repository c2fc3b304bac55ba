package jobscript_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/client/jobscript"
	"github.com/waitcast/waitcast/internal/testports"
)

// realSlurm is a Slurm on this machine, to which scripts are submitted as held jobs.
type realSlurm struct{ dir string }

func startSlurm(t *testing.T) *realSlurm {
	t.Helper()
	if testing.Short() {
		t.Skip("real Slurm: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Slurm: slurmd must be run by root")
	}
	for _, name := range []string{"slurmctld", "slurmd", "munged", "sbatch", "scontrol"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Slurm: %s is missing (make test-deps)", name)
		}
	}
	s := &realSlurm{dir: filepath.Join(scratch(t, "slurm"), "c")}
	t.Cleanup(func() {
		if out, err := exec.Command("../../scripts/slurm-cluster", "down", s.dir).CombinedOutput(); err != nil {
			t.Errorf("taking Slurm down: %v\n%s", err, out)
		}
	})
	up := exec.Command("../../scripts/slurm-cluster", "up", s.dir, "--nodes", "2", "--cpus", "8", "--port",
		strconv.Itoa(testports.Take(t, 4)))
	if out, err := up.CombinedOutput(); err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "slurmctld.log")) // the file may not exist
		if strings.Contains(string(log), "getaddrinfo() failed") {
			t.Skip("real Slurm: it resolves even 127.0.0.1 only where there is a network")
		}
		t.Fatalf("starting Slurm: %v\n%s", err, out)
	}
	return s
}

// scratch makes a folder with a short name, because the name of a socket has at most 107 bytes.
func scratch(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// submission is a script together with the command line and the environment of sbatch or qsub.
type submission struct {
	lines []string // the lines after #!/bin/sh
	args  []string
	env   map[string]string
}

func (s submission) text() string { return "#!/bin/sh\n" + strings.Join(s.lines, "\n") + "\n" }

func (s submission) String() string {
	return fmt.Sprintf("%s %q %q", strings.Join(s.lines, " | "), s.args, s.env)
}

func (s submission) parse(scheduler jobscript.Scheduler) (jobscript.Request, error) {
	return jobscript.Parse(strings.NewReader(s.text()),
		jobscript.Options{Scheduler: scheduler, Args: s.args, Env: s.env, Name: "job.sh"})
}

// submit submits the script with sbatch as a held job. It returns the fields of the job in scontrol, one map per
// component, or the message with which sbatch refuses the script.
func (s *realSlurm) submit(t *testing.T, what submission) ([]map[string]string, string) {
	t.Helper()
	script := filepath.Join(s.dir, "job.sh")
	if err := os.WriteFile(script, []byte(what.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sbatch", append(append([]string{"--hold", "--parsable"}, what.args...), script)...)
	c.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(s.dir, "slurm.conf"))
	for k, v := range what.env {
		c.Env = append(c.Env, k+"="+v)
	}
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return nil, said.String()
	}
	id := strings.TrimSpace(string(out))
	show := exec.Command("scontrol", "-o", "show", "job", id)
	show.Env = c.Env
	text, err := show.Output()
	if err != nil {
		t.Fatalf("%v: scontrol show job %s: %v", what, id, err)
	}
	var jobs []map[string]string
	for line := range strings.Lines(string(text)) {
		fields := map[string]string{}
		for _, f := range strings.Fields(line) {
			if name, value, ok := strings.Cut(f, "="); ok {
				fields[name] = value
			}
		}
		jobs = append(jobs, fields)
	}
	cancel := exec.Command("scancel", id)
	cancel.Env = c.Env
	_ = cancel.Run() // without this the job is still held
	return jobs, ""
}

// slurmSays returns the differences between a component and its fields in scontrol.
func slurmSays(what submission, r jobscript.Request, shown map[string]string) []string {
	var wrong []string
	check := func(field, got, want string) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s: read %s, Slurm has %s", field, got, want))
		}
	}
	asked := strings.Join(append(slices.Clone(what.lines), what.args...), " ")
	given := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(asked, n) })
	}
	// If scontrol shows less for a waiting job than the job finally gets, jobscript returns what it finally gets: see
	// slurmSize.
	if r.ProcsMax == r.Procs && !given("--mincpus") && !given("--overcommit", "-O") {
		check("processors", strconv.Itoa(r.Procs), shown["NumCPUs"])
	}
	// If no number of nodes is given, or a range with tasks per node, scontrol shows an estimate.
	if r.Nodes > 0 && given("-N", "--nodes=") && (r.Nodes == r.NodesMax || !given("tasks-per-node")) {
		nodes := fmt.Sprintf("%d-%d", r.Nodes, r.NodesMax)
		if !strings.Contains(shown["NumNodes"], "-") {
			nodes = strconv.Itoa(r.Nodes)
		}
		check("nodes", nodes, shown["NumNodes"])
	}
	if r.Unlimited {
		check("limit", "UNLIMITED", shown["TimeLimit"])
	} else if r.TimeLimit > 0 {
		check("limit", slurmClock(r.TimeLimit), shown["TimeLimit"])
	}
	if r.Queues != nil {
		check("queues", strings.Join(r.Queues, ","), shown["Partition"])
	}
	check("tasks", strconv.Itoa(r.Tasks), strconv.Itoa(shownTasks(shown["ArrayTaskId"])))
	if r.AtOnce > 0 || shown["ArrayTaskThrottle"] != "" {
		check("at once", strconv.Itoa(r.AtOnce), shown["ArrayTaskThrottle"])
	}
	if r.Memory > 0 && !given("tasks-per-node", "--mincpus") && r.ProcsMax == r.Procs {
		check("memory", strconv.FormatInt(r.Memory>>20, 10), shownMemory(shown["TRES"]))
	}
	if r.Name != "" {
		check("name", strings.Fields(r.Name)[0], shown["JobName"]) // submit splits the shown fields at blanks
	}
	check("exclusive", strconv.FormatBool(r.Exclusive),
		strconv.FormatBool(slices.Contains([]string{"NO", "USER", "MCS"}, shown["OverSubscribe"])))
	check("dependent", strconv.FormatBool(r.Dependent), strconv.FormatBool(shown["Dependency"] != "(null)"))
	if r.Account != "" {
		check("account", r.Account, shown["Account"])
	}
	return wrong
}

func slurmClock(d time.Duration) string {
	clock := fmt.Sprintf("%02d:%02d:00", int(d.Hours())%24, int(d.Minutes())%60)
	if days := int(d.Hours()) / 24; days > 0 {
		return fmt.Sprintf("%d-%s", days, clock)
	}
	return clock
}

// shownTasks counts the tasks in a text like 1-5,7,9-20:3%4.
func shownTasks(text string) int {
	text, _, _ = strings.Cut(text, "%")
	n := 0
	for _, item := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		item, step, stepped := strings.Cut(item, ":")
		first, last, isRange := strings.Cut(item, "-")
		a, _ := strconv.Atoi(first)
		b, by := a, 1
		if isRange {
			b, _ = strconv.Atoi(last)
		}
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		n += (b-a)/by + 1
	}
	return n
}

// shownMemory returns the megabytes in a text like cpu=1,mem=4G,node=1.
func shownMemory(tres string) string {
	for item := range strings.SplitSeq(tres, ",") {
		if v, ok := strings.CutPrefix(item, "mem="); ok {
			n, err := strconv.ParseFloat(v[:len(v)-1], 64)
			if err != nil {
				return v
			}
			switch v[len(v)-1] {
			case 'G':
				n *= 1 << 10
			case 'T':
				n *= 1 << 20
			}
			return strconv.Itoa(int(n))
		}
	}
	return ""
}

// compare parses a script with Slurm and with jobscript, and reports the differences.
func (s *realSlurm) compare(t *testing.T, what submission) {
	t.Helper()
	jobs, refused := s.submit(t, what)
	r, err := what.parse(jobscript.Slurm)
	switch {
	case refused != "" && err == nil:
		t.Errorf("%v: read, but sbatch refuses it: %s", what, refused)
		return
	case refused == "" && err != nil:
		t.Errorf("%v: %v, but sbatch takes it", what, err)
		return
	case err != nil:
		return
	}
	parts := r.Components
	if parts == nil {
		parts = []jobscript.Request{r}
	}
	if len(parts) != len(jobs) {
		t.Errorf("%v: %d components, Slurm has %d", what, len(parts), len(jobs))
		return
	}
	for i, part := range parts {
		for _, wrong := range slurmSays(what, part, jobs[i]) {
			t.Errorf("%v (component %d): %s", what, i, wrong)
		}
	}
}

// TestRealSlurmReadsTheSame proves that jobscript and a real sbatch interpret scripts in the same way: sizes, limits,
// arrays, quoting and refusals. The scripts are a list of special ones, and random combinations of options in
// directives, environment and command line: 60 of them, or 1,500 with WAITCAST_LONG=1.
func TestRealSlurmReadsTheSame(t *testing.T) {
	s := startSlurm(t)
	for _, what := range specialScripts() {
		s.compare(t, what)
	}
	n := 60
	if os.Getenv("WAITCAST_LONG") != "" {
		n = 1500
	}
	random := rand.New(rand.NewPCG(7, 8))
	for range n {
		s.compare(t, randomSubmission(random))
	}
}

// TestRealSlurmGives checks the sizes that scontrol does not show in full for a waiting job against what the job
// finally gets.
func TestRealSlurmGives(t *testing.T) {
	if os.Getenv("WAITCAST_LONG") == "" {
		t.Skip("jobs that run: only with WAITCAST_LONG=1")
	}
	s := startSlurm(t)
	for _, line := range []string{"-N1-2", "-N1-2 -c2", "--mincpus=4", "--mincpus=4 -n2", "-O -n8 -c2"} {
		what := submission{lines: []string{"#SBATCH " + line}}
		r, err := what.parse(jobscript.Slurm)
		if err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(s.dir, "job.sh")
		if err := os.WriteFile(script, []byte(what.text()), 0o600); err != nil {
			t.Fatal(err)
		}
		conf := append(os.Environ(), "SLURM_CONF="+filepath.Join(s.dir, "slurm.conf"))
		submit := exec.Command("sbatch", "--wait", "--parsable", "--output=/dev/null", script)
		submit.Env = conf
		id, err := submit.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		show := exec.Command("scontrol", "-o", "show", "job", strings.TrimSpace(string(id)))
		show.Env = conf
		text, err := show.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		// The machine is empty, so a range of nodes gets its maximum.
		if want := fmt.Sprintf(" NumCPUs=%d ", r.ProcsMax); !strings.Contains(string(text), want) {
			t.Errorf("%s: read %d to %d processors; Slurm gave\n%s", line, r.Procs, r.ProcsMax, text)
		}
	}
}

// randomSubmission draws mostly compatible options, and distributes them over directives, environment and
// command line.
func randomSubmission(random *rand.Rand) submission {
	pool := []string{
		"-n4", "-n 7", "--ntasks=2", "-N2", "--nodes=1-2", "-N 3", "-c2", "--cpus-per-task 3", "--ntasks-per-node=2",
		"--ntasks-per-node 4", "-t 5", "-t 1:30",
		"--time=1:00:30", "--time 1-0", "-p short", "--partition=long,medium", "--mem=100", "--mem=2G",
		"--mem-per-cpu=50M", "-J one", "--job-name=two", "-a 1-5",
		"--array=0-20:3%2", "--exclusive", "-s", "-A acct", "-d singleton", "--overcommit", "--mincpus=2", "--thr=2",
		"--cores-per-socket=2", "-w n[01-02]", "--requeue", "--comment=x", "-o out", "--exclusive=user",
		"--begin=now+1hour",
	}
	var what submission
	for range 1 + random.IntN(6) {
		o := pool[random.IntN(len(pool))]
		if random.IntN(4) == 0 {
			what.args = append(what.args, strings.Fields(o)...)
			continue
		}
		what.lines = append(what.lines, "#SBATCH "+o)
		if random.IntN(8) == 0 {
			what.lines = append(what.lines,
				[...]string{"", "# a remark", "##SBATCH -n 99", " #SBATCH -n 98", "echo", "#SBATCH"}[random.IntN(6)])
		}
	}
	if random.IntN(4) == 0 {
		e := [...][2]string{{"SBATCH_TIMELIMIT", "33"}, {"SBATCH_PARTITION", "medium"}, {"SBATCH_MEM_PER_NODE", "300"},
			{"SBATCH_JOB_NAME", "env"}, {"SBATCH_ARRAY_INX", "3-4"}, {"SBATCH_EXCLUSIVE", ""}, {"SBATCH_NTASKS", "44"},
			{"SBATCH_OVERCOMMIT", "0"}}[random.IntN(8)]
		what.env = map[string]string{e[0]: e[1]}
	}
	return what
}
