package grafana

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// accuracy returns the dashboard that shows whether forecasts can be trusted.
func accuracy() board {
	return board{
		name: "accuracy", title: "accuracy",
		about: "Whether the forecasts can be trusted: the share of waits that each level covered, the loss " +
			"compared with other methods, errors and misses.",
		variables: []cog.Builder[dashboard.VariableModel]{
			dataSource(), clusters(true), queues(true), made(), horizons(),
		},
		rows: []row{
			{"Coverage of the newest forecasts", accuracyCoverage()},
			{"Loss, and other methods", accuracyLoss()},
			{"Errors and misses", accuracyMisses()},
			{"The two parts of a wait", accuracyParts()},
			{"Forecasts of the load", accuracyLoad()},
		},
	}
}

// made returns the variable that selects forecasts made as it happened or forecasts made after the fact.
func made() cog.Builder[dashboard.VariableModel] {
	return choice("made", "Forecasts made",
		`label_values(waitcast_forecasts_waiting{cluster=~"$cluster"}, made)`, false)
}

// hereMade selects the queues, as here does, and the selected kind of forecasts.
const hereMade = here + `,made="$made"`

// covered returns a query for the share of covered waits among the newest forecasts of all selected queues, weighted by
// their numbers.
func covered(bound, level string) string {
	n := fmt.Sprintf(`waitcast_forecasts_recent_decided{%s,level=%q}`, hereMade, level)
	return fmt.Sprintf(`sum(waitcast_forecasts_coverage_ratio{%s,bound=%q,level=%q} * on (job, instance, cluster, `+
		`queue) group_left () %s) / sum(%s)`, hereMade, bound, level, n, n)
}

// missed returns a query for the distance of the level from an interval: from the share of waits that were shorter than
// the quantile, to the share that were not longer. It is 0 if the level is inside. Of several queues, the largest
// distance below and the largest above the interval are added.
func missed(level string) string {
	r := `waitcast_forecasts_coverage_ratio{` + hereMade + `,level="` + level + `",bound="`
	return fmt.Sprintf(`max(clamp_min(%sbelow"} - %s, 0)) + max(clamp_min(%s - %shits"}, 0))`, r, level, level, r)
}

func accuracyCoverage() []panel {
	var out []panel
	for _, l := range []struct {
		level, text string
		value       float64
	}{{"0.5", "half", .5}, {"0.9", "90 %", .9}, {"0.95", "95 %", .95}} {
		out = append(out, panel{
			title: "Level " + l.level, unit: share, w: 8, h: 8, min: at(0), max: at(1), limit: true,
			steps: []step{{"green", 0}, {"blue", l.value}}, bands: [][2]string{{"not longer", "shorter"}},
			about: "Two lines for each queue, over its newest forecasts (up to 1000) whose quantile has passed, " +
				"including jobs that still wait: the share of waits not longer than the quantile, and the share " +
				"shorter than it. The dashed line, " + l.text + ", should lie between the two, which differ because " +
				"many waits are exactly 0. If both are below it, forecasts are too short; if both are above, too long.",
			queries: []query{{covered("hits", l.level), "not longer"}, {covered("below", l.level), "shorter"}},
		})
	}
	missing := panel{
		title: "By how much each level is missed, worst queue", unit: share, w: 12, h: 8, min: at(0),
		steps: rising(.05, .1), limit: true,
		about: "Distance of each level from its coverage, in the worst queue. With 1000 forecasts 0.03 is " +
			"chance. Above the upper line do not plan with that level in that queue.",
	}
	for _, level := range []string{"0.1", "0.25", "0.5", "0.75", "0.9", "0.95"} {
		missing.queries = append(missing.queries, query{missed(level), level})
	}
	by := func(bound, level string) query {
		return query{fmt.Sprintf(`max by (cluster, queue) (waitcast_forecasts_coverage_ratio{%s,bound=%q,level=%q})`,
			hereMade, bound, level), ""}
	}
	return append(out, missing, panel{
		kind: list, title: "By queue", unit: share, w: 12, h: 8, none: "no forecast has been scored",
		about: "Share of the newest waits that were not longer than the quantile. It should be at least half " +
			"in the first column, about 0.9 and 0.95 in the others. A queue without a row has no scored " +
			"forecasts yet.",
		queries: []query{by("hits", "0.5"), by("hits", "0.9"), by("hits", "0.95")},
		names:   []string{"median kept", "90 % kept", "95 % kept"},
	})
}

func accuracyLoss() []panel {
	ratio := func(level string) query {
		const sum = `sum by (peer) (increase(waitcast_peer_forecasts_%slog_pinball_total{%s,level=%q}[6h]))`
		return query{fmt.Sprintf(sum, "served_", here, level) + " / " + fmt.Sprintf(sum, "", here, level), "{{peer}}"}
	}
	against := func(level, what string) panel {
		return panel{
			title: "Loss beside other methods', " + what, unit: share, w: 8, h: 8, min: at(0), limit: true,
			steps: alarm(),
			about: "waitcast's loss divided by that of another method on the same jobs of the last 6 hours. " +
				"Below the line, 1, waitcast is better: 0.7 means 30 % less. If it is above 1 for days, the " +
				"other method uses information that waitcast lacks.",
			queries: []query{ratio(level)},
		}
	}
	return []panel{
		{
			title: "Loss of the newest forecasts", unit: plain, w: 8, h: 8, min: at(0),
			about: "Mean pinball loss of ln(wait + 60 s) by level, worst queue: lower is better. It has no " +
				"target, since queues with irregular waits have more. Compare it with its past, and a rise " +
				"with the noticed changes.",
			queries: ask(`max by (level) (waitcast_forecasts_recent_log_pinball{`+here+`})`, "{{level}}"),
		},
		against("0.5", "median"),
		against("0.95", "95 %"),
	}
}

