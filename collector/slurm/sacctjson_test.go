package slurm_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// accounted is a job of the accounting in JSON, written from documents of Slurm 24.05 to 25.11 (data parsers 0.0.41 to
// 0.0.44). Tests replace parts of it.
const accounted = `{"account":"physics","array":{"job_id":0,"limits":{"max":{"running":{"tasks":0}}},` +
	`"task_id":{"set":false,"infinite":false,"number":0},"task":""},"association":{"user":"ann","id":16},` +
	`"allocation_nodes":2,"cluster":"alpha","time":{"elapsed":300,"eligible":1795161610,"end":1795161960,` +
	`"start":1795161660,"submission":1795161600,"suspended":0,"limit":{"set":true,"infinite":false,"number":90}},` +
	`"het":{"job_id":0,"job_offset":{"set":false,"infinite":false,"number":0}},"job_id":7,"name":"a|b",` +
	`"nodes":"n[03-04]","partition":"short","qos":"normal","required":{"CPUs":6},"user":"ann",` +
	`"state":{"current":["COMPLETED"],"reason":"None"},"tres":{"allocated":[` +
	`{"type":"cpu","name":"","id":1,"count":8},{"type":"mem","name":"","id":2,"count":8192},` +
	`{"type":"energy","name":"","id":3,"count":-2},{"type":"node","name":"","id":4,"count":2},` +
	`{"type":"gres","name":"gpu:a100","id":1002,"count":2}],"requested":[{"type":"cpu","name":"","id":1,"count":6},` +
	`{"type":"mem","name":"","id":2,"count":4096},{"type":"node","name":"","id":4,"count":1}]}}`

// accounted38 is the job of accounted in the form of the data parsers 0.0.38 and 0.0.39: plain numbers, NO_VAL for a
// missing one, one word for the state, and no user but that of the association (src/plugins/openapi/dbv0.0.38/parse.c).
// The start is the eligible time, as in some of their releases.
const accounted38 = `{"account":"physics","array":{"job_id":0,"limits":{"max":{"running":{"tasks":0}}},"task":null,` +
	`"task_id":4294967294},"association":{"account":"physics","cluster":"alpha","partition":null,"user":"ann"},` +
	`"allocation_nodes":2,"cluster":"alpha","time":{"elapsed":300,"eligible":1795161610,"end":1795161960,` +
	`"start":1795161610,"submission":1795161600,"suspended":0,"limit":90},"het":{"job_id":0,"job_offset":4294967294},` +
	`"job_id":7,"name":"a|b","nodes":"n[03-04]","partition":"short","qos":"normal",` +
	`"required":{"CPUs":6,"memory":4096},"user":null,"state":{"current":"COMPLETED","reason":"None"},` +
	`"tres":{"allocated":[` +
	`{"type":"cpu","name":null,"id":1,"count":8},{"type":"mem","name":null,"id":2,"count":8192},` +
	`{"type":"node","name":null,"id":4,"count":2},{"type":"gres","name":"gpu:a100","id":1002,"count":2}],` +
	`"requested":[{"type":"cpu","name":null,"id":1,"count":6},{"type":"mem","name":null,"id":2,"count":4096},` +
	`{"type":"node","name":null,"id":4,"count":1}]}}`

