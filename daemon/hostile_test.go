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

// hostileJob is a job with a hostile text in one field; field is empty for a sound job.
type hostileJob struct{ field, text string }

// hostileLog returns a log in which every field of some job has a hostile text, between two sound jobs, and its jobs by
// their ids. The last job is so much later that no event of the others is held back.
func hostileLog(f *logForm) (log string, jobs map[string]hostileJob) {
	var b strings.Builder
	b.WriteString(f.header)
	jobs = map[string]hostileJob{}
	write := func(h hostileJob, at time.Time) {
		fields := plainFields()
		if h.field != "" {
			fields[h.field] = h.text
		}
		id := len(jobs) + 1
		for _, line := range f.write(id, fields, at, at.Add(time.Minute), at.Add(5*time.Minute)) {
			b.WriteString(line.text)
		}
		jobs[fmt.Sprint(id)] = h
	}
	at := epoch()
	for field, plain := range plainFields() {
		for _, text := range formattest.Hostile() {
			if f.has(field) {
				at = at.Add(20 * time.Minute)
				write(hostileJob{}, at)
				write(hostileJob{field, plain + text}, at.Add(10*time.Minute))
			}
		}
	}
	write(hostileJob{}, at.Add(20*time.Minute))
	write(hostileJob{}, at.AddDate(0, 3, 0))
	delete(jobs, fmt.Sprint(len(jobs)))
	return b.String(), jobs
}

// TestHostileNames reads a log of hostileLog in every format. The daemon goes on and counts all sound jobs. Of every
// other job it has events with the printable form of the text, or a bad line. Its answers are text, and it starts
// again.
func TestHostileNames(t *testing.T) {
	for _, f := range logForms() {
		t.Run(f.format, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "log", "")
			edit(t, s.config, "format: pbs", "format: "+f.format)
			edit(t, s.config, "procs: 64", "procs: 4096")
			log, jobs := hostileLog(&f)
			s.add(t, log)
			d := s.start(t)
			d.wantMetric(`waitcast_lines_total{cluster="main",source="main/accounting"}`,
				fmt.Sprint(strings.Count(log, "\n")))
			answers(t, d)
			d.stop()
			again := s.start(t)
			again.caughtUp()
			answers(t, again)
			again.stop()
			checkHostile(t, &f, jobs, s.kept(t))
		})
	}
}

// checkHostile checks what a database has of the jobs of hostileLog.
func checkHostile(t *testing.T, f *logForm, jobs map[string]hostileJob, k kept) {
	t.Helper()
	events := map[string][]job.Event{}
	for _, e := range k.Entries {
		id, _, _ := strings.Cut(e.Event.ID, ".")
		events[id] = append(events[id], e.Event)
	}
	bad, all := 0, len(events["1"])
	if all == 0 {
		t.Fatal("the first job has no events")
	}
	sound := namesOf(&events["1"][all-1])
	for id, h := range jobs {
		switch n := len(events[id]); {
		case h.field == "" && n != all:
			t.Errorf("sound job %s has %d events, want %d", id, n, all)
		case h.field == "", f.format == "swf" && n == all: // a number of SWF need not be known
		case n < all, strings.Contains(h.text, "\x00"): // the reader of files refuses lines with NUL
			bad++
		default:
			got := namesOf(&events[id][n-1])[h.field]
			if want := clipped(job.Printable(h.text)); sound[h.field] == plainFields()[h.field] && got != want {
				t.Errorf("job %s has the %s %.40q of %.40q", id, h.field, got, h.text)
			}
		}
	}
	if len(k.Bad) < bad {
		t.Errorf("%d jobs lack events, but there are only %d bad lines", bad, len(k.Bad))
	}
	t.Logf("%d jobs, %d with hostile texts refused, %d bad lines", len(jobs), bad, len(k.Bad))
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

// TestHostileImport imports dumps of sacct with queues whose names are not UTF-8, and starts the daemon again.
func TestHostileImport(t *testing.T) {
	s := importSite(t, 64)
	s.add(t, life{"9.t", 4, 0, 1, 5}.q())
	d := s.start(t)
	d.caughtUp()
	const header = "JobID|JobIDRaw|User|Account|Partition|State|Submit|Eligible|Start|End|TimelimitRaw|ReqCPUS|" +
		"AllocCPUS|NNodes\n"
	// plain, one byte, the text of its escape, an overlong character, a surrogate
	queues := []string{"p", "caf\xe9", `caf\xe9`, "a\xc0\xafb", "a\xed\xa0\x80b"}
	dump := header
	for i, queue := range queues {
		dump += fmt.Sprintf("%d|%[1]d|a|a|%s|COMPLETED|2026-02-28T12:0%[1]d:00|2026-02-28T12:0%[1]d:00|"+
			"2026-02-28T12:10:00|2026-02-28T12:58:39|600|2|2|1\n", i+1, queue)
	}
	d.mustImport(s, "slurm-sacct", strings.NewReader(dump))
	answers(t, d)
	d.stop()
	again := s.start(t)
	again.caughtUp()
	answers(t, again)
	again.stop()
	got := map[string]bool{}
	for _, r := range s.kept(t).Rows {
		got[r.Queue] = true
	}
	for _, queue := range queues {
		if !got[job.Printable(queue)] {
			t.Errorf("no row of queue %q: %v", queue, got)
		}
	}
}
