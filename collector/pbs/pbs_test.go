package pbs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
)

// unix is 2024-07-03 12:00:00 UTC, which is 14:00:00 in Berlin. Every line below was written by hand from the
// documentation.
const unix = 1720008000

func at(seconds int64) time.Time { return time.Unix(unix+seconds, 0).UTC() }

func berlin(tb testing.TB) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func suite(tb testing.TB) formattest.Suite {
	tb.Helper()
	return formattest.Suite{
		Format:      pbs.Format(),
		Options:     collector.Options{Cluster: "alpha", Location: berlin(tb), MaxProcs: 4096},
		Good:        slices.Concat(torqueCases(), openCases(), arrayCases(), silentCases()),
		Bad:         badCases(),
		Worst:       worstLines(),
		AtWallClock: func(wall string) string { return american(wall) + ";D;1.srv;requestor=ann@srv" },
	}
}

// american converts "2006-01-02 15:04:05" to "01/02/2006 15:04:05".
func american(wall string) string { return wall[5:7] + "/" + wall[8:10] + "/" + wall[:4] + wall[10:] }

func event(kind job.Kind, id string, when time.Time, a job.Attributes, t job.Times) []job.Event {
	return []job.Event{{Kind: kind, Cluster: "alpha", ID: id, Time: when, Attributes: a, Times: t}}
}

func good(name, line string, want []job.Event) formattest.Case {
	return formattest.Case{Name: name, Line: line, Want: want}
}

func bad(name, line, reason, field string) formattest.BadCase {
	return formattest.BadCase{Name: name, Line: line, Reason: reason, Field: field}
}

// torqueCases returns records as Torque writes them.
func torqueCases() []formattest.Case {
	ann := job.Attributes{Queue: "batch", User: "ann", Group: "staff", Name: "STDIN", Procs: 12, Nodes: 2,
		TimeLimit: 16*time.Minute + 40*time.Second}
	const who = "user=ann group=staff jobname=STDIN queue=batch ctime=1720008000 qtime=1720008000 etime=1720008000 " +
		"start=1720008060 owner=ann@login "
	const given = "exec_host=n1/0+n1/1+n1/2+n1/3+n1/4+n1/5+n2/0+n2/1+n2/2+n2/3+n2/4+n2/5 " +
		"Resource_List.neednodes=2:ppn=6 Resource_List.nodect=2 Resource_List.nodes=2:ppn=6 " +
		"Resource_List.walltime=00:16:40"
	started := job.Times{Submit: at(0), Eligible: at(0), Start: at(60)}
	ended := started
	ended.End = at(360)
	return []formattest.Case{
		good("queued: only the queue, local time", "07/03/2024 14:00:00;Q;7.srv;queue=batch",
			event(job.Submit, "7.srv", at(0), job.Attributes{Queue: "batch"}, job.Times{Submit: at(0)})),
		good("started: the time is start=, not the record's", "07/03/2024 14:01:02;S;7.srv;"+who+given,
			event(job.Start, "7.srv", at(60), ann, started)),
		good("ended", "07/03/2024 14:06:01;E;7.srv;"+who+given+" session=6365 end=1720008360 Exit_status=0 "+
			"resources_used.cput=00:00:01 resources_used.walltime=00:05:00",
			event(job.End, "7.srv", at(360), ann, ended)),
		good("ended, though it never started", "07/03/2024 14:06:00;E;8.srv;user=ann queue=batch ctime=1720008000 "+
			"qtime=1720008000 etime=0 start=0 end=1720008360 Exit_status=271",
			event(job.Cancel, "8.srv", at(360), job.Attributes{Queue: "batch", User: "ann"}, job.Times{Submit: at(0)})),
		good("restarted from a checkpoint: nothing but the time", "07/03/2024 14:01:00;T;7.srv;",
			event(job.Start, "7.srv", at(60), job.Attributes{}, job.Times{Start: at(60)})),
		good("rerun", "07/03/2024 14:02:00;R;7.srv;",
			event(job.Requeue, "7.srv", at(120), job.Attributes{}, job.Times{})),
		good("checkpointed and held", "07/03/2024 14:02:00;C;7.srv;Checkpointed and held",
			event(job.Requeue, "7.srv", at(120), job.Attributes{}, job.Times{})),
		good("deleted", "07/03/2024 14:02:00;D;7.srv;requestor=ann@login",
			event(job.Cancel, "7.srv", at(120), job.Attributes{}, job.Times{})),
		good("aborted", "07/03/2024 14:02:00;A;7.srv;",
			event(job.Cancel, "7.srv", at(120), job.Attributes{}, job.Times{})),
		good("old array member", "07/03/2024 14:00:00;Q;7-3.srv;queue=batch",
			event(job.Submit, "7-3.srv", at(0), job.Attributes{Queue: "batch"}, job.Times{Submit: at(0)})),
		good("a default of ncpus=1 does not hide the nodes; hosts by name; an unquoted account with spaces that "+
			"plays queue and user",
			"07/03/2024 14:01:00;S;9.srv;user=bob group=staff account=big queue=evil user=root one jobname=a=b "+
				"queue=batch ctime=1720008000 qtime=1720008000 etime=1720008000 start=1720008060 "+
				"exec_host=n1/0+n2/0-3 Resource_List.ncpus=1 Resource_List.nodes=n1+n2:ppn=4:bigmem#shared "+
				"Resource_List.walltime=1:00:00:00",
			event(job.Start, "9.srv", at(60), job.Attributes{
				Queue: "batch", User: "bob", Group: "staff", Account: "big", Name: "a=b",
				Procs: 5, Nodes: 2, TimeLimit: 24 * time.Hour}, started)),
		good("no request at all: the slots given", "07/03/2024 14:01:00;S;10.srv;user=bob queue=batch "+
			"ctime=1720008000 qtime=1720008000 etime=1720008000 start=1720008060 "+
			"exec_host=node-1.x/7+node-1.x/6+node-2.x/0-1,5",
			event(job.Start, "10.srv", at(60),
				job.Attributes{Queue: "batch", User: "bob", Procs: 5, Nodes: 2}, started)),
		good("Cray: processes of several processors", "07/03/2024 14:01:00;S;11.srv;user=bob queue=batch "+
			"ctime=1720008000 etime=1720008000 start=1720008060 exec_host=login/0 Resource_List.mppwidth=64 "+
			"Resource_List.mppdepth=4 Resource_List.walltime=90",
			event(job.Start, "11.srv", at(60), job.Attributes{Queue: "batch", User: "bob", Procs: 256, Nodes: 1,
				TimeLimit: 90 * time.Second}, started)),
	}
}

