package slurm_test

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/formattest"
	"github.com/waitcast/waitcast/job"
)

// unix is 2026-11-20 08:00:00 UTC, which is 09:00:00 in Berlin.
const unix = 1795161600

func at(seconds int64) time.Time { return time.Unix(unix+seconds, 0).UTC() }

func milli(ms int64) time.Time { return time.UnixMilli(unix*1000 + ms).UTC() }

func berlin(tb testing.TB) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func event(kind job.Kind, id string, when time.Time, a job.Attributes, t job.Times) job.Event {
	return job.Event{Kind: kind, Cluster: "alpha", ID: id, Time: when, Attributes: a, Times: t}
}

func good(name, line string, want ...job.Event) formattest.Case {
	return formattest.Case{Name: name, Line: line, Want: want}
}

func bad(name, line, reason, field string) formattest.BadCase {
	return formattest.BadCase{Name: name, Line: line, Reason: reason, Field: field}
}
