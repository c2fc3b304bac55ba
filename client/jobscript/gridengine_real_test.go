package jobscript_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/client/jobscript"
	"github.com/waitcast/waitcast/internal/polling"
	"github.com/waitcast/waitcast/internal/testports"
)

// realGridEngine is a Grid Engine on this machine. Its qsub accepts a script only while the queue master runs.
type realGridEngine struct{ dir string }

func startGridEngine(t *testing.T) *realGridEngine {
	t.Helper()
	if testing.Short() {
		t.Skip("real Grid Engine: not with -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("real Grid Engine: sge_execd must be run by root")
	}
	for _, name := range []string{"sge_qmaster", "sge_execd", "qsub"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("real Grid Engine: %s is missing (make test-deps)", name)
		}
	}
	g := &realGridEngine{dir: filepath.Join(scratch(t, "gridengine"), "c")}
	out, err := exec.Command("../../scripts/gridengine-cluster", "up", g.dir, "--port",
		strconv.Itoa(testports.Take(t, 2))).CombinedOutput()
	t.Cleanup(func() {
		if out, err := exec.Command("../../scripts/gridengine-cluster", "down", g.dir).CombinedOutput(); err != nil {
			t.Errorf("taking Grid Engine down: %v\n%s", err, out)
		}
	})
	if err != nil {
		t.Skipf("real Grid Engine: it does not start: %v\n%s", err, out)
	}
	return g
}

// submit submits the script with qsub as a held job. It returns the fields of the job in qstat, or the message with
// which qsub refuses the script.
func (g *realGridEngine) submit(t *testing.T, what submission) (map[string]string, string) {
	t.Helper()
	script := filepath.Join(g.dir, "job.sh")
	if err := os.WriteFile(script, []byte(what.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(g.dir, "run")
	out, err := exec.Command(run,
		append(append([]string{"qsub", "-h", "-terse"}, what.args...), script)...).CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n") // warnings come before the number
	id, _, _ := strings.Cut(lines[len(lines)-1], ".")
	if err != nil || strings.Trim(id, "0123456789") != "" {
		return nil, string(out)
	}
	var text []byte
	if !polling.Until(time.Minute, func() bool { // on a busy machine qmaster does not answer at times
		text, err = exec.Command(run, "qstat", "-j", id).Output()
		return err == nil
	}) {
		t.Fatalf("%v: qstat -j %s: %v", what, id, err)
	}
	shown := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			shown[name] = strings.TrimSpace(value)
		}
	}
	return shown, ""
}

// gridEngineSays returns the differences between a request and the fields in qstat.
func gridEngineSays(r jobscript.Request, shown map[string]string) []string {
	var wrong []string
	check := func(field, got, want string) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s: read %q, Grid Engine has %q", field, got, want))
		}
	}
	check("queues", strings.Join(r.Queues, ","), strings.ReplaceAll(shown["hard_queue_list"], "@*", ""))
	least, most := 1, 1
	if _, ranges, ok := strings.Cut(shown["parallel environment"], "range: "); ok {
		var ends []int
		for _, text := range strings.FieldsFunc(ranges, func(r rune) bool { return r == ',' || r == '-' }) {
			n, _ := strconv.Atoi(text)
			ends = append(ends, n)
		}
		least, most = slices.Min(ends), slices.Max(ends)
		if most == 9_999_999 { // Grid Engine's infinity
			most = jobscript.MaxCount
		}
	}
	check("slots", fmt.Sprintf("%d-%d", r.Procs, r.ProcsMax), fmt.Sprintf("%d-%d", least, most))
	limits := map[string]string{}
	for item := range strings.SplitSeq(shown["hard resource_list"], ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		limits[name] = value
	}
	limit, hasLimit := limits["h_rt"]
	if !hasLimit {
		limit = limits["s_rt"]
	}
	seconds, _ := strconv.Atoi(limit)
	check("limit", strconv.Itoa(int(r.TimeLimit.Seconds())), strconv.Itoa(seconds))
	check("unlimited", strconv.FormatBool(r.Unlimited), strconv.FormatBool(limit == "INFINITY"))
	tasks := 0
	if text, ok := shown["job-array tasks"]; ok {
		var from, to, step int
		if _, err := fmt.Sscanf(text, "%d-%d:%d", &from, &to, &step); err == nil {
			tasks = (to-from)/step + 1
		}
	}
	check("tasks", strconv.Itoa(r.Tasks), strconv.Itoa(tasks))
	if r.Tasks > 0 {
		atOnce, _ := strconv.Atoi(shown["maximum concurrency"])
		check("at once", strconv.Itoa(r.AtOnce), strconv.Itoa(atOnce))
	}
	if r.Name != "" {
		check("name", r.Name, shown["job_name"])
	}
	if r.Account != "" {
		check("account", r.Account, shown["account"])
	}
	_, waits := shown["jid_predecessor_list (req)"]
	check("dependent", strconv.FormatBool(r.Dependent), strconv.FormatBool(waits))
	return wrong
}

