package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
)

// TestResampleCopiesRecords proves that each job is a copy of a recorded one at the same time of the week, with its own
// number, user and submission.
func TestResampleCopiesRecords(t *testing.T) {
	text := inhabited(t)
	header, original := read(t, text)
	type key struct{ moment, runtime, procs, limit, queue int64 }
	of := func(r *swf.Record) key {
		return key{r.Submit % offline.WeekSeconds, r.Runtime, r.Allocated, r.TimeLimit, r.Queue}
	}
	known := map[key]bool{}
	for i := range original {
		known[of(&original[i])] = true
	}
	r := succeed(t, text, "resample", "-", "--length", "30w", "--seed", "5", "--stationary")
	h, jobs := read(t, r.stdout)
	if h.MaxProcs != 64 || h.Queues[1] != "short" || len(h.Lines) != 2 || h.Lines[1] != header.Lines[0] ||
		!strings.Contains(h.Lines[0], "length 210d") {
		t.Errorf("header %+v", h)
	}
	users := map[int64]bool{}
	for i := range jobs {
		j := &jobs[i]
		users[j.User] = true
		if !known[of(j)] || j.ID != int64(i+1) || j.Wait != swf.Unknown || i > 0 && j.Submit < jobs[i-1].Submit ||
			j.Submit >= 30*offline.WeekSeconds {
			t.Fatalf("job %d: %+v", i, *j)
		}
	}
	if rate := float64(len(jobs)) / 30 / (float64(len(original)) / 20); math.Abs(rate-1) > .2 || len(users) < 20 {
		t.Errorf("%v times as many jobs a week, %d users", rate, len(users))
	}
	if !strings.Contains(r.stderr, "12 long-term users") || !strings.Contains(r.stderr, "offered load 0.") {
		t.Errorf("told: %s", r.stderr)
	}
}

// TestResampleLoad proves that twice as many users submit about twice as many jobs, and that a load above the machine's
// capacity causes a warning.
func TestResampleLoad(t *testing.T) {
	text := inhabited(t)
	_, once := read(t, succeed(t, text, "resample", "-", "--seed", "1").stdout)
	r := succeed(t, text, "resample", "-", "--seed", "1", "--load", "2")
	_, twice := read(t, r.stdout)
	if rate := float64(len(twice)) / float64(len(once)); math.Abs(rate-2) > .3 ||
		strings.Contains(r.stderr, "warning") {
		t.Errorf("%v times as many jobs; %s", rate, r.stderr)
	}
	if r := succeed(t, text, "resample", "-", "--seed", "1", "--load", "20"); !strings.Contains(r.stderr,
		"more than the machine can do") {
		t.Errorf("no warning: %s", r.stderr)
	}
}

// TestResampleMixes proves that the jobs of an additional trace are added, cut to the first trace's machine, in the
// queues with the same names. Numbers that would have another meaning in the first trace are left out.
func TestResampleMixes(t *testing.T) {
	text := inhabited(t)
	other := strings.NewReplacer("Queue: 1 short", "Queue: 1 long", "Queue: 2 long", "Queue: 2 night", "MaxProcs: 64",
		"MaxProcs: 512").Replace(text)
	small := strings.Replace(text, "MaxProcs: 64", "MaxProcs: 8", 1)
	h, jobs := read(t,
		succeed(t, "", "resample", save(t, "a.swf", small), save(t, "b.swf", other), "--seed", "1").stdout)
	if h.MaxProcs != 8 || h.Queues[1] != "short" || h.Queues[2] != "long" || h.Queues[3] != "night" {
		t.Errorf("header %+v", h)
	}
	mixed := map[int64]int{}
	for _, j := range jobs {
		if j.Group == 3 {
			continue // a queue of the first trace, whose own sizes do not change
		}
		mixed[j.Queue]++
		if j.Procs() > 8 || j.Partition != swf.Unknown || j.Executable != swf.Unknown ||
			j.Allocated != j.RequestedProcs {
			t.Fatalf("%+v", j)
		}
	}
	if mixed[1] != 0 || mixed[2] == 0 || mixed[3] == 0 || len(mixed) != 2 {
		t.Errorf("queues of the mixed-in jobs: %v", mixed)
	}
}

