package lsf_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// TestAcctOfOtherSites parses JOB_FINISH records of LSF 9.11, with hosts compressed and listed. The job requested 128
// processors (field 7 and maxNumProcessors) and ran on them from 1389642771 to 1389683139.
func TestAcctOfOtherSites(t *testing.T) {
	for file, jobs := range map[string]int{"logs/lsb.acct": 2, "logs/lsb.acct.utf8": 1} {
		text, err := os.ReadFile(refdata.Shared(t, file))
		if err != nil {
			t.Fatal(err)
		}
		p := lsf.Acct().New(collector.Options{})
		n := 0
		for line := range bytes.Lines(text) {
			err := p.Parse(line, func(ev job.Event) {
				n++
				if ev.Kind != job.End || ev.Procs != 128 || ev.ID != "404717" || ev.Queue != "regular" ||
					!ev.Times.Start.Equal(time.Unix(1389642771, 0)) || !ev.Time.Equal(time.Unix(1389683139, 0)) {
					t.Errorf("%s: %+v", file, ev)
				}
			})
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if n != jobs {
			t.Errorf("%s: %d jobs, want %d", file, n, jobs)
		}
	}
}
