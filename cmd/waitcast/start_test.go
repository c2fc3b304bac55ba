package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
)

// longYear is a year of whole weeks, in seconds: a log shifted by it keeps its weekdays.
const longYear = 52 * offline.WeekSeconds

// madeLog returns a log of 26 weeks in which 30 users submit sessions of jobs on working days. Its submissions are
// shift seconds later than the UnixStartTime in its header, which is a Monday.
func madeLog(shift int64) string {
	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	fmt.Fprintf(&text, "; Version: 2.2\n; UnixStartTime: %d\n; TimeZoneString: UTC\n; MaxProcs: 64\n; Queue: 1 batch\n",
		offline.FirstMonday)
	id := 0
	for day := range 26 * 7 {
		if day%7 > 4 {
			continue
		}
		at := int64(day)*86400 + 8*3600
		for range 20 + rng.IntN(10) {
			at += int64(30 + rng.IntN(1500))
			user := 1 + rng.IntN(30)
			runtime := int64(20 + math.Exp(5+1.5*rng.NormFloat64()))
			wait := int64(rng.IntN(4000))
			procs := 1 << rng.IntN(6)
			id++
			fmt.Fprintf(&text, "%d %d %d %d %d -1 -1 %d %d -1 1 %d 1 %d 1 -1 -1 -1\n", id, at+shift, wait, runtime,
				procs, procs, 2*runtime, user, 1+user%3)
		}
	}
	return text.String()
}

// jobLine matches the number and the submission of a job in a workload file.
var jobLine = regexp.MustCompile(`(?m)^(\d+) (\d+) `)

// unshifted subtracts a shift from the submissions of a workload file.
func unshifted(text string, shift int64) string {
	return jobLine.ReplaceAllStringFunc(text, func(line string) string {
		fields := strings.Fields(line)
		submit, _ := strconv.ParseInt(fields[1], 10, 64)
		return fmt.Sprintf("%s %d ", fields[0], submit-shift)
	})
}

