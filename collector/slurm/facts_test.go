package slurm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// pretend answers Slurm's commands with the texts stored under the commands' names. A command without a text fails.
type pretend struct {
	texts map[string]string
	calls []string // the names of the commands, in order
	// denies is the message with which a command without a text fails; a default if it is empty.
	denies string
	told   *job.Facts
}

// nameOf returns the name of a command of slurm-facts: "sinfo", "reservation", "qos".
func nameOf(args []string) string {
	switch args[0] {
	case "scontrol":
		return args[len(args)-1]
	case "sacctmgr":
		return args[slices.Index(args, "show")+1]
	}
	return args[0]
}

func (p *pretend) complaint() string {
	if p.denies != "" {
		return p.denies
	}
	return "no such thing"
}

func (p *pretend) run(_ context.Context, args []string) ([]byte, error) {
	name := nameOf(args)
	p.calls = append(p.calls, name)
	text, ok := p.texts[name]
	if !ok && name == "configuration" {
		text, ok = "PrivateData = none", true
	}
	if !ok {
		return nil, fmt.Errorf("%s failed: %s", name, p.complaint())
	}
	return []byte(text), nil
}

func (p *pretend) facts(tb testing.TB) *slurm.Facts {
	return slurm.NewFacts(slurm.FactsConfig{
		Options: collector.Options{Cluster: "alpha", Location: berlin(tb)}, Run: p.run,
		Known: func() *job.Facts { return p.told },
	})
}

// factsOf returns the facts of the only event of an answer.
func factsOf(t *testing.T, a source.Answer) *job.Facts {
	t.Helper()
	if a.Err != nil || len(a.Events) != 1 {
		t.Fatalf("%+v, want one event", a)
	}
	ev := a.Events[0]
	if ev.Kind != job.Machine || ev.ID != job.MachineID || ev.Cluster != "alpha" || !ev.Live || ev.Facts == nil {
		t.Fatalf("%+v", ev)
	}
	return ev.Facts
}