// openCases returns records as OpenPBS and PBS Professional write them.
func openCases() []formattest.Case {
	const who = `user=cat group=staff account="phys lab" project=_pbs_project_default jobname=run.sh queue=workq `
	const times = "ctime=1720008000 qtime=1720008005 etime=1720008010 "
	const list = "Resource_List.mem=8gb Resource_List.ncpus=16 Resource_List.nodect=3 Resource_List.place=scatter " +
		"Resource_List.select=2:ncpus=4:mpiprocs=4+1:ncpus=8 Resource_List.walltime=36:00:00 "
	const shrinks = "user=cat queue=workq ctime=1720008000 Resource_List.ncpus=2 " +
		"Resource_List.max_walltime=04:00:00 Resource_List.min_walltime=00:58:00"
	a := job.Attributes{Queue: "workq", User: "cat", Group: "staff", Account: "phys lab", Name: "run.sh",
		Procs: 16, Nodes: 3,
		Memory: 8 << 30, TimeLimit: 36 * time.Hour}
	queued := job.Times{Submit: at(0), Eligible: at(10)}
	started, ended := queued, queued
	started.Start, ended.Start, ended.End = at(60), at(60), at(360)
	smaller := a
	smaller.Procs, smaller.Nodes, smaller.Memory = 8, 2, 0
	limit := job.Attributes{TimeLimit: 2 * time.Hour}
	return []formattest.Case{
		good("queued: the whole request", "07/03/2024 14:00:05;Q;20.srv;"+who+times+"depend=afterok:19.srv@srv "+list,
			event(job.Submit, "20.srv", at(5), a, queued)),
		good("queued again in another queue: the submit stays", "07/03/2024 14:00:30;Q;20.srv;"+
			`user=cat project="a b" queue=long ctime=1720008000 qtime=1720008030 etime=0`,
			event(job.Submit, "20.srv", at(30), job.Attributes{Queue: "long", User: "cat", Account: "a b"},
				job.Times{Submit: at(0)})),
		good("started", "07/03/2024 14:01:00;S;20.srv;"+who+times+
			"start=1720008060 exec_host=n1/0*4+n2/0*4+n3/1*8 exec_vnode=(n1:ncpus=4)+(n2:ncpus=4)+(n3:ncpus=8) "+list+
			"resource_assigned.ncpus=16",
			event(job.Start, "20.srv", at(60), a, started)),
		good("started with fewer nodes than it was given", "07/03/2024 14:01:05;s;20.srv;"+who+times+
			"start=1720008060 exec_host=n1/0*4+n2/0*4 Resource_List.ncpus=8 Resource_List.nodect=2 "+
			"Resource_List.walltime=36:00:00",
			event(job.Update, "20.srv", at(65), smaller, started)),
		good("next phase, one node released", "07/03/2024 14:03:00;c;20.srv;"+who+times+"start=1720008060 "+
			"exec_host=n1/0*4+n2/0*4 Resource_List.ncpus=8 Resource_List.nodect=2 Resource_List.walltime=36:00:00",
			event(job.Update, "20.srv", at(180), smaller, started)),
		good("queued, to be shrunk: the longest limit", "07/03/2024 14:00:00;Q;22.srv;"+shrinks,
			event(job.Submit, "22.srv", at(0), job.Attributes{Queue: "workq", User: "cat", Procs: 2,
				TimeLimit: 4 * time.Hour}, job.Times{Submit: at(0)})),
		good("started, shrunk: the walltime", "07/03/2024 14:01:00;S;22.srv;"+shrinks+
			" Resource_List.walltime=01:30:00 start=1720008060",
			event(job.Start, "22.srv", at(60), job.Attributes{Queue: "workq", User: "cat", Procs: 2,
				TimeLimit: 90 * time.Minute}, job.Times{Submit: at(0), Start: at(60)})),
		good("queued, with a longest limit that is none", "07/03/2024 14:00:00;Q;23.srv;user=cat ctime=1720008000 "+
			"Resource_List.max_walltime=long", event(job.Submit, "23.srv", at(0), job.Attributes{User: "cat"},
			job.Times{Submit: at(0)})),
		good("altered", "07/03/2024 14:02:00;a;20.srv;Resource_List.walltime=02:00:00 Resource_List.mem=UNSET",
			event(job.Update, "20.srv", at(120), limit, job.Times{})),
		good("altered names",
			`07/03/2024 14:02:00;a;20.srv;Job_Name=new Account_Name="chem lab" Resource_List.ncpus=UNSET`,
			event(job.Update, "20.srv", at(120), job.Attributes{Name: "new", Account: "chem lab"}, job.Times{})),
		good("ended, with a quoted value that looks like fields", "07/03/2024 14:06:00;E;20.srv;"+who+times+
			"start=1720008060 exec_host=n1/0*4+n2/0*4+n3/1*8 "+list+`session=12 end=1720008360 Exit_status=0 `+
			`resources_used.json='{"queue": "x", "a": " user=eve queue=no"}' resources_used.walltime=00:05:00 `+
			`eligible_time=00:00:50 run_count=1`,
			event(job.End, "20.srv", at(360), a, ended)),
		good("rerun: at its end", "07/03/2024 14:06:01;R;20.srv;"+who+times+"start=1720008060 "+list+
			"session=12 end=1720008360 Exit_status=-11 run_count=1",
			event(job.Requeue, "20.srv", at(360), a, started)),
		good("queued with a quality of service", "07/03/2024 14:00:05;Q;22.srv;user=cat queue=workq ctime=1720008000 "+
			"qtime=1720008005 Resource_List.ncpus=1 Resource_List.qos=high",
			event(job.Submit, "22.srv", at(5), job.Attributes{Queue: "workq", User: "cat", QOS: "high", Procs: 1},
				job.Times{Submit: at(0)})),
		good("altered quality of service", "07/03/2024 14:02:00;a;22.srv;Resource_List.qos=low",
			event(job.Update, "22.srv", at(120), job.Attributes{QOS: "low"}, job.Times{})),
		good("moved to another server", "07/03/2024 14:02:00;M;20.srv;destination=other@far",
			event(job.Cancel, "20.srv", at(120), job.Attributes{}, job.Times{})),
		good("checkpointed", "07/03/2024 14:02:00;C;20.srv;",
			event(job.Requeue, "20.srv", at(120), job.Attributes{}, job.Times{})),
		good("array member", "07/03/2024 14:01:00;S;21[7].srv;user=cat queue=workq project=p1 ctime=1720008000 "+
			"qtime=1720008005 etime=1720008010 start=1720008060 exec_host=n1/3 Resource_List.ncpus=1 "+
			"Resource_List.nodect=1",
			event(job.Start, "21[7].srv", at(60),
				job.Attributes{Queue: "workq", User: "cat", Account: "p1", Procs: 1, Nodes: 1}, started)),
		good("ISO date and microseconds", "2024-07-03 14:02:00.123456;D;20.srv;requestor=cat@srv",
			event(job.Cancel, "20.srv", at(120), job.Attributes{}, job.Times{})),
		good("select alone", "07/03/2024 14:02:00;a;20.srv;Resource_List.select=3:mem=2gb+ncpus=5+2:ncpus=0",
			event(job.Update, "20.srv", at(120), job.Attributes{Procs: 8, Nodes: 6}, job.Times{})),
		good("suspended", "07/03/2024 14:02:00;z;20.srv;resources_used.ncpus=16",
			event(job.Suspend, "20.srv", at(120), job.Attributes{}, job.Times{})),
		good("resumed", "07/03/2024 14:02:10;r;20.srv;",
			event(job.Resume, "20.srv", at(130), job.Attributes{}, job.Times{})),
		good("GPUs by chunk, nodes of its own",
			"07/03/2024 14:02:00;a;20.srv;Resource_List.select=2:ncpus=4:ngpus=2:gpu_type=a100+1:ncpus=8 "+
				"Resource_List.place=scatter:excl",
			event(job.Update, "20.srv", at(120),
				job.Attributes{Procs: 16, Nodes: 3, GPUs: 4, GPUType: "a100", Whole: true}, job.Times{})),
		good("GPUs and memory of the whole job",
			"07/03/2024 14:02:00;a;20.srv;Resource_List.ncpus=8 Resource_List.ngpus=3 Resource_List.mem=512mw",
			event(job.Update, "20.srv", at(120), job.Attributes{Procs: 8, GPUs: 3, Memory: 4 << 30}, job.Times{})),
		good("Torque's way of both", "07/03/2024 14:02:00;a;20.srv;Resource_List.nodes=2:ppn=4:gpus=1 "+
			"Resource_List.pmem=2000kb Resource_List.mem=lots",
			event(job.Update, "20.srv", at(120), job.Attributes{Procs: 8, Nodes: 2, GPUs: 2, Memory: 8 * 2000 << 10},
				job.Times{})),
	}
}

