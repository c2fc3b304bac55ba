package daemon_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// balancer is a transport for net/http/httputil.ReverseProxy that represents the proxy of an installation. It sends
// each request to the next of several daemons, and if that one does not answer, to the one after it.
type balancer struct {
	members []*url.URL
	turn    atomic.Int64
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	var errs []error
	for range b.members {
		to := b.members[int(b.turn.Add(1))%len(b.members)]
		r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			return resp, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// seedLedger fills a space with rows of fourteen months, as if a collector had run for that long.
func seedLedger(t *testing.T, database, cluster string, rows int) error {
	s, err := postgres.Open(t.Context(), database, postgres.Options{Space: cluster})
	if err != nil {
		return err
	}
	if _, err := s.Acquire(t.Context(), "generator", time.Minute); err != nil {
		return errors.Join(err, s.Close())
	}
	levels := []float64{.05, .1, .25, .5, .75, .8, .9, .95, .99}
	last := epoch().Add(-time.Hour)
	for done := 0; done < rows && err == nil; {
		var b modelstore.Batch
		for ; done < rows && len(b.Rows) < 2000; done++ {
			start := last.Add(-14 * 30 * 24 * time.Hour / time.Duration(rows) * time.Duration(rows-done))
			b.Rows = append(b.Rows, modelstore.Row{Seq: 1, Cluster: cluster, JobID: fmt.Sprintf("old%d", done),
				Queue: "short", Procs: 8, Submit: start.Add(-time.Minute), Start: start, Outcome: modelstore.Started,
				WaitSeconds: 60, Method: "combined", Levels: levels, Quantiles: slices.Repeat([]float64{90}, 9)})
		}
		err = s.Commit(t.Context(), b)
	}
	return errors.Join(err, s.Close())
}

// TestManyClusters runs one PostgreSQL with collectors of several clusters, whose ledgers have rows of fourteen months,
// and three serving daemons behind a proxy. It proves that each serving daemon answers about all clusters from the
// clusters' own logs, even while one of the three is killed. With WAITCAST_LONG there are ten clusters and a million
// rows, and the test logs the figures of docs/scale.md.
func TestManyClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector; left out by -short")
	}
	t.Parallel()
	clusters, rows := 2, 3000
	if long() {
		clusters, rows = 10, 100_000
	}
	server := pgtest.New(t, pgtest.Options{Settings: map[string]string{"max_connections": "200"}})
	database := server.NewDatabase(t)
	var group errgroup.Group
	begun := time.Now()
	names := make([]string, clusters)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
		group.Go(func() error { return seedLedger(t, database, names[i], rows) })
	}
	must(t, group.Wait())
	t.Logf("%d rows of %d clusters in %s", rows*clusters, clusters, time.Since(begun).Round(time.Millisecond))
	var last []time.Time
	for i, name := range names {
		log := filepath.Join(t.TempDir(), "log")
		records := workload(t, uint64(50+i), 60)
		write(t, log, text(records))
		m := sharing(t, database, name, log)
		m.start()
		t.Cleanup(func() { m.end(syscall.SIGTERM) })
		last = append(last, records[len(records)-1].at)
	}
	b := &balancer{}
	var answering []*member
	for range 3 {
		m := &member{t: t, file: filepath.Join(t.TempDir(), "waitcastd.yaml")}
		write(t, m.file, fmt.Sprintf("{listen: '127.0.0.1:0', data_dir: %q, log: {format: json}, serve_only: true, "+
			"limits: {burst: 100000}, store: {url: %q}}", filepath.Dir(m.file), database))
		m.start()
		address, err := url.Parse(m.url)
		must(t, err)
		b.members, answering = append(b.members, address), append(answering, m)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: b})
	t.Cleanup(proxy.Close)
	for i, name := range names {
		for _, m := range answering {
			eventually(t, name+" is answered up to its last record", func() bool {
				return strings.Contains(fetch(m.url+"/v1/wait?queue=short&procs=1&time_limit=1h&cluster="+name),
					`"as_of":"`+last[i].UTC().Format(time.RFC3339))
			})
		}
	}
	ask := func(path string, n int) (times []time.Duration) {
		t.Helper()
		for i := range n {
			begun := time.Now()
			resp, err := http.Get(proxy.URL + strings.ReplaceAll(path, "CLUSTER", names[i%clusters]))
			must(t, err)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s", path, resp.Status)
			}
			times = append(times, time.Since(begun))
		}
		slices.Sort(times)
		return times
	}
	for _, path := range []string{"/v1/wait?queue=short&procs=1&time_limit=1h&cluster=CLUSTER",
		"/v1/accuracy?cluster=CLUSTER"} {
		times := ask(path, 10*clusters)
		t.Logf("%s: median %s, slowest %s", path, times[len(times)/2], times[len(times)-1])
	}
	answering[1].end(syscall.SIGKILL)
	times := ask("/v1/wait?queue=short&procs=1&time_limit=1h&cluster=CLUSTER", 10*clusters)
	t.Logf("one of three killed: median %s, slowest %s", times[len(times)/2], times[len(times)-1])
	answering[0].end(syscall.SIGTERM)
	answering[2].end(syscall.SIGTERM)
	for _, name := range names {
		s, err := postgres.Open(t.Context(), database, postgres.Options{Space: name, ReadOnly: true})
		must(t, err)
		old, err := s.CountRows(t.Context(), modelstore.RowQuery{Until: epoch()})
		must(t, errors.Join(err, s.Close()))
		if old != int64(rows) {
			t.Errorf("%s has %d rows of before", name, old)
		}
	}
}