// TestFactsOfARealSlurm proves that the facts from the output of a real Slurm equal the settings that were made there.
func TestFactsOfARealSlurm(t *testing.T) {
	p := &pretend{texts: capturedFrom(t, "22.05")}
	a := p.facts(t).Ask(t.Context(), capturedAt)
	if len(a.Bad) > 0 || len(a.Notes) > 0 {
		t.Errorf("bad lines %+v, notes %v", a.Bad, a.Notes)
	}
	unix := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	want := setUp()
	want.Version, want.SharesAt, want.Private = "22.05.8", capturedAt, "none"
	want.Outages = []job.Outage{
		{Name: "acc", From: unix(1796247126), Until: unix(1796283126), Queues: []string{"gpu", "short"}, Nodes: 2,
			Procs: 16, Memory: 16000 * mib, GPUs: 6, DeniedAccounts: []string{"biology"}, NodeList: "n[05-06]",
			Names: []string{"n05", "n06"},
			Queue: "gpu", Flags: []string{"DAILY", "OVERLAP", "PART_NODES", "PURGE_COMP", "SPEC_NODES"}},
		{Name: "cores", From: unix(1796167126), Until: unix(1827703126), Queues: []string{"short", "whole"}, Nodes: 1,
			Procs: 4, Accounts: []string{"physics"}, NodeList: "n02",
			Names: []string{"n02"}, Queue: "short", Flags: []string{"SPEC_NODES"}},
		// This reservation floats: 1795448926 is 15:48:46, and the quarter of an hour before that begins at 15:45. Its
		// end, 15:58:46, is in the quarter that ends at 16:00.
		{Name: "float", From: unix(1795448700), Until: unix(1795449600), Queues: []string{"short", "whole"}, Nodes: 1,
			Procs: 8, Memory: 4000 * mib, DeniedUsers: []string{"cy"}, NodeList: "n01",
			Names: []string{"n01"}, Queue: "short",
			Flags: []string{"SPEC_NODES", "TIME_FLOAT"}},
		{Name: "m1", Maintenance: true, From: unix(1795807126), Until: unix(1795814326),
			Queues: []string{"short", "whole"}, Nodes: 2, Procs: 16, Memory: 8000 * mib, Users: []string{"root"},
			NodeList: "n[01-02]",
			Names:    []string{"n01", "n02"}, Flags: []string{"IGNORE_JOBS", "MAINT", "SPEC_NODES"}},
		{Name: "now1", From: unix(1795447126), Until: unix(1802647126), Queues: []string{"gpu", "short"}, Nodes: 1,
			Procs: 8, Memory: 8000 * mib, GPUs: 3, Users: []string{"ann", "bob"}, NodeList: "n06",
			Names: []string{"n06"},
			Flags: []string{"FLEX", "IGNORE_JOBS", "SPEC_NODES"}},
	}
	if d := cmp.Diff(*want, *factsOf(t, a)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestFactsOfTheSamples compares the partitions, the configuration and the nodes of the cluster under load with the
// lists of slurmrestd and sinfo.
func TestFactsOfTheSamples(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(refdata.Shared(t, "slurm/samples/load/"+name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var partitions []string // one line for each partition, as --oneliner prints them
	for block := range strings.SplitSeq(strings.TrimSpace(read("scontrol-show-partition.txt")), "\n\n") {
		partitions = append(partitions, strings.Join(strings.Fields(block), " "))
	}
	p := &pretend{texts: map[string]string{"config": read("scontrol-show-config.txt"),
		"partition": strings.Join(partitions, "\n") + "\n"}}
	got := factsOf(t, p.facts(t).Ask(t.Context(), at(0)))
	want := &job.Facts{
		Version: "22.05.8", Private: "none",
		Queues: []job.QueueFacts{
			{Name: "long", Tier: 1, Factor: 10, MaxTime: 24 * time.Hour, DefaultTime: time.Hour},
			{Name: "medium", Tier: 1, Factor: 50, MaxTime: time.Hour, DefaultTime: 10 * time.Minute},
			{Name: "short", Tier: 1, Factor: 100, MaxTime: 10 * time.Minute, DefaultTime: 2 * time.Minute},
		},
		Weights: &job.Weights{Age: 10000, FairShare: 2000, JobSize: 500, Queue: 1000, MaxAge: 24 * time.Hour,
			HalfLife: 7 * 24 * time.Hour, Period: 5 * time.Minute},
	}
	if d := cmp.Diff(*want, *got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestFactsWithoutSomeCommands proves that a failing command leaves its own part empty or unchanged, and does not
// affect the other parts.
func TestFactsWithoutSomeCommands(t *testing.T) {
	for name := range captured(t) {
		if name == "sshare" || name == "qos" || name == "assoc" { // not run without slurmdbd
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := &pretend{texts: captured(t)}
			kept := p.texts[name]
			delete(p.texts, name)
			f := p.facts(t)
			a := f.Ask(t.Context(), capturedAt)
			facts := factsOf(t, a)
			if len(a.Notes) != 1 || !strings.Contains(a.Notes[0].Error(), name) {
				t.Errorf("notes %v, want one about %s", a.Notes, name)
			}
			empty := map[string]bool{
				"sinfo": facts.Nodes == nil, "reservation": facts.Outages == nil, "partition": facts.Queues == nil,
				"config": facts.Weights == nil && facts.Version == "",
			}
			if name == "sinfo" { // reservations need the nodes
				empty["reservation"] = false
			}
			for part, is := range empty {
				if is != (part == name) {
					t.Errorf("%s is empty: %v", part, is)
				}
			}
			p.texts[name] = kept
			whole := factsOf(t, f.Ask(t.Context(), capturedAt.Add(time.Hour)))
			delete(p.texts, name)
			if a := f.Ask(t.Context(), capturedAt.Add(time.Hour+time.Minute)); len(a.Events) > 0 && name != "sinfo" {
				t.Errorf("when it failed again: %s", cmp.Diff(*whole, *a.Events[0].Facts))
			}
		})
	}
	p := &pretend{}
	if a := p.facts(t).Ask(t.Context(), capturedAt); a.Err == nil || len(a.Events) > 0 {
		t.Errorf("nothing works: %+v", a)
	}
}

// TestFactsAreToldOnce proves that nodes and reservations are queried each time, and everything else every ten minutes.
// There is an event only if something has changed, and the event has all facts.
func TestFactsAreToldOnce(t *testing.T) {
	p := &pretend{texts: captured(t)}
	f := p.facts(t)
	first := factsOf(t, f.Ask(t.Context(), capturedAt))
	if want := []string{"config", "sinfo", "reservation", "partition"}; !slices.Equal(p.calls, want) {
		t.Errorf("calls %q, want %q", p.calls, want)
	}
	for minute := 1; minute <= 9; minute++ {
		p.calls = nil
		if a := f.Ask(t.Context(), capturedAt.Add(time.Duration(minute)*time.Minute)); len(a.Events) > 0 ||
			a.Err != nil {
			t.Fatalf("minute %d: %+v", minute, a)
		}
		if want := []string{"sinfo", "reservation"}; !slices.Equal(p.calls, want) {
			t.Errorf("minute %d: calls %q, want %q", minute, p.calls, want)
		}
	}
	p.calls = nil
	p.texts["sinfo"] = strings.ReplaceAll(p.texts["sinfo"], "idle+drain", "idle")
	changed := factsOf(t, f.Ask(t.Context(), capturedAt.Add(10*time.Minute)))
	if len(p.calls) != 4 {
		t.Errorf("after ten minutes: calls %q", p.calls)
	}
	first.Nodes[2].Down, first.Nodes[2].Names = 0, []string{"n03"}
	if d := cmp.Diff(*first, *changed); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	again := &pretend{texts: p.texts, told: changed} // another process, whose picture has the facts
	if a := again.facts(t).Ask(t.Context(), capturedAt.Add(11*time.Minute)); len(a.Events) > 0 || a.Err != nil {
		t.Errorf("told anew after a restart: %+v", a)
	}
}

// TestFactsTriesAgain proves that a failed command is tried again after one minute, two and four minutes, and then
// every ten minutes.
func TestFactsTriesAgain(t *testing.T) {
	p := &pretend{texts: map[string]string{"sinfo": sinfoLine("short", "n01", "4", "1000", "(null)", "(null)", "idle"),
		"reservation": "", "config": "A = B\n"}}
	f := p.facts(t)
	var tried []int
	for minute := range 41 {
		p.calls = nil
		f.Ask(t.Context(), capturedAt.Add(time.Duration(minute)*time.Minute))
		if slices.Contains(p.calls, "partition") {
			tried = append(tried, minute)
		}
	}
	if want := []int{0, 1, 3, 7, 15, 25, 35}; !slices.Equal(tried, want) {
		t.Errorf("tried in minutes %v, want %v", tried, want)
	}
}

// TestFactsShares proves that fair shares, which change all the time, are reported again only when one has changed by
// at least 0.05.
func TestFactsShares(t *testing.T) {
	shares := func(factor string) string {
		return "root|||9||\n physics||1|9||inf\n  physics|alice|1|5|" + factor + "|0.5\n  physics|bob|1|4|0.504|2\n"
	}
	p := &pretend{texts: map[string]string{}}
	p.texts["config"] = "AccountingStorageType = accounting_storage/slurmdbd\nPriorityType = " +
		"priority/multifactor\nPriorityWeightFairShare = 5\n"
	p.texts["sshare"] = shares("0.256")
	f := p.facts(t)
	got := factsOf(t, f.Ask(t.Context(), capturedAt))
	if want := []job.Share{{Account: "physics", User: "alice", Factor: .26, Raw: 1, Usage: 5, Level: .5},
		{Account: "physics", User: "bob", Factor: .5, Raw: 1, Usage: 4, Level: 2}}; !slices.Equal(got.Shares, want) ||
		!got.SharesAt.Equal(capturedAt) {
		t.Errorf("%+v at %s, want %+v at %s", got.Shares, got.SharesAt, want, capturedAt)
	}
	for i, step := range []struct {
		factor string
		told   bool
	}{{"0.300", false}, {"0.215", false}, {"0.310001", true}, {"0.27", false}} {
		p.texts["sshare"] = shares(step.factor)
		if a := f.Ask(t.Context(),
			capturedAt.Add(time.Duration(i+1)*10*time.Minute)); (len(a.Events) > 0) != step.told {
			t.Errorf("%s: told %v, want %v", step.factor, !step.told, step.told)
		}
	}
}

// sinfoLine returns one line of sinfo, for nodes with cores of one processor.
func sinfoLine(fields ...string) string { return strings.Join(append(fields, "1"), "\x1f") + "\x1f\n" }

// barred pads lines of sacctmgr with separators to a number of columns.
func barred(columns int, text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		all.WriteString(line + strings.Repeat("|", columns-1-strings.Count(line, "|")) + "\n")
	}
	return all.String()
}

// TestFactsNodeStates proves for every state and flag of sinfo whether a node is down.
func TestFactsNodeStates(t *testing.T) {
	for state, down := range map[string]bool{
		"idle": false, "mixed": false, "allocated": false, "idle+cloud+powered_down": false, "idle+powering_up": false,
		"mixed+planned": false, "allocated+completing": false,
		"idle+reserved": false, "idle+maintenance": false, "idle+reboot_requested": false, "IDLE+DYNAMIC_NORM": false,
		"idle~": false,
		"down":  true, "DOWN+NOT_RESPONDING": true, "idle+drain": true, "mixed+drain": true, "allocated+fail": true,
		"idle+not_responding":       true,
		"unknown+drain+invalid_reg": true, "idle+powering_down": true, "idle+reboot_issued": true,
		"idle+maintenance+drain": true, "down*": true, "idle*": true, "unknown": true, "error": true, "future": true,
	} {
		p := &pretend{
			texts: map[string]string{"sinfo": sinfoLine("short", "n01", "4", "1000", "(null)", "(null)", state)},
		}
		g := factsOf(t, p.facts(t).Ask(t.Context(), at(0))).Nodes
		if len(g) != 1 || (g[0].Down == 1) != down {
			t.Errorf("%s: %+v, want down %v", state, g, down)
		}
	}
}

// TestFactsOnAdmission proves that the users of a partition are read as slurm.conf(5) defines them, and the enforced
// limits as AccountingStorageEnforce implies them. A list with an unreadable line does not count as complete.
func TestFactsOnAdmission(t *testing.T) {
	for words, want := range map[string]job.Enforced{
		"none": {}, "associations": {Associations: true}, "limits": {Associations: true, Limits: true},
		"associations,qos": {Associations: true, QOS: true}, "safe": {Associations: true, Limits: true, Safe: true},
		"qos,limits": {Associations: true, QOS: true, Limits: true},
		"ALL":        {Associations: true, QOS: true, Limits: true, Safe: true},
	} {
		p := &pretend{texts: captured(t)}
		p.texts["config"] = "AccountingStorageEnforce = " + words + "\n"
		if got := factsOf(t, p.facts(t).Ask(t.Context(), at(0))).Enforced; got != want {
			t.Errorf("%s: %+v, want %+v", words, got, want)
		}
	}
	p := &pretend{texts: captured(t)}
	p.texts["config"] = "AccountingStorageType = accounting_storage/slurmdbd\n"
	p.texts["partition"] = "PartitionName=a AllowAccounts=physics,biology DenyQos=low State=UP\n" +
		"PartitionName=b AllowAccounts=ALL AllowQos=high,normal DenyAccounts=root State=UP\n"
	got := factsOf(t, p.facts(t).Ask(t.Context(), at(0)))
	want := []job.QueueFacts{
		{Name: "a", Accounts: []string{"biology", "physics"}, DeniedQOSs: []string{"low"}},
		{Name: "b", DeniedAccounts: []string{"root"}, QOSs: []string{"high", "normal"}},
	}
	if d := cmp.Diff(want, got.Queues); d != "" {
		t.Errorf("partitions, -want +got:\n%s", d)
	}
	if len(got.Accounts) != 5 || len(got.QOSs) != 4 {
		t.Errorf("%d accounts, %d QOSs, want 5 and 4", len(got.Accounts), len(got.QOSs))
	}
	p.texts["assoc"] += "waitcast|chemistry\n"
	p.texts["qos"] += "odd\n"
	gaps := factsOf(t, p.facts(t).Ask(t.Context(), at(0)))
	if gaps.Accounts != nil || gaps.QOSs != nil || len(gaps.Limits) != len(got.Limits) {
		t.Errorf("of lists with gaps accounts %v, QOSs %v and %d limits, want none, none and %d",
			gaps.Accounts, gaps.QOSs, len(gaps.Limits), len(got.Limits))
	}
}

// TestFactsWithoutMemory proves that memory is not a resource of nodes on a cluster that does not allocate memory to
// jobs.
func TestFactsWithoutMemory(t *testing.T) {
	for parameters, want := range map[string]int64{
		"CR_CPU": 0, "CR_CORE": 0, "CR_CORE_MEMORY": 1000 * mib, "CR_CPU_MEMORY,CR_ONE_TASK_PER_CORE": 1000 * mib,
		"": 1000 * mib,
	} {
		p := &pretend{texts: map[string]string{
			"sinfo":  sinfoLine("short", "n01", "4", "1000", "(null)", "(null)", "idle"),
			"config": "SelectTypeParameters = " + parameters + "\n",
			"reservation": fmt.Sprintf("ReservationName=r StartTime=%d EndTime=%d Nodes=n01 TRES=cpu=4\n",
				unix+10, unix+20),
		}}
		f := factsOf(t, p.facts(t).Ask(t.Context(), at(0)))
		if got := f.Nodes[0].Node.Memory; got != want || f.Outages[0].Memory != want {
			t.Errorf("%q: %d bytes, want %d", parameters, got, want)
		}
	}
}

// TestFactsReservations checks reservations of every kind on four nodes of 4 processors, 1 GiB and 1 GPU each. Node n04
// is down.
func TestFactsReservations(t *testing.T) {
	nodes := sinfoLine("a", "n[01-03]", "4", "1024", "gpu:v100:1(S:0-1)", "x", "idle") +
		sinfoLine("b", "n[03]", "4", "1024", "gpu:v100:1(S:0-1)", "x", "idle") +
		sinfoLine("b", "n04", "4", "1024", "gpu:v100:1(S:0-1)", "x", "down")
	line := func(from, until int64, rest string) string {
		return fmt.Sprintf("ReservationName=r StartTime=%d EndTime=%d Duration=x %s State=x\n", unix+from,
			unix+until, rest)
	}
	out := func(o job.Outage) []job.Outage {
		o.Name = "r"
		return []job.Outage{o}
	}
	both := []string{"a", "b"}
	for _, c := range []struct {
		name, line string
		want       []job.Outage
	}{
		{"maintenance to come",
			line(60, 120,
				"Nodes=n[01,03] NodeCnt=2 CoreCnt=8 Flags=IGNORE_JOBS,MAINT TRES=cpu=8 Users=root Accounts=(null)"),
			out(job.Outage{NodeList: "n[01,03]",
				Names: []string{"n01", "n03"}, Flags: []string{"IGNORE_JOBS", "MAINT"},
				Maintenance: true, From: at(60), Until: at(120), Queues: both, Nodes: 2, Procs: 8,
				Memory: 2 * gib, GPUs: 2, Users: []string{"root"}})},
		{"a node that is down comes back before it",
			line(60, 120, "Nodes=n[03-04] CoreCnt=8 Flags= TRES=cpu=8 Users=(null) Accounts=b,a"),
			out(job.Outage{NodeList: "n[03-04]", Names: []string{"n03", "n04"},
				From: at(60), Until: at(120), Queues: both, Nodes: 2, Procs: 8, Memory: 2 * gib, GPUs: 2,
				Accounts: []string{"a", "b"}})},
		{"under way, with a node that is down",
			line(-60, 120, "Nodes=n[03-04] CoreCnt=8 Flags= TRES=cpu=8 Users=a Accounts=(null)"),
			out(job.Outage{NodeList: "n[03-04]", Names: []string{"n03", "n04"},
				From: at(-60), Until: at(120), Queues: both, Nodes: 1, Procs: 4, Memory: gib, GPUs: 1,
				Users: []string{"a"}})},
		{"some cores",
			line(60, 120, "Nodes=n[01-02] CoreCnt=2 Flags= NodeName=n01 CoreIDs=0-1 TRES=cpu=2 Users=-a Accounts=-b"),
			out(job.Outage{NodeList: "n[01-02]",
				Names: []string{"n01", "n02"}, DeniedUsers: []string{"a"}, DeniedAccounts: []string{"b"},
				From: at(60), Until: at(120), Queues: []string{"a"}, Nodes: 2, Procs: 2})},
		{"without TRES", line(60, 120, "Nodes=n01 CoreCnt=3 Flags= Users=a Accounts=(null)"),
			out(job.Outage{NodeList: "n01", Names: []string{"n01"},
				From: at(60), Until: at(120), Queues: []string{"a"}, Nodes: 1, Procs: 3,
				Users: []string{"a"}})},
		{"over", line(-120, 0, "Nodes=n01 CoreCnt=4 Flags= TRES=cpu=4 Users=a Accounts=(null)"), nil},
		{"licenses only",
			line(60, 120,
				"Nodes=(null) NodeCnt=0 CoreCnt=0 Flags=ANY_NODES TRES=(null) Users=a Accounts=(null) Licenses=x:1"),
			nil},
		{"nodes that nobody knows", line(60, 120, "Nodes=z1 CoreCnt=4 Flags= TRES=cpu=4 Users=a Accounts=(null)"), nil},
		{"none", "No reservations in the system\n", nil},
		{"local times", "ReservationName=r StartTime=2026-11-20T09:01:00 EndTime=2026-11-20T09:02:00 Nodes=n01 " +
			"Flags= TRES=cpu=4 Users=a Accounts=(null)\n",
			out(job.Outage{NodeList: "n01", Names: []string{"n01"},
				From: at(60), Until: at(120), Queues: []string{"a"}, Nodes: 1, Procs: 4, Memory: gib,
				GPUs: 1, Users: []string{"a"}})},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &pretend{texts: map[string]string{"sinfo": nodes, "reservation": c.line}}
			a := p.facts(t).Ask(t.Context(), at(0))
			if d := cmp.Diff(c.want, factsOf(t, a).Outages); d != "" || len(a.Bad) > 0 {
				t.Errorf("-want +got:\n%s\n%v", d, a.Bad)
			}
		})
	}
}

// TestFactsAssociations proves that limits that users inherit from their account are reported once, and that limits set
// for a single user are reported for that user. Associations of other clusters are left out.
func TestFactsAssociations(t *testing.T) {
	p := &pretend{texts: map[string]string{
		"config": "ClusterName = here\nAccountingStorageType = accounting_storage/slurmdbd\n",
		"assoc": barred(20, strings.Join([]string{
			"here|root|||||cpu=1000||||", "there|a|||7|||||7|", "here|a||||||cpu=8|2-00:00:00|5|9",
			"here|a|ann||||||||", "here|a|bob|gpu||||cpu=8|2-00:00:00|5|9",
			"here|a|cy|||4|gres/gpu=2|cpu=16|2-00:00:00|3|9", "here|a|dan||2|||cpu=8|2-00:00:00|5|9",
		}, "\n")+"\n"),
		"qos": barred(25, "normal|0||||||||\n") + "bad|line\n" + barred(25, "big|10|4|||node=2|UNLIMITED|||\n"),
	}}
	a := p.facts(t).Ask(t.Context(), at(0))
	want := []job.Limit{
		{QOS: "big", Priority: 10, Jobs: 4, JobNodes: 2},
		{Account: "a", PerUser: true, Jobs: 5, Submitted: 9, JobProcs: 8, MaxTime: 48 * time.Hour},
		{Account: "a", User: "cy", Jobs: 3, Submitted: 4, GPUs: 2, JobProcs: 16, MaxTime: 48 * time.Hour},
		{Account: "a", User: "dan", Jobs: 2},
		{Account: "root", Procs: 1000},
	}
	if d := cmp.Diff(want, factsOf(t, a).Limits); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(a.Bad) != 1 || a.Bad[0].Path != "sacctmgr show qos" || a.Bad[0].Number != 2 {
		t.Errorf("bad lines %+v, want line 2 of sacctmgr show qos", a.Bad)
	}
}

// TestFactsOutage proves that an answer names the query of slurmdbd that fails, as long as it fails, and that denied
// queries and failures of slurmctld are no outage.
func TestFactsOutage(t *testing.T) {
	const lost = "sacctmgr show qos fails: is slurmdbd up? Limits, accounts and shares are those of the last answer"
	p := &pretend{texts: map[string]string{
		"config": "ClusterName = here\nAccountingStorageType = accounting_storage/slurmdbd\n",
		"sinfo":  sinfoLine("a", "n1", "4", "1024", "(null)", "(null)", "idle"),
		"qos":    barred(25, "normal|0||||||||\n"), "assoc": barred(20, "here|root|||||cpu=1000||||\n"),
	}}
	f := p.facts(t)
	ask := func(minute int64, want string) {
		t.Helper()
		if a := f.Ask(t.Context(), at(60*minute)); a.Err != nil || a.Outage != want {
			t.Errorf("minute %d: %v, outage %q, want %q", minute, a.Err, a.Outage, want)
		}
	}
	qos := p.texts["qos"]
	ask(0, "")
	delete(p.texts, "qos")
	ask(10, lost)
	ask(11, lost)
	p.texts["qos"] = qos
	ask(20, "")
	delete(p.texts, "qos")
	p.denies = "Access/permission denied"
	ask(30, "")
}

// TestFactsBadLines proves that a bad line is left out, and reported once as long as it stays the same. If most lines
// are bad, the command counts as failed.
func TestFactsBadLines(t *testing.T) {
	good := sinfoLine("a", "n[01-03]", "4", "1024", "(null)", "(null)", "idle")
	for _, bad := range []string{
		"sinfo: error: something\n", sinfoLine("a", "n[01-03", "4", "1024", "(null)", "(null)", "idle"),
		sinfoLine("a", "n1", "4", "x", "(null)", "(null)", "idle"),
		sinfoLine("a", "n1", "0", "1024", "(null)", "(null)", "idle"),
		sinfoLine("a", "n1", "4", "1024", "(null)", "idle"),
		sinfoLine("a", "n[1-99999999999]", "4", "1024", "(null)", "(null)", "idle"),
		sinfoLine("a", "n[1-40000],m[1-40000]", "4", "1", "(null)", "(null)", "idle"),
	} {
		p := &pretend{texts: map[string]string{"sinfo": good + bad + good}}
		f := p.facts(t)
		a := f.Ask(t.Context(), at(0))
		if nodes := factsOf(t, a).Nodes; len(nodes) != 1 || nodes[0].Count != 3 || len(a.Bad) != 1 ||
			a.Bad[0].Path != "sinfo" || a.Bad[0].Number != 2 {
			t.Errorf("%q: %+v %+v", bad, nodes, a.Bad)
		}
		if a := f.Ask(t.Context(), at(60)); len(a.Bad) > 0 || a.Err != nil {
			t.Errorf("%q: told again: %+v", bad, a)
		}
		p.texts["sinfo"] = bad
		var failed *source.CallError
		if a := f.Ask(t.Context(), at(120)); !errors.As(a.Err, &failed) || failed.Reason != source.FailedOutput ||
			len(a.Events) > 0 {
			t.Errorf("%q alone: %+v", bad, a)
		}
	}
}

// FuzzFacts proves that for any output of a command nothing panics, the facts can be written as JSON, and the same
// facts are not reported twice.
func FuzzFacts(f *testing.F) {
	names := []string{"sinfo", "reservation", "partition", "config", "qos", "assoc", "sshare"}
	f.Add(uint8(0), sinfoLine("a", "n[1-3,7]x[0-1],m", "4K", "1", "gpu:a:1(S:0,1),gpu", "b,a", "idle*"))
	f.Add(uint8(1), "ReservationName=m1 StartTime=1795187637 EndTime=1795194837 Nodes=n[01-02] CoreCnt=16 "+
		"Flags=MAINT,TIME_FLOAT TRES=cpu=16,mem=1.5G Users=root,-a Accounts=(null)\n")
	f.Add(uint8(2), "PartitionName=gpu QoS=N/A DefaultTime=NONE MaxNodes=1 MaxTime=01:00:00 MinNodes=0 "+
		"OverSubscribe=EXCLUSIVE PriorityTier=1 State=UP\n")
	f.Add(uint8(3), "PriorityMaxAge = 2-00:00:00\nPriorityWeightAge = 1000\n")
	f.Add(uint8(4), barred(25, "high|100|50|8|cpu=8,mem=10G,gres/gpu:a=1|node=2|1-00:00:00|3|10|cpu=4\n"))
	f.Add(uint8(5), barred(20, "c|physics|games||4|4|cpu=100|cpu=3|01:00:00|2|9\nc|physics|||||||||\n"))
	f.Add(uint8(6), "  physics|games|1|100|0.123456|inf\nroot|||100||\n")
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		p := &pretend{texts: map[string]string{
			"sinfo": sinfoLine("a", "n[01-03]", "4", "1024", "gpu:v100:1", "x", "idle"),
			"config": "AccountingStorageType = accounting_storage/slurmdbd\nPriorityType = " +
				"priority/multifactor\nPriorityWeightFairShare = 5\n",
		}}
		p.texts[names[int(which)%len(names)]] += text
		facts := p.facts(t)
		a := facts.Ask(t.Context(), at(0))
		if a.Err != nil && (len(a.Events) > 0 || len(a.Notes) > 0) || a.Err == nil && len(a.Events) != 1 {
			t.Fatalf("%+v", a)
		}
		if again := facts.Ask(t.Context(), at(0)); len(again.Events) > 0 || len(again.Bad) > 0 {
			t.Fatalf("the same told twice: %+v", again)
		}
	})
}