// edited replaces texts, given in pairs. If one is missing, it returns a line that no parser accepts.
func edited(text string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			return "no " + pairs[i]
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func sacctJSONSuite() formattest.Suite {
	const gib = 1 << 30
	asked := job.Attributes{Queue: "short", User: "ann", Account: "physics", QOS: "normal", Name: "a|b", Procs: 6,
		Nodes: 1, Memory: 4 * gib, TimeLimit: 90 * time.Minute}
	given := asked
	given.Procs, given.Nodes, given.Memory, given.GPUs, given.GPUType = 8, 2, 8*gib, 2, "a100"
	before := job.Times{Submit: at(0), Eligible: at(10)}
	begun, over := before, before
	begun.Start, over.Start, over.End = at(60), at(60), at(360)
	life := func(id string) []job.Event {
		return []job.Event{event(job.Submit, id, at(0), asked, before), event(job.Start, id, at(60), given, begun),
			event(job.End, id, at(360), given, over)}
	}
	const neither, never = `"start":1795161660`, `"start":0`
	four, unlimited := asked, asked
	four.Tasks, unlimited.TimeLimit = 4, 0
	const notArray, notTask = `"array":{"job_id":0`, `"task_id":{"set":false,"infinite":false,"number":0}`
	const notHet = `"het":{"job_id":0,"job_offset":{"set":false,"infinite":false,"number":0}}`
	const done, limit = `["COMPLETED"]`, `{"set":true,"infinite":false,"number":90}`
	return formattest.Suite{
		Format: slurm.SacctJSON(), Options: collector.Options{Cluster: "alpha", Location: time.UTC, MaxProcs: 4096},
		Good: []formattest.Case{
			good("ended", accounted, life("7")...),
			good("ended, of data parser 0.0.38", accounted38, life("7")...),
			good("runs", edited(accounted, done, `["RUNNING"]`, `"end":1795161960`, `"end":0`), life("7")[:2]...),
			good("waits", edited(accounted, done, `["PENDING"]`, neither, never, `"end":1795161960`, `"end":0`),
				event(job.Submit, "7", at(0), asked, before)),
			good("canceled before it ran", edited(accounted, done, `["CANCELLED"]`, neither, never, "n[03-04]",
				"None assigned"), event(job.Submit, "7", at(0), asked, before),
				event(job.Cancel, "7", at(360), asked, before)),
			good("no limit", edited(accounted, done, `["PENDING"]`, neither, never, limit,
				`{"set":false,"infinite":true,"number":0}`), event(job.Submit, "7", at(0), unlimited, before)),
			good("requeued", edited(accounted, done, `["REQUEUED"]`), life("7")[0], life("7")[1],
				event(job.Requeue, "7", at(360), given, begun)),
			good("task of an array", edited(accounted, notArray, `"array":{"job_id":9`, notTask,
				`"task_id":{"set":true,"infinite":false,"number":1}`), life("9_1")...),
			good("waiting tasks of an array", edited(accounted, `"job_id":7`, `"job_id":9`, notArray,
				`"array":{"job_id":9`, `"task":""`, `"task":"3-6%2"`, done, `["PENDING"]`, neither, never),
				event(job.Submit, "9", at(0), four, before)),
			good("component of a heterogeneous job", edited(accounted, notHet,
				`"het":{"job_id":21,"job_offset":{"set":true,"infinite":false,"number":1}}`, `"job_id":7`,
				`"job_id":22`),
				life("21+1")...),
			good("first component", edited(accounted, notHet,
				`"het":{"job_id":21,"job_offset":{"set":true,"infinite":false,"number":0}}`, `"job_id":7`,
				`"job_id":21`),
				life("21")...),
		},
		Bad: []formattest.BadCase{
			bad("no JSON", "hello, world", collector.ReasonFormat, ""),
			bad("half of it", accounted[:200], collector.ReasonFormat, ""),
			bad("a text for a number", edited(accounted, `"start":1795161660`, `"start":"soon"`), collector.ReasonField,
				""),
			bad("no number", edited(accounted, `"job_id":7,`, ``), collector.ReasonFormat, "job_id"),
			bad("of slurmctld", `{"job_id":7,"job_state":["RUNNING"]}`, collector.ReasonFormat, "job_state"),
			bad("no submit", edited(accounted, `"submission":1795161600`, `"submission":0`), collector.ReasonField,
				"Submit"),
			bad("a start before the submit", edited(accounted, `"submission":1795161600`, `"submission":1795161700`),
				collector.ReasonTime, "start"),
			bad("more than the machine has", edited(accounted, `"count":8}`, `"count":5000}`), collector.ReasonProcs,
				"CPUS"),
			bad("a state that nobody has documented", edited(accounted, done, `["VANISHED"]`),
				collector.ReasonUnknown, "JobState"),
		},
		Worst: []string{strings.Repeat("[", 1<<16), `{"job_id":` + strings.Repeat("9", 1<<19) + "}",
			edited(accounted, "a|b", strings.Repeat("x", 1<<19))},
	}
}

func TestSacctJSONConformance(t *testing.T) { formattest.Run(t, sacctJSONSuite()) }

func FuzzSacctJSON(f *testing.F) { formattest.Fuzz(f, sacctJSONSuite()) }

// records returns all records of a text, the number of the first line of each, and the error after the last one.
func records(text io.Reader) (all []string, lines []int64, err error) {
	r := slurm.SacctJSON().Records(text)
	for {
		record, line, err := r.Next()
		if err != nil {
			return all, lines, err
		}
		all, lines = append(all, string(record)), append(lines, line)
	}
}

// TestSacctJSONDocuments proves that documents in any layout are split into jobs with their line numbers. A document
// that is truncated, or that reports an error of Slurm, gives an error after its jobs.
func TestSacctJSONDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		jobs  int
		lines []int64
		err   string // "" for the end of the file
	}{
		"one line":        {`{"meta":{"a":[1]},"jobs":[{"a":1},{"b":"]"}],"errors":[]}`, 2, []int64{1, 1}, ""},
		"many lines":      {"{\n\"jobs\": [\n {\n \"a\": 1\n },\n {}\n ],\n \"errors\": []\n}\n", 2, []int64{3, 6}, ""},
		"two documents":   {"{\"jobs\":[{}]}\n{\"jobs\":[{}]}\n", 2, []int64{1, 2}, ""},
		"empty":           {"", 0, nil, ""},
		"no jobs":         {`{"jobs":[]}`, 0, nil, ""},
		"cut in a job":    {`{"jobs":[{"a":1},{"b`, 1, []int64{1}, "unexpected EOF"},
		"cut after a job": {`{"jobs":[{"a":1}`, 1, []int64{1}, "unexpected EOF"},
		"cut at the end":  {`{"jobs":[{"a":1}]`, 1, []int64{1}, "unexpected EOF"},
		"an error":        {`{"jobs":[],"errors":[{"error":"no slurmdbd"}]}`, 0, nil, "no slurmdbd"},
		"no document":     {"[1,2]", 0, nil, "want {"},
	} {
		all, lines, err := records(iotest.OneByteReader(strings.NewReader(c.text)))
		if len(all) != c.jobs || !cmp.Equal(lines, c.lines) {
			t.Errorf("%s: %d jobs in lines %v, want %d in %v", name, len(all), lines, c.jobs, c.lines)
		}
		switch {
		case c.err == "" && !errors.Is(err, io.EOF):
			t.Errorf("%s: %v at the end", name, err)
		case c.err != "" && (errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %s", name, err, c.err)
		}
	}
}

