package pbs_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// parsed returns the events of a log, its bad lines, and the notices, each with the number of its line.
func parsed(text []byte) (events []job.Event, bad map[int]error, notices map[int]*collector.LineError) {
	bad, notices = map[int]error{}, map[int]*collector.LineError{}
	number := 0
	notice := func(odd *collector.LineError) { notices[number] = odd }
	parser := pbs.Format().New(collector.Options{Cluster: "c", Location: time.UTC, Notice: notice})
	for line := range bytes.Lines(text) {
		number++
		if err := parser.Parse(bytes.TrimSuffix(line, []byte("\n")),
			func(ev job.Event) { events = append(events, ev) }); err != nil {
			bad[number] = err
		}
	}
	return events, bad, notices
}

// TestOddNodeCount proves that an unreadable node count causes a notice if another field has the processors, and that
// the line is bad otherwise.
func TestOddNodeCount(t *testing.T) {
	const record = "04/27/2020 23:59:13;E;7;user=x queue=q ctime=1587912647 start=1588046353 end=1588146353 "
	const odd = "Resource_List.nodect=1:ppn=24:gpu=4"
	log := record + "exec_host=n1/0-27 " + odd + "\n" + record + odd + "\n" + record +
		"exec_host=n1/0-27 Resource_List.nodect=1\n"
	events, bad, notices := parsed([]byte(log))
	if len(events) != 2 || events[0].Procs != 28 || events[0].Nodes != 1 {
		t.Errorf("events %+v, want the first and the last line's, of 28 processors on a node", events)
	}
	if len(bad) != 1 || bad[2] == nil || !strings.Contains(bad[2].Error(), "Resource_List.nodect") {
		t.Errorf("bad lines %v, want the second, for its node count", bad)
	}
	if len(notices) != 1 || notices[1] == nil || notices[1].Field != "Resource_List.nodect" {
		t.Errorf("notices %v, want one of the first line", notices)
	}
}

// TestSharedSites proves that nine records of nine sites are read as nine jobs without a bad line.
func TestSharedSites(t *testing.T) {
	text, err := os.ReadFile(refdata.Shared(t, "logs/pbs-accounting"))
	if err != nil {
		t.Fatal(err)
	}
	events, bad, notices := parsed(text)
	if len(events) != 9 || len(bad) > 0 {
		t.Errorf("%d events, want 9; bad lines %v", len(events), bad)
	}
	for i, ev := range events {
		if ev.Kind != job.End || ev.Procs == 0 {
			t.Errorf("event %d: %+v", i, ev)
		}
	}
	// The sites are of several zones. Lines 1 and 2 are of one that is not UTC.
	if len(notices) != 3 || notices[7] == nil || !strings.Contains(notices[2].Error(), "5h0m0s") || notices[5] == nil {
		t.Errorf("notices %v, want those of lines 2, 5 and 7", notices)
	}
}
