package grafana

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// queueBoard returns the dashboard of one queue: its waits, its forecasts and its models.
func queueBoard() board {
	sizes := choice("size", "Size class",
		`label_values(waitcast_forecast_wait_jobs{cluster=~"$cluster",queue=~"$queue"}, size)`, true)
	return board{
		name: "queue", title: "queue",
		about: "One queue: the waits of its jobs in the past and now, the models behind the forecasts, " +
			"bursts of users, and changes.",
		variables: []cog.Builder[dashboard.VariableModel]{dataSource(), clusters(false), queues(false), sizes},
		rows: []row{
			{"Now", queueNow()},
			{"Waits", queueWaits()},
			{"Models of its jobs", queueModels()},
			{"Users and changes", queueChanges()},
		},
	}
}

// here selects the queue.
const here = `cluster=~"$cluster",queue=~"$queue"`

func queueNow() []panel {
	state := func(name, text string) panel {
		return panel{
			kind: number, title: "Jobs " + name, unit: plain, w: 4, h: 4, about: text,
			queries: ask(fmt.Sprintf(`sum(waitcast_queue_jobs{%s,state=%q})`, here, name), name),
		}
	}
	return []panel{
		{
			kind: number, title: "Median wait", unit: seconds, w: 4, h: 4, steps: rising(4*3600, 86400),
			none: "no forecast",
			about: "The median forecast of a typical job, of the chosen size class that waits longest. Half of " +
				"such jobs would wait longer.",
			queries: ask(`max(waitcast_forecast_wait_seconds{`+here+`,size=~"$size",level="0.5"})`, "median"),
		},
		{
			kind: number, title: "Nine of ten start within", unit: seconds, w: 4, h: 4, steps: rising(12*3600, 3*86400),
			none: "no forecast",
			about: "The wait that nine of ten typical jobs do not exceed, of the chosen size class that waits " +
				"longest. Plan deadlines with this one, not with the median.",
			queries: ask(`max(waitcast_forecast_wait_seconds{`+here+`,size=~"$size",level="0.9"})`, "90 %"),
		},
		state("running", "Jobs of the queue that run. None while jobs wait: its nodes are down, reserved, or taken "+
			"by the jobs of other queues."),
		state("queued", "Jobs of the queue that compete for processors; each task of an array counts as one."),
		state("held", "Jobs that wait for something other than processors: a dependency, a user's or an "+
			"administrator's hold. They become load when they are released."),
		{
			kind: number, title: "Burst under way", unit: plain, w: 4, h: 4, steps: rising(1, 1000),
			says: map[string]string{"0": "none"},
			about: "Jobs of the largest burst of one user that is under way. This user's jobs determine the " +
				"waits of the others. Find the user with the scheduler's own tools; waitcast names nobody.",
			queries: ask(`max(waitcast_flurry_active_jobs{`+here+`})`, "burst"),
		},
	}
}

// queueWaits queries classic and native histograms, because a Prometheus that reads native histograms may have no
// others.
func queueWaits() []panel {
	observed := func(q string) query {
		const classic, native = `histogram_quantile(%[1]s, sum by (le) ` +
			`(rate(waitcast_observed_wait_seconds_bucket{%[2]s,size=~"$size"}[1h])))`,
			`histogram_quantile(%[1]s, sum(rate(waitcast_observed_wait_seconds{%[2]s,size=~"$size"}[1h])))`
		return query{fmt.Sprintf(classic+" or "+native, q, here), "observed " + q}
	}
	forecast := func(l string) query {
		return query{fmt.Sprintf(`max(waitcast_forecast_wait_seconds{%s,size=~"$size",level=%q})`, here, l),
			"forecast " + l}
	}
	return []panel{
		{
			kind: heat, title: "Waits of the jobs that started", unit: seconds, w: 12, h: 9,
			about: "Number of jobs that started, by time and wait. Two stripes, one at the bottom and one high " +
				"up, are usual: jobs that fit in at once, and jobs that queue. Only starts that were read " +
				"live count.",
			queries: ask(`sum by (le) (increase(waitcast_observed_wait_seconds_bucket{`+here+
				`,size=~"$size"}[$__rate_interval])) or (sum(increase(waitcast_observed_wait_seconds{`+here+
				`,size=~"$size"}[$__rate_interval])) unless on () count(waitcast_observed_wait_seconds_bucket{`+here+
				`}))`, "{{le}}"),
		},
		{
			title: "Forecast and observed quantiles", unit: seconds, w: 12, h: 9, log: true, min: at(0),
			about: "Forecasts are for a job that is submitted at that time, observed quantiles of the jobs that " +
				"started within the hour before: after a change observed waits follow the forecasts by about the " +
				"wait itself. " +
				"Observed waits that stay above the forecast of the same level for much longer than a wait mean that " +
				"forecasts are too short: see the dashboard of accuracy.",
			queries: []query{forecast("0.5"), forecast("0.9"), forecast("0.95"), observed("0.5"), observed("0.9"),
				observed("0.95")},
		},
		fan(panel{
			title: "Forecast wait of size class $size", unit: seconds, w: 8, h: 8, log: true, min: at(0),
			repeat: "size",
			about: "Forecast quantiles of a typical job of the size class. Compare classes: the one with the lowest " +
				"0.9 is the safest choice for a job that can take several sizes.",
		}, `max by (level) (waitcast_forecast_wait_seconds{`+here+`,size=~"$size"})`, [2]string{"0.9", "0.1"},
			[2]string{"0.75", "0.25"}),
	}
}

