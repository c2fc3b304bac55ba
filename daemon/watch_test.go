package daemon_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
)

// TestWatchOverRestart proves that a watching client does not delay the stop of a daemon, reconnects to the restarted
// daemon with the id of its last event, does not receive the same advice again, and receives new advice when the log
// grows. The package's TestMain checks that no goroutine is left.
func TestWatchOverRestart(t *testing.T) {
	s := newSite(t, "log", "")
	lines := workload(t, 7, 300)
	half := len(lines) / 2
	var text strings.Builder
	for _, l := range lines[:half] {
		text.WriteString(l.text)
	}
	s.add(t, text.String())
	at := lines[half-1].at
	now := func() time.Time { return at } // so that nothing is stale
	d := s.startAt(t, now)
	d.caughtUp()
	address := d.Addr().String()
	c, err := client.New(address, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	events, ended := make(chan client.WatchEvent, 100), make(chan error, 1)
	question := func(deadline string) *wire.SizeRequest {
		return &wire.SizeRequest{
			Places: []wire.Place{{Queue: "short"}, {Queue: "medium"}}, Sizes: []int{1, 2, 4},
			Runtime:   wire.Runtime{Amdahl: &wire.RuntimeAmdahl{Serial: .1, T1Seconds: 3600}},
			Objective: wire.SizeObjective{Deadline: deadline}, LeastGain: new(.9),
		}
	}
	go func() {
		ended <- c.Watch(ctx, question(""), "", func(e client.WatchEvent) error {
			events <- e
			return nil
		})
	}()
	first := <-events
	if first.Advice == nil || first.ID == "" || first.Advice.Advice.Procs == 0 {
		t.Fatalf("the first event is %+v, %s", first, first.JSON)
	}
	d.wantMetric("waitcast_watch_subscribers", "1")
	d.stop() // fails if the stop waits for the watcher: its grace period runs out

	config, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.config, strings.Replace(string(config), "127.0.0.1:0", address, 1))
	d = s.startAt(t, now)
	d.wantMetric("waitcast_watch_subscribers", "1")
	select {
	case e := <-events:
		t.Errorf("nothing changed, and yet: %s", e.JSON)
	default:
	}
	again, _, err := c.Size(t.Context(), question("1000w"))
	if err != nil || again.Objective != "deadline" || len(again.Candidates) != 6 {
		t.Errorf("beside it a question is answered by %+v, %v", again, err)
	}
	d.eventually("an evaluation", func() bool {
		s.add(t, lines[half].text)
		half = min(half+1, len(lines)-1)
		n, err := strconv.Atoi(d.metric("waitcast_watch_evaluations_total"))
		return err == nil && n >= 2
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	d.wantMetric("waitcast_watch_subscribers", "0")
}