// FuzzSacctJSONDocument proves that no text makes the splitting panic, and that every record is complete JSON.
func FuzzSacctJSONDocument(f *testing.F) {
	for _, text := range []string{`{"jobs":[` + accounted + `,{}],"errors":[]}`, `{"jobs":[`, `{"errors":[{}]}`,
		"{}\n{}", "[[", `{"jobs":[{}],"jobs":[{}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, lines, err := records(strings.NewReader(string(text)))
		if err == nil {
			t.Fatal("no end")
		}
		for i, record := range all {
			if !json.Valid([]byte(record)) || lines[i] < 1 || i > 0 && lines[i] < lines[i-1] {
				t.Fatalf("%q: record %q in line %d", text, record, lines[i])
			}
		}
	})
}

// TestSacctJSONOfReleases parses answers of slurmdbd from four releases of Slurm and compares their jobs with the
// decoded JSON.
func TestSacctJSONOfReleases(t *testing.T) {
	for _, folder := range []string{"24.05_0.0.41", "24.11_0.0.42", "25.05_0.0.43", "25.11_0.0.44"} {
		for _, name := range []string{"slurmdb-job-completed.json", "slurmdb-job-gpus-completed.json"} {
			text, err := os.ReadFile(refdata.Shared(t, "logs/slurmrestd/"+folder+"/"+name))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Jobs []struct {
					ID        json.Number `json:"job_id"`
					User      string      `json:"user"`
					Partition string      `json:"partition"`
					Priority  restNumber  `json:"priority"`
					Required  struct {
						CPUs int `json:"CPUs"`
					} `json:"required"`
					Time struct {
						Submission, Start, End int64
						Limit                  restNumber
					} `json:"time"`
				} `json:"jobs"`
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			all, _, err := records(strings.NewReader(string(text)))
			if !errors.Is(err, io.EOF) || len(all) != len(want.Jobs) || len(all) == 0 {
				t.Fatalf("%s/%s: %d jobs, %v; want %d", folder, name, len(all), err, len(want.Jobs))
			}
			for i, record := range all {
				var events []job.Event
				p := slurm.SacctJSON().New(collector.Options{})
				if err := p.Parse([]byte(record), func(ev job.Event) { events = append(events, ev) }); err != nil {
					t.Fatalf("%s/%s: %v", folder, name, err)
				}
				w := want.Jobs[i]
				if len(events) != 3 || events[2].ID != w.ID.String() || events[0].Procs != w.Required.CPUs ||
					events[0].User != w.User || events[0].Queue != w.Partition ||
					events[0].Priority != w.Priority.Number || w.Priority.Number == 0 ||
					events[0].Time.Unix() != w.Time.Submission || events[1].Time.Unix() != w.Time.Start ||
					events[2].Time.Unix() != w.Time.End ||
					events[0].TimeLimit != time.Duration(w.Time.Limit.Number)*time.Minute {
					t.Errorf("%s/%s: %+v, want %+v", folder, name, events, w)
				}
			}
		}
	}
}