// TestALogMayBeginAYearAfterItsHeader runs every command that reads logs on two logs: one that begins at the start in
// its header, and the same one with all submissions a year later. The outputs must differ only in the submissions.
func TestALogMayBeginAYearAfterItsHeader(t *testing.T) {
	var folders [2]string
	for i, shift := range []int64{0, longYear} {
		folders[i] = t.TempDir()
		if err := os.WriteFile(filepath.Join(folders[i], "log.swf"), []byte(madeLog(shift)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"fit log.swf --seed 1 --json",
		"fit log.swf --clean --seed 1 --model markov --json",
		"generate --from log.swf --jobs 500 --seed 1",
		"generate --from log.swf --model markov --arrivals lublin --jobs 500 --seed 1",
		"generate --from log.swf --model markov --arrivals recorded --jobs 500 --seed 1",
		"generate --from log.swf --model uniformlog --arrivals recorded --jobs 500 --seed 1",
		"compare log.swf log.swf --json",
		"shake log.swf --seed 1 --relative 0.1",
		"shake log.swf --seed 1 --level user --fraction 0.5",
		"resample log.swf --seed 1",
		"resample log.swf --seed 1 --length 8w --load 1.5 --rare 0",
		"resample log.swf --seed 1 --length 8w --feedback easy --patience 4h",
		"simulate log.swf --policy easy --load 0.5 --json",
		"simulate log.swf --policy conservative --warm-up 0.2 --json",
		"simulate log.swf --policy priority --json",
		"study log.swf --load 0.5 --shakes 2 --seeds 1 --workers 1 --out OUT --json",
		"backtest log.swf --json",
		"backtest log.swf --mode head --json",
	} {
		t.Run(strings.Fields(command)[0], func(t *testing.T) {
			if strings.HasPrefix(command, "backtest log.swf --json") && os.Getenv("WAITCAST_LONG") == "" {
				t.Skip("WAITCAST_LONG is not set: two replays take half a minute")
			}
			var out [2]string
			for i, folder := range folders {
				t.Chdir(folder)
				csv := filepath.Join(t.TempDir(), "out.csv")
				r := runWith("", strings.Fields(strings.Replace(command, "OUT", csv, 1))...)
				if r.code != exitDone {
					t.Fatalf("%s: exit %d: %s", command, r.code, r.stderr)
				}
				made, _ := os.ReadFile(csv) //nolint:gosec // most commands make none
				text := unshifted(r.stdout+"\n"+string(made), []int64{0, longYear}[i])
				if strings.Contains(command, "--arrivals lublin") ||
					command == "generate --from log.swf --jobs 500 --seed 1" {
					text = r.stdout // the generated workload begins with its own week, whatever the log
				}
				out[i] = plainTimes(text + "\n" + r.stderr)
			}
			if out[0] != out[1] {
				t.Errorf("%s: %s", command, firstDifference(out[0], out[1]))
			}
		})
	}
}

// plainTimes removes durations of computations and instants on the log's clock, and truncates numbers to nine digits.
func plainTimes(text string) string {
	text = regexp.MustCompile(`"(first|last)":\[[^\]]*\]|"(from|until|last_event)_seconds":[0-9.e+]+|"took_seconds": `+
		`[0-9.]+|(?m:^[0-9a-f]{16},)|(?m:^.* jobs a second$)`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\d+\.\d+`).ReplaceAllStringFunc(text, func(number string) string {
		x, _ := strconv.ParseFloat(number, 64)
		return strconv.FormatFloat(x, 'g', 9, 64)
	})
	text = regexp.MustCompile(`"seconds":[0-9.e+-]+`).ReplaceAllString(text, `"seconds":0`)
	return regexp.MustCompile(`/\S+/out\.csv`).ReplaceAllString(text, "out.csv")
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] == y[i] {
			continue
		}
		at := 0
		for at < min(len(x[i]), len(y[i])) && x[i][at] == y[i][at] {
			at++
		}
		from := max(0, at-80)
		return fmt.Sprintf("line %d:\n%.200s\n%.200s", i+1, x[i][from:], y[i][from:])
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}

// TestStartOfALog proves that --start sets the beginning of the log. If it is set to the instant in the header, the
// year without jobs counts. A start after the first submission is refused.
func TestStartOfALog(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log.swf", []byte(madeLog(longYear)), 0o600); err != nil {
		t.Fatal(err)
	}
	last := func(from string) int64 {
		r := runWith("", "resample", "log.swf", "--seed", "1", "--start", from)
		if r.code != exitDone {
			t.Fatalf("--start %s: exit %d: %s", from, r.code, r.stderr)
		}
		lines := jobLine.FindAllStringSubmatch(r.stdout, -1)
		at, _ := strconv.ParseInt(lines[len(lines)-1][2], 10, 64)
		return at - func() int64 { n, _ := strconv.ParseInt(lines[0][2], 10, 64); return n }()
	}
	const week = offline.WeekSeconds
	if n := last("first"); n < 24*week || n > 27*week {
		t.Errorf("from the first submission %d weeks", n/week)
	}
	if n := last("header"); n < 70*week {
		t.Errorf("from the header %d weeks, want 78 with the year without jobs", n/week)
	}
	if n := last("1970-12-28"); n < 24*week || n > 29*week { // the week before that of the first job
		t.Errorf("from a week before %d weeks", n/week)
	}
	for _, from := range []string{"1971-02-01", "yesterday", ""} {
		if r := runWith("", "resample", "log.swf", "--seed", "1", "--start", from); r.code != exitUsage ||
			!strings.Contains(r.stderr, "--start is") {
			t.Errorf("--start %q: exit %d: %s", from, r.code, r.stderr)
		}
	}
}

// TestCompareHasOneRuleOfSessions proves that a log, and a copy of it without waits, have the same sessions.
func TestCompareHasOneRuleOfSessions(t *testing.T) {
	t.Chdir(t.TempDir())
	text := madeLog(0)
	bare := regexp.MustCompile(`(?m)^(\d+ \d+) \d+ `).ReplaceAllString(text, "$1 -1 ")
	for name, content := range map[string]string{"log.swf": text, "bare.swf": bare} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, files := range [][2]string{{"log.swf", "bare.swf"}, {"bare.swf", "log.swf"}} {
		r := runWith("", "compare", files[0], files[1], "--json")
		var got offline.Compared
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
			t.Fatal(err, r.stderr)
		}
		for _, name := range []string{"user_sessions", "user_active"} {
			if d := got.KS[name]; d != 0 || got.WaitsCount {
				t.Errorf("%v: distance of %s %v, want 0; waits count %v", files, name, d, got.WaitsCount)
			}
		}
		if r := runWith("", "compare", files[0], files[1]); !strings.Contains(r.stdout, "not all jobs have a wait") {
			t.Errorf("the table does not say by which rule:\n%s", r.stdout)
		}
	}
	if r := runWith("", "compare", "log.swf", "log.swf", "--json"); !strings.Contains(r.stdout, `"waits_count":true`) {
		t.Error("two logs with waits are not compared by them")
	}
}

// TestOversizeJobsAreLeftOut proves that a log can be fitted even if a few jobs are larger than the machine.
func TestOversizeJobsAreLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := strings.Split(strings.TrimSpace(madeLog(0)), "\n")
	for i := range 8 {
		at := len(lines) - 1 - 100*i
		fields := strings.Fields(lines[at])
		fields[4], fields[7] = "128", "128"
		lines[at] = strings.Join(fields, " ")
	}
	if err := os.WriteFile("log.swf", []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"fit log.swf --model lublin --seed 1 --json", "generate --from log.swf --jobs 300 --seed 1",
	} {
		r := runWith("", strings.Fields(command)...)
		if r.code != exitDone ||
			!strings.Contains(r.stderr, "left out 8 jobs of more processors than the machine has, which are 64") {
			t.Errorf("%s: exit %d: %s", command, r.code, r.stderr)
		}
		for _, m := range regexp.MustCompile(`(?m)^\d+ \d+ -?\d+ \d+ (\d+) `).FindAllStringSubmatch(r.stdout, -1) {
			if n, _ := strconv.Atoi(m[1]); n > 64 {
				t.Fatalf("%s drew a job of %d processors", command, n)
			}
		}
	}
}
