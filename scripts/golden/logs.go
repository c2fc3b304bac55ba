package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// job is one job of a workload that is written as a log. Instants are in seconds since 1970. The start of a job that
// was cancelled while it waited is 0.
type job struct {
	id, procs          int
	user, name, queue  string
	submit, start, end int64
	limit              int64
}

// line is one record of a log and its instant.
type line struct {
	at   int64
	kind byte // Q, S, E or D
	text string
}

const (
	ownProcs = 64
	ownStart = 1740960000 // 2025-03-03T00:00:00Z, a Monday
	ownDays  = 10
)

// ownJobs draws the only workload that is not read from a file. Sizes are powers of two, runtimes are log-normal, days
// are busier than nights, and a few jobs are cancelled while they wait (see schedule). The jobs of all queues together
// start in the order of submissions, but a job that fits overtakes jobs that do not. The code uses nothing of the
// module, so that the input stays the same when the module changes.
func ownJobs() []job {
	rng := rand.New(rand.NewPCG(16, 1))
	var jobs []job
	at := float64(ownStart)
	for {
		at += rng.ExpFloat64() * 330 * (1.6 + math.Sin(2*math.Pi*at/86400))
		if at > ownStart+ownDays*86400 {
			break
		}
		user := rng.IntN(13)
		runtime := int64(math.Exp(6.4+0.15*float64(user)+1.3*rng.NormFloat64())) + 1
		limit := int64(900)
		for limit < 2*runtime && limit < 2*86400 {
			limit *= 2
		}
		j := job{
			id: len(jobs) + 1, procs: 1 << rng.IntN(6), user: fmt.Sprintf("user%02d", user),
			name:   fmt.Sprintf("case%d", user*3+rng.IntN(3)),
			submit: int64(at), limit: limit, end: min(runtime, limit),
		}
		j.queue = queueOf(&j)
		jobs = append(jobs, j)
	}
	schedule(jobs, func() bool { return rng.IntN(40) == 0 })
	return jobs
}

func queueOf(j *job) string {
	switch {
	case j.procs > 16:
		return "wide"
	case j.limit > 3600:
		return "long"
	}
	return "short"
}

// schedule sets the start and the end of each job. Before the call, end is the job's runtime. When a job arrives and
// more than three wait, leaves decides whether the last waiting job is cancelled without a start.
func schedule(jobs []job, leaves func() bool) {
	free := ownProcs
	var waiting, running []*job
	begin := func(now int64) {
		waiting = slices.DeleteFunc(waiting, func(j *job) bool {
			if j.procs > free {
				return false
			}
			free -= j.procs
			j.start, j.end = now, now+j.end
			running = append(running, j)
			return true
		})
	}
	finish := func(until int64) {
		for len(running) > 0 {
			slices.SortFunc(running, func(a, b *job) int { return cmp.Or(cmp.Compare(a.end, b.end), a.id-b.id) })
			j := running[0]
			if j.end > until {
				return
			}
			running, free = running[1:], free+j.procs
			begin(j.end)
		}
	}
	for i := range jobs {
		j := &jobs[i]
		finish(j.submit)
		if len(waiting) > 3 && leaves() {
			gone := waiting[len(waiting)-1]
			waiting = waiting[:len(waiting)-1]
			gone.start, gone.end = 0, j.submit-1
			gone.end = max(gone.end, gone.submit)
		}
		waiting = append(waiting, j)
		begin(j.submit)
	}
	finish(math.MaxInt64)
}