// TestResampleRare proves that flurries are removed from their users and inserted as often as requested; with 0 there
// are none.
func TestResampleRare(t *testing.T) {
	var text strings.Builder
	text.WriteString(inhabited(t))
	for range 600 {
		text.WriteString("900001 5000000 0 77 1 -1 -1 1 100 -1 1 5 3 4 1 1 -1 -1\n")
	}
	flurries := func(args ...string) float64 {
		n := 0
		_, jobs := read(t,
			succeed(t, text.String(),
				append([]string{"resample", "-", "--seed", "1", "--length", "100w"}, args...)...).stdout)
		for _, j := range jobs {
			if j.Runtime == 77 && j.TimeLimit == 100 {
				n++
			}
		}
		return float64(n) / 600
	}
	if n := flurries(); n < 1 {
		t.Errorf("%v flurries as recorded", n)
	}
	if n := flurries("--rare", "0"); n != 0 {
		t.Errorf("%v flurries at 0 a week", n)
	}
	if n := flurries("--rare", "0.5"); math.Abs(n-50) > 25 {
		t.Errorf("%v flurries in 100 weeks, want about 50", n)
	}
}

// TestResampleFavor proves that favored users are drawn more often, so that the jobs become more like theirs, and that
// a class of weight 0 is left out. Factors apply to the numbers of long-term and of temporary users.
func TestResampleFavor(t *testing.T) {
	var text strings.Builder
	text.WriteString("; MaxProcs: 64\n; UnixStartTime: 0\n")
	for week := range 30 { // users 0 to 9 stay for long, the odd ones with wide jobs; 100 to 129 come for a week each
		for user := range 10 {
			procs := 1 + 31*(user%2)
			fmt.Fprintf(&text, "1 %d 0 %d %d -1 -1 1 1000 -1 1 %d 3 4 1 1 -1 -1\n", week*offline.WeekSeconds+1000*user,
				100+user, procs, user)
		}
		fmt.Fprintf(&text, "1 %d 0 77 2 -1 -1 1 1000 -1 1 %d 3 4 1 1 -1 -1\n", week*offline.WeekSeconds+50000, 100+week)
	}
	of := func(args ...string) (wide, temporary float64) {
		h, jobs := read(t,
			succeed(t, text.String(),
				append([]string{"resample", "-", "--seed", "3", "--length", "100w", "--stationary"},
					args...)...).stdout)
		if told := strings.Contains(h.Lines[0], "favored"); told != (len(args) > 0) {
			t.Errorf("%v: header %q", args, h.Lines[0])
		}
		n := 0.
		for _, j := range jobs {
			switch j.Allocated {
			case 32:
				wide++
				n++
			case 1:
				n++
			default:
				temporary++
			}
		}
		return wide / max(1, n), temporary / 100
	}
	wide, temporary := of()
	if math.Abs(wide-.5) > .3 || math.Abs(temporary-1) > .4 {
		t.Errorf("unbiased: %v of the long-term users' jobs are wide, %v temporary users a week", wide, temporary)
	}
	if favored, _ := of("--favor", "wide=50"); favored < .8 || favored <= wide {
		t.Errorf("%v wide jobs where wide users are favored, %v otherwise", favored, wide)
	}
	if none, _ := of("--favor", "wide=0"); none != 0 {
		t.Errorf("%v wide jobs where wide users are left out", none)
	}
	if _, twice := of("--temporary", "3"); twice < 2*temporary {
		t.Errorf("%v temporary users a week, %v with the factor 3", temporary, twice)
	}
	if _, none := of("--temporary", "0"); none != 0 {
		t.Errorf("%v temporary users a week with the factor 0", none)
	}
}