// silentCases returns records that do not concern a job's life.
func silentCases() []formattest.Case {
	lines := []string{
		"07/03/2024 14:00:00;L;license;floating license hour:3 day:3 month:6 max:9",
		"07/03/2024 14:00:00;U;R1.srv;requestor=ann@login", "07/03/2024 14:00:00;Y;R1.srv;requestor=Scheduler@srv",
		"07/03/2024 14:00:00;B;R1.srv;owner=ann ctime=1 start=2 end=3 nodes=(n1:ncpus=0)",
		"07/03/2024 14:00:00;F;R1.srv;", "07/03/2024 14:00:00;K;R1.srv;",
		"07/03/2024 14:00:00;k;R1.srv;requestor=ann@login",
		"07/03/2024 14:00:00;P;20.srv;user=cat provision_event=START",
		"07/03/2024 14:00:00;p;20.srv;provision_event=END", "07/03/2024 14:00:00;u;20.srv;Resource_List.ncpus=16",
		"07/03/2024 14:00:00;e;20.srv;Resource_List.ncpus=8", "07/03/2024 14:00:00;C;7.srv;Checkpointed",
		// Torque's arrays have no indices in these records.
		"07/03/2024 14:00:00;Q;21[].srv;queue=workq", "07/03/2024 14:00:00;Q;21[].srv;queue=workq array_indices=1-",
		"07/03/2024 14:00:00;S;21[].srv;user=cat queue=workq start=5", "07/03/2024 14:00:00;R;21[].srv;",
		"07/03/2024 14:00:00;a;21[].srv;Priority=5",
		"07/03/2024 14:00:00;a;20.srv;Priority=5 comment=\"no fields of ours\"",
	}
	cases := make([]formattest.Case, len(lines))
	for i, line := range lines {
		cases[i] = formattest.Case{Name: "silent " + line[20:21] + " " + line[22:], Line: line}
	}
	return cases
}

