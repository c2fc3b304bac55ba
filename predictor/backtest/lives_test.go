package backtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor/engine"
)

// TestLivesAreReplayed proves that the engine receives the lives of a log as events: each attempt as a job of its own,
// nothing to learn from a wait without a recorded submission, and holds, releases and updates at their instants.
func TestLivesAreReplayed(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	two, four := job.Attributes{Procs: 2}, job.Attributes{Procs: 4}
	trace, err := FromLives("x", &lives.Lives{Jobs: []lives.Life{
		{ID: "1", Asked: two, Submit: at(0), Start: at(10), End: at(20), Fate: lives.Lost},
		{ID: "2", Asked: two, Submit: at(5), End: at(30), Fate: lives.Cancelled},
		{ID: "3", Asked: two, Submit: at(6), Start: at(50), End: at(60), Fate: lives.Ended, Changes: []lives.Change{
			{At: at(7), Held: true, Asked: two}, {At: at(8), Held: true, Asked: four}, {At: at(9), Asked: four},
		}},
		{ID: "1", Attempt: 1, Asked: two, Submit: at(20), Start: at(40), Fate: lives.Running},
		{ID: "4", Asked: two, Submit: at(21), Start: at(22), End: at(23), Fate: lives.Ended, Guessed: true},
		{ID: "5", Asked: two, Submit: at(24), Fate: lives.Waiting},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var r recorder
	trace.Replay(&r, func(int, engine.Forecast) {})
	want := []string{
		"submit 0 at 0", "submit 1 at 5", "submit 2 at 6", "hold 2 at 7", "update to 4 2 at 8", "release 2 at 9",
		"start 0 at 10", "lost 0 at 20", "submit 3 at 20", "submit 4 at 21", "start unlearnt 4 at 22", "end 4 at 23",
		"submit 5 at 24", "gone 1 at 30", "start 3 at 40", "start 2 at 50", "end 2 at 60",
	}
	if d := cmp.Diff(want, r.told); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := FromLives("x", &lives.Lives{}); err == nil {
		t.Error("no job can be replayed")
	}
	if id := trace.Jobs[3].ID(); id != "1" {
		t.Errorf("the fourth job is %s, want 1", id)
	}
}
