package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// arrayLog generates an lsb.events with arrays. Their elements start one by one, some at the instant of the submission,
// and are cancelled, moved to another queue and requeued. One array is huge. Some lines are written in two parts.
func arrayLog(seed uint64, arrays int) []string {
	type line struct {
		at   int
		text string
	}
	var all []line
	rng := rand.New(rand.NewPCG(seed, 3))
	clock := 1_720_000_000
	add := func(at int, format string, args ...any) { all = append(all, line{at, fmt.Sprintf(format, args...)}) }
	status := func(at, id, state, end, element int) {
		add(at, `"JOB_STATUS" "10.1" %d %d %d 0 0 0.3 %d 0 0 %d 0`, at, id, state, end, element)
	}
	for n := range arrays {
		id, elements := 100+n, 1+rng.IntN(30)
		clock += rng.IntN(300)
		told := elements
		if n == arrays/2 {
			told = 100_000
		}
		add(clock, `"JOB_NEW" "10.1" %[1]d %[2]d 506 2 %[3]d %[1]d 0 0 -65535 0 0 "ann" -1 -1 -1 -1 -1 -1 -1 -1 -1 `+
			`3600 -1 "" 116.10 18 "normal" "" "login" "/home/ann" `+
			`"" "" "" "" "/home/ann" "x" 0 "" "" "sweep[1-%[4]d]" "run" 0 "" "aero" 1 "X86_64" "" "" "" "" 5136 0 `+
			`"" "" "" -1`,
			clock, id, 1+rng.IntN(4), told)
		if rng.IntN(4) == 0 {
			add(clock+5, `"JOB_SWITCH2" "10.1" %d 0 %d "long" "ann" 1 1 %d 3`, clock+5, id, elements)
		}
		begin := clock
		for e := 1; e <= elements; e++ {
			begin += rng.IntN(3) * rng.IntN(200)
			if rng.IntN(8) == 0 {
				status(begin, id, 32, begin, e)
				continue
			}
			add(begin, `"JOB_START" "10.1" %d %d 4 0 0 116.1 1 "n1" "" "" 0 "" %d "" 0 0`, begin, id, e)
			end := begin + 1 + rng.IntN(600)
			if rng.IntN(8) == 0 {
				status(begin+1, id, 1, 0, e)
				add(begin+2, `"JOB_START" "10.1" %d %d 4 0 0 116.1 1 "n2" "" "" 0 "" %d "" 0 0`, begin+2, id, e)
				end += 2
			}
			status(end, id, 64, end, e)
		}
		if rng.IntN(5) == 0 {
			add(clock, `the rest of a command"`)
		}
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.at - b.at })
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = l.text + "\n"
	}
	return out
}

// appender writes a log, a few lines in each step.
type appender struct {
	t     *testing.T
	site  *site
	lines []string
	each  int
}

func (a *appender) grant(steps int) {
	n := min(len(a.lines), a.each*min(steps, len(a.lines)))
	a.site.add(a.t, strings.Join(a.lines[:n], ""))
	a.lines = a.lines[n:]
}

// TestKillArrays kills a daemon at random instants while it reads a log of arrays. It proves that the daemon has the
// same journal, ledger and state as an undisturbed one, and that every element that started or left has one row.
func TestKillArrays(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills daemons; TestKill is enough there: not with -short")
	}
	killArrays(t, "", (*site).kept)
}

// TestKillArraysPostgres proves the same as TestKillArrays for a PostgreSQL database.
func TestKillArraysPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills daemons; TestKill is enough there: not with -short")
	}
	database := pgtest.New(t, pgtest.Options{}).NewDatabase(t)
	killArrays(t, fmt.Sprintf("url: %q, lease: 1s, ", database), func(_ *site, t testing.TB) kept {
		store, err := postgres.Open(t.Context(), database, postgres.Options{Space: "main", ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		return keptIn(t, store)
	})
}

// killArrays kills daemons that use the given kind of store, and compares the content of the store with that of an
// undisturbed daemon's file.
func killArrays(t *testing.T, store string, keptOf func(*site, testing.TB) kept) {
	t.Helper()
	seed, lives := killSeed(t), fewKills()
	lines := arrayLog(seed, 5*lives)
	dir := t.TempDir()
	lsf := func(name, store string) *site {
		s := siteOn(t, filepath.Join(dir, name), "store: {"+store+"snapshot_events: 150, snapshot_interval: 1s}\n")
		text, err := os.ReadFile(s.config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s.config, strings.Replace(string(text), "format: pbs", "format: lsf-events", 1))
		return s
	}
	disturbed := lsf("disturbed", store)
	writer := &appender{t: t, site: disturbed, lines: lines, each: 1 + len(lines)/(45*lives)}
	writer.grant(1)
	k := &killer{t: t, site: disturbed, rng: rand.New(rand.NewPCG(seed, 5)), writer: writer, lives: lives,
		leased: store != ""}
	for range lives {
		k.life()
	}
	writer.grant(len(lines))
	k.last()

	calm := lsf("calm", "")
	calm.add(t, strings.Join(lines, ""))
	d := calm.start(t)
	d.caughtUp()
	d.stop()
	got, want := keptOf(disturbed, t), calm.kept(t)
	compare(t, &got, &want)
	rows := map[string]int{}
	for _, r := range want.Rows {
		if r.Attempt == 0 {
			rows[r.JobID]++
		}
	}
	for id := range strings.SplitSeq(startedElements(lines), "\n") {
		if rows[id] != 1 {
			t.Errorf("element %s has %d rows of its first try, want 1", id, rows[id])
		}
	}
}

// startedElements returns the ids of the elements that have started, one per line.
func startedElements(lines []string) string {
	var ids []string
	for _, l := range lines {
		if f := strings.Fields(l); f[0] == `"JOB_START"` {
			ids = append(ids, fmt.Sprintf("%s[%s]", f[3], f[14]))
		}
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), "\n")
}