func accuracyMisses() []panel {
	rate := func(name, more string) string {
		return fmt.Sprintf(`sum(rate(waitcast_forecasts_%s_total{%s%s}[$__rate_interval]))`, name, here, more)
	}
	const at95 = `,made="$made",level="0.95"`
	missedRate := rate("missed", at95)
	return []panel{
		{
			title: "Median error by queue and size", unit: seconds, w: 8, h: 8, log: true, min: at(0),
			about: "The medians of half of the newest forecasts were off by less than this. Compare it with the " +
				"waits: an hour is much where jobs wait minutes, little where they wait days.",
			queries: ask(`max by (cluster, queue, size) (waitcast_forecasts_median_error_seconds{`+here+`})`,
				"{{cluster}} {{queue}} {{size}}"),
		},
		{
			title: "Forecasts that were scored", unit: perSec, w: 8, h: 8, min: at(0),
			about: "Forecasts a second whose jobs started, those of them made as it happened, those whose jobs " +
				"left without a start, and starts without a forecast. If many start without a forecast, too " +
				"little is known about the queue yet.",
			queries: []query{
				{rate("scored", ""), "scored"}, {rate("scored_live", ""), "made as it happened"},
				{rate("censored", ""), "left without a start"}, {rate("impossible", ""), "no forecast"},
			},
		},
		{
			title: "Misses of the 95 % quantile", unit: share, w: 8, h: 8, min: at(0),
			steps: rising(.05, .1), limit: true,
			about: "Part of the jobs that waited longer than the 95 % quantile: of those whose quantile passed " +
				"within the hour before, whether they have started since or not, and of those that wait now. " +
				"The lower line is the target. If it is above the upper one for hours, forecasts are too " +
				"short. Among waiting jobs the share is higher, since the others have started.",
			queries: []query{
				{strings.ReplaceAll(missedRate+` / (`+missedRate+` + `+rate("hits", at95)+`)`, "$__rate_interval",
					"1h"), "passed within an hour"},
				{`sum(waitcast_forecasts_waiting_past{` + here + at95 + `}) / sum(waitcast_forecasts_waiting{` +
					hereMade + `})`, "waiting now"},
			},
		},
	}
}

// accuracyParts returns panels on the eligible and the blocked part of waits, and on whether the cause of waiting was
// predicted.
func accuracyParts() []panel {
	ratio := func(of, to, more string) string {
		const sum = `sum by (part) (increase(waitcast_forecasts_part_%s_total{%s%s}[6h]))`
		return fmt.Sprintf(sum, of, here, more) + " / " + fmt.Sprintf(sum, to, here, "")
	}
	const reasons = `sum(increase(waitcast_forecasts_reasons%s_total{cluster=~"$cluster"}[1d]))`
	return []panel{
		{
			title: "Mean wait by part", unit: seconds, w: 8, h: 8, min: at(0), stacked: true,
			about: "Two parts of the wait of the jobs that started within 6 hours: how long they competed " +
				"(eligible), and how long a limit, a begin time, another job or a hold kept them (blocked). " +
				"If most of it is blocked, more nodes would not shorten waits: limits would.",
			queries: ask(ratio("seconds", "scored", ""), "{{part}}"),
		},
		{
			title: "90 % quantile of each part", unit: share, w: 8, h: 8, min: at(0), max: at(1), limit: true,
			steps: []step{{"green", 0}, {"blue", .9}},
			about: "Share of the jobs of the last 6 hours whose part was not longer than its 90 % quantile. Near " +
				"the dashed line the forecast is right. It is above the line if most parts are 0, such as the " +
				"blocked part without limits.",
			queries: ask(ratio("hits", "scored", `,level="0.9"`), "{{part}}"),
		},
		{
			title: "Causes of waiting that were predicted", unit: share, w: 8, h: 8, min: at(0), max: at(1),
			steps: falling(.7, .9), limit: true,
			about: "Share of a day's jobs whose cause of waiting (resources, priority, limit, hold, unavailable) " +
				"was predicted at the submission, among jobs for which the scheduler gave a reason twice in a " +
				"row. If it is below the lower line, waitcast_forecasts_reasons_total shows which causes are " +
				"confused.",
			queries: ask(fmt.Sprintf(reasons, "_agreed")+" / "+fmt.Sprintf(reasons, ""), "predicted"),
		},
	}
}

func accuracyLoad() []panel {
	return []panel{
		{
			title: "Outcomes outside the band from 0.05 to 0.95", unit: share, w: 12, h: 8, min: at(0),
			steps: rising(.1, .2), limit: true,
			about: "Share of the outcomes of the queued work that were outside the band, by the horizon of the " +
				"forecast. The lower line, one of ten, is the target; above the upper one the band is " +
				"narrower than it should be.",
			queries: ask(`max by (cluster, horizon) (waitcast_load_forecast_outside_ratio{cluster=~"$cluster"})`,
				"{{cluster}} {{horizon}}"),
		},
		{
			title: "Loss of forecasts of the queued work, $horizon ahead", unit: plain, w: 12, h: 8, min: at(0),
			about: "Mean pinball loss of waitcast and of simple methods on the same outcomes: lower is better. " +
				"That of waitcast should be the lowest. If persistence (nothing changes) is as good, the " +
				"forecast adds nothing at this horizon.",
			queries: ask(`max by (cluster, method) `+
				`(waitcast_load_forecast_log_pinball_mean{cluster=~"$cluster",horizon="$horizon"})`,
				"{{cluster}} {{method}}"),
		},
	}
}