func badCases() []formattest.BadCase {
	const s = "07/03/2024 14:01:00;S;1.srv;user=ann queue=batch ctime=1720008000 start=1720008060 "
	const e = "07/03/2024 14:01:00;E;1.srv;user=ann queue=batch ctime=1720008000 Resource_List.ncpus=2 "
	return []formattest.BadCase{
		bad("not a record", "hello, world", collector.ReasonFormat, "time"),
		bad("a daemon log's line", "07/03/2024 14:00:00;0008;PBS_Server;Job;1.srv;Job Queued",
			collector.ReasonFormat, "type"),
		bad("cut off in the id", "07/03/2024 14:00:00;Q;1.s", collector.ReasonFormat, "id"),
		bad("another date style", "03.07.2024 14:00:00;Q;1.srv;queue=batch", collector.ReasonFormat, "time"),
		bad("no id", "07/03/2024 14:00:00;Q;;queue=batch", collector.ReasonField, "id"),
		bad("no such day", "02/30/2024 14:00:00;Q;1.srv;queue=batch", collector.ReasonTime, "time"),
		bad("no such hour", "07/03/2024 24:00:00;Q;1.srv;queue=batch", collector.ReasonTime, "time"),
		bad("before Unix", "07/03/1824 14:00:00;Q;1.srv;queue=batch", collector.ReasonTime, "time"),
		bad("a type that nobody has documented", "07/03/2024 14:00:00;X;1.srv;queue=batch",
			collector.ReasonUnknown, "type"),
		bad("a start that is no number", "07/03/2024 14:01:00;S;1.srv;start=soon Resource_List.ncpus=1",
			collector.ReasonField, "start"),
		bad("a negative start", "07/03/2024 14:01:00;S;1.srv;start=-5 Resource_List.ncpus=1",
			collector.ReasonTime, "start"),
		bad("a start beyond the year 9999", "07/03/2024 14:01:00;S;1.srv;start=253402300800 Resource_List.ncpus=1",
			collector.ReasonTime, "start"),
		bad("a start before the submit",
			"07/03/2024 14:01:00;S;1.srv;ctime=1720008061 start=1720008060 Resource_List.ncpus=1",
			collector.ReasonTime, "start"),
		bad("an end before the start", e+"start=1720008060 end=1720008059", collector.ReasonTime, "end"),
		bad("an end without a start", e+"end=1720008059", collector.ReasonField, "start"),
		bad("an end of 0 processors",
			"07/03/2024 14:01:00;E;1.srv;start=1720008060 end=1720008061 Resource_List.ncpus=0",
			collector.ReasonProcs, "size"),
		bad("a start without a size", s, collector.ReasonProcs, "size"),
		bad("a start with 0 processors", s+"Resource_List.ncpus=0", collector.ReasonProcs, "size"),
		bad("0 processors asked for", "07/03/2024 14:00:05;Q;1.srv;queue=batch Resource_List.ncpus=0",
			collector.ReasonProcs, "size"),
		bad("more than the machine has", s+"Resource_List.nodes=4097", collector.ReasonProcs, "size"),
		bad("a product that overflows", s+"Resource_List.nodes=999999999999:ppn=999999999999+1",
			collector.ReasonProcs, "size"),
		bad("ncpus that is no number", s+"Resource_List.ncpus=many", collector.ReasonField, "Resource_List.ncpus"),
		bad("ppn that is no number", s+"Resource_List.nodes=2:ppn=all", collector.ReasonField, "Resource_List.nodes"),
		bad("select that is no number", s+"Resource_List.select=2:ncpus=all", collector.ReasonField,
			"Resource_List.select"),
		bad("walltime that is none", s+"Resource_List.ncpus=1 Resource_List.walltime=1h", collector.ReasonField,
			"Resource_List.walltime"),
	}
}