func queueModels() []panel {
	return []panel{
		{
			title: "Distance of the lifetimes to the uniform-log law", unit: plain, w: 6, h: 8, min: at(0), max: at(1),
			steps: rising(.1, .2), limit: true,
			about: "Kolmogorov-Smirnov distance: 0 is a perfect fit, above the upper line the law does not " +
				"describe the queue's lifetimes. Forecasts then use another law, if one scores better.",
			queries: ask(`max by (class) (waitcast_model_ks{`+here+`})`, "{{class}}"),
		},
		{
			title: "Goodness of the uniform-log fit", unit: plain, w: 6, h: 8, max: at(1),
			steps: falling(.9, .95), limit: true,
			about: "R2 of Downey's fit: above 0.95 the cumulated lifetimes lie on a line in ln t. Below 0.9 " +
				"compare the other laws.",
			queries: ask(`max by (class) (waitcast_model_r2{`+here+`})`, "{{class}}"),
		},
		{
			title: "Score of each law of lifetimes", unit: plain, w: 6, h: 8,
			about: "Mean logarithm of the probability that a law gave in advance to the observed lifetimes: the " +
				"highest line is the best law, and the one that forecasts use. A difference of 0.1 means a " +
				"probability 10 % higher.",
			queries: ask(`max by (class, law) (waitcast_model_law_log_score{`+here+`})`, "{{class}} {{law}}"),
		},
		{
			title: "Lifetimes behind the models", unit: plain, w: 6, h: 8, min: at(0),
			about: "Number of lifetimes in the window of each model. With too few (below models.min_samples) the " +
				"queue uses the law of all queues together.",
			queries: ask(`max by (class) (waitcast_model_samples{`+here+`})`, "{{class}}"),
		},
	}
}

func queueChanges() []panel {
	return []panel{
		{
			title: "Bursts of one user", unit: plain, w: 8, h: 8, min: at(0),
			about: "Jobs of the burst under way, and jobs of all bursts in the kept history. When a burst ends " +
				"its jobs are still in the queue: waits stay long until they have run.",
			queries: []query{
				{`max(waitcast_flurry_active_jobs{` + here + `})`, "under way"},
				{`max(waitcast_history_flurry_jobs{` + here + `})`, "in the history"},
			},
		},
		{
			title: "Changes that were noticed", unit: plain, w: 8, h: 8, min: at(0),
			about: "Changes in the queue by reason: the capacity of its pool, its time limit, a new queue, or " +
				"another accuracy of its forecasts. After a change forecasts learn faster for a while.",
			queries: ask(`sum by (reason) (increase(waitcast_queue_drifts_total{`+here+`}[$__rate_interval]))`,
				"{{reason}}"),
		},
		{
			title: "Growth of the jobs in the system", unit: plain, w: 8, h: 8, steps: alarm(), limit: true,
			about: "Growth a week of the number of jobs that were submitted and have not left. Above the line, " +
				"more than one a week, the queue is saturated: it will not clear by itself.",
			queries: ask(`max by (cluster, queue) (waitcast_history_growth_jobs_per_second{`+here+`}) * 604800`,
				"{{queue}}, jobs a week"),
		},
	}
}