// traceJobs reads the first n jobs that ran from a compressed trace in the Standard Workload Format. Queues are derived
// from the time limits.
func traceJobs(path string, n int) ([]job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var epoch int64
	var jobs []job
	for lines := bufio.NewScanner(unpacked); len(jobs) < n && lines.Scan(); {
		text := lines.Text()
		if at, ok := strings.CutPrefix(text, "; UnixStartTime:"); ok {
			if epoch, err = strconv.ParseInt(strings.TrimSpace(at), 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		if strings.HasPrefix(text, ";") {
			continue
		}
		var f [18]int64
		for i, field := range strings.Fields(text) {
			value, err := strconv.ParseFloat(field, 64)
			if err != nil || i >= len(f) {
				return nil, fmt.Errorf("%s: %q is no record", path, text)
			}
			f[i] = int64(value)
		}
		if f[3] < 0 || f[4] < 1 {
			continue
		}
		j := job{
			id: len(jobs) + 1, procs: int(f[4]), user: fmt.Sprintf("u%d", f[11]), name: fmt.Sprintf("n%d", f[13]),
			limit: max(f[8], 0), submit: epoch + f[1], start: epoch + f[1] + max(f[2], 0),
		}
		j.end, j.queue = j.start+f[3], queueOf(&j)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// accounting writes jobs as the accounting log of OpenPBS, in order of the records' instants. At one instant ends come
// first, then cancellations, then submissions, then starts.
func accounting(jobs []job) []line {
	var lines []line
	add := func(j *job, at int64, kind byte, format string, args ...any) {
		head := time.Unix(at, 0).UTC().Format("01/02/2006 15:04:05")
		head = fmt.Sprintf("%s;%c;%d.head;", head, kind, j.id)
		lines = append(lines, line{at, kind, head + fmt.Sprintf(format, args...) + "\n"})
	}
	for i := range jobs {
		j := &jobs[i]
		who := fmt.Sprintf("user=%s group=users account=\"proj%d\" jobname=%s queue=%s ctime=%d qtime=%d etime=%d",
			j.user, len(j.user)%3, j.name, j.queue, j.submit, j.submit, j.submit)
		wants := fmt.Sprintf("Resource_List.ncpus=%d Resource_List.walltime=%s", j.procs, clock(j.limit))
		add(j, j.submit, 'Q', "%s %s", who, wants)
		if j.start == 0 {
			add(j, j.end, 'D', "requestor=%s@head", j.user)
			continue
		}
		ran := fmt.Sprintf("%s start=%d exec_host=n1/0*%d %s", who, j.start, j.procs, wants)
		add(j, j.start, 'S', "%s", ran)
		add(j, j.end, 'E', "%s session=0 end=%d Exit_status=0 resources_used.walltime=%s run_count=1",
			ran, j.end, clock(j.end-j.start))
	}
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at),
			cmp.Compare(strings.IndexByte("EDQS", a.kind), strings.IndexByte("EDQS", b.kind)))
	})
	return lines
}

func clock(seconds int64) string {
	return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

// workloadFile writes jobs in the Standard Workload Format.
func workloadFile(jobs []job, w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "; Version: 2.2\n; UnixStartTime: %d\n; TimeZoneString: UTC\n; MaxProcs: %d\n; MaxNodes: %d\n",
		ownStart, ownProcs, ownProcs)
	queues := []string{"short", "long", "wide"}
	for i := range jobs {
		j := &jobs[i]
		wait, runtime, status := j.start-j.submit, j.end-j.start, 1
		if j.start == 0 {
			wait, runtime, status = j.end-j.submit, -1, 5
		}
		user, _ := strconv.Atoi(strings.TrimPrefix(j.user, "user"))
		fmt.Fprintf(out, "%d %d %d %d %d -1 -1 %d %d -1 %d %d 1 %d %d 1 -1 -1\n",
			j.id, j.submit-ownStart, wait, runtime, j.procs, j.procs, j.limit, status, user+1, i%30+1,
			slices.Index(queues, j.queue)+1)
	}
	return out.Flush()
}

// cut returns how many lines to read: those up to the latest instant, not after until, at which jobs only end. After
// such an instant no forecast is pending, and readers need no copy of the engine with an open instant.
func cut(lines []line, until int64) int {
	n := 0
	for i := 0; i < len(lines) && lines[i].at <= until; {
		next, quiet := i, true
		for ; next < len(lines) && lines[next].at == lines[i].at; next++ {
			quiet = quiet && lines[next].kind == 'E'
		}
		if i = next; quiet {
			n = next
		}
	}
	return n
}

func text(lines []line) string {
	var out strings.Builder
	for i := range lines {
		out.WriteString(lines[i].text)
	}
	return out.String()
}
