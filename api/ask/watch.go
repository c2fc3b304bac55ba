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
	// StaleCheck is how often those who watch look whether a view has become stale, which publishes no new one.
	StaleCheck = 15 * time.Second
	// watchShare is what part of one processor's time the evaluations may take, and watchSpace how far apart they are
	// at most.
	watchShare = .25
	watchSpace = 30 * time.Second
)

// Watchers are the clients that watch. While there is any, one goroutine looks at each newly published view, once for
// all who ask the same.
type Watchers struct {
	service *Service
	most    int
	metrics WatchMetrics

	mu     sync.Mutex
	n      int
	topics map[string]*topic
	stop   chan struct{} // of the goroutine; nil where there is none
}

// WatchMetrics count clients and work.
type WatchMetrics struct {
	// Subscribers is the number of clients that watch.
	Subscribers prometheus.Gauge
	// Evaluations counts the questions that were worked out.
	Evaluations prometheus.Counter
}

// topic is a question that some clients ask.
type topic struct {
	key string
	req *wire.SizeRequest

	mu       sync.Mutex
	clients  map[*Watcher]bool
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

// SizeUpdate is what a client that watches receives.
type SizeUpdate struct {
	// ID names the advice. A client that comes back with it does not receive the same advice again.
	ID string
	// Event is the advice; Err is why there is none, which leaves ID and Event empty.
	Event *wire.SizeEvent
	Err   error
}

// Watcher is one client.
type Watcher struct {
	topic    *topic
	updates  chan SizeUpdate // the newest, until it is delivered
	standing advice.Standing
	lastSent string // the name and state of the advice that was sent last
}

// Updates returns the channel of the newest update.
func (w *Watcher) Updates() <-chan SizeUpdate { return w.updates }

// NewWatchers returns watchers, at most so many at a time.
func NewWatchers(s *Service, most int, m WatchMetrics) *Watchers {
	return &Watchers{service: s, most: most, metrics: m, topics: map[string]*topic{}}
}

// FixTimes turns the times of a question that are counted from now into instants: the question will be asked again
// and again.
func (s *Service) FixTimes(req *wire.SizeRequest) error {
	q, err := s.newSizeQuery(req)
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

// Join adds a client. A question that cannot be answered now is refused. lastID names the newest advice that the client
// has; it may be empty.
func (ws *Watchers) Join(req *wire.SizeRequest, lastID string) (*Watcher, error) {
	shared := *req
	shared.Standing = nil // each client has its own
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
	w := &Watcher{topic: t, updates: make(chan SizeUpdate, 1)}
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
	if err := ws.greet(w, req, lastID); err != nil {
		ws.Leave(w)
		return nil, err
	}
	return w, nil
}

// greet sends a client the present advice, unless it has it.
func (ws *Watchers) greet(w *Watcher, req *wire.SizeRequest, lastID string) error {
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

// run looks at new views until it is stopped.
func (ws *Watchers) run(stop <-chan struct{}) {
	beat := time.NewTicker(StaleCheck) // data become stale without a new view
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

// round works out all questions whose views are new.
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

// refresh answers a question again if its views are new, and notifies its clients. The topic is locked.
func (ws *Watchers) refresh(t *topic) {
	now := map[string]evaluationInput{}
	same := t.newest != nil
	for _, v := range ws.service.views.Views() {
		if t.clusters != nil && !t.clusters[v.Cluster] {
			continue
		}
		_, _, stale := ws.service.AsOf(v)
		s := evaluationInput{v.Engine, v.View, stale}
		now[v.Cluster] = s
		same = same && t.seen[v.Cluster] == s
	}
	if same {
		return
	}
	ws.metrics.Evaluations.Inc()
	t.seen, t.newest = now, ws.service.evaluate(t.req)
	if q := t.newest.question; q != nil {
		t.clusters = q.clusters()
	}
	for w := range t.clients {
		w.notify(t.newest)
	}
}

// evaluate computes the answer to a request. A panic in that must not end the daemon, as it would outside of a
// request's goroutine.
func (s *Service) evaluate(req *wire.SizeRequest) (out *evaluation) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("a question of /v1/watch could not be worked out", zap.Any("fault", fault), zap.Stack("stack"))
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
func (w *Watcher) notify(v *evaluation) {
	if w.lastSent == greeting {
		return
	}
	var update SizeUpdate
	var state string // of the advice, as the client knows it
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
	w.updates <- update // nobody else sends
}

// refusedState returns a text that differs if clients would read another problem.
func refusedState(err error) string {
	var refused *Refusal
	if errors.As(err, &refused) {
		return fmt.Sprintf("problem %d %s", refused.Kind, refused.Detail)
	}
	return "problem"
}

// eventID identifies the advice that stands. A client that has received it can resume from it at any daemon.
func eventID(s advice.Standing) string {
	return strconv.FormatInt(int64(math.Round(s.Since*1000)), 36) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(s.Name))
}

// parseEventID reads an event's id; it returns false for a text that is none.
func parseEventID(id string) (advice.Standing, bool) {
	since, name, ok := strings.Cut(id, ".")
	ms, err := strconv.ParseInt(since, 36, 64)
	decoded, bad := base64.RawURLEncoding.DecodeString(name)
	if !ok || err != nil || bad != nil || ms < 0 || len(decoded) == 0 {
		return advice.Standing{}, false
	}
	return advice.Standing{Name: string(decoded), Since: float64(ms) / 1000}, true
}
