package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/predictor/engine"
)

const (
	// defaultWatchers bounds the clients that watch at a time, where Options do not say: each is a connection and some 20 kB.
	defaultWatchers = 2000
	// watchShare is what part of one processor's time the evaluations may take, and watchSpace how far apart they are at most.
	watchShare = .25
	watchSpace = 30 * time.Second
)

// watchers are the clients that watch. While there is any, one goroutine looks at each newly published view, once for all who ask the same.
type watchers struct {
	server *Server
	most   int

	mu     sync.Mutex
	n      int
	topics map[string]*topic
	stop   chan struct{} // of the goroutine; nil where there is none

	subscribers prometheus.Gauge
	evaluations prometheus.Counter
	dropped     prometheus.Counter
}

// topic is a question that some clients ask.
type topic struct {
	key string
	req *wire.SizeRequest

	mu       sync.Mutex
	clients  map[*watcher]bool
	clusters map[string]bool // that it is about; nil before the first evaluation
	seen     map[string]evaluationInput
	newest   *evaluation
}

// evaluationInput identifies the data of one cluster that an evaluation used.
type evaluationInput struct {
	engine  *engine.View
	picture *cluster.View
	stale   bool
}

// evaluation is the result of one evaluation.
type evaluation struct {
	question *sizeQuery
	result   *advice.Result
	err      error
}

// watcher is one client.
type watcher struct {
	topic    *topic
	events   chan []byte // the newest, until it is delivered
	standing advice.Standing
	lastSent string // the name and state of the advice that was sent last
}

func newWatchers(s *Server, most int, reg prometheus.Registerer) *watchers {
	if most == 0 {
		most = defaultWatchers
	}
	w := &watchers{
		server: s, most: most, topics: map[string]*topic{},
		subscribers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "waitcast_watch_subscribers", Help: "Clients of /v1/watch.",
		}),
		evaluations: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waitcast_watch_evaluations_total", Help: "Questions of /v1/watch that were worked out; those of several clients that ask the same count once.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "waitcast_watch_dropped_total", Help: "Clients of /v1/watch that were dropped because they did not read.",
		}),
	}
	reg.MustRegister(w.subscribers, w.evaluations, w.dropped)
	return w
}

// join takes in a client. What cannot be answered now is refused.
func (ws *watchers) join(req *wire.SizeRequest, lastID string) (*watcher, error) {
	shared := *req
	shared.Standing = nil // each client has its own
	data, err := json.Marshal(&shared)
	if err != nil {
		return nil, unprocessable("request", err.Error())
	}
	key := string(data)
	ws.mu.Lock()
	if ws.n >= ws.most {
		ws.mu.Unlock()
		return nil, (&Refused{
			Status: http.StatusServiceUnavailable, Detail: fmt.Sprintf("%d clients watch already", ws.most), Hint: "come back later, or ask POST /v1/size now and then",
		}).problem()
	}
	t := ws.topics[key]
	if t == nil {
		t = &topic{key: key, req: &shared, clients: map[*watcher]bool{}}
		ws.topics[key] = t
	}
	w := &watcher{topic: t, events: make(chan []byte, 1)}
	t.mu.Lock()
	t.clients[w] = true
	t.mu.Unlock()
	ws.n++
	ws.subscribers.Set(float64(ws.n))
	if ws.stop == nil {
		ws.stop = make(chan struct{})
		go ws.run(ws.stop)
	}
	ws.mu.Unlock()
	if err := ws.greet(w, req, lastID); err != nil {
		ws.remove(w)
		return nil, err
	}
	return w, nil
}

// greet tells a client the present advice, unless it has it.
func (ws *watchers) greet(w *watcher, req *wire.SizeRequest, lastID string) error {
	t := w.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	w.lastSent = greeting // it receives no events before this
	ws.refresh(t)
	if t.newest.err != nil {
		return t.newest.err
	}
	own := *t.newest.question
	own.req = req
	w.standing = own.previousAdvice()
	if s, ok := parseEventID(lastID); ok {
		w.standing, w.lastSent = s, eventID(s)
	} else {
		w.lastSent = ""
	}
	w.notify(t.newest)
	return nil
}

// greeting marks a client that does not receive events yet.
const greeting = "greeting"

