package sge_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// TestAccountingOfOtherSites parses records of Grid Engine (seconds) and of Univa Grid Engine (milliseconds, more
// fields). The expected values are fields 6, 1, 35 (slots), 9, 10 and 11 of the files.
func TestAccountingOfOtherSites(t *testing.T) {
	const first = "22947 myqueue 1 1310761621.000 1311095354.000 1311095414.000"
	for file, want := range map[string][]string{
		"logs/sge-accounting": {first, first},
		"logs/uge-accounting": {first, "4437956 gpu_queue 16 1652111621.288 1652111622.875 1652124460.193"},
	} {
		text, err := os.ReadFile(refdata.Shared(t, file))
		if err != nil {
			t.Fatal(err)
		}
		p := sge.Accounting().New(collector.Options{})
		var got []string
		for line := range bytes.Lines(text) {
			err := p.Parse(line, func(ev job.Event) {
				if ev.Kind == job.End {
					seconds := func(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
					got = append(got, fmt.Sprintf("%s %s %d %s %s %s", ev.ID, ev.Queue, ev.Procs,
						seconds(ev.Times.Submit.UnixMilli()), seconds(ev.Times.Start.UnixMilli()),
						seconds(ev.Times.End.UnixMilli())))
				}
			})
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
