package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
)

// These tests run in bubbles of testing/synctest, each with its own clock, over unbuffered connections in memory.

// pipes is a listener whose connections are in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// station is a daemon's server with connections in memory, configured as in package daemon.
type station struct {
	*fixture
	pipes  *pipes
	server *http.Server
	client *http.Client
	done   chan error
	began  float64 // start of the running job, in seconds after the epoch
	clock  atomic.Pointer[time.Time]
	rest   func() // waits one second
}

// newStation starts a station. It allows at most the given number of watching clients; 0 means the usual number.
func newStation(f *fixture, watchers int) *station {
	requests, end := context.WithCancel(context.Background())
	s := &station{fixture: f, pipes: newPipes(), done: make(chan error, 1), began: f.now.Sub(epoch()).Seconds() - 300}
	s.set(f.now)
	s.rest = func() {
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
	}
	f.registry = prometheus.NewRegistry()
	f.server = api.New(f.pipeline, api.Options{
		StaleAfter: staleAfter, Now: func() time.Time { return *s.clock.Load() }, Registry: f.registry,
		Log: zap.NewNop(), Watchers: watchers,
	})
	s.server = &http.Server{
		BaseContext: func(net.Listener) context.Context { return requests }, Handler: f.server.Handler(),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
	}
	s.server.RegisterOnShutdown(end)
	s.client = &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return s.pipes.dial(ctx) },
		DisableKeepAlives: true,
	}}
	go func() { s.done <- s.server.Serve(s.pipes) }()
	return s
}

// set sets the clock.
func (s *station) set(now time.Time) {
	s.now = now
	s.clock.Store(&now)
}

// stop ends the server as a stop of the daemon does. The server must end by itself.
func (s *station) stop() {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		s.Errorf("shutdown: %v", err)
	}
	if err := <-s.done; !errors.Is(err, http.ErrServerClosed) {
		s.Errorf("serve: %v", err)
	}
	s.pipeline.Close()
}

// event is one event that a client received.
type event struct{ id, name, data string }

// ear is a watching client that records the events.
type ear struct {
	status int
	header http.Header
	body   []byte // body of a refusal
	cancel context.CancelFunc
	mu     sync.Mutex
	heard  []event
	notes  int  // number of comments
	brief  bool // true if the ear keeps no data
	ended  bool
}

// listen subscribes. The ear records the events until the stream ends.
func (s *station) listen(question *wire.SizeRequest, lastID string) *ear {
	s.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://memory/v1/watch?request="+url.QueryEscape(string(body)), nil)
	if err != nil {
		s.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	response, err := s.client.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	e := &ear{status: response.StatusCode, header: response.Header, cancel: cancel}
	if e.status != http.StatusOK {
		e.body, _ = io.ReadAll(response.Body)
		_ = response.Body.Close()
		cancel()
		return e
	}
	go e.read(response.Body)
	return e
}

func (e *ear) read(body io.ReadCloser) {
	defer body.Close() //nolint:errcheck // it was only read
	var next event
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		e.mu.Lock()
		switch field {
		case "id":
			next.id = value
		case "event":
			next.name = value
		case "data":
			next.data = value
		case ":":
			e.notes++
		case "":
			if e.brief && next.data != "" {
				next.data = "left out"
			}
			if next.data != "" {
				e.heard = append(e.heard, next)
			}
			next = event{}
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
}

// events returns the events that the client has received by the time when every goroutine is idle.
func (e *ear) events() []event {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heard)
}

// advice returns the newest advice that the client received.
func (e *ear) advice(t *testing.T) wire.SizeEvent {
	t.Helper()
	all := e.events()
	if len(all) == 0 {
		t.Fatalf("nothing was heard; status %d, %s", e.status, e.body)
	}
	last := all[len(all)-1]
	var out wire.SizeEvent
	if err := json.Unmarshal([]byte(last.data), &out); err != nil || last.name != "size" || last.id == "" {
		t.Fatalf("event %+v: %v", last, err)
	}
	return out
}

// oneOrTwoNodes is the question of Downey's example.
func oneOrTwoNodes() *wire.SizeRequest {
	return &wire.SizeRequest{Places: []wire.Place{{Queue: "work"}}, Sizes: []int{1, 2},
		Runtime: table(1, 3600, 2, 2100), TimeLimit: "1h"}
}

// step passes events to the pipeline as a log would. Then it waits until every goroutine is idle and one second has
// passed.
func (s *station) step(events ...job.Event) {
	s.Helper()
	s.set(events[len(events)-1].Time)
	s.feed("main", events...)
	s.rest()
}

// flip changes the state of the busy node. It becomes free when its job has run for an hour, and busy again one minute
// later.
func (s *station) flip(round int) {
	s.Helper()
	if round%2 == 0 {
		j := one{id: "runs", queue: "work", procs: 1, limit: time.Hour, submit: s.began, start: s.began,
			end: s.began + hour}
		if round > 0 {
			j.id = fmt.Sprint("again", round-1)
		}
		s.step(j.events("main")[2])
		return
	}
	s.began = s.now.Sub(epoch()).Seconds() + 60
	s.step(one{id: fmt.Sprint("again", round), queue: "work", procs: 1, limit: time.Hour, submit: s.began,
		start: s.began, end: -1}.events("main")...)
}

// watching runs a test in a bubble, with a machine of one busy and one free node.
func watching(t *testing.T, test func(*testing.T, *station)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStation(twoNodes(t, 5*time.Minute, 3600), 0)
		defer s.stop()
		test(t, s)
	})
}

// tickAt adds a job to the log that is cancelled at once. This only advances the log's time to the given number of
// seconds after the clock.
func (s *station) tickAt(after float64) {
	s.Helper()
	then := s.now.Add(time.Duration(after * float64(time.Second)))
	ev := job.Event{Kind: job.Submit, Cluster: "main", ID: fmt.Sprint("tick", then), Time: then,
		Times: job.Times{Submit: then}, Attributes: job.Attributes{Queue: "tick", Procs: 1}}
	gone := ev
	gone.Kind = job.Cancel
	s.step(ev, gone)
}

// metric returns a metric without labels.
func (f *fixture) metric(name string) float64 {
	f.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range families {
		if m.GetName() == name {
			return m.Metric[0].GetGauge().GetValue() + m.Metric[0].GetCounter().GetValue()
		}
	}
	f.Fatalf("no metric %s", name)
	return 0
}
