package daemon_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/job"
)

// logForm is how a scheduler writes one job into a log. {id}, {queue}, {user}, {group}, {account}, {qos}, {name} and
// {host} stand for fields; {submit}, {start} and {end} for times. Each line begins with the event at which it is
// written.
type logForm struct {
	format, header string
	clock          string // layout of times, empty for Unix seconds
	lines          []string
}

// logForms returns the forms of all formats that a daemon follows. The lines are those of the formats' own tests.
func logForms() []logForm {
	const pbs = `user={user} group={group} account="{account}" jobname={name} queue={queue} ctime={submit} ` +
		`qtime={submit} etime={submit} Resource_List.ncpus=4 Resource_List.walltime=01:00:00`
	const acct = `{queue}:{host}:{group}:{user}:{name}:{id}:sge:0:{submit}:{start}:{end}:0:0:300:0.1:0.1:4560.0:0:0:0:0:` +
		`552:1:0:328.0:16:0:0:0:15:20:{account}:defaultdepartment:mpi:4:0:0.2:0.0:0.000038:-l h_rt=3600 -pe mpi 4:0.0:` +
		`NONE:3723264.0:0:0`
	return []logForm{
		{format: "pbs", clock: "01/02/2006 15:04:05", lines: []string{
			"submit {at};Q;{id}.srv;" + pbs, "start {at};S;{id}.srv;" + pbs + " start={start} exec_host={host}/0*4",
			"end {at};E;{id}.srv;" + pbs + " start={start} exec_host={host}/0*4 end={end} Exit_status=0",
		}},
		{format: "slurm-log", clock: "2006-01-02T15:04:05.000", lines: []string{
			"submit [{at}] _slurm_rpc_submit_batch_job: JobId={id} InitPrio=1 usec=1",
			"start [{at}] sched: Allocate JobId={id} NodeList={host} #CPUs=4 Partition={queue}",
			"end [{at}] _job_complete: JobId={id} done",
		}},
		{format: "slurm-jobcomp", clock: "2006-01-02T15:04:05", lines: []string{
			"end JobId={id} UserId={user}(7) GroupId={group}(8) Name={name} JobState=COMPLETED Partition={queue} " +
				"TimeLimit=60 StartTime={start} EndTime={end} NodeList={host} NodeCnt=1 ProcCnt=4 WorkDir=/home " +
				"ReservationName= Tres=cpu=4,node=1 Account={account} QOS={qos} WcKey= Cluster=c SubmitTime={submit} " +
				"EligibleTime={submit} DerivedExitCode=0:0 ExitCode=0:0 "}},
		{format: "slurm-sacct", clock: "2006-01-02T15:04:05", header: "JobID|JobIDRaw|User|Account|Partition|QOS|State|" +
			"Submit|Eligible|Start|End|TimelimitRaw|ReqCPUS|AllocCPUS|NNodes|NodeList|JobName\n", lines: []string{
			"submit {id}|{id}|{user}|{account}|{queue}|{qos}|COMPLETED|{submit}|{submit}|{start}|{end}|60|4|4|1|{host}|" +
				"{name}"}},
		{format: "sge-accounting", lines: []string{"end " + acct}},
		{format: "sge-reporting", lines: []string{
			"submit {at}:new_job:{at}:{id}:-1:NONE:{name}:{user}:{group}:p:defaultdepartment:{account}:1024",
			"start {at}:job_log:{at}:sent:{id}:0:NONE:t:master:localhost:0:1024:{submit}:{name}:{user}:{group}:p:" +
				"defaultdepartment:{account}:sent to execd",
			"end {at}:acct:" + acct,
			"end {at}:job_log:{at}:finished:{id}:0:NONE:r:execution daemon:localhost:0:1024:{submit}:{name}:{user}:" +
				"{group}:p:defaultdepartment:{account}:job exited",
		}},
		{format: "lsf-events", lines: []string{
			`submit "JOB_NEW" "10.1" {at} {id} 506 33554435 4 {submit} 0 0 -65535 0 0 "{user}" -1 -1 -1 -1 -1 -1 -1 -1 -1 ` +
				`3600 -1 "" 116.10 18 "{queue}" "" "login" "/home/u" "" "" "" "" "/home/u" "1720008000.101" 0 "" "" ` +
				`"{name}" "run" 0 "" "{account}" 4 "X86_64" "" "" "" "" 5136 0 "" "" "" -1 -1 -1 64 "" "" -1 "" 0`,
			`start "JOB_START" "10.1" {at} {id} 4 0 0 116.1 4 "{host}" "{host}" "{host}" "{host}" "" "" 0 "" 0 "" 0 0`,
			`end "JOB_STATUS" "10.1" {at} {id} 64 0 0 0.33 {end} 1 0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 -1 ` +
				`0 0 0 0`,
		}},
		{format: "lsf-acct", lines: []string{`end "JOB_FINISH" "10.1" {at} {id} 506 33554435 4 {submit} 0 0 {start} ` +
			`"{user}" "{queue}" "" "" "" "login" "/home/u" "" "" "" "1720008000.101" 1 "{host}" 1 "4*{host}" 64 116.1 ` +
			`"{name}" "run" 0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 -1 "" "{account}" 0 4 "" "" 0 2048 0 "" ` +
			`"" "" "" 0 "" 0 "" -1 "/u" "" "" "" -1 "" "" 5136 "" 0 "" "" 1 1032 "0" 1 "n1" 1 2 3 4 0 3600 2048 ""`}},
		{format: "swf", header: "; UnixStartTime: 0\n", lines: []string{
			"submit {id} {submit} 60 240 4 -1 -1 4 3600 -1 1 {user} {group} -1 {queue} -1 -1 -1"}},
	}
}

