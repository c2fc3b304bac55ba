package api

import (
	"math"
	"time"

	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/workload/clean"
)

// modelMetrics are the metrics of the models of a queue.
type modelMetrics struct {
	samples     gauge
	b0          gauge
	b1          gauge
	r2          gauge
	ks          gauge
	fitted      gauge
	fittedAt    gauge
	lawSelected gauge
	lawLogScore gauge
}

func newModelMetrics(s *metricSet) modelMetrics {
	return modelMetrics{
		samples: s.gauge("model_samples", "Lifetimes in the window of the model.", "cluster", "queue", "class"),
		b0: s.gauge("model_b0",
			"Intercept of the uniform-log law cdf(t) = b0 + b1 ln t.", "cluster", "queue", "class"),
		b1: s.gauge("model_b1", "Slope of the uniform-log law cdf(t) = b0 + b1 ln t.", "cluster", "queue", "class"),
		r2: s.gauge("model_r2", "Coefficient of determination of the uniform-log fit.", "cluster", "queue", "class"),
		ks: s.gauge("model_ks",
			"Kolmogorov-Smirnov distance between the lifetimes in the window and the uniform-log law "+
				"fitted to them.",
			"cluster", "queue", "class"),
		fitted: s.gauge("model_fitted",
			"1 if the model could be fitted, by model: uniform_log, lublin, markov, users.",
			"cluster", "queue", "model"),
		fittedAt: s.gauge("model_fit_timestamp_seconds",
			"Event time of the newest refit of the model.", "cluster", "queue", "class"),
		lawSelected: s.gauge("model_law_selected",
			"1 for the law of lifetimes that forecasts use, 0 for the others.", "cluster", "queue", "class", "law"),
		lawLogScore: s.gauge("model_law_log_score",
			"Mean logarithm of the probability that the law of lifetimes gave in advance to the "+
				"observed lifetimes; higher is better.",
			"cluster", "queue", "class", "law"),
	}
}

func (m *modelMetrics) collect(ch scrape, cluster, queue string, models *livemodels.QueueView, known *ask.Analysis) {
	for i := range models.Lifetimes {
		l, class := &models.Lifetimes[i], livemodels.Classes()[i]
		m.collectLaws(ch, cluster, queue, class, l)
		ch.gauge(m.samples, float64(l.Sample.N()), cluster, queue, class)
		if l.Err != nil {
			continue
		}
		ch.gauge(m.b0, l.Law.B0, cluster, queue, class)
		ch.gauge(m.b1, l.Law.B1, cluster, queue, class)
		ch.gauge(m.r2, l.Law.R2, cluster, queue, class)
		ch.gauge(m.fittedAt, unix(l.Law.At), cluster, queue, class)
	}
	for i, d := range known.KS {
		if !math.IsNaN(d) {
			ch.gauge(m.ks, d, cluster, queue, livemodels.Classes()[i])
		}
	}
	uniform := models.Lifetimes[0].Err == nil || models.Lifetimes[1].Err == nil
	ch.gauge(m.fitted, flag(uniform), cluster, queue, readmodel.ModelUniformLog)
	ch.gauge(m.fitted, flag(known.Lublin.Err() == nil), cluster, queue, readmodel.ModelLublin)
	ch.gauge(m.fitted, flag(models.Chains.Pairs > 0), cluster, queue, readmodel.ModelMarkov)
	ch.gauge(m.fitted, flag(known.Users.Pools != nil), cluster, queue, readmodel.ModelUsers)
}

// collectLaws sends the scores of the competing laws of lifetimes of a class.
func (m *modelMetrics) collectLaws(ch scrape, cluster, queue, class string, l *livemodels.LifetimeView) {
	for _, s := range l.Selection.Standings {
		ch.gauge(m.lawSelected, flag(s.Name == l.Law.Name && l.Usable), cluster, queue, class, s.Name)
		if ask.Scored(&s) {
			ch.gauge(m.lawLogScore, s.Mean, cluster, queue, class, s.Name)
		}
	}
}

// historyMetrics are the metrics of the users of a queue, without names.
type historyMetrics struct {
	jobs         gauge
	users        gauge
	flurries     gauge
	flurryJobs   gauge
	newestFlurry gauge
	robots       gauge
	saturated    gauge
	growth       gauge
}

func newHistoryMetrics(s *metricSet) historyMetrics {
	return historyMetrics{
		jobs: s.gauge("history_jobs",
			"Ended jobs that are kept for the analysis of users.", "cluster", "queue"),
		users: s.gauge("history_users",
			"Users of the kept jobs, by the length of their stay: long_term, temporary, dropped (cut "+
				"off by the beginning or end of the history).", "cluster", "queue", "stay"),
		flurries: s.gauge("history_flurries", "Bursts of jobs of one user among the kept jobs.", "cluster", "queue"),
		flurryJobs: s.gauge("history_flurry_jobs",
			"Jobs in bursts of one user among the kept jobs.", "cluster", "queue"),
		newestFlurry: s.gauge("history_flurry_timestamp_seconds",
			"Event time of the newest submission in a burst of one user; 0 if there is none.", "cluster", "queue"),
		robots: s.gauge("history_robots",
			"Daily robots among the kept jobs: jobs of one user at one time of day, day after day.",
			"cluster", "queue"),
		saturated: s.gauge("history_saturated",
			"1 if jobs arrive faster than they can run: the number of jobs in the system grew by more "+
				"than one a week, and keeps growing so in half of the simulated futures.", "cluster", "queue"),
		growth: s.gauge("history_growth_jobs_per_second",
			"Growth of the number of jobs that were submitted and have not left.", "cluster", "queue"),
	}
}

func (m *historyMetrics) collect(ch scrape, cluster, queue string, known *ask.Analysis, s readmodel.Saturation) {
	u := ask.Users(known.Users, s)
	newest := time.Time{}
	for _, f := range known.Users.Findings {
		if at := known.Users.Origin.Add(time.Duration(f.Until * float64(time.Second))); f.Reason == clean.Flurry &&
			at.After(newest) {
			newest = at
		}
	}
	const week = 7 * 86400
	ch.gauge(m.jobs, float64(u.Jobs), cluster, queue)
	ch.gauge(m.users, float64(u.LongTerm), cluster, queue, "long_term")
	ch.gauge(m.users, float64(u.Temporary), cluster, queue, "temporary")
	ch.gauge(m.users, float64(u.Dropped), cluster, queue, "dropped")
	ch.gauge(m.flurries, float64(u.Flurries), cluster, queue)
	ch.gauge(m.flurryJobs, float64(u.FlurryJobs), cluster, queue)
	ch.gauge(m.newestFlurry, unix(newest), cluster, queue)
	ch.gauge(m.robots, float64(u.Robots), cluster, queue)
	ch.gauge(m.saturated, flag(u.Saturated), cluster, queue)
	ch.gauge(m.growth, u.Growth/week, cluster, queue)
}
