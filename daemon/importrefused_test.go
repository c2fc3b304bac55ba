package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/collector/pbs"
)

// TestImportBadLines proves that invalid lines are reported by reason and quarantined under the file's name, that a log
// of another format is refused before any line is used, and that the quarantine is shown only to callers with the
// token.
func TestImportBadLines(t *testing.T) {
	s := importSite(t, machine)
	s.add(t, "garbage\n"+life{"1.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	large := life{"3.t", machine + 1, 1, 2, 3}
	log := life{"2.t", 4, -20, 1, 5}.e() + "caf\xe9\\ \x1b[1m\n" + large.e() + strings.Repeat("x", 2<<20) + "\n" +
		life{"4.t", 4, 1, 2, 4}.e()
	report := d.mustImport(s, "pbs", strings.NewReader(log))
	if report.Jobs != 2 || report.Lines != 5 || report.BadLines != 3 || len(report.Bad) != 3 ||
		report.Files[0].BadLines != 3 {
		t.Fatalf("%+v, want 2 jobs and 3 bad lines of 5", report)
	}
	for i, want := range []wire.BadReason{{Reason: "format", Lines: 1}, {Reason: "procs", Lines: 1},
		{Reason: "long_line", Lines: 1}} {
		b := report.Bad[i]
		if b.Reason != want.Reason || b.Lines != want.Lines || len(b.First) != 1 ||
			!strings.HasPrefix(b.First[0], fmt.Sprintf("old.log:%d: ", i+2)) {
			t.Errorf("%+v, want %+v of line %d", b, want, i+2)
		}
	}
	held := d.holds()
	other, err := d.imports(s, "swf", strings.NewReader(strings.Repeat(life{"5.t", 4, 0, 1, 5}.e(), 2000)))
	if err == nil || !strings.Contains(err.Error(), "none of the 2000 records of old.log can be used as format swf") {
		t.Errorf("a PBS log as swf: %+v, %v", other, err)
	}
	if d.holds() != held {
		t.Error("a refused import leaves something behind")
	}

	c, err := client.New(d.Addr().String(), &d.http)
	must(t, err)
	q, _, err := c.Quarantine(t.Context(), s.token(t), "main", "", 0)
	must(t, err)
	if q.Kept != 4 || q.Matching != 4 || q.Dropped != 0 || len(q.BadLines) != 4 {
		t.Fatalf("%+v, want 4 lines", q)
	}
	first, second := q.BadLines[0], q.BadLines[1]
	if first.Source != "main/accounting" || first.Path != s.log || first.Line != 1 || first.Text != "garbage" {
		t.Errorf("%+v, want the log's first line", first)
	}
	if second.Source != "main/import" || second.Path != "old.log" || second.Line != 2 ||
		second.Text != `caf\xe9\\ \x1b[1m` {
		t.Errorf("%+v, want the import's second line, escaped", second)
	}
	if q, _, err = c.Quarantine(t.Context(), s.token(t), "", "procs", 1); err != nil || len(q.BadLines) != 1 ||
		q.BadLines[0].Reason != "procs" {
		t.Errorf("of one reason: %+v, %v", q, err)
	}
	if _, _, err := c.Quarantine(t.Context(), "wrong"+s.token(t), "", "", 0); err == nil ||
		!strings.Contains(err.Error(), "401") {
		t.Errorf("with a wrong token: %v", err)
	}
}

// TestImportLeavesOut proves that an import leaves out jobs that are older than history_retention, and that a live job
// does not change even if the import contains its submission and start.
func TestImportLeavesOut(t *testing.T) {
	s := newSite(t, "accounting", "history_retention: 120d\n")
	now := epoch().Add(24 * time.Hour)
	live := life{"1.t", 4, 10, 11, -1}
	s.add(t, live.q()+live.s())
	d := s.startAt(t, func() time.Time { return now })
	d.caughtUp()
	before := shown(d)
	old := life{"4.t", 4, 0, 0, 0}.rec()
	old.Created = minute(-121 * 24 * 60)
	old.Queued, old.Eligible, old.Start, old.End = old.Created, old.Created, old.Created, old.Created
	log := live.q() + live.s() + life{"2.t", 4, 1, 2, 60}.e() + life{"3.t", 4, 1, 2, 9}.e() +
		string(pbs.AppendEnded(nil, old))
	report := d.mustImport(s, "pbs", strings.NewReader(log))
	if report.Jobs != 3 || report.TooOldJobs != 1 || report.BadLines != 0 || report.Lifetimes != 2 {
		t.Errorf("%+v, want three jobs, two of them over, and one too old", report)
	}
	if diff := cmp.Diff(before, shown(d)); diff != "" || len(before) != 1 {
		t.Errorf("the import (+) changes the job that lives:\n%s", diff)
	}
}

// TestImportJudged proves that a log that contradicts the followed one is refused, with the place of the first
// contradicting record and advice, and leaves no data behind. It tests a log that was read in a wrong time zone, and a
// log of another cluster. Single differing jobs are allowed.
func TestImportJudged(t *testing.T) {
	s := newSite(t, "accounting", "")
	s.edit(t, "time_zone: UTC", "time_zone: Europe/Stockholm")
	var live, other strings.Builder
	for i := range 40 {
		l := life{fmt.Sprintf("%d.t", i), 1, 10 * i, 10*i + 1, 10*i + 5}
		live.WriteString(l.e())
		l.submit, l.start, l.end = l.submit+7+i, l.start+9+i, l.end+11+i
		other.WriteString(l.e())
	}
	s.add(t, live.String())
	d := s.start(t)
	d.caughtUp()
	held := d.holds()
	shifted := life{"7.t", 1, 70 + 60, 71 + 60, 75 + 60}.e() + life{"8.t", 1, 80 + 60, 81 + 60, 85 + 60}.e()
	for name, c := range map[string]struct {
		log   string
		words []string
	}{
		"a wrong zone": {"# a remark\n" + shifted, []string{"old.log:2: job 7.t was submitted at", "1h0m0s off",
			"4 of the 4 records", "time_zone of cluster main, which is Europe/Stockholm"}},
		"another cluster": {other.String(), []string{"old.log:1: job 0.t was submitted at", "of the 80 records",
			"are these files of cluster main?"}},
	} {
		report, err := d.imports(s, "pbs", strings.NewReader(c.log))
		if err == nil {
			t.Fatalf("%s: %+v", name, report)
		}
		var problem *client.ProblemError
		if !errors.As(err, &problem) {
			t.Fatal(err)
		}
		for _, w := range c.words {
			if text := problem.Problem.Detail + problem.Problem.Hint; !strings.Contains(text, w) {
				t.Errorf("%s: %s: want %q there", name, text, w)
			}
		}
		if d.holds() != held {
			t.Errorf("%s: a refused import leaves something behind", name)
		}
	}
	one := life{"7.t", 1, 70 + 60, 71 + 60, 75 + 60}.e() // a job that was requeued
	if report := d.mustImport(s, "pbs", strings.NewReader(live.String()+one)); !report.Changed || report.BadLines != 0 {
		t.Errorf("%+v, want that a single job that differs is taken in", report)
	}
}

// TestImportRefused proves which imports are refused, and with which status and advice.
func TestImportRefused(t *testing.T) {
	s := importSite(t, 128)
	d := s.start(t) // the followed log does not exist yet, which does not prevent an import
	d.wantLog("missing", s.log)
	token, held := "Bearer "+s.token(t), d.holds()
	for _, c := range []struct {
		name, query, authorization, encoding, body string
		status                                     int
		words                                      []string
	}{
		{"no token", "format=swf", "", "", "", 401, []string{"needs the daemon's admin token", "admin_token_file"}},
		{"wrong token", "format=swf", token + "x", "", "", 401, []string{"is not one of this daemon"}},
		{"another scheme", "format=swf", strings.Replace(token, "Bearer", "Basic", 1), "", "", 401, nil},
		{"unknown format", "format=x", token, "", "", 422,
			[]string{"lsf-acct, lsf-events, pbs, sge-accounting", "slurm-jobcomp", "slurm-sacct", "swf"}},
		{"a format that is asked", "format=slurm-squeue", token, "", "", 422, []string{"slurm-squeue"}},
		{"unknown mode", "mode=quick", token, "", "", 422, []string{"quick", "auto, exact, fast"}},
		{"columns of no dump", "format=swf&columns=jobid", token, "", "", 422, []string{"columns are those of format"}},
		{"unknown columns", "columns=jobidd", token, "", "", 422, []string{"columns:", "no column JobID"}},
		{"unknown cluster", "format=swf&cluster=moon", token, "", "", 404, []string{"moon", "main"}},
		{"unknown parameter", "format=swf&clutser=main", token, "", "", 422, []string{"clutser"}},
		{"unknown encoding", "format=swf", token, "br", "", 415, []string{"br", "zstd"}},
		{"cut gzip", "format=swf", token, "", string(zip(t, []byte("; a\n; b\n"))[:20]), 422,
			[]string{"it is cut off"}},
		{"no log", "format=swf", token, "", "\x00\x01\xff", 422, []string{"none of the 1 records of import"}},
		{"no log of any format", "", token, "", "<html>\n", 422, []string{"import: no known format", "slurm-sacct"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://"+d.Addr().String()+"/v1/import?"+c.query, strings.NewReader(c.body))
			must(t, err)
			req.Header.Set("Authorization", c.authorization)
			req.Header.Set("Content-Encoding", c.encoding)
			resp, err := d.http.Do(req)
			must(t, err)
			defer func() { _ = resp.Body.Close() }()
			var p wire.Problem
			if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || resp.StatusCode != c.status ||
				p.Status != c.status {
				t.Fatalf("status %d, %+v, %v, want %d", resp.StatusCode, p, err, c.status)
			}
			if (c.status == 401) != (resp.Header.Get("WWW-Authenticate") != "") ||
				resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("headers %v", resp.Header)
			}
			for _, w := range c.words {
				if !strings.Contains(p.Detail+p.Hint, w) {
					t.Errorf("%q, %q: want %q there", p.Detail, p.Hint, w)
				}
			}
		})
	}
	if report := d.mustImport(s, "swf", strings.NewReader("")); report.Lines != 0 || report.Jobs != 0 ||
		report.Changed {
		t.Errorf("an empty log: %+v", report)
	}
	if d.holds() != held {
		t.Errorf("what was refused left something behind:\n%s\nbefore:\n%s", d.holds(), held)
	}
}