// TestRealGridEngineReadsTheSame proves that jobscript and a real qsub of Grid Engine interpret scripts in the same
// way. The scripts are every eighth of a list of special ones (all of them with WAITCAST_LONG=1), and random
// combinations of options.
func TestRealGridEngineReadsTheSame(t *testing.T) {
	g := startGridEngine(t)
	compare := func(what submission) {
		shown, refused := g.submit(t, what)
		r, err := what.parse(jobscript.GridEngine)
		switch {
		case refused != "" && err == nil:
			t.Errorf("%v: read, but qsub refuses it: %s", what, refused)
		case refused == "" && err != nil:
			t.Errorf("%v: %v, but qsub takes it", what, err)
		case err == nil:
			for _, wrong := range gridEngineSays(r, shown) {
				t.Errorf("%v: %s", what, wrong)
			}
		}
	}
	n, every := 5, 8 // qsub and qstat together take half a second
	if os.Getenv("WAITCAST_LONG") != "" {
		n, every = 200, 1
	}
	for i, what := range specialGridEngine() {
		if i%every == 0 {
			compare(what)
		}
	}
	random := rand.New(rand.NewPCG(9, 10))
	pool := []string{
		"-q long.q", "-q short.q,medium.q", "-pe smp 4", "-pe smp 2-8", "-l h_rt=100", "-l h_rt=1:0:0,s_rt=0:50:0",
		"-l s_rt=5", "-t 1-10", "-t 2-20:3", "-tc 2", "-N one",
		"-N two", "-cwd", "-j y", "-V", "-soft", "-hard", "-hold_jid 99999", "-l mem_free=1G", "-R y", "-A me", "-m n",
		"# -q short.q",
	}
	for range n {
		var what submission
		for range 1 + random.IntN(6) {
			o := pool[random.IntN(len(pool))]
			if random.IntN(4) == 0 && o[0] == '-' {
				what.args = append(what.args, strings.Fields(o)...)
			} else {
				what.lines = append(what.lines, [...]string{"#$ ", "#$", "#$\t"}[random.IntN(3)]+o)
			}
			if random.IntN(4) == 0 {
				what.lines = append(what.lines, "echo")
			}
		}
		compare(what)
	}
}

// specialGridEngine returns scripts, each with a special feature. It leaves out scripts that qsub accepts but jobscript
// refuses: -l h_rt=-5, a negative limit, and -t 1-, a range without an end. It also leaves out "-q 'a.q' -N x":
// jobscript accepts it, but qsub refuses it because it does not see the closing quote.
func specialGridEngine() []submission {
	var all []submission
	for _, lines := range [][]string{
		{}, {"#$ -pe smp 4 -q long.q", "echo", "#$ -l h_rt=1:00:00"}, {"#$ -q long.q", "#$ -q short.q"},
		{"#$ -l h_rt=10 -l s_rt=20", "#$ -l h_rt=30"},
		{" #$ -q long.q"}, {"##$ -q long.q", "# $ -q long.q", "#$-q long.q"}, {"#$ -q long.q # -N x", "#$ -N y"},
		{`#$ -q long.q \`, "#$ -N x"}, {"#$ -bogus"},
		{"#$ -N x foo"}, {"#$ -q short.q@*,long.q"}, {"#$ -pe smp 4,6-8"}, {"#$ -pe smp 4-"}, {"#$ -pe smp -4"},
		{"#$ -pe smp 0"}, {"#$ -pe smp 8-4"}, {"#$ -pe smp"},
		{"#$ -t 5"}, {"#$ -t 1-10:3 -tc 2"}, {"#$ -t 0-3"}, {"#$ -t 10-1"}, {"#$ -t 1-3,5"}, {"#$ -t 1-10%2"},
		{"#$ -l h_rt=::30"}, {"#$ -l h_rt=1::"}, {"#$ -l h_rt=90:00"},
		{"#$ -l h_rt=INFINITY"}, {"#$ -l h_rt=0x10"}, {"#$ -l h_rt=0x1B"}, {"#$ -l h_rt=0b11"},
		{"#$ -l h_rt=010"}, {"#$ -l h_rt=1:90:00"}, {"#$ -l h_rt=1h"},
		{"#$ -hold_jid 99999"},
		{"#$ -C #@", "#@ -N x"}, {"#$ -soft -q long.q -hard -l h_rt=100"}, {"#$ -soft -l h_rt=100", "#$ -l s_rt=5"},
		{"#$ -N x\r", "#$ -pe smp 2\r"}, {"#$ -N x", "#$ -N y"},
		{"#$ -pe smp 2", "#$ -pe smp 3"}, {"#$", "#$ -V -cwd -j y -S /bin/sh -R y"}, {"#$ -N 'a_b'"},
		{"#$ -q \"long.q\""}, {"#$ -S /bin/sh -N \"a#b\""}, {"#$ -N a'b'c"}, {"#$ -t 1-4 -tc 0"}, {"#$ -tc 5"},
		{"#$ -t -5"}, {"#$ -t 1-10:0"}, {"#$ -N a#b"}, {"#$ -N \"a"}, {"#$ -binding linear:1 -N x"},
		{"#$ -binding set linear:1 -N x"}, {"#$ -l h_rt=5,"},
		{"#$ -l ,h_rt=5"}, {"#$ -q ,long.q"}, {"#$ -h -N x"}, {"#$ -pe smp 2,4-"}, {"#$ -l h_rt=1:2:3:4"},
		{"#$ -l h_rt="},
	} {
		all = append(all, submission{lines: lines})
	}
	return append(all,
		submission{lines: []string{"#$ -pe smp 4"}, args: []string{"-pe", "smp", "2"}},
		submission{lines: []string{"#$ -q long.q -l h_rt=10,s_rt=7"}, args: []string{"-q", "short.q", "-l", "h_rt=20"}},
		submission{lines: []string{"#$ -l h_rt=10 -t 1-3", "#$ -t 1-5"}, args: []string{"-t", "1-2"}},
		submission{lines: []string{"#@ -N x", "#$ -N y"}, args: []string{"-C", "#@"}},
		submission{lines: []string{"#$ -q long.q"}, args: []string{"-soft", "-q", "short.q"}},
		submission{lines: []string{"#$ -N y"}, args: []string{"-C", ""}},
	)
}
