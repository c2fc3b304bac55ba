package pbs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
)

func sample(loc *time.Location) pbs.Record {
	return pbs.Record{
		ID: "12.srv", User: "ann", Group: "staff", Account: "phys lab", Name: "cfd", Queue: "workq",
		Created: at(0).In(loc), Queued: at(1).In(loc), Eligible: at(2).In(loc), Start: at(60).In(loc),
		End: at(3720).In(loc), ExecHost: "n1/0*4+n2/0*4", Procs: 8, Nodes: 2, TimeLimit: 30 * time.Hour, Session: 77,
		ExitStatus: 1,
	}
}

// TestAppendLines compares appended records with lines written by hand from acct_job, account_jobstr and account_jobend
// of OpenPBS.
func TestAppendLines(t *testing.T) {
	rec := sample(berlin(t))
	const who = `user=ann group=staff account="phys lab" jobname=cfd queue=workq ctime=1720008000 qtime=1720008001 ` +
		`etime=1720008002`
	const list = "Resource_List.ncpus=8 Resource_List.nodect=2 Resource_List.walltime=30:00:00"
	for _, c := range []struct {
		appended func([]byte, pbs.Record) []byte
		want     string
	}{
		{pbs.AppendQueued, "07/03/2024 14:00:01;Q;12.srv;" + who + " " + list},
		{pbs.AppendStarted,
			"07/03/2024 14:01:00;S;12.srv;" + who + " start=1720008060 exec_host=n1/0*4+n2/0*4 " + list},
		{pbs.AppendEnded, "07/03/2024 15:02:00;E;12.srv;" + who + " start=1720008060 exec_host=n1/0*4+n2/0*4 " + list +
			" session=77 end=1720011720 Exit_status=1 resources_used.walltime=01:01:00 run_count=1"},
		{pbs.AppendDeleted, "07/03/2024 15:02:00;D;12.srv;requestor=ann@srv"},
	} {
		got := string(c.appended([]byte("before\n"), rec))
		if diff := cmp.Diff("before\n"+c.want+"\n", got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestAppendKeepsLines proves that no value, such as a job's name, can end the record or begin another one.
func TestAppendKeepsLines(t *testing.T) {
	rec := sample(time.UTC)
	rec.Name, rec.Account, rec.ID = "x\n07/03/2024 14:00:00;E;1.srv;", "a\x00b", "1;E;\n"
	for _, appended := range []func([]byte, pbs.Record) []byte{
		pbs.AppendQueued, pbs.AppendStarted, pbs.AppendEnded, pbs.AppendDeleted,
	} {
		line := string(appended(nil, rec))
		if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || strings.Count(line, ";") != 3 {
			t.Errorf("not one record of four fields: %q", line)
		}
	}
}

// TestWhatIsWrittenIsRead proves with random records that the parser reads back the values that were written, in a zone
// with clock changes. Queues of reservations are left out, because they are read as one queue.
func TestWhatIsWrittenIsRead(t *testing.T) {
	loc := berlin(t)
	word := rapid.StringMatching(`[A-Za-z0-9_.=,@-]{1,12}`)
	queue := word.Filter(func(name string) bool { return !collector.IsReservationQueue(name) })
	words := rapid.StringMatching(`[A-Za-z0-9_.=,-]{1,8}( [A-Za-z0-9_.=,-]{1,8}){0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		created := rapid.Int64Range(1, 4e9).Draw(t, "created")
		next := func(from int64, name string) int64 { return from + rapid.Int64Range(0, 1e6).Draw(t, name) }
		queued := next(created, "queued")
		start := next(queued, "start")
		end := next(start, "end")
		in := func(u int64) time.Time { return time.Unix(u, 0).In(loc) }
		rec := pbs.Record{
			ID: word.Draw(t, "id"), User: word.Draw(t, "user"), Group: word.Draw(t, "group"),
			Account: words.Draw(t, "account"), Name: word.Draw(t, "name"), Queue: queue.Draw(t, "queue"),
			Created: in(created), Queued: in(queued), Eligible: in(queued), Start: in(start), End: in(end),
			ExecHost: "n1/0", Procs: rapid.IntRange(1, 1<<20).Draw(t, "procs"),
			Nodes:     rapid.IntRange(1, 1<<10).Draw(t, "nodes"),
			TimeLimit: time.Duration(rapid.Int64Range(1, 1e8).Draw(t, "limit")) * time.Second,
		}
		a := job.Attributes{
			Queue: rec.Queue, User: rec.User, Group: rec.Group, Account: rec.Account, Name: rec.Name,
			Procs: rec.Procs, Nodes: rec.Nodes, TimeLimit: rec.TimeLimit,
		}
		utc := func(u int64) time.Time { return time.Unix(u, 0).UTC() }
		q := job.Times{Submit: utc(created), Eligible: utc(queued)}
		s, e := q, q
		s.Start, e.Start, e.End = utc(start), utc(start), utc(end)
		want := []job.Event{
			{Kind: job.Submit, Cluster: "c", ID: rec.ID, Time: utc(queued), Attributes: a, Times: q},
			{Kind: job.Start, Cluster: "c", ID: rec.ID, Time: utc(start), Attributes: a, Times: s},
			{Kind: job.End, Cluster: "c", ID: rec.ID, Time: utc(end), Attributes: a, Times: e},
		}
		log := pbs.AppendEnded(pbs.AppendStarted(pbs.AppendQueued(nil, rec), rec), rec)
		got, err := parseAll(log, collector.Options{Cluster: "c", Location: loc})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", log, diff)
		}
	})
}

func parseAll(log []byte, o collector.Options) ([]job.Event, error) {
	var got []job.Event
	p := pbs.Format().New(o)
	for line := range bytes.Lines(log) {
		if err := p.Parse(line, func(ev job.Event) { got = append(got, ev) }); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	return got, nil
}

// TestClockAgainstGo proves that unambiguous local times are read as by Go's time package: every half hour of a year,
// in zones of every kind.
func TestClockAgainstGo(t *testing.T) {
	for _, zone := range []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu",
		"Africa/Casablanca",
	} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		p := pbs.Format().New(collector.Options{Location: loc})
		for u := at(0).Unix(); u < at(366*86400).Unix(); u += 1800 {
			want := time.Unix(u, 0).In(loc)
			line := want.AppendFormat(nil, "01/02/2006 15:04:05;D;1.srv;requestor=a@b")
			var got time.Time
			if err := p.Parse(line, func(ev job.Event) { got = ev.Time }); err != nil {
				t.Fatal(err)
			}
			if shown := got.In(loc).Format(time.DateTime); shown != want.Format(time.DateTime) || got.After(want) {
				t.Fatalf("%s: %s read as %v, which shows %s", zone, line, got, shown)
			}
			if !got.Equal(want) && want.Sub(got) > time.Hour {
				t.Fatalf("%s: %s read as %v, more than an hour before %v", zone, line, got, want)
			}
		}
	}
}

func benchmarkLines(b *testing.B, lines [][]byte) {
	b.Helper()
	p := pbs.Format().New(collector.Options{Cluster: "c", Location: berlin(b), MaxProcs: 1 << 20})
	bytesRead, events := 0, 0
	emit := func(job.Event) { events++ }
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		line := lines[i%len(lines)]
		i++
		if err := p.Parse(line, emit); err != nil {
			b.Fatal(err)
		}
		bytesRead += len(line)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(bytesRead)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// BenchmarkOpenPBS parses full records, one Q, S and E for each job.
func BenchmarkOpenPBS(b *testing.B) {
	var lines [][]byte
	for i := range 1000 {
		rec := sample(berlin(b))
		rec.ID, rec.User = fmt.Sprint(i, ".srv"), fmt.Sprint("user", i%50)
		q := pbs.AppendQueued(nil, rec)
		lines = append(lines, q[:len(q)-1])
		const more = " exec_vnode=(n1:ncpus=4:mem=8388608kb)+(n2:ncpus=4:mem=8388608kb) Resource_List.mem=16gb " +
			"Resource_List.place=free Resource_List.select=2:ncpus=4:mpiprocs=4"
		s := pbs.AppendStarted(nil, rec)
		lines = append(lines, append(s[:len(s)-1], more...))
		e := pbs.AppendEnded(nil, rec)
		lines = append(lines,
			append(e[:len(e)-1], more+" resources_used.cpupercent=390 resources_used.cput=04:00:00 "+
				"resources_used.mem=3792kb resources_used.ncpus=8 resources_used.vmem=3792kb"...))
	}
	benchmarkLines(b, lines)
}

// BenchmarkTorque parses Torque's short Q records and its long S and E records, which list every slot.
func BenchmarkTorque(b *testing.B) {
	var lines [][]byte
	for i := range 1000 {
		s := fmt.Sprintf("07/03/2024 14:01:00;S;%d.srv;user=u%d group=staff jobname=STDIN queue=batch "+
			"ctime=1720008000 qtime=1720008000 etime=1720008000 start=1720008060 owner=ann@login "+
			"exec_host=n1/0+n1/1+n1/2+n1/3+n2/0+n2/1+n2/2+n2/3 Resource_List.neednodes=2:ppn=4 "+
			"Resource_List.nodect=2 Resource_List.nodes=2:ppn=4 Resource_List.walltime=01:00:00", i, i%50)
		e := strings.Replace(s, ";S;", ";E;", 1) + " session=6365 end=1720008360 Exit_status=0 " +
			"resources_used.cput=00:00:01 resources_used.mem=4048kb resources_used.vmem=65552kb " +
			"resources_used.walltime=00:05:00"
		lines = append(lines, fmt.Appendf(nil, "07/03/2024 14:00:00;Q;%d.srv;queue=batch", i), []byte(s), []byte(e))
	}
	benchmarkLines(b, lines)
}
