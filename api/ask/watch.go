package ask

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/predictor/advice"
	"github.com/waitcast/waitcast/predictor/engine"
	"go.uber.org/zap"
)

const (
	// StaleCheck is the interval at which watched views are checked for staleness, because no new view is published
	// when a view becomes stale.
	StaleCheck = 15 * time.Second
	// watchShare is the part of one processor's time that evaluations may take. For this, each round of evaluations is
	// followed by a pause of at most watchSpace.
	watchShare = .25
	watchSpace = 30 * time.Second
)

// Watchers are the watching clients. While there are any, one goroutine evaluates their requests for each new view.
// Clients with the same request share one evaluation.
type Watchers struct {
	service *Service
	most    int
	metrics WatchMetrics

	mu     sync.Mutex
	n      int
	topics map[string]*topic
	stop   chan struct{} // ends the goroutine; nil if there is none
}

// WatchMetrics count clients and work.
type WatchMetrics struct {
	// Subscribers is the number of clients that watch.
	Subscribers prometheus.Gauge
	// Evaluations counts the evaluated requests.
	Evaluations prometheus.Counter
}

// topic is a request that one or more clients watch.
type topic struct {
	key string
	req *wire.SizeRequest

	mu       sync.Mutex
	clients  map[*Watcher]bool
	clusters map[string]bool // clusters of the request; nil before the first evaluation
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

// SizeUpdate is an update for a watching client.
type SizeUpdate struct {
	// ID identifies the advice. A client that reconnects with it does not receive the same advice again.
	ID string
	// Event is the advice. Err is the reason if there is no advice; ID and Event are empty then.
	Event *wire.SizeEvent
	Err   error
}

// Watcher is one watching client.
type Watcher struct {
	topic    *topic
	updates  chan SizeUpdate // the newest undelivered update
	standing advice.Standing
	lastSent string // greeting, or the state that notify sent last
}

// Updates returns the channel of the newest update.
func (w *Watcher) Updates() <-chan SizeUpdate { return w.updates }

// NewWatchers returns Watchers for at most the given number of clients.
func NewWatchers(s *Service, most int, m WatchMetrics) *Watchers {
	return &Watchers{service: s, most: most, metrics: m, topics: map[string]*topic{}}
}

// FixTimes converts times relative to now into instants, and sets the instant from which a remaining runtime counts,
// because the request will be evaluated repeatedly.
func (s *Service) FixTimes(req *wire.SizeRequest) error {
	q, err := s.newSizeQuery(req, nil)
	if err != nil {
		return err
	}
	if req.Objective.Deadline != "" {
		at := q.now.Add(fromSeconds(q.objective.Deadline))
		req.Objective.Deadline = at.UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	if r := req.Running; r != nil && r.RemainingSeconds > 0 && r.At == nil {
		at := q.now.UTC().Truncate(time.Second)
		r.At = &at
	}
	return nil
}

// Join adds a client. A request that cannot be answered now is refused. lastID is the id of the newest advice that the
// client has, or empty. pace is used for the first evaluation.
func (ws *Watchers) Join(req *wire.SizeRequest, lastID string, pace Pace) (*Watcher, error) {
	shared := *req
	shared.Standing = nil // the standing advice is kept for each client
	data, err := json.Marshal(&shared)
	if err != nil {
		return nil, Invalid("request", err.Error())
	}
	key := string(data)
	ws.mu.Lock()
	if ws.n >= ws.most {
		ws.mu.Unlock()
		return nil, Unavailable(fmt.Sprintf("%d clients watch already", ws.most),
			"come back later, or ask POST /v1/size now and then")
	}
	t := ws.topics[key]
	if t == nil {
		t = &topic{key: key, req: &shared, clients: map[*Watcher]bool{}}
		ws.topics[key] = t
	}
	// Until greet has been called, the mark greeting prevents that the client gets events.
	w := &Watcher{topic: t, updates: make(chan SizeUpdate, 1), lastSent: greeting}
	t.mu.Lock()
	t.clients[w] = true
	t.mu.Unlock()
	ws.n++
	ws.metrics.Subscribers.Set(float64(ws.n))
	if ws.stop == nil {
		ws.stop = make(chan struct{})
		go ws.run(ws.stop)
	}
	ws.mu.Unlock()
	err = ws.evaluateFirst(t, pace)
	if err == nil {
		err = ws.greet(w, req, lastID)
	}
	if err != nil {
		ws.Leave(w)
		return nil, err
	}
	return w, nil
}

// evaluateFirst evaluates a request for the first time. Several clients with the same request may each evaluate it, so
// that no client waits for the pace of another. An error of the pace affects only this client.
func (ws *Watchers) evaluateFirst(t *topic, pace Pace) error {
	t.mu.Lock()
	fresh := t.newest == nil
	now, _ := ws.inputs(t)
	t.mu.Unlock()
	if !fresh {
		return nil
	}
	own := &watchPace{Pace: paceOf(pace)}
	first := ws.service.evaluate(t.req, own)
	if own.err != nil {
		return own.err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.newest == nil {
		ws.set(t, now, first)
	}
	return nil
}

// watchPace remembers the error of a pace.
type watchPace struct {
	Pace
	err error
}

// Next implements Pace.
func (p *watchPace) Next() error {
	p.err = p.Pace.Next()
	return p.err
}

// greet sends the present advice to a client, unless the client has it. From then on the client gets events. If there
// is no advice, greet returns the reason.
func (ws *Watchers) greet(w *Watcher, req *wire.SizeRequest, lastID string) error {
	t := w.topic
	t.mu.Lock()
	defer t.mu.Unlock()
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

// Leave ends a client's subscription.
func (ws *Watchers) Leave(w *Watcher) {
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
	ws.metrics.Subscribers.Set(float64(ws.n))
	if ws.n == 0 {
		close(ws.stop)
		ws.stop = nil
	}
}

// run evaluates new views until it is stopped.
func (ws *Watchers) run(stop <-chan struct{}) {
	beat := time.NewTicker(StaleCheck) // a view can become stale while no new view is published
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-stop:
			return
		case <-pause.C:
		}
		published := ws.service.views.Published()
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

// round evaluates all requests whose views are new.
func (ws *Watchers) round(stop <-chan struct{}) {
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

// refresh evaluates a request again if its views are new, and notifies its clients. The topic is locked.
func (ws *Watchers) refresh(t *topic) {
	if now, same := ws.inputs(t); !same {
		ws.set(t, now, ws.service.evaluate(t.req, nil))
	}
}

// inputs returns the present input of the request's evaluation, and whether the newest evaluation had the same input.
// The topic is locked.
func (ws *Watchers) inputs(t *topic) (now map[string]evaluationInput, same bool) {
	now, same = map[string]evaluationInput{}, t.newest != nil
	for _, v := range ws.service.views.Views() {
		if t.clusters != nil && !t.clusters[v.Cluster] {
			continue
		}
		_, _, stale := ws.service.AsOf(v)
		s := evaluationInput{v.Engine, v.View, stale}
		now[v.Cluster] = s
		same = same && t.seen[v.Cluster] == s
	}
	return now, same
}

// set stores the result of an evaluation with its input, and notifies the clients. The topic is locked.
func (ws *Watchers) set(t *topic, now map[string]evaluationInput, answer *evaluation) {
	ws.metrics.Evaluations.Inc()
	t.seen, t.newest = now, answer
	if q := t.newest.question; q != nil {
		t.clusters = q.clusters()
	}
	for w := range t.clients {
		w.notify(t.newest)
	}
}

// evaluate computes the answer to a request. It recovers a panic: outside of the goroutine of an HTTP request, a
// panic would end the daemon.
func (s *Service) evaluate(req *wire.SizeRequest, pace Pace) (out *evaluation) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("a question of /v1/watch could not be worked out", zap.Any("fault", fault), zap.Stack("stack"))
			out = &evaluation{err: fmt.Errorf("working out a question: %v", fault)}
		}
	}()
	q, err := s.newSizeQuery(req, pace)
	if err != nil {
		return &evaluation{err: err}
	}
	r, err := q.choose()
	return &evaluation{q, r, err}
}

// notify sends a client an update if its advice, the staleness of the advice or the problem has changed. The update
// replaces one that was not delivered yet. The topic is locked.
func (w *Watcher) notify(v *evaluation) {
	if w.lastSent == greeting {
		return
	}
	var update SizeUpdate
	var state string // what the client will know: the advice and whether it is stale, or the problem
	stands, err := w.standing, v.err
	if err == nil {
		stands, err = v.question.standingAdvice(v.result, w.standing)
	}
	if err != nil {
		state, update.Err = refusedState(err), err
	} else {
		w.standing = stands
		update.ID = eventID(stands)
		state = update.ID
		asOf, age, stale := v.question.age()
		if stale {
			state += " stale"
		}
		if state != w.lastSent {
			update.Event = &wire.SizeEvent{
				Objective: v.question.kind(), Advice: v.question.advise(v.result, stands),
				Candidate: v.question.candidateOf(v.result, stands), AsOf: asOf, AgeSeconds: age, Stale: stale,
			}
		}
	}
	if state == w.lastSent {
		return
	}
	w.lastSent = state
	select {
	case <-w.updates:
	default:
	}
	w.updates <- update // does not block: nobody else sends while the topic is locked
}

// refusedState returns a text that changes if the problem for the client changes.
func refusedState(err error) string {
	var refused *Refusal
	if errors.As(err, &refused) {
		return fmt.Sprintf("problem %d %s", refused.Kind, refused.Detail)
	}
	return "problem"
}

// eventID returns the id of an event: the instant and the name of the standing advice. A client can resume from it at
// any daemon.
func eventID(s advice.Standing) string {
	return strconv.FormatInt(int64(math.Round(s.Since*1000)), 36) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(s.Name))
}

// parseEventID reads an event's id; it returns false for other texts.
func parseEventID(id string) (advice.Standing, bool) {
	since, name, ok := strings.Cut(id, ".")
	ms, err := strconv.ParseInt(since, 36, 64)
	decoded, bad := base64.RawURLEncoding.DecodeString(name)
	if !ok || err != nil || bad != nil || ms < 0 || len(decoded) == 0 {
		return advice.Standing{}, false
	}
	return advice.Standing{Name: string(decoded), Since: float64(ms) / 1000}, true
}
