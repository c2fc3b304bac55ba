// Package ask has the use cases of waitcast's interface: how long would a job wait, which size should it request, what
// would start now. It answers decoded requests from published views, without HTTP: package api decodes, authorises,
// calls a use case and encodes. Its answers are the types of package wire.
package ask

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"go.uber.org/zap"
)

// Views is the source of the published views.
type Views interface {
	// View returns the newest view of a cluster, nil if there is no such cluster.
	View(cluster string) *readmodel.View
	// Views returns the newest view of every cluster.
	Views() []*readmodel.View
	// Published returns a channel that is closed when views are published next.
	Published() <-chan struct{}
}

// Options configure a service.
type Options struct {
	// StaleAfter is the age beyond which an answer is marked stale.
	StaleAfter time.Duration
	// Now is the wall clock.
	Now func() time.Time
	Log *zap.Logger
}

// Service answers requests. It is safe for concurrent use.
type Service struct {
	views       Views
	now         func() time.Time
	staleAfter  atomic.Int64 // a time.Duration
	log         *zap.Logger
	forecasters *forecasterPool
	analyses    analyses
}

// New returns a service.
func New(views Views, o Options) *Service {
	s := &Service{views: views, now: o.Now, log: o.Log, forecasters: newForecasterPool()}
	s.SetStaleAfter(o.StaleAfter)
	return s
}

// SetStaleAfter changes the age beyond which an answer is marked stale.
func (s *Service) SetStaleAfter(age time.Duration) { s.staleAfter.Store(int64(age)) }

// limit returns the age beyond which an answer is marked stale.
func (s *Service) limit() time.Duration { return time.Duration(s.staleAfter.Load()) }

// View returns the view of the requested cluster. An empty name means the only cluster, and is refused if there are
// several.
func (s *Service) View(cluster string) (*readmodel.View, error) {
	if cluster != "" {
		if v := s.views.View(cluster); v != nil {
			return v, nil
		}
		return nil,
			NotFound(fmt.Sprintf("no cluster %q; known clusters: %s", cluster, strings.Join(s.clusters(), ", ")))
	}
	all := s.views.Views()
	if len(all) == 1 {
		return all[0], nil
	}
	return nil, Invalid("cluster", "say which one: "+strings.Join(s.clusters(), ", "))
}

func (s *Service) clusters() []string {
	var names []string
	for _, v := range s.views.Views() {
		names = append(names, v.Cluster)
	}
	return names
}

// readCluster returns the view of a cluster. It refuses a cluster without any record.
func (s *Service) readCluster(name string) (*readmodel.View, error) {
	v, err := s.View(name)
	if err == nil && v.At.IsZero() {
		return nil, nothingRead(v)
	}
	return v, err
}

// ReadView returns the view of a cluster. It refuses a cluster without any record, and an unknown queue if a queue is
// named. If the jobs of the queue are counted under another queue, it replaces the name by that one.
func (s *Service) ReadView(cluster string, queue *string) (*readmodel.View, error) {
	v, err := s.readCluster(cluster)
	if err != nil || *queue == "" {
		return v, err
	}
	return v, FindQueue(v, queue)
}

// ReadViews returns the view of a cluster or, for an empty name, of all clusters with records. It refuses if there are
// no records.
func (s *Service) ReadViews(name string) ([]*readmodel.View, error) {
	if name != "" {
		v, err := s.readCluster(name)
		return []*readmodel.View{v}, err
	}
	var out []*readmodel.View
	all := s.views.Views()
	for _, v := range all {
		if !v.At.IsZero() {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil, nothingRead(all[0])
	}
	return out, nil
}

// FindQueue refuses an unknown queue. If the jobs of the queue are counted under another queue, it replaces the name
// by that one.
func FindQueue(v *readmodel.View, queue *string) error {
	found, ok := v.QueueOf(*queue)
	if !ok {
		return unknownQueue(v, *queue)
	}
	*queue = found
	return nil
}

// askedQueue returns the requested queue if its jobs are counted under another one, else "".
func askedQueue(asked, found string) string {
	if asked == found {
		return ""
	}
	return asked
}

// AsOf returns the instant from which an answer counts its waits, the age in seconds of the view's newest record, and
// whether the answer is stale. The instant is that of the clock. In a stale view it is that of the newest record,
// because later ends of jobs are unknown; so it is if that record is in the future. A view without records is stale,
// with age 0.
func (s *Service) AsOf(v *readmodel.View) (now time.Time, age float64, stale bool) {
	now = s.now()
	if v.At.IsZero() {
		return now, 0, true // no record was ever read
	}
	age = math.Max(0, now.Sub(v.At).Seconds())
	stale = s.WhyStale(v) != ""
	if stale || now.Before(v.At) {
		now = v.At
	}
	return now, age, stale
}

// AsOfInstant returns the member as_of of an answer from the view: the time of the newest record, but never later than
// the clock, because the clocks of hosts may differ by some minutes.
func (s *Service) AsOfInstant(v *readmodel.View) time.Time {
	if now := s.now(); v.At.After(now) {
		return now.Round(0).UTC()
	}
	return v.At
}

// WhyStale returns the reason why answers about a cluster are stale, "" if they are fresh. Answers are stale if a
// source has not been read to its end since the start, if the newest record is older than the limit, or if a source
// could not be read for longer than the limit.
func (s *Service) WhyStale(v *readmodel.View) string {
	if v.At.IsZero() {
		return "no record of the cluster has been read yet"
	}
	if v.Stopped != nil {
		return v.Stopped.String()
	}
	for i := range v.Sources {
		if c := v.Sources[i].Reading(); c != nil {
			return c.String()
		}
	}
	limit := s.limit()
	unread := s.unread(v, limit)
	if age := s.now().Sub(v.At); age > limit {
		why := fmt.Sprintf("the newest record is %s old, the limit (stale_after) is %s", duration.Format(age),
			duration.Format(limit))
		for _, src := range v.Sources {
			if c := src.Unreadable(); c != nil {
				return why + "; " + c.String()
			}
		}
		return why
	}
	if unread == nil {
		return ""
	}
	return fmt.Sprintf("%s; for longer than the limit (stale_after) of %s", unread, duration.Format(limit))
}

// unread returns the condition of a source that could not be read for longer than the limit, and for which no other
// source stands in; nil if there is none.
func (s *Service) unread(v *readmodel.View, limit time.Duration) *readmodel.Condition {
	for i := range v.Sources {
		src := &v.Sources[i]
		if c := src.Unreadable(); c != nil && s.now().Sub(c.Since) > limit && v.StandIn(src) == nil {
			return c
		}
	}
	return nil
}

// Analysis returns the analysis of a queue of a view, or an older one that was made less than maxAge ago.
func (s *Service) Analysis(v *readmodel.View, queue string, maxAge time.Duration) *Analysis {
	return s.analyses.of(v, queue, maxAge, s.now)
}

// Saturation returns the saturation of a queue, or of the cluster if queue is empty.
func (s *Service) Saturation(v *readmodel.View, queue string) readmodel.Saturation {
	return s.analyses.saturation(v, queue)
}