// TestResampleFeedback proves that copied users who wait on an overloaded machine submit no more jobs than the same
// copies without waits. The waits are those of the simulation.
func TestResampleFeedback(t *testing.T) {
	text := strings.Replace(inhabited(t), "MaxProcs: 64", "MaxProcs: 16", 1)
	args := []string{"resample", "-", "--seed", "2", "--load", "4"}
	_, open := read(t, succeed(t, text, args...).stdout)
	r := succeed(t, text, append(args, "--feedback", "easy")...)
	h, closed := read(t, r.stdout)
	if len(closed) == 0 || len(closed) > len(open) || !strings.Contains(h.Lines[0], "feedback of easy") ||
		!strings.Contains(r.stderr, "easy on 16 processors: mean wait ") {
		t.Errorf("%d jobs, %d without feedback; header %q; %s", len(closed), len(open), h.Lines[0], r.stderr)
	}
	waited := 0
	for i, j := range closed {
		if j.Wait < 0 || i > 0 && j.Submit < closed[i-1].Submit {
			t.Fatalf("job %d: %+v", i, j)
		}
		if j.Wait > 0 {
			waited++
		}
	}
	if waited < len(closed)/4 {
		t.Errorf("%d of %d jobs wait", waited, len(closed))
	}
	if again := succeed(t, text, append(args, "--feedback", "easy")...); again.stdout != r.stdout {
		t.Error("the same seed gives another workload")
	}
	wide := succeed(t, text, append(args, "--feedback", "easy", "--procs", "4096")...)
	if _, jobs := read(t, wide.stdout); len(jobs) < len(closed) {
		t.Errorf("%d jobs on a machine on which nobody waits, %d on one where all do", len(jobs), len(closed))
	}
}

func TestResampleRefuses(t *testing.T) {
	for problem, args := range map[string][]string{
		"want CLASS=WEIGHT": {"--favor", "rich=2"}, "--favor is \"wide\"": {"--favor", "wide"},
		"--long-term is -1":               {"--long-term", "-1"},
		"--patience goes with --feedback": {"--patience", "4h"}, "policy: \"lottery\"": {"--feedback", "lottery"},
		"--procs is -1": {"--feedback", "easy", "--procs", "-1"},
	} {
		if r := runOn(inhabited(t), append([]string{"resample", "-"}, args...)...); r.code != exitUsage ||
			!strings.Contains(r.stderr, problem) || r.stdout != "" {
			t.Errorf("%v: code %d, %s", args, r.code, r.stderr)
		}
	}
	if r := runOn(strings.Replace(inhabited(t), "MaxProcs: 64", "Note: none", 1), "resample", "-", "--feedback",
		"easy"); r.code != exitFailed || !strings.Contains(r.stderr, "say with --procs") {
		t.Errorf("code %d, %s", r.code, r.stderr)
	}
}

// TestResampleOtherLoad proves that a workload whose load is far from the requested one causes a warning. One user has
// nearly all the work, within a few weeks. In a short workload this user is missing, or occurs more often than in the
// log.
func TestResampleOtherLoad(t *testing.T) {
	var text strings.Builder
	text.WriteString("; MaxProcs: 64\n")
	for i := range 400 {
		user, procs, runtime := i%12, 1, 60
		if i >= 150 && i < 180 {
			user, procs, runtime = 12, 64, 86400
		}
		fmt.Fprintf(&text, "%d %d -1 %d %d -1 -1 -1 -1 -1 1 %d -1 -1 -1 -1 -1 -1\n", i+1, 150_000*i, runtime, procs,
			user+1)
	}
	warned := 0
	for seed := range 8 {
		r := succeed(t, text.String(), "resample", "-", "--length", "3w", "--seed", strconv.Itoa(seed))
		var load, want float64
		at := strings.Index(r.stderr, "offered load")
		if _, err := fmt.Sscanf(r.stderr[at:], "offered load %g; standard input has %g,", &load, &want); err != nil {
			t.Fatal(err, r.stderr)
		}
		off := math.Abs(load/want-1) > .15
		if off {
			warned++
		}
		if strings.Contains(r.stderr, "% off: users come with all their jobs") != off {
			t.Errorf("seed %d: load %v of %v: told %s", seed, load, want, r.stderr)
		}
	}
	if warned == 0 {
		t.Error("no load is off: this log shows nothing")
	}
}

// TestResampleKTH proves that KTH x 1.3 reaches the load within 10 % for 8 seeds, by the figure that the command prints
// on standard error.
func TestResampleKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	kth := refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz")
	_, original := read(t, succeed(t, "", "shake", kth, "--seed", "1", "--attribute", "estimate").stdout)
	sum := func(jobs []swf.Record) (work float64) {
		for _, j := range jobs {
			work += float64(max(0, j.Procs()) * max(0, j.Runtime))
		}
		return work
	}
	mean := 0.
	for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		_, jobs := read(t, succeed(t, "", "resample", kth, "--load", "1.3", "--stationary", "--seed", seed).stdout)
		mean += sum(jobs) / 8
	}
	closeTo(t, "work of the resampled trace as a share", mean/sum(original), 1.3, .13)
}