func TestConformance(t *testing.T) { formattest.Run(t, suite(t)) }

func FuzzParse(f *testing.F) { formattest.Fuzz(f, suite(f)) }

// TestGolden parses a day of each server. The files were written by hand from the servers' documentation.
func TestGolden(t *testing.T) {
	s := suite(t)
	s.Options.MaxProcs = 64
	formattest.Golden(t, s, "testdata/torque.log", "testdata/torque.json")
	formattest.Golden(t, s, "testdata/openpbs.log", "testdata/openpbs.json")
}

func worstLines() []string {
	const most = 1 << 19
	const queued, begun = "07/03/2024 14:00:00;Q;21[].srv;user=cat queue=workq ",
		"07/03/2024 14:00:00;S;20.srv;user=cat queue=workq start=1720008000 "
	list := func(format string) string {
		return formattest.Repeat(most, func(i int) string { return fmt.Sprintf(format, i) })
	}
	return []string{
		queued + "array_indices=1-100000", queued + "array_indices=0-999999999999:3%5",
		queued + "array_indices=" + list("%d,"), queued + "array_indices=" + list("%[1]d-%[1]d:2,"),
		begun + "exec_host=" + list("n%d/0+"), begun + "exec_host=n1/0*2147483647",
		begun + "exec_host=n1/" + list("%d,"), begun + "exec_host=n1/0-999999999999",
		begun + "Resource_List.nodes=" + list("n%d:ppn=2+"), begun + "Resource_List.select=" +
			list("%d:ncpus=2:ngpus=1+"), begun + "Resource_List.place=" + list("p%d:"),
		begun + "exec_vnode=" + list("(n%d:ncpus=1)+"), begun + "jobname=" + strings.Repeat("x", most),
		begun + "Resource_List.qos=" + strings.Repeat("x", most),
		"07/03/2024 14:00:00;Y;R1.srv;owner=ann nodes=" + list("(n%d:ncpus=1)+"), "07/03/2024 14:00:00;S;20[" +
			strings.Repeat("1", most) + "].srv;queue=workq start=1720008000 exec_host=n1/0",
	}
}

