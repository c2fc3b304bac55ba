package formattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// GoldenEvent is one event or one refused line in a golden file. The JSON omits members with zero values; times are in
// RFC 3339, the time limit is in seconds. Other attributes (QOS, group, memory, GPUs and so on) are compared only in
// the cases of Suite.Good.
type GoldenEvent struct {
	Line      int       `json:"line"`          // counted from 1
	Bad       string    `json:"bad,omitempty"` // reason of a refused line; no other member is set then
	Kind      string    `json:"kind,omitempty"`
	ID        string    `json:"id,omitempty"`
	Time      time.Time `json:"time,omitzero"`
	Queue     string    `json:"queue,omitempty"`
	User      string    `json:"user,omitempty"`
	Account   string    `json:"account,omitempty"`
	Name      string    `json:"name,omitempty"`
	Procs     int       `json:"procs,omitempty"`
	Tasks     int       `json:"tasks,omitempty"`
	Nodes     int       `json:"nodes,omitempty"`
	TimeLimit float64   `json:"time_limit_seconds,omitempty"`
	Submit    time.Time `json:"submit,omitzero"`
	Eligible  time.Time `json:"eligible,omitzero"`
	Start     time.Time `json:"start,omitzero"`
	End       time.Time `json:"end,omitzero"`
}

// Golden parses the log file and compares its events and refused lines with the JSON file, a list of GoldenEvent that
// was written and checked by hand. No tool generates it from the parser's output.
func Golden(t *testing.T, s Suite, logFile, jsonFile string) {
	t.Helper()
	text, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	var want []GoldenEvent
	decoder := json.NewDecoder(bytes.NewReader(wanted))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&want); err != nil {
		t.Fatalf("%s is no list of formattest.GoldenEvent: %v", jsonFile, err)
	}
	var got []GoldenEvent
	p := s.Format.New(s.Options)
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		events, err := s.parse(t, p, line)
		for _, ev := range events {
			got = append(got, goldenOf(i+1, ev))
		}
		var bad *collector.LineError
		if errors.As(err, &bad) {
			got = append(got, GoldenEvent{Line: i + 1, Bad: bad.Reason})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s does not say what %s wants (-want +got):\n%s", logFile, jsonFile, diff)
	}
}

func goldenOf(line int, ev job.Event) GoldenEvent {
	return GoldenEvent{
		Line: line, Kind: ev.Kind.String(), ID: ev.ID, Time: ev.Time,
		Queue: ev.Queue, User: ev.User, Account: ev.Account, Name: ev.Name,
		Procs: ev.Procs, Tasks: ev.Tasks, Nodes: ev.Nodes, TimeLimit: ev.TimeLimit.Seconds(),
		Submit: ev.Times.Submit, Eligible: ev.Times.Eligible, Start: ev.Times.Start, End: ev.Times.End,
	}
}
