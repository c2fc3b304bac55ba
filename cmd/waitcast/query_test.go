package main

import (
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
)

// TestNoRecordYet proves that for a cluster without any record no command shows the year 1.
func TestNoRecordYet(t *testing.T) {
	for _, c := range []struct {
		answer any
		args   []string
	}{
		{wire.Queues{}, []string{"queues"}},
		{wire.Now{}, []string{"now"}},
		{wire.Jobs{Cluster: "main"}, []string{"jobs"}},
		{wire.Models{Cluster: "main", Queue: "short"}, []string{"models", "short"}},
		{wire.Me{Cluster: "main"}, []string{"me"}},
		{wire.History{Cluster: "main"}, []string{"history"}},
		{wire.When{Cluster: "main", Queue: "short", Procs: 1}, []string{"when", "-q", "short", "-n", "1", "-t", "1h"}},
		{wire.Wait{Cluster: "main", Queue: "short", Procs: 1}, []string{"wait", "-q", "short", "-n", "1", "-t", "1h"}},
	} {
		r := runWith(serve(t, 200, c.answer), c.args...)
		if !strings.Contains(r.stdout, "no record has been read yet") || strings.Contains(r.stdout, "0001") ||
			r.code != exitDone {
			t.Errorf("%q: exit %d, %s\n%s", c.args, r.code, r.stderr, r.stdout)
		}
	}
}
