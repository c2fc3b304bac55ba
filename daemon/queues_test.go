package daemon_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
)

// crowd describes a log with many queues and users, for tests of costs that grow with their number.
type crowd struct {
	jobs, queues, users int
	seed                uint64
	queue               func(number int) string // returns the name of a queue; nil means q0, q1, ...
}

// text returns the PBS accounting log: every job is queued, started and ended.
func (c crowd) text() string {
	rng := rand.New(rand.NewPCG(c.seed, 6))
	queue := c.queue
	if queue == nil {
		queue = func(number int) string { return fmt.Sprint("q", number) }
	}
	var records []record
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for id := range c.jobs {
		at = at.Add(time.Duration(1+rng.IntN(240)) * time.Second)
		limit := [...]time.Duration{10 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour}[rng.IntN(4)]
		start := at.Add(time.Duration(rng.IntN(1200)) * time.Second)
		rec := pbs.Record{
			ID: fmt.Sprintf("%d.server", id+1), User: fmt.Sprint("u", rng.IntN(c.users)), Group: "users", Name: "job",
			Queue:   queue(rng.IntN(c.queues)),
			Created: at, Queued: at, Eligible: at, Start: start, End: start.Add(30*time.Second +
				time.Duration(rng.Int64N(int64(limit)))).Truncate(time.Second),
			Procs: 1 << rng.IntN(3), TimeLimit: limit,
		}
		rec.ExecHost = fmt.Sprintf("n1/0*%d", rec.Procs)
		records = append(records, record{rec.Queued, string(pbs.AppendQueued(nil, rec))},
			record{rec.Start, string(pbs.AppendStarted(nil, rec))},
			record{rec.End, string(pbs.AppendEnded(nil, rec))})
	}
	slices.SortStableFunc(records, func(a, b record) int { return cmp.Compare(a.at.Unix(), b.at.Unix()) })
	var out bytes.Buffer
	for _, r := range records {
		out.WriteString(r.text)
	}
	return out.String()
}

// These are bounds for a daemon that follows a log of 10,000 queues and 30,000 users, in 30,000 jobs.
const (
	crowdMemory  = 256 << 20 // maximum memory of the process
	crowdMetrics = 5 << 20   // maximum size of GET /metrics
)

// follows starts a daemon on a crowd's log and waits until it has read it.
func (c crowd) follows(t testing.TB) *running {
	t.Helper()
	s := newSite(t, "accounting", "")
	s.add(t, c.text())
	d := s.start(t)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for { // a long log takes longer than patience: only the time limit of go test ends the loop
		if status, _ := d.get("/readyz"); status == http.StatusOK {
			return d
		}
		<-tick.C
	}
}

// held returns the bytes of the live objects of this process.
func held() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyQueuesAreBounded proves that the memory of a daemon and the length of its metrics are bounded, however many
// queues there are. With WAITCAST_LONG the log is the one of the bounds above.
func TestManyQueuesAreBounded(t *testing.T) {
	notUnderRace(t) // TestReload and TestLoadForecast have a daemon that reads and is scraped
	c := crowd{jobs: 700, queues: 5000, users: 700, seed: 6}
	if os.Getenv("WAITCAST_LONG") != "" {
		c = crowd{jobs: 30_000, queues: 10_000, users: 30_000, seed: 6}
	}
	before := held()
	d := c.follows(t)
	_, body := d.get("/metrics")
	if len(body) > crowdMetrics {
		t.Errorf("/metrics is %d bytes long, want at most %d", len(body), crowdMetrics)
	}
	for _, series := range []string{`waitcast_queues{cluster="main"}`, `waitcast_queues_folded_total{cluster="main"}`} {
		if !strings.Contains(body, "\n"+series+" ") {
			t.Errorf("/metrics has no %s", series)
		}
	}
	if n := strings.Count(body, "\nwaitcast_queue_jobs{"); n != 3*513 { // 512 queues and other, by state
		t.Errorf("/metrics tells the jobs of %d queues, want 513", n/3)
	}
	heap := held() - before
	t.Logf("%d jobs in %d queues: %d MiB live, %d KiB of metrics", c.jobs, c.queues, heap>>20, len(body)>>10)
	if heap > crowdMemory*6/10 { // the collector runs when the heap is 1.5 times the live data
		t.Errorf("%d MiB live, want at most %d", heap>>20, crowdMemory*6/10>>20)
	}
	if status, page := d.get("/v1/accuracy?since=3650d"); status != http.StatusOK || len(page) > 1<<20 {
		t.Errorf("a page of /v1/accuracy: status %d, %d bytes", status, len(page))
	}
	d.wantLog("models.max_queues")
	if n := d.logs.FilterMessageSnippet("models.max_queues").Len(); n != 1 {
		t.Errorf("%d log messages about the limit of queues, want 1", n)
	}
}

// BenchmarkScrapeQueues measures a scrape of a daemon that follows a log of 10,000 queues.
func BenchmarkScrapeQueues(b *testing.B) {
	d := crowd{jobs: 3000, queues: 10_000, users: 3000, seed: 6}.follows(b)
	for b.Loop() {
		if status, body := d.get("/metrics"); status != http.StatusOK || len(body) > crowdMetrics {
			b.Fatalf("status %d, %d bytes", status, len(body))
		}
	}
}
