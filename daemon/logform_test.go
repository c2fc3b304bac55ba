package daemon_test

import (
	"fmt"
	"strings"
	"time"

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
	const acct = `{queue}:{host}:{group}:{user}:{name}:{id}:sge:0:{submit}:{start}:{end}:0:0:300:0.1:0.1:4560.0:0:0:` +
		`0:0:552:1:0:328.0:16:0:0:0:15:20:{account}:defaultdepartment:mpi:4:0:0.2:0.0:0.000038:-l h_rt=3600 -pe mpi 4` +
		`:0.0:NONE:3723264.0:0:0`
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
		{format: "slurm-sacct", clock: "2006-01-02T15:04:05",
			header: "JobID|JobIDRaw|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|TimelimitRaw|" +
				"ReqCPUS|AllocCPUS|NNodes|NodeList|JobName\n",
			lines: []string{"submit {id}|{id}|{user}|{account}|{queue}|{qos}|COMPLETED|{submit}|{submit}|{start}|" +
				"{end}|60|4|4|1|{host}|{name}"}},
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
			`submit "JOB_NEW" "10.1" {at} {id} 506 33554435 4 {submit} 0 0 -65535 0 0 "{user}" -1 -1 -1 -1 -1 -1 ` +
				`-1 -1 -1 3600 -1 "" 116.10 18 "{queue}" "" "login" "/u" "" "" "" "" "/u" "x" 0 "" ` +
				`"" "{name}" "run" 0 "" "{account}" 4 "X86_64" "" "" "" "" 5136 0 "" "" "" -1 -1 -1 64 "" "" -1 "" 0`,
			`start "JOB_START" "10.1" {at} {id} 4 0 0 116.1 4 "{host}" "{host}" "{host}" "{host}" "" "" 0 "" 0 "" 0 0`,
			`end "JOB_STATUS" "10.1" {at} {id} 64 0 0 0.33 {end} 1 0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 ` +
				`13 8 -1 0 0 0 0`,
		}},
		{format: "lsf-acct", lines: []string{`end "JOB_FINISH" "10.1" {at} {id} 506 33554435 4 {submit} 0 0 {start} ` +
			`"{user}" "{queue}" "" "" "" "login" "/u" "" "" "" "x" 1 "{host}" 1 "4*{host}" 64 ` +
			`116.1 "{name}" "run" 0.06 0.27 1480 0 -1 0 0 1477 0 0 0 0 -1 0 0 0 13 8 -1 "" "{account}" 0 4 "" "" ` +
			`0 2048 0 "" "" "" "" 0 "" 0 "" -1 "/u" "" "" "" -1 "" "" 5136 "" 0 "" "" 1 1032 "0" 1 "n1" 1 2 3 4 0 ` +
			`3600 2048 ""`}},
		{format: "swf", header: "; UnixStartTime: 0\n", lines: []string{
			"submit {id} {submit} 60 240 4 -1 -1 4 3600 -1 1 {user} {group} -1 {queue} -1 -1 -1"}},
	}
}

// plainFields returns names for a job of logForm, by placeholder. In SWF numbers are names.
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
	return map[string]string{"queue": ev.Queue, "user": ev.User, "group": ev.Group, "account": ev.Account,
		"qos": ev.QOS, "name": ev.Name, "host": ev.NodeNames}
}
