package api

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/workload/clean"
)

// analysisAge is how old the analysis of a history may be that metrics tell of: a scrape must not cost a pass over every history.
const analysisAge = time.Minute

// competition tells how the competing laws of lifetimes of a queue stand.
func (e emitter) competition(cluster, queue string, m *pipeline.QueueView) {
	for i := range m.Lifetimes {
		l, class := &m.Lifetimes[i], pipeline.Classes()[i]
		for _, s := range l.Selection.Standings {
			e.gauge("model_law_selected", flag(s.Name == l.Law.Name && l.Usable), cluster, queue, class, s.Name)
			if ask.Scored(&s) {
				e.gauge("model_law_log_score", s.Mean, cluster, queue, class, s.Name)
			}
		}
	}
}

// history tells of the users of a queue, in numbers, and which models are fitted.
func (e emitter) history(v *pipeline.View, queue string, m *pipeline.QueueView) {
	k := e.server.ask.Analysis(v, queue, analysisAge)
	for model, fitted := range map[string]bool{
		pipeline.ModelUniformLog: m.Lifetimes[0].Err == nil || m.Lifetimes[1].Err == nil,
		pipeline.ModelLublin:     k.Lublin.Err() == nil,
		pipeline.ModelMarkov:     m.Chains.Pairs > 0,
		pipeline.ModelUsers:      k.Users.Pools != nil,
	} {
		e.gauge("model_fitted", flag(fitted), v.Cluster, queue, model)
	}
	for i, d := range k.KS {
		if !math.IsNaN(d) {
			e.gauge("model_ks", d, v.Cluster, queue, pipeline.Classes()[i])
		}
	}
	u := ask.Users(k.Users, e.server.ask.Saturation(v, queue))
	for stay, n := range map[string]int{"long_term": u.LongTerm, "temporary": u.Temporary, "dropped": u.Dropped} {
		e.gauge("history_users", float64(n), v.Cluster, queue, stay)
	}
	newest := time.Time{}
	for _, f := range k.Users.Findings {
		if at := k.Users.Origin.Add(time.Duration(f.Until * float64(time.Second))); f.Reason == clean.Flurry && at.After(newest) {
			newest = at
		}
	}
	const week = 7 * 86400
	for name, value := range map[string]float64{
		"history_jobs": float64(u.Jobs), "history_flurries": float64(u.Flurries), "history_flurry_jobs": float64(u.FlurryJobs),
		"history_flurry_timestamp_seconds": unix(newest), "history_robots": float64(u.Robots),
		"history_saturated": flag(u.Saturated), "history_growth_jobs_per_second": u.Growth / week,
	} {
		e.gauge(name, value, v.Cluster, queue)
	}
}
