package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
)

// TestEventsSurviveTheDisk proves that an event is the same after it was written and read, and that no cut or changed
// byte breaks the reader.
func TestEventsSurviveTheDisk(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := drawEvent(rt)
		d := newDecoder(errSpill)
		b := appendEvent(nil, &want)
		got, err := d.event(b)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Event{})); err != nil || diff != "" {
			rt.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(rt, "cut")
		if _, err := d.event(b[:cut]); err == nil {
			rt.Fatalf("%d bytes of %d are an event", cut, len(b))
		}
		b[cut] ^= byte(rapid.IntRange(1, 255).Draw(rt, "change"))
		_, _ = d.event(b) // any result will do
	})
}

// drawEvent draws any event.
func drawEvent(rt *rapid.T) Event {
	number := func(name string) int { return rapid.IntRange(0, 1<<40).Draw(rt, name) }
	text := func(name string) string {
		return rapid.OneOf(rapid.SampledFrom([]string{"", "batch", "ann"}),
			rapid.Map(rapid.String(), job.Printable)).Draw(rt, name)
	}
	at := func(name string) time.Time {
		if rapid.Bool().Draw(rt, name+" unknown") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(-1<<37, 1<<37).Draw(rt, name),
			rapid.Int64Range(0, 999_999_999).Draw(rt, name)).UTC()
	}
	return Event{
		File: number("file"), Line: int64(number("line")),
		order:    uint64(number("order")), //nolint:gosec // positive
		inferred: rapid.Bool().Draw(rt, "inferred"),
		Event: job.Event{
			Kind: job.Kind(rapid.Uint8().Draw(rt, "kind")), Cluster: text("cluster"), ID: text("id"),
			Attempt: number("attempt"), Time: at("time"), All: rapid.Bool().Draw(rt, "all"),
			Attributes: job.Attributes{
				Queue: text("queue"), User: text("user"), Account: text("account"), QOS: text("qos"),
				Name: text("name"), Procs: number("procs"), Nodes: number("nodes"),
				Memory: int64(number("memory")), GPUs: number("gpus"), GPUType: text("type"),
				Whole: rapid.Bool().Draw(rt, "whole"), TimeLimit: time.Duration(number("limit")),
				Tasks: number("tasks"), Priority: int64(number("priority")), Reason: text("reason"),
				Group: text("group"),
			},
			Times: job.Times{Submit: at("submit"), Eligible: at("eligible"), Start: at("start"), End: at("end")},
		},
	}
}
