package slurm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// TestSnapshotNames proves that names with odd bytes are not reported as a change in every snapshot, and that names
// that differ in one byte stay two. Names that have the text of an escape count as such names.
func TestSnapshotNames(t *testing.T) {
	for _, odd := range []string{"caf\xe9", `caf\xe9`, "a\x1b[31m", "a\xed\xa0\x80"} {
		s := newStage(t, true, "")
		one := shown{id: "1", queue: odd, user: odd, submit: 1}
		if got := s.snap(10, one); got != "10:1-submit" {
			t.Fatalf("%q: %s", odd, got)
		}
		if j := s.state.Job("1"); j.Queue != job.Printable(odd) || j.User != job.Printable(odd) {
			t.Errorf("%q: queue %q, user %q", odd, j.Queue, j.User)
		}
		if got := s.snap(40, one); got != "" {
			t.Errorf("%q: the next snapshot reports %s", odd, got)
		}
		one.user += "\xe8"
		if got := s.snap(70, one); got != "70:1-update" {
			t.Errorf("%q: another user gives %q", odd, got)
		}
	}
}

// TestRestNames proves that names in an answer of slurmrestd keep the bytes that are not UTF-8.
func TestRestNames(t *testing.T) {
	job1 := func(name string) string {
		return fmt.Sprintf(`{"job_id":1,"job_state":"PENDING","account":"","qos":"normal","user_name":"%s",`+
			`"partition":"%[1]s","cpus":2,"node_count":1,"tasks":1,"time_limit":2,"priority":1000,"submit_time":%d,`+
			`"eligible_time":%[2]d,"shared":null}`, name, unix+10)
	}
	for name, want := range map[string]string{
		"caf\xe9": `caf\xe9`, "caf\xe8": `caf\xe8`, `caf\\xe9`: `caf\x5cxe9`, "é\xed\xa0\x80": `é\xed\xa0\x80`,
		`a\u001b[m`: `a\x1b[m`, "\U0010ff69": "\U0010ff69",
	} {
		fake := newFakeRest(t, "v0.0.38", doc(job1(name)))
		a := newRest(fake.socket, alone()).Ask(t.Context(), at(20))
		if a.Err != nil || len(a.Events) != 1 || a.Events[0].Queue != want || a.Events[0].User != want {
			t.Errorf("%q: %+v, want %q", name, a, want)
		}
	}
}

// TestFactsNames proves that facts with odd names are reported once, also by another process, and keep the names apart.
func TestFactsNames(t *testing.T) {
	texts := captured(t)
	for name, text := range texts {
		texts[name] = strings.ReplaceAll(strings.ReplaceAll(text, "short", "caf\xe9"), "whole", `caf\xe9`)
	}
	p := &pretend{texts: texts}
	f := p.facts(t)
	first := factsOf(t, f.Ask(t.Context(), capturedAt))
	names := map[string]bool{}
	for _, q := range first.Queues {
		names[q.Name] = true
	}
	if !names[`caf\xe9`] || !names[`caf\x5cxe9`] {
		t.Errorf("queues %v", names)
	}
	for _, asking := range []*slurm.Facts{f, (&pretend{texts: texts, told: first}).facts(t)} {
		if a := asking.Ask(t.Context(), capturedAt); len(a.Events) > 0 || a.Err != nil {
			t.Errorf("reported again: %+v", a)
		}
	}
}
