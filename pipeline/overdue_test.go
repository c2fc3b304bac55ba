package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

const purgedPBS = `11/09/2026 04:44:52;Q;1.srv;user=ann queue=batch ctime=1794199492 LIMIT=48
11/09/2026 04:45:02;S;1.srv;user=ann queue=batch ctime=1794199492 start=1794199502 LIMIT=48
11/09/2026 18:44:52;Q;14.srv;user=bob queue=batch ctime=1794249892 LIMIT=8
`

// newLSF is a JOB_NEW record with a limit of an hour.
const newLSF = `"JOB_NEW" "10.1" TIME ID 506 33554435 8 TIME 0 0 -65535 0 0 "ann" -1 -1 -1 -1 -1 -1 -1 -1 -1 3600 -1 ` +
	`"" 116.10 18 "normal" "" "login" "/home/ann" "" "" "" "" "/home/ann" "x" 0 "" "" "cfd" "run" 0 "" "aero" 8 ` +
	`"X86_64" "" "" "" "" 5136 0 "" "" "" -1 -1 -1 64 "" "" -1 "" 0` + "\n"

func purgedLSF() string {
	submitted := func(id, at string) string { return strings.NewReplacer("ID", id, "TIME", at).Replace(newLSF) }
	return submitted(
		"101",
		"1720008000",
	) + `"JOB_START" "10.1" 1720008060 101 4 0 0 116.1 8 "n1" "n1" "n1" "n1" "n2" ` +
		`"n2" "n2" "n2" "" "" 0 "" 0 "" 0 0` + "\n" + submitted(
		"102",
		"1720094400",
	)
}

// TestStartWithoutEnd proves that a job whose end is not in the log, because the server purged it, holds no processors
// once it is long past its limit, and that a condition counts it.
func TestStartWithoutEnd(t *testing.T) {
	limited := strings.ReplaceAll(purgedPBS, "LIMIT", "Resource_List.walltime=01:00:00 Resource_List.ncpus")
	for name, c := range map[string]struct {
		format collector.Format
		log    string
	}{"pbs": {pbs.Format(), limited}, "lsf": {lsf.Events(), purgedLSF()}} {
		parser := c.format.New(collector.Options{Cluster: "c", Location: time.UTC})
		var events []job.Event
		for line := range strings.Lines(c.log) {
			if err := parser.Parse([]byte(line), func(ev job.Event) { events = append(events, ev) }); err != nil {
				t.Fatal(err)
			}
		}
		p, src := newPipeline(testConfig(), newStore(t), collector.Live)
		restore(t, p, "one")
		follows(t, p, src, events)
		v := p.View("c")
		if len(v.Overdue) != 1 || len(v.Running) != 0 || len(v.Queued) != 1 || v.Used != 0 {
			t.Errorf("%s: %d overdue, %d running, %d waiting, %d used; want 1, 0, 1, 0", name, len(v.Overdue),
				len(v.Running), len(v.Queued), v.Used)
		}
		if got := fmt.Sprint(p.Conditions()); strings.Count(got, string(readmodel.JobsOverdue)) != 1 ||
			!strings.Contains(got, "1 job") {
			t.Errorf("%s: the conditions are %s", name, got)
		}
	}
}

// TestOverCapacity proves that running jobs that hold more processors than there are make a condition.
func TestOverCapacity(t *testing.T) {
	cfg := testConfig()
	cfg.Clusters[0].Procs = 64
	p, src := newPipeline(cfg, newStore(t), collector.Live)
	restore(t, p, "one")
	for i, want := range []int{0, 0, 1} {
		follows(t, p, src, []job.Event{sized(event(job.Start, fmt.Sprint(i), float64(i)), 32)})
		if got := fmt.Sprint(p.Conditions()); strings.Count(got, string(readmodel.OverCapacity)) != want {
			t.Errorf("%d processors: the conditions are %s", 32*(i+1), got)
		}
	}
}