// fields are the names in a job of logForm, by placeholder. Numbers are names too in SWF.
func plainFields() map[string]string {
	return map[string]string{"queue": "11", "user": "12", "group": "13", "account": "acc", "qos": "normal",
		"name": "jobname", "host": "node7"}
}

// write returns the lines of a job with their times.
func (f *logForm) write(id int, fields map[string]string, submit, start, end time.Time) (out []record) {
	form := func(at time.Time) string {
		if f.clock == "" {
			return fmt.Sprint(at.Unix())
		}
		return at.Format(f.clock)
	}
	times := map[string]time.Time{"submit": submit, "start": start, "end": end}
	for _, line := range f.lines {
		event, text, _ := strings.Cut(line, " ")
		pairs := []string{"{id}", fmt.Sprint(id), "{at}", form(times[event])}
		for name, value := range fields {
			pairs = append(pairs, "{"+name+"}", value)
		}
		for name, at := range times {
			value := form(at)
			if f.format == "pbs" { // only the beginning of a line has another form
				value = fmt.Sprint(at.Unix())
			}
			pairs = append(pairs, "{"+name+"}", value)
		}
		out = append(out, record{times[event], strings.NewReplacer(pairs...).Replace(text) + "\n"})
	}
	return out
}

// has reports whether the form has a field.
func (f *logForm) has(field string) bool {
	return strings.Contains(strings.Join(f.lines, ""), "{"+field+"}")
}

// namesOf returns the names that an event has for the fields.
func namesOf(ev *job.Event) map[string]string {
	return map[string]string{"queue": ev.Queue, "user": ev.User, "group": ev.Group, "account": ev.Account, "qos": ev.QOS,
		"name": ev.Name, "host": ev.NodeNames}
}