// arrayCases returns records of arrays as a whole.
func arrayCases() []formattest.Case {
	a := job.Attributes{Queue: "workq", User: "cat", Procs: 2}
	waiting := func(tasks int) job.Attributes {
		a.Tasks = tasks
		return a
	}
	queued := func(name, indices string, tasks int) formattest.Case {
		line := "07/03/2024 14:00:00;Q;21[].srv;user=cat queue=workq ctime=1720008000 qtime=1720008000 " +
			"Resource_List.ncpus=2 array_indices=" + indices
		return good("array "+name, line, event(job.Submit, "21[].srv", at(0), waiting(tasks), job.Times{Submit: at(0)}))
	}
	over := event(job.Cancel, "21[].srv", at(0), job.Attributes{}, job.Times{})
	return []formattest.Case{
		queued("of a range", "1-9", 9), queued("with steps", "0-9:3", 4),
		queued("of ranges, throttled", "1-3,7,10-100000:2%5", 50_000), queued("of too many", "0-999999999999", 1<<24),
		good("array altered", "07/03/2024 14:00:00;a;21[].srv;queue=long",
			event(job.Update, "21[].srv", at(0), job.Attributes{Queue: "long"}, job.Times{})),
		good("array deleted", "07/03/2024 14:00:00;D;21[].srv;requestor=cat@login", over),
		good("array over", "07/03/2024 14:00:00;E;21[].srv;user=cat queue=workq start=1720007000 array_indices=1-9 "+
			"end=1720008000 Resource_List.ncpus=2", over),
	}
}
