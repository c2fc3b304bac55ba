package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// steps writes a log in the test's own process.
type steps struct {
	t *testing.T
	*logWriter
}

func (s *steps) grant(n int) {
	for ; n > 0 && (len(s.left) > 0 || s.pending != ""); n-- {
		if err := s.step(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// formatWorkload returns a log with bad lines. The last job comes so late that no event of the others is held back.
func formatWorkload(f *logForm, jobs int, seed uint64) (log []record, last string) {
	rng := rand.New(rand.NewPCG(seed, 17))
	minutes := func(most int) time.Duration { return time.Duration(1+rng.IntN(most)) * time.Minute }
	at := epoch()
	for id := 1; id <= jobs; id++ {
		if at = at.Add(minutes(3)); id == jobs {
			at = at.AddDate(0, 1, 0)
		}
		start := at.Add(minutes(9))
		fields := plainFields()
		fields["queue"] = fmt.Sprint(rng.IntN(3))
		if rng.IntN(3) == 0 {
			fields["name"] = "caf\xe9"
		}
		log = append(log, f.write(id, fields, at, start, start.Add(minutes(20)))...)
		if rng.IntN(5) == 0 {
			bad := fmt.Sprintf("garbage %d\n", id)
			if f.format == "slurm-log" { // it has lines of all kinds: only a damaged line about a job is bad
				bad = fmt.Sprintf("[%s] sched: Allocate JobId=%d NodeList=n1 #CPUs=x Partition=p\n",
					at.Format(f.clock), id)
			}
			log = append(log, record{at, bad})
		}
	}
	slices.SortStableFunc(log, func(a, b record) int { return a.at.Compare(b.at) })
	return append([]record{{epoch(), f.header}}, log...), fmt.Sprint(jobs)
}

// TestKillFormats proves for every format that a daemon that is killed at random instants, while its log is written,
// ends with the same journal, ledger and quarantine as an undisturbed one.
func TestKillFormats(t *testing.T) {
	notUnderRace(t) // a process that is killed reports no races
	lives := 2
	if os.Getenv("WAITCAST_LONG") != "" {
		lives = 40
	}
	for _, f := range logForms() {
		t.Run(f.format, func(t *testing.T) {
			t.Parallel()
			seed := killSeed(t)
			log, last := formatWorkload(&f, 60+60*lives, seed)
			p := &plan{Path: filepath.Join(t.TempDir(), "log"), Seed: seed}
			setUp := func() *site {
				s := siteOn(t, p.Path, "store: {snapshot_events: 150, snapshot_interval: 1s}\n")
				edit(t, s.config, "format: pbs", "format: "+f.format)
				edit(t, s.config, "procs: 64", "procs: 4096")
				return s
			}
			k := &killer{t: t, site: setUp(), rng: rand.New(rand.NewPCG(seed, 5)), lives: lives,
				writer: &steps{t, &logWriter{plan: p, rng: rand.New(rand.NewPCG(seed, 99)), left: log}}}
			for range lives {
				k.life()
			}
			k.writer.grant(1 << 30)
			k.last()
			calm := setUp()
			d := calm.start(t)
			d.caughtUp()
			d.stop()
			compareLogs(t, &f, k.site.kept(t), calm.kept(t), last)
		})
	}
}

// compareLogs compares journal, ledger and quarantine, except the last job, which may still be held back. Logs without
// submissions have no ledger.
func compareLogs(t *testing.T, f *logForm, got, want kept, last string) {
	t.Helper()
	without := func(k *kept) {
		ofLast := func(id string) bool { id, _, _ = strings.Cut(id, "."); return id == last }
		k.Entries = slices.DeleteFunc(k.Entries, func(e modelstore.Entry) bool { return ofLast(e.Event.ID) })
		k.Rows = slices.DeleteFunc(k.Rows, func(r modelstore.Row) bool { return ofLast(r.JobID) })
	}
	without(&got)
	without(&want)
	submissions := slices.ContainsFunc(f.lines, func(line string) bool { return strings.HasPrefix(line, "submit ") })
	if len(want.Entries) == 0 || submissions && len(want.Rows) == 0 || len(want.Bad) == 0 {
		t.Fatalf("the undisturbed daemon kept %d entries, %d rows and %d bad lines", len(want.Entries), len(want.Rows),
			len(want.Bad))
	}
	check(t, "journal", got.Entries, want.Entries, cmpopts.IgnoreFields(job.Event{}, "Live"))
	check(t, "ledger", got.Rows, want.Rows, cmpopts.IgnoreFields(modelstore.Row{}, "Replayed", "Served"),
		cmpopts.EquateNaNs())
	check(t, "quarantine", got.Bad, want.Bad, cmpopts.IgnoreFields(modelstore.BadLine{}, "At", "Path"))
}