// TestHostileNames writes a log of every format in which every field of some job has a hostile text, between two sound
// jobs. The daemon goes on and counts all sound jobs. Of every other job it has events with the printable form of the
// text, or a bad line. Its answers are text, and it starts again.
func TestHostileNames(t *testing.T) {
	for _, f := range logForms() {
		t.Run(f.format, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "log", "")
			edit(t, s.config, "format: pbs", "format: "+f.format)
			edit(t, s.config, "procs: 64", "procs: 4096")
			var b strings.Builder
			b.WriteString(f.header)
			type odd struct{ field, text string }
			jobs := map[string]odd{}
			id := 0
			write := func(fields map[string]string, o odd) {
				id++
				at := epoch().Add(time.Duration(id) * 10 * time.Minute)
				for _, line := range f.write(id, fields, at, at.Add(time.Minute), at.Add(5*time.Minute)) {
					b.WriteString(line.text)
				}
				jobs[fmt.Sprint(id)] = o
			}
			for field := range plainFields() {
				for _, text := range formattest.Hostile() {
					if !f.has(field) {
						continue
					}
					write(plainFields(), odd{})
					fields := plainFields()
					fields[field] += text
					write(fields, odd{field, fields[field]})
				}
			}
			write(plainFields(), odd{})
			last := epoch().AddDate(0, 3, 0) // after it, no event of the other jobs is held back
			for _, line := range f.write(id+1, plainFields(), last, last.Add(time.Minute), last.Add(time.Hour)) {
				b.WriteString(line.text)
			}
			s.add(t, b.String())

			d := s.start(t)
			d.wantMetric(`waitcast_lines_total{cluster="main",source="main/accounting"}`,
				fmt.Sprint(strings.Count(b.String(), "\n")))
			answers(t, d)
			d.stop()
			again := s.start(t)
			again.caughtUp()
			answers(t, again)
			again.stop()

			k := s.kept(t)
			events := map[string][]job.Event{}
			for _, e := range k.Entries {
				jobID, _, _ := strings.Cut(e.Event.ID, ".")
				events[jobID] = append(events[jobID], e.Event)
			}
			bad := 0
			sound := namesOf(&events["1"][len(events["1"])-1])
			for id, o := range jobs {
				all := events[id]
				switch got := map[string]string(nil); {
				case o.field == "" && len(all) != len(events["1"]):
					t.Errorf("sound job %s has %d events, want %d", id, len(all), len(events["1"]))
				case o.field == "":
				case len(all) < len(events["1"]):
					bad++ // one bad line for each missing event
				case f.format == "swf": // names are numbers, and need not be known
				case strings.Contains(o.text, "\x00"):
					bad++ // another line of the job had the name
				default:
					if got = namesOf(&all[len(all)-1]); sound[o.field] == plainFields()[o.field] &&
						got[o.field] != clipped(job.Printable(o.text)) {
						t.Errorf("job %s has the %s %.40q of %.40q", id, o.field, got[o.field], o.text)
					}
				}
			}
			if len(k.Bad) < bad {
				t.Errorf("%d jobs lack events, but there are only %d bad lines", bad, len(k.Bad))
			}
			t.Logf("%d jobs, %d with hostile texts refused, %d bad lines", len(jobs), bad, len(k.Bad))
		})
	}
}

// clipped returns a text in the length in which it is stored.
func clipped(text string) string { return text[:min(len(text), 4096)] }

// answers checks that a daemon's answers are valid text without control characters.
func answers(t *testing.T, d *running) {
	t.Helper()
	for _, path := range []string{"/metrics", "/v1/queues", "/v1/jobs", "/v1/accuracy", "/healthz"} {
		status, body := d.get(path)
		odd := func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
		if status != http.StatusOK || !utf8.ValidString(body) || strings.ContainsFunc(body, odd) {
			t.Errorf("%s: status %d, valid text: %v", path, status, utf8.ValidString(body))
		}
	}
}

// TestPoisonedDatabase opens a database that 0.1.0 left behind: an imported history has a queue whose name is not
// UTF-8, which made 0.1.0 panic at every start, and the journal has such names of users, accounts and jobs.
func TestPoisonedDatabase(t *testing.T) {
	s := newSite(t, "log", "")
	unpack(t, filepath.Join("testdata", "poisoned-0.1.0.db.gz"), s.db)
	s.add(t, "")
	for range 2 { // the second start reads the state that the first one saved
		d := s.start(t)
		d.caughtUp()
		answers(t, d)
		if _, body := d.get("/v1/queues"); !strings.Contains(body, `"caf\\xe9"`) {
			t.Errorf("the queue is missing: %s", body)
		}
		d.stop()
	}
	k := s.kept(t)
	for _, e := range k.Entries {
		if e.Event.User != `m\xfcller` || e.Event.Account != `caf\xe9` || e.Event.Name != `Auswertung_f\xfcr` {
			t.Errorf("entry %d: %+v", e.Seq, e.Event.Attributes)
		}
	}
	queues := map[string]bool{}
	for _, r := range k.Rows {
		queues[r.Queue] = true
	}
	if len(k.Entries) != 8 || !queues[`caf\xe9`] || !queues["work"] {
		t.Errorf("%d entries, rows of queues %v", len(k.Entries), queues)
	}
}
