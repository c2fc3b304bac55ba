package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
)

func compareJSON(t *testing.T, stdin string, args ...string) offline.Compared {
	t.Helper()
	var c offline.Compared
	if err := json.Unmarshal([]byte(succeed(t, stdin, append([]string{"compare", "--json"}, args...)...).stdout),
		&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompareWithItself proves that by every measure the distance of a workload from itself is 0.
func TestCompareWithItself(t *testing.T) {
	text := inhabited(t)
	c := compareJSON(t, text, save(t, "a.swf", text), "-")
	if c.Files[1].Name != "standard input" || c.Files[0].Jobs != c.Files[1].Jobs || c.Files[0].Jobs == 0 ||
		len(c.KS) != 7 || len(c.Missing)+len(c.Original.Missing) != 0 {
		t.Errorf("%+v, %d distances, missing %v %v", c.Files, len(c.KS), c.Missing, c.Original.Missing)
	}
	for name, d := range c.KS {
		if d != 0 {
			t.Errorf("%s: distance %v", name, d)
		}
	}
	if *c.AreaDifference != 0 || *c.WeeklyDistance != 0 {
		t.Errorf("area %v, week %v", *c.AreaDifference, *c.WeeklyDistance)
	}
}

// TestCompareTable proves that the table has both columns and their difference, which were worked out by hand. The
// first workload has 2 jobs, of 10 s on 2 and of 30 s on 4 processors: 140 processor seconds. In the second workload
// the second job takes 60 s: 260 processor seconds. Missing measures are named with the reason.
func TestCompareTable(t *testing.T) {
	const tail = " -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
	a := save(t, "a.swf", "1 0 -1 10 2"+tail+"2 60 -1 30 4"+tail)
	b := save(t, "b.swf", "1 0 -1 10 2"+tail+"2 60 -1 60 4"+tail+"3 60 -1 -1 4"+tail)
	r := succeed(t, "", "compare", a, b)
	table := strings.Join(strings.Fields(r.stdout), " ")
	for _, want := range []string{
		"original other difference Jobs 2 2 0 (+0.0 %)", "processor seconds 140 260 +120 (+85.7 %)",
		"for each job +85.7 %", "runtime 0.5", "procs 0 ", "Users - - -", "no job has a user (field 12)",
		"no job has a time limit (field 9)", "1 never ran",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if strings.Contains(table, "NaN") {
		t.Errorf("NaN in\n%s", r.stdout)
	}
}

// TestCompareKTH checks Zakay's figures of KTH as far as its log allows: stack depths of 35.25, 6.46 and 3.83 (Table
// VI) within 1.5 %, and a Hurst parameter of 0.666 (Table VII) within 0.07.
func TestCompareKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	kth := refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	c := compareJSON(t, inhabited(t), kth, "-")
	for name, want := range map[string]float64{"runtime": 35.25, "limit": 6.46, "procs": 3.83} {
		closeTo(t, name, c.Original.StackDepth[name].Depth, want, .015*want)
	}
	closeTo(t, "H", c.Original.Hurst.H, .666, .07)
}
