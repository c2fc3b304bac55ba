package grafana

import (
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// daemon returns the dashboard that shows the health of waitcastd itself.
func daemon() board {
	instances := choice("instance", "Daemon", "label_values(waitcast_build_info, instance)", true)
	return board{
		name: "daemon", title: "daemon",
		about: "The state of the daemon: the logs that it reads, the scheduler that it queries, its " +
			"database, its work in the background, HTTP, memory.",
		variables: []cog.Builder[dashboard.VariableModel]{dataSource(), clusters(true), instances},
		rows: []row{
			{"Is it well?", daemonNow()},
			{"Reading the logs", daemonLogs()},
			{"Asking the scheduler", daemonSnapshots()},
			{"Database and models", slices.Concat(daemonWork(), daemonProgress())},
			{"HTTP", daemonHTTP()},
			{"Process", daemonProcess()},
		},
	}
}

const (
	// process selects a daemon, with all its clusters.
	process = `instance=~"$instance"`
	// ofCluster selects the sources of clusters.
	ofCluster = `instance=~"$instance",cluster=~"$cluster"`
	// ofSource selects series that have only the label source, whose name begins with the cluster's.
	ofSource = `instance=~"$instance",source=~"$cluster/.+"`
)

func daemonNow() []panel {
	bad := func(title, expr, about string, says map[string]string) panel {
		return panel{kind: number, title: title, unit: plain, w: 4, h: 4, steps: alarm(), about: about,
			queries: ask(expr, ""), says: says}
	}
	return []panel{
		bad("Database", `max(waitcast_store_failing{`+process+`})`,
			"If it fails, new records wait, and answers become stale. Check for a full disk, permissions, "+
				"another process; the log names the reason.",
			map[string]string{"0": "works", "1": "failing"}),
		bad("Sources with a problem", `sum(waitcast_source_problem{`+ofCluster+`})`,
			"Sources that cannot be read: a missing file, permissions, a command that fails. GET /readyz "+
				"and the log name the problem.",
			nil),
		bad("Failed calls in a row", `max(waitcast_snapshot_consecutive_failures{`+ofCluster+`})`,
			"Failed calls of the scheduler's command since the last successful one. The daemon calls less "+
				"and less often while they fail.", nil),
		{
			kind: number, title: "Bytes not read yet", unit: amount, w: 4, h: 4, steps: rising(1<<20, 100<<20),
			about: "Bytes in the logs that the daemon has not read yet. Their number is large at the first " +
				"start; if it stays, the daemon does not keep up or a log cannot be read.",
			queries: ask(`sum(waitcast_tail_lag_bytes{`+ofSource+`})`, "behind"),
		},
		{
			kind: number, title: "Bad lines an hour", unit: plain, w: 4, h: 4, steps: rising(1, 100),
			about: "Lines that could not be used. A few after an upgrade of the scheduler deserve a look at GET " +
				"/v1/quarantine; many mean a wrong format in the configuration.",
			queries: ask(`sum(increase(waitcast_bad_lines_total{`+ofCluster+`}[1h]))`, "bad"),
		},
		{
			kind: list, title: "Versions", unit: plain, w: 4, h: 4, names: []string{""},
			about: "The running daemons and their versions. Several versions at once mean that an upgrade is not " +
				"finished.",
			queries: ask(`max by (instance, version) (waitcast_build_info{`+process+`})`, ""),
		},
	}
}

func daemonLogs() []panel {
	return []panel{
		{
			title: "Lines read", unit: perSec, w: 8, h: 8, min: at(0),
			about: "Lines a second of each source. " +
				"A source at 0 while jobs run is not being written or not being read.",
			queries: ask(`sum by (source) (rate(waitcast_lines_total{`+ofCluster+`}[$__rate_interval]))`, "{{source}}"),
		},
		{
			title: "Bad lines", unit: perSec, w: 8, h: 8, min: at(0),
			about: "Lines a second that could not be used, by reason. They are kept in the quarantine with file " +
				"and line number; a reason that begins at an upgrade of the scheduler is a change of its format.",
			queries: ask(`sum by (source, reason) (rate(waitcast_bad_lines_total{`+ofCluster+`}[$__rate_interval]))`,
				"{{source}} {{reason}}"),
		},
		{
			title: "Effects of events", unit: perSec, w: 8, h: 8, min: at(0),
			about: "Events a second by their effect. Duplicates are normal if two sources report the same. " +
				"Orphans belong to jobs about which too little is known, and should be few after the first " +
				"days.",
			queries: ask(`sum by (verdict) (rate(waitcast_events_total{`+ofCluster+`}[$__rate_interval]))`,
				"{{verdict}}"),
		},
		{
			title: "Time since the newest line of a source", unit: seconds, w: 8, h: 8, min: at(0), log: true,
			about: "By the daemon's clock. Compare a source with its past: one that has a line every minute and " +
				"then none for an hour has a problem. Sources without a line since the start are left out.",
			queries: ask(age("waitcast_source_last_line_timestamp_seconds", ofCluster)+
				` and on (job, instance, cluster, source) waitcast_source_last_line_timestamp_seconds{`+ofCluster+
				`} > 0`, "{{source}}"),
		},
		{
			title: "Bytes not read yet", unit: amount, w: 8, h: 8, min: at(0),
			about: "Falls to 0 after a start and stays there. A rising line means that the daemon does not keep " +
				"up, or cannot read.",
			queries: ask(`max by (source) (waitcast_tail_lag_bytes{`+ofSource+`})`, "{{source}}"),
		},
		{
			title: "Rotations and problems of files", unit: plain, w: 8, h: 8, min: at(0),
			about: "Rotations and problems of the files. Rotations should occur as configured. A truncation can " +
				"lose lines: prefer rotation by rename.",
			queries: []query{
				{`sum by (source) (increase(waitcast_tail_rotations_total{` + ofSource + `}[$__rate_interval]))`,
					"{{source}} rotations"},
				{`sum by (source) (increase(waitcast_tail_truncations_total{` + ofSource + `}[$__rate_interval]))`,
					"{{source}} truncations"},
				{`sum by (source) (increase(waitcast_tail_problems_total{` + ofSource + `}[$__rate_interval]))`,
					"{{source}} problems"},
			},
		},
	}
}

func daemonSnapshots() []panel {
	return []panel{
		{
			title: "How long the scheduler takes to answer", unit: seconds, w: 12, h: 8, min: at(0),
			none: "no scheduler is asked",
			about: "Median and 99 % of the calls of the last hour. A rise usually comes from other load on the " +
				"scheduler: waitcast runs at most one call at a time.",
			queries: []query{
				{`histogram_quantile(0.5, sum by (source, le) (rate(waitcast_snapshot_seconds_bucket{` + ofCluster +
					`}[1h])))`, "{{source}} median"},
				{`histogram_quantile(0.99, sum by (source, le) (rate(waitcast_snapshot_seconds_bucket{` + ofCluster +
					`}[1h])))`, "{{source}} 99 %"},
			},
		},
		{
			title: "Failed calls", unit: plain, w: 12, h: 8, min: at(0), none: "no scheduler is asked",
			about: "Calls that failed, by reason: start (the command cannot be run), timeout, exit (it failed), " +
				"output (unusable). Single failures do no harm: the next call replaces them.",
			queries: ask(`sum by (source, reason) (increase(waitcast_snapshot_failures_total{`+ofCluster+
				`}[$__rate_interval]))`, "{{source}} {{reason}}"),
		},
	}
}

// daemonWork returns the panels of the cost of the daemon's work.
func daemonWork() []panel {
	quantile := func(q, metric string) string {
		return fmt.Sprintf(`histogram_quantile(%s, sum by (le) (rate(%s_bucket{%s}[$__rate_interval])))`, q,
			metric, process)
	}
	return []panel{
		{
			title: "Time of a transaction", unit: seconds, w: 6, h: 8, min: at(0), steps: rising(.5, 2), limit: true,
			about: "Time of a commit to the database. Above the lower line the disk is slow or shared; new " +
				"forecasts are later by that time.",
			queries: []query{{quantile("0.5", "waitcast_store_commit_seconds"), "median"},
				{quantile("0.99", "waitcast_store_commit_seconds"), "99 %"}},
		},
		{
			title: "Time of a refit", unit: seconds, w: 6, h: 8, min: at(0), steps: rising(.05, .5), limit: true,
			about: "Time to update the fitted models of a cluster. It is part of the time from a log line to a " +
				"new forecast, which should stay under 100 ms.",
			queries: []query{{quantile("0.5", "waitcast_model_refit_seconds"), "median"},
				{quantile("0.99", "waitcast_model_refit_seconds"), "99 %"}},
		},
		{
			title: "Work in the background", unit: seconds, w: 6, h: 8, min: at(0),
			about: "Time of the newest training of trees, simulation of a large pool and forecast of the load. " +
				"It is 0 until the first one since the start. They run in the background.",
			queries: []query{
				{`max by (cluster) (waitcast_engine_training_seconds{` + ofCluster + `})`, "{{cluster}} training"},
				{`max by (cluster) (waitcast_engine_simulation_seconds{` + ofCluster + `})`, "{{cluster}} simulation"},
				{`max by (cluster) (waitcast_load_forecast_seconds{` + ofCluster + `})`,
					"{{cluster}} forecast of the load"},
			},
		},
		{
			title: "Does training keep up?", unit: share, w: 6, h: 8, min: at(0), steps: rising(.2, .5), limit: true,
			about: "Waits learnt since the training of the current trees began, as a share of the waits for " +
				"training; and failed trainings of the last hour. If it is above the lower line for days, " +
				"training fails or is too slow.",
			queries: []query{
				{`max by (cluster) (waitcast_engine_trees_behind_waits{` + ofCluster + `} / (waitcast_engine_rows{` +
					ofCluster + `} > 0))`, "{{cluster}} behind"},
				{`sum by (cluster) (increase(waitcast_engine_training_failures_total{` + ofCluster + `}[1h]))`,
					"{{cluster}} failed trainings"},
				{`sum by (cluster) (increase(waitcast_load_forecast_failures_total{` + ofCluster + `}[1h]))`,
					"{{cluster}} failed forecasts of the load"},
			},
		},
	}
}

// daemonProgress returns the panels of what the daemon publishes and learns.
func daemonProgress() []panel {
	return []panel{
		{
			title: "Views, and errors of the database", unit: perSec, w: 12, h: 8, min: at(0),
			about: "Published views, and failed operations of the database, a second. If there are no views " +
				"while lines are read, the writer is stuck. The log explains errors.",
			queries: []query{
				{`sum(rate(waitcast_views_published_total{` + process + `}[$__rate_interval]))`, "views published"},
				{`sum(rate(waitcast_store_errors_total{` + process + `}[$__rate_interval]))`, "errors of the database"},
			},
		},
		{
			title: "Forecasts and waits", unit: plain, w: 12, h: 8, min: at(0),
			about: "Forecasts whose jobs still wait, and waits that forecasts have learnt from. The second " +
				"should rise steadily; if it does not while jobs start, the logs do not report the starts.",
			queries: []query{
				{`max by (cluster) (waitcast_forecasts_open{` + ofCluster + `})`, "{{cluster}} open"},
				{`max by (cluster) (waitcast_forecasts_waits_learnt{` + ofCluster + `})`, "{{cluster}} learnt"},
			},
		},
	}
}

func daemonHTTP() []panel {
	quantile := func(q string) query {
		return query{fmt.Sprintf(`histogram_quantile(%s, sum by (method, le) `+
			`(rate(waitcast_http_request_duration_seconds_bucket{%s}[$__rate_interval])))`, q, process),
			"{{method}} " + q}
	}
	return []panel{
		{
			title: "Requests", unit: "reqps", w: 8, h: 8, min: at(0),
			about: "Requests a second by status. 4xx are wrong requests (an unknown queue); 503 means that no " +
				"forecast is possible yet; 500 is a bug.",
			queries: ask(`sum by (code) (rate(waitcast_http_requests_total{`+process+
				`}[$__rate_interval]))`, "{{code}}"),
		},
		{
			title: "Time of an answer", unit: seconds, w: 8, h: 8, min: at(0), steps: rising(.005, .05), limit: true,
			about: "Median and 99 % by method, scrapes of the metrics included. The lower line is the limit for " +
				"answers to GET /v1/wait.",
			queries: []query{quantile("0.5"), quantile("0.99")},
		},
		{
			title: "Clients that watch", unit: plain, w: 8, h: 8, min: at(0),
			about: "Clients of /v1/watch, and those that were dropped because they did not read. Dropped clients " +
				"reconnect automatically; many mean slow networks.",
			queries: []query{
				{`sum(waitcast_watch_subscribers{` + process + `})`, "watching"},
				{`sum(increase(waitcast_watch_dropped_total{` + process + `}[$__rate_interval]))`, "dropped"},
			},
		},
	}
}

func daemonProcess() []panel {
	// Only processes of waitcast, because others may have the same instance label.
	with := ` and on (job, instance) waitcast_build_info{` + process + `}`
	gauge := func(metric string) string { return metric + `{` + process + `}` + with }
	return []panel{
		{
			title: "Memory", unit: amount, w: 6, h: 8, min: at(0),
			about: "Memory of the process, and its heap. A year of a cluster with a million jobs takes about 256 " +
				"MiB; a line that rises for days without a rise of the jobs is a leak.",
			queries: []query{
				{gauge("process_resident_memory_bytes"), "{{instance}} resident"},
				{gauge("go_memstats_heap_inuse_bytes"), "{{instance}} heap"},
			},
		},
		{
			title: "Processor time", unit: share, w: 6, h: 8, min: at(0),
			about: "1 is one processor. Trainings and simulations show as plateaus; permanent full use means " +
				"that lines arrive faster than they can be forecast.",
			queries: ask(`rate(process_cpu_seconds_total{`+process+`}[$__rate_interval])`+with, "{{instance}}"),
		},
		{
			title: "Goroutines", unit: plain, w: 6, h: 8, min: at(0),
			about:   "Usually some tens, and one or two for each client. A line that only rises is a leak.",
			queries: ask(gauge("go_goroutines"), "{{instance}}"),
		},
		{
			title: "Open files", unit: share, w: 6, h: 8, min: at(0), max: at(1), steps: rising(.7, .9), limit: true,
			about: "Open files as a share of the limit of the process. Near 1 logs cannot be opened and clients " +
				"are refused: raise LimitNOFILE.",
			queries: ask(`process_open_fds{`+process+`} / process_max_fds{`+process+`}`+with, "{{instance}}"),
		},
	}
}
