package grafana

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// horizons returns the variable for the horizon of the load forecast.
func horizons() cog.Builder[dashboard.VariableModel] {
	return choice("horizon", "Load in",
		`label_values(waitcast_load_forecast_queued_jobs{cluster=~"$cluster"}, horizon)`, false)
}

// overview returns the dashboard for all users: the wait that a job would have, and the load to come.
func overview() board {
	return board{
		name: "overview", title: "overview",
		about:     "The wait of a job submitted now in each queue, the jobs in the queues, and the coming load.",
		variables: []cog.Builder[dashboard.VariableModel]{dataSource(), clusters(true), queues(true), horizons()},
		rows: []row{
			{"Now", overviewNow()},
			{"What a job would wait", overviewWaits()},
			{"The queues", overviewQueues()},
			{"What is coming", overviewLoad()},
			{"Alerts", overviewAlerts()},
		},
	}
}

// age returns a query for the time by which an instant of a cluster or a source is behind the daemon's clock.
func age(metric, selector string) string {
	return "waitcast_clock_timestamp_seconds - on (job, instance) group_right () " + metric + "{" + selector + "}"
}

func overviewNow() []panel {
	return []panel{
		{
			kind: number, title: "Longest median wait", unit: seconds, w: 4, h: 4, steps: rising(4*3600, 86400),
			none: "no forecast",
			about: "The median forecast of a typical job in the queue and size class where it is longest. Half " +
				"of such jobs would wait longer. If it exceeds a day, find the queue in the panels below.",
			queries: ask(`max(waitcast_forecast_wait_seconds{cluster=~"$cluster",queue=~"$queue",level="0.5"})`,
				"median"),
		},
		{
			kind: number, title: "Jobs waiting", unit: plain, w: 4, h: 4,
			about: "Jobs that compete for processors now, without held ones. If the line rises for days while " +
				"processors are busy, more work arrives than the machine can do.",
			queries: ask(`sum(waitcast_queue_jobs{cluster=~"$cluster",queue=~"$queue",state="queued"})`, "waiting"),
		},
		{
			kind: number, title: "Processors in use", unit: share, w: 4, h: 4, min: at(0), max: at(1),
			about: "Share of the machine that running jobs use, all queues together. If it is low while jobs " +
				"wait, something keeps them back: limits, reservations, or too few free processors for wide " +
				"jobs.",
			queries: ask(`sum(waitcast_queue_procs{cluster=~"$cluster",state="running"}) / `+
				`sum(waitcast_capacity_procs{cluster=~"$cluster"})`, "in use"),
		},
		{
			kind: number, title: "Probability of saturation", unit: share, w: 4, h: 4, min: at(0), max: at(1),
			steps: rising(.5, .9), none: "not forecast yet",
			about: "Probability that the queue grows without bound if jobs keep arriving as they do. If it stays " +
				"above 90 %, waits get longer until users submit less or the machine grows.",
			queries: ask(`max(waitcast_load_forecast_saturation_probability_ratio{cluster=~"$cluster"})`, "saturation"),
		},
		{
			kind: number, title: "Age of the newest record", unit: seconds, w: 4, h: 4, steps: rising(600, 3600),
			about: "Age of the newest record behind the forecasts. On a quiet machine some minutes are normal. " +
				"If it only rises while jobs run, a log is not being read: see the dashboard of the daemon.",
			queries: ask("max("+age("waitcast_as_of_timestamp_seconds", `cluster=~"$cluster"`)+")", "age"),
		},
		{
			kind: number, title: "Answers", unit: plain, w: 4, h: 4, steps: alarm(),
			says: map[string]string{"0": "fresh", "1": "stale"},
			about: "Stale means that forecasts describe an old state, because the logs have had no new line for " +
				"longer than the limit or cannot be read. Do not trust them until the state is fresh again.",
			queries: ask(`max(waitcast_stale{cluster=~"$cluster"})`, "stale"),
		},
	}
}

func overviewWaits() []panel {
	level := func(l string) query {
		return query{`max by (cluster, queue, size) ` +
			`(waitcast_forecast_wait_seconds{cluster=~"$cluster",queue=~"$queue",level="` + l + `"})`, ""}
	}
	fanned := fan(panel{
		title: "Wait in $queue", unit: seconds, w: 8, h: 8, log: true, min: at(0), repeat: "queue",
		about: "Forecast quantiles of a typical job, of the size class that waits longest: with probability " +
			".5 the wait is below the line 0.5, with .9 below 0.9. A wide band means that the wait is " +
			"uncertain; plan with its upper end.",
	}, `max by (level) (waitcast_forecast_wait_seconds{cluster=~"$cluster",queue=~"$queue"})`, [2]string{"0.9", "0.1"},
		[2]string{"0.75", "0.25"})
	return []panel{
		{
			title: "Median wait by queue and size", unit: seconds, w: 14, h: 9, log: true, min: at(0),
			about: "The median forecast of a typical job of each queue and size class (in processors), if it " +
				"were submitted then. Choose the lowest line that suits your job. Where lines cross, another " +
				"size or queue becomes better.",
			queries: ask(`max by (cluster, queue, size) `+
				`(waitcast_forecast_wait_seconds{cluster=~"$cluster",queue=~"$queue",level="0.5"})`,
				"{{cluster}} {{queue}} {{size}}"),
		},
		{
			kind: list, title: "What a job would wait now", unit: seconds, w: 10, h: 9, steps: rising(4*3600, 86400),
			none: "no forecast",
			about: "Half of the typical jobs of a queue and size class would start within the median, 95 of 100 " +
				"within the last column. A queue without a row has had no recent job, or no forecast is " +
				"possible yet.",
			queries: []query{level("0.5"), level("0.9"), level("0.95")}, names: []string{"median", "90 %", "95 %"},
		},
		fanned,
	}
}

