package ask

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/outlook"
)

// WhenRequest is a request for the best hour to submit a job.
type WhenRequest struct {
	Wait WaitRequest
	// Hours is the number of full hours to evaluate.
	Hours int
}

// WhenQuery is a query for the best hour to submit a job, on one forecast of the load.
type WhenQuery struct {
	View    *readmodel.View
	Outlook *loadforecast.Outlook
	service *Service
	request job.Request
	hours   int
}

// When parses a request. It refuses a job that can never start, and every job while there is no forecast of the load.
func (s *Service) When(in WhenRequest) (*WhenQuery, error) {
	v, err := s.View(in.Wait.Cluster)
	if err != nil {
		return nil, err
	}
	req, err := request(v, &in.Wait)
	if err != nil {
		return nil, err
	}
	if strings.Contains(req.Queue, ",") {
		return nil, Invalid("queue", "name one queue: the load is forecast by queue")
	}
	o := v.Outlook()
	if o == nil {
		return nil, noOutlook(v)
	}
	return &WhenQuery{v, o, s, req, in.Hours}, nil
}

// unlimited is the assumed time limit of a job that requests none.
const unlimited = 7 * 24 * time.Hour

// Answer simulates the futures of the load forecast, with the job submitted now and at each full hour.
func (q *WhenQuery) Answer(ctx context.Context, pace Pace) (wire.When, error) {
	o, r := q.Outlook, &q.request
	out := wire.When{Cluster: q.View.Cluster, Queue: r.Queue, Procs: r.Procs, TimeLimitSeconds: r.TimeLimit.Seconds(),
		MadeFor: o.At, AsOf: q.service.AsOfInstant(q.View)}
	now, age, stale := q.service.AsOf(q.View)
	out.AgeSeconds, out.Stale = age, stale
	first, horizons := submissions(o.At, now, q.hours)
	limit := r.TimeLimit
	if limit == 0 {
		limit = unlimited
	}
	pace.Expect(o.Futures.Replicas())
	waits, err := o.Futures.Waits(ctx, r.Queue, outlook.Standard{Procs: r.Procs, Limit: limit.Seconds()}, horizons,
		pace.Next)
	if err != nil {
		return out, err
	}
	atOnce, waits := waits[0], waits[1:]
	contradicts := q.contradiction(atOnce[2])
	best := make([]bool, len(waits))
	if contradicts == "" {
		best = bestOf(waits)
	}
	for i, w := range waits {
		out.Hours = append(out.Hours, wire.WhenHour{At: first.Add(time.Duration(i) * time.Hour).UTC(), Best: best[i],
			WaitSeconds: wire.WaitsBand{P05: seconds(w[0]), P25: seconds(w[1]), P50: seconds(w[2]), P75: seconds(w[3]),
				P95: seconds(w[4])}})
	}
	out.Note = fmt.Sprintf("from %d simulated futures, first come, first served with backfilling, of jobs that come "+
		"as they did; not corrected by what came of such forecasts", o.Futures.Replicas())
	if o.Futures.Arrivals == "" {
		out.Note = "little is known yet: there is no model of the jobs to come, so the simulation is without them"
	}
	if contradicts != "" {
		out.Note += "; " + contradicts
	}
	return out, nil
}

// submissions returns the first full hour after now, and the horizons of the submissions: one at once, and one at each
// of the hours. Horizons are seconds after made, the instant for which the forecast of the load was made. This instant
// may be more than an hour ago.
func submissions(made, now time.Time, hours int) (first time.Time, horizons []float64) {
	if now.Before(made) {
		now = made
	}
	first = now.Truncate(time.Hour).Add(time.Hour)
	horizons = append(make([]float64, 0, hours+1), now.Sub(made).Seconds())
	for i := range hours {
		horizons = append(horizons, first.Sub(made).Seconds()+3600*float64(i))
	}
	return first, horizons
}

// contradicting is the ratio above which two waits contradict each other. 60 s are added to each wait before they are
// compared. The ratio is the one by which medians are scored ("within a factor 2").
const contradicting = 2

// contradiction compares the median wait of a submission now in the simulation with that in the served forecast, which
// knows the learnt order of starts. It returns a sentence for the note if they contradict each other, and "" if they
// agree, or if there is no forecast yet.
func (q *WhenQuery) contradiction(simulated float64) string {
	now, _, _ := q.service.AsOf(q.View)
	_, forecast, _, err := q.service.forecast(q.View, now, attributes(&q.request))
	if err != nil {
		return ""
	}
	served := forecast.Wait.Quantile(.5)
	if agree(simulated, served) {
		return ""
	}
	return fmt.Sprintf("no hour is marked as best, since the simulation does not fit this queue: submitted at once, "+
		"the job waits %s in it and %s by its forecast (medians)", about(simulated), about(served))
}

// agree reports whether two waits, with 60 s added to each, are within the factor contradicting. Two waits that never
// end agree.
func agree(a, b float64) bool {
	low, high := min(a, b)+60, max(a, b)+60
	return math.IsInf(low, 1) || high <= contradicting*low
}

// bestOf marks the hours whose medians are close to the lowest. Let gain be the difference between the lowest and the
// median of these medians. bestOf marks no hour if the lowest is infinite, or if gain is below a minute or below a
// fifth of that median. Close means higher by at most a tenth of gain and at most half an hour.
func bestOf(waits []outlook.Quantiles) []bool {
	medians := make([]float64, len(waits))
	for i := range waits {
		medians[i] = waits[i][2]
	}
	out := make([]bool, len(medians))
	sorted := slices.Clone(medians)
	slices.Sort(sorted)
	lowest, usual := sorted[0], sorted[len(sorted)/2]
	gain := usual - lowest
	if math.IsInf(lowest, 1) || gain < 60 || gain < usual/5 {
		return out
	}
	for i, m := range medians {
		out[i] = m <= lowest+math.Min(gain/10, 1800)
	}
	return out
}