// remove ends a client's subscription.
func (ws *watchers) remove(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	t := w.topic
	t.mu.Lock()
	delete(t.clients, w)
	last := len(t.clients) == 0
	t.mu.Unlock()
	if last {
		delete(ws.topics, t.key)
	}
	ws.n--
	ws.subscribers.Set(float64(ws.n))
	if ws.n == 0 {
		close(ws.stop)
		ws.stop = nil
	}
}

// run looks at new views until it is stopped.
func (ws *watchers) run(stop <-chan struct{}) {
	beat := time.NewTicker(heartbeat) // data become stale without a new view
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-stop:
			return
		case <-pause.C:
		}
		published := ws.server.views.Published()
		begun := time.Now()
		ws.round(stop)
		took := time.Since(begun)
		select {
		case <-stop:
			return
		case <-published:
		case <-beat.C:
		}
		pause.Reset(min(time.Duration(float64(took)*(1/watchShare-1)), watchSpace))
	}
}

// round works out all questions whose views are new.
func (ws *watchers) round(stop <-chan struct{}) {
	ws.mu.Lock()
	topics := make([]*topic, 0, len(ws.topics))
	for _, t := range ws.topics {
		topics = append(topics, t)
	}
	ws.mu.Unlock()
	for _, t := range topics {
		select {
		case <-stop:
			return
		default:
		}
		t.mu.Lock()
		ws.refresh(t)
		t.mu.Unlock()
	}
}

// refresh works a question out if its views are new, and tells its clients. The topic is locked.
func (ws *watchers) refresh(t *topic) {
	now := map[string]evaluationInput{}
	same := t.newest != nil
	for _, v := range ws.server.views.Views() {
		if t.clusters != nil && !t.clusters[v.Cluster] {
			continue
		}
		_, _, stale := ws.server.asOf(v)
		s := evaluationInput{v.Engine, v.View, stale}
		now[v.Cluster] = s
		same = same && t.seen[v.Cluster] == s
	}
	if same {
		return
	}
	ws.evaluations.Inc()
	t.seen, t.newest = now, ws.server.evaluate(t.req)
	if q := t.newest.question; q != nil {
		t.clusters = q.clusters()
	}
	for w := range t.clients {
		w.notify(t.newest)
	}
}

// evaluate computes the answer to a request. A panic in that must not end the daemon, as it would outside of a request's goroutine.
func (s *Server) evaluate(req *wire.SizeRequest) (out *evaluation) {
	defer func() {
		if fault := recover(); fault != nil {
			s.opts.Log.Error("a question of /v1/watch could not be worked out", zap.Any("fault", fault), zap.Stack("stack"))
			out = &evaluation{err: fmt.Errorf("working out a question: %v", fault)}
		}
	}()
	q, err := s.newSizeQuery(req)
	if err != nil {
		return &evaluation{err: err}
	}
	r, err := q.choose()
	return &evaluation{q, r, err}
}

// notify sends a client an event if its advice has changed. An event that was not delivered yet is replaced.
func (w *watcher) notify(v *evaluation) {
	if w.lastSent == greeting {
		return
	}
	var told string
	var text []byte
	stands, err := w.standing, v.err
	if err == nil {
		stands, err = v.question.standingAdvice(v.result, w.standing)
	}
	if err != nil {
		p := problemOf(err)
		told = fmt.Sprintf("problem %d %s", p.Status, p.Detail)
		text = eventText("", "problem", p)
	} else {
		w.standing = stands
		id := eventID(stands)
		told = id
		asOf, age, stale := v.question.age()
		if stale {
			told += " stale"
		}
		if told != w.lastSent {
			e := wire.SizeEvent{Objective: v.question.kind(), Advice: v.question.advise(v.result, stands), AsOf: asOf, AgeSeconds: age, Stale: stale}
			e.Candidate = v.question.candidateOf(v.result, stands)
			text = eventText(id, "size", e)
		}
	}
	if told == w.lastSent {
		return
	}
	w.lastSent = told
	select {
	case <-w.events:
	default:
	}
	w.events <- text // nobody else sends
}

// problemOf returns an error as clients read it.
func problemOf(err error) wire.Problem {
	var p *problem
	if errors.As(err, &p) {
		return p.Problem
	}
	return wire.Problem{Type: "about:blank", Title: http.StatusText(http.StatusInternalServerError), Status: http.StatusInternalServerError, Detail: "no advice can be given"}
}