func overviewQueues() []panel {
	return []panel{
		{
			title: "Jobs by state", unit: plain, w: 8, h: 8, stacked: true, min: at(0),
			about: "All jobs in the chosen queues. Held jobs wait for something other than processors: they are " +
				"no load now, but become load when they are released.",
			queries: ask(`sum by (state) (waitcast_queue_jobs{cluster=~"$cluster",queue=~"$queue"})`, "{{state}}"),
		},
		{
			title: "Jobs waiting by queue", unit: plain, w: 8, h: 8, stacked: true, min: at(0),
			about: "Which queue the waiting jobs are in. A queue that grows alone points to its own limits or to " +
				"one user's burst; see the dashboard of the queue.",
			queries: ask(`sum by (cluster, queue) `+
				`(waitcast_queue_jobs{cluster=~"$cluster",queue=~"$queue",state="queued"})`, "{{cluster}} {{queue}}"),
		},
		{
			title: "Processors in use by queue", unit: plain, w: 8, h: 8, min: at(0),
			about: "Processors that running jobs use, and the capacity of the cluster. A gap below the capacity " +
				"while jobs wait is the cost of wide jobs or outages.",
			queries: []query{
				{`sum by (cluster, queue) (waitcast_queue_procs{cluster=~"$cluster",queue=~"$queue",state="running"})`,
					"{{cluster}} {{queue}}"},
				{`sum by (cluster) (waitcast_capacity_procs{cluster=~"$cluster"})`, "{{cluster}} capacity"},
			},
		},
	}
}

func overviewLoad() []panel {
	bands := [][2]string{{"0.95", "0.05"}, {"0.75", "0.25"}}
	about := " The band from 0.05 to 0.95 should hold nine of ten outcomes; the dashboard of accuracy " +
		"shows whether it does."
	return []panel{
		fan(panel{
			title: "Processors in use, forecast for $horizon ahead", unit: share, w: 8, h: 8, min: at(0), max: at(1),
			about: "Forecast share of the machine in use. Each point is the forecast made at that time, for the " +
				"chosen time later. If the upper band stays well below 1 there will be room: submit then." + about,
		}, `max by (level) (waitcast_load_forecast_utilization_ratio{cluster=~"$cluster",horizon="$horizon"})`,
			bands...),
		fan(panel{
			title: "Jobs waiting, forecast for $horizon ahead", unit: plain, w: 8, h: 8, min: at(0),
			about: "Forecast number of jobs that compete for processors. Each point is the forecast made at that " +
				"time, for the chosen time later. If it is above the present number, the queue will grow." + about,
		}, `max by (level) (waitcast_load_forecast_queued_jobs{cluster=~"$cluster",horizon="$horizon"})`, bands...),
		{
			title: "Probability of saturation", unit: share, w: 8, h: 8, min: at(0), max: at(1),
			steps: rising(.5, .9), limit: true,
			about: "Probability that the queue grows without bound if jobs keep arriving as they do. A short " +
				"peak is a busy day. If it stays above the upper line for days, more work arrives than the " +
				"machine can do.",
			queries: ask(`max by (cluster) (waitcast_load_forecast_saturation_probability_ratio{cluster=~"$cluster"})`,
				"{{cluster}}"),
		},
	}
}

func overviewAlerts() []panel {
	return []panel{
		{
			kind: list, title: "Alerts that fire", unit: plain, w: 12, h: 8, none: "no alert fires",
			names: []string{""},
			about: "The alerts of deploy/prometheus that Prometheus has firing or pending. Each names its queue or " +
				"source; its annotation in Prometheus says what to do. Empty is good, if the rules are loaded.",
			queries: ask(
				`max by (alertname, alertstate, severity, cluster, queue, source) (ALERTS{alertname=~"Waitcast.*"})`,
				""),
		},
		{
			title: "Bursts of one user", unit: plain, w: 6, h: 8, min: at(0),
			about: "Jobs of the largest burst of one user that is under way, 0 if none is. While it lasts, " +
				"forecasts of the queue are less certain, and other users wait for one user's jobs.",
			queries: ask(`max by (cluster, queue) (waitcast_flurry_active_jobs{cluster=~"$cluster",queue=~"$queue"})`,
				"{{cluster}} {{queue}}"),
		},
		{
			title: "Changes that were noticed", unit: plain, w: 6, h: 8, min: at(0),
			about: "Changes of capacity, limits, queues, or of the accuracy of forecasts, by reason. After a " +
				"change, forecasts learn faster for a while: expect them to be less accurate for some hours.",
			queries: ask(`sum by (reason) `+
				`(increase(waitcast_queue_drifts_total{cluster=~"$cluster",queue=~"$queue"}[$__rate_interval]))`,
				"{{reason}}"),
		},
	}
}
