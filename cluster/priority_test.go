package cluster

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// loadFacts returns the facts of the captured cluster under load: 64 nodes of 4 processors, and three queues on all
// of them (scontrol-show-config.txt and scontrol-show-partition.txt there). No user had used anything yet, so every
// share is 1.
func loadFacts() *job.Facts {
	queues := []string{"long", "medium", "short"}
	return &job.Facts{
		Nodes: []job.NodeGroup{{Queues: queues, Count: 64, Node: job.NodeResources{Procs: 4}}},
		Queues: []job.QueueFacts{{Name: "long", Tier: 1, Factor: 10}, {Name: "medium", Tier: 1, Factor: 50},
			{Name: "short", Tier: 1, Factor: 100}},
		Weights: &job.Weights{Age: 10000, FairShare: 2000, JobSize: 500, Queue: 1000, MaxAge: 24 * time.Hour},
	}
}

// TestPriorityOfASubmission proves that the priority of a future submission is the one that a real Slurm 22.05 gave the
// job at its submission: InitPrio in slurmctld.log. After 5 minutes (PriorityCalcPeriod) Slurm computed the shares of
// its five users, which were not captured. They are multiples of a fifth in Fair Tree, so later priorities may differ
// by multiples of a fifth of 2,000.
func TestPriorityOfASubmission(t *testing.T) {
	submitted, err := os.Open(refdata.Shared(t, "slurm/samples/load/submitted.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = submitted.Close() }()
	rows, err := csv.NewReader(submitted).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(refdata.Shared(t, "slurm/samples/load/slurmctld.log"))
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]int64{}
	for _, line := range strings.Split(string(log), "\n") {
		_, rest, ok := strings.Cut(line, "_slurm_rpc_submit_batch_job: JobId=")
		if fields := strings.Fields(rest); ok && len(fields) > 1 {
			given[fields[0]], _ = strconv.ParseInt(strings.TrimPrefix(fields[1], "InitPrio="), 10, 64)
		}
	}
	rules := NewRules(loadFacts())
	compared := 0
	for _, row := range rows[1:] { // the columns are job,submit_unix,user,partition,nodes,tasks,limit_min,run_s
		nodes, _ := strconv.Atoi(row[4])
		procs, _ := strconv.Atoi(row[5])
		a := job.Attributes{User: row[2], Queue: row[3], Nodes: nodes, Procs: procs}
		want, ok := given[row[0]]
		if !ok {
			continue
		}
		compared++
		number, _ := strconv.Atoi(row[0])
		got := rules.Priority(&a, 0)
		if recalculated := number >= 512; got != want && !(recalculated && (got-want)%400 == 0 && got > want) {
			t.Errorf("job %s of %d processors on %d nodes in %s: priority %d, Slurm gave %d", row[0], procs, nodes,
				row[3], got, want)
		}
	}
	if compared < 400 {
		t.Fatalf("only %d jobs were compared", compared)
	}
}

// TestRules proves that the wait, a share, a QOS and a small size count as the manual says, and that tiers come before
// priorities.
func TestRules(t *testing.T) {
	facts := loadFacts()
	facts.Weights.QOS, facts.Weights.SmallFirst = 100, true
	facts.Limits = []job.Limit{{QOS: "high", Priority: 200}, {QOS: "low", Priority: 50}}
	facts.Shares = []job.Share{{Account: "a", User: "u", Factor: .25}, {Account: "b", User: "u", Factor: .75},
		{Account: "a", User: "v", Factor: .5}}
	facts.Queues[0].Tier = 2
	r := NewRules(facts)
	for _, c := range []struct {
		a      job.Attributes
		waited time.Duration
		want   int64
	}{
		{job.Attributes{Queue: "none", Procs: 256, Nodes: 64, User: "u", Account: "b"}, 0, 1500},
		{job.Attributes{Queue: "none", Procs: 256, Nodes: 64, User: "u", Account: "a"}, 12 * time.Hour, 5500},
		{job.Attributes{Queue: "none", Procs: 256, Nodes: 64, User: "nobody"}, 48 * time.Hour, 11000},
		{job.Attributes{Queue: "medium", Procs: 64, QOS: "low"}, 0, 1000 + 375 + 500 + 25},
		{job.Attributes{Queue: "medium", Procs: 64, QOS: "low", Nice: 300}, 0, 1000 + 375 + 500 + 25 - 300},
		{job.Attributes{Queue: "medium", Procs: 64, QOS: "low", Nice: job.NoNice}, 0, 1000 + 375 + 500 + 25},
	} {
		if got := r.Priority(&c.a, c.waited); got != c.want {
			t.Errorf("%+v after %v: priority %d, want %d", c.a, c.waited, got, c.want)
		}
	}
	long := &Job{Attributes: job.Attributes{Queue: "long", Priority: 1}}
	short := &Job{Attributes: job.Attributes{Queue: "short", Priority: 9000}}
	later := &Job{Attributes: job.Attributes{Queue: "short", Procs: 1}, Submit: at(0)}
	compare := func(a, b *Job, second int) int { return r.Rank(a, at(second)).Compare(r.Rank(b, at(second))) }
	if compare(long, short, 0) >= 0 || compare(short, later, 0) >= 0 || compare(later, short, 86400) >= 0 {
		t.Error("the jobs are in the wrong order")
	}
	if NewRules(nil) != nil || NewRules(&job.Facts{}) != nil {
		t.Error("rules from nothing")
	}
}

// TestSortByRank proves that tiers come before priorities, and that jobs of one rank stay in the order of their
// submissions.
func TestSortByRank(t *testing.T) {
	facts := loadFacts()
	facts.Queues[0].Tier = 2
	queued := func(id, queue string, priority int64, second int, seq uint64) *Job {
		return &Job{ID: id, Seq: seq, Order: at(second), Attributes: job.Attributes{Queue: queue, Priority: priority}}
	}
	top := facts.Queues[0].Name
	jobs := []*Job{
		queued("late", "none", 5, 20, 4), queued("second", "none", 5, 10, 3), queued("first", "none", 5, 10, 2),
		queued("important", "none", 9, 30, 5), queued("tier", top, 1, 40, 6),
	}
	NewRules(facts).Sort(jobs, at(50))
	var got []string
	for _, j := range jobs {
		got = append(got, j.ID)
	}
	if want := []string{"tier", "important", "first", "second", "late"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestInEachQueue proves which priorities a job has in its queues by the one that Slurm reports. The weights are those
// of a real Slurm 22.05, which reported 3166 for a new job of short and long, and 2266 after the first pass.
func TestInEachQueue(t *testing.T) {
	r := NewRules(&job.Facts{
		Weights: &job.Weights{Queue: 1000, JobSize: 500, FairShare: 2000},
		Nodes:   []job.NodeGroup{{Count: 6, Node: job.NodeResources{Procs: 4}}},
		Queues: []job.QueueFacts{{Name: "short", Factor: 100}, {Name: "medium", Factor: 50},
			{Name: "long", Factor: 10}},
	})
	second, minutes := time.Second, 5*time.Minute
	for _, c := range []struct {
		rules    *Rules
		queues   string
		priority int64
		waited   time.Duration
		want     []int64
	}{
		{r, "short,long", 3166, second, []int64{3166, 2266}},
		{r, "short,long", 2266, second, []int64{3166, 2266}},
		{r, "short,long", 2266, minutes, []int64{3166, 2266}},
		{r, "short,long", 3166, minutes, []int64{4066, 3166}}, // its share grew
		{r, "long,medium", 2266, second, []int64{2266, 2666}},
		{r, "medium,long,short", 2666, second, []int64{2666, 2266, 3166}},
		{r, "medium,long,short", 676, minutes, []int64{1076, 676, 1576}},
		{r, "short,long", 900, -1, []int64{900, 1}},
		{r, "short,long", 0, second, []int64{0, 0}},
		{nil, "short,long", 7, second, []int64{7, 7}},
	} {
		a := job.Attributes{Queue: c.queues, Queues: c.queues, Procs: 12, Nodes: 3, Priority: c.priority}
		if got := c.rules.InEachQueue(&a, c.waited); !slices.Equal(got, c.want) {
			t.Errorf("%s with %d after %v: %v, want %v", c.queues, c.priority, c.waited, got, c.want)
		}
	}
}
