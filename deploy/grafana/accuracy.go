package grafana

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// accuracy reports whether forecasts can be trusted.
func accuracy() board {
	return board{
		name: "accuracy", title: "accuracy",
		about: "Whether the forecasts can be trusted: what part of the waits each level covered, the loss beside " +
			"other methods', errors and misses.",
		variables: []cog.Builder[dashboard.VariableModel]{
			dataSource(), clusters(true), queues(true), made(), horizons(),
		},
		rows: []row{
			{"Coverage of the newest forecasts", accuracyCoverage()},
			{"Loss, and other methods", accuracyLoss()},
			{"Errors and misses", accuracyMisses()},
			{"Forecasts of the load", accuracyLoad()},
		},
	}
}

// made chooses between forecasts made as it happened and those made after the fact.
func made() cog.Builder[dashboard.VariableModel] {
	return choice("made", "Forecasts made",
		`label_values(waitcast_forecasts_waiting{cluster=~"$cluster"}, made)`, false)
}

// hereMade selects like here, and the forecasts that were made as chosen.
const hereMade = here + `,made="$made"`

// covered is the part of the newest forecasts of the chosen queues together, each queue by how many it has.
func covered(bound, level string) string {
	n := fmt.Sprintf(`waitcast_forecasts_recent_decided{%s,level=%q}`, hereMade, level)
	return fmt.Sprintf(`sum(waitcast_forecasts_coverage_ratio{%s,bound=%q,level=%q} * on (job, instance, cluster, `+
		`queue) group_left () %s) / sum(%s)`, hereMade, bound, level, n, n)
}

// missed is by how much a level lies outside the part below and the part that was hit, of the queue where it is most;
// it is 0 for a perfect forecast.
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
			about: "The part of the newest up to 1000 forecasts of each queue whose quantile has passed, and whose " +
				"wait was not longer, and was shorter, than it. Jobs that still wait are among them. " +
				"The dashed line, " + l.text +
				", should lie between the two: they are apart where many waits are exactly 0. Both below it: " +
				"forecasts are too short. Both above it: too long.",
			queries: []query{{covered("hits", l.level), "not longer"}, {covered("below", l.level), "shorter"}},
		})
	}
	missing := panel{
		title: "By how much each level is missed, worst queue", unit: share, w: 12, h: 8, min: at(0),
		steps: rising(.05, .1), limit: true,
		about: "How far each level lies outside what was covered, in the queue where that is most. With 1000 " +
			"forecasts .03 is chance; above the upper line do not plan with that level in that queue.",
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
		about: "What part of the newest waits was not longer than the quantile: want at least half in the first " +
			"column, about .9 and .95 in the others. A queue that is missing has no scored forecasts yet.",
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
			about: "Our loss over that of another method on the same jobs of the last 6 hours. Below the line, 1, " +
				"ours is better: .7 is 30 % less. Above it for days: the other method knows something that we do not.",
			queries: []query{ratio(level)},
		}
	}
	return []panel{
		{
			title: "Loss of the newest forecasts", unit: plain, w: 8, h: 8, min: at(0),
			about: "Mean pinball loss of ln(wait + 60 s) by level, worst queue: lower is better. It has no target " +
				"of its own, since hard queues have more: compare it with its own past, " +
				"and a rise with the changes that were noticed.",
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
			about: "Half of the newest forecasts were off by less than this, of their medians. Judge it beside the " +
				"waits: an hour is much where jobs wait minutes, little where they wait days.",
			queries: ask(`max by (cluster, queue, size) (waitcast_forecasts_median_error_seconds{`+here+`})`,
				"{{cluster}} {{queue}} {{size}}"),
		},
		{
			title: "Forecasts that were scored", unit: perSec, w: 8, h: 8, min: at(0),
			about: "Forecasts a second whose jobs started, those of them made as it happened, those whose jobs left " +
				"without a start, and starts without a forecast. Many without a forecast: " +
				"too little is known of the queue yet.",
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
				"The lower line is the target. Above the upper one for hours: forecasts are too short, " +
				"users will be disappointed. Of the jobs that wait more are late, as the others have started.",
			queries: []query{
				{strings.ReplaceAll(missedRate+` / (`+missedRate+` + `+rate("hits", at95)+`)`, "$__rate_interval",
					"1h"), "passed within an hour"},
				{`sum(waitcast_forecasts_waiting_past{` + here + at95 + `}) / sum(waitcast_forecasts_waiting{` +
					hereMade + `})`, "waiting now"},
			},
		},
	}
}

func accuracyLoad() []panel {
	return []panel{
		{
			title: "Outcomes outside the band from 0.05 to 0.95", unit: share, w: 12, h: 8, min: at(0),
			steps: rising(.1, .2), limit: true,
			about: "Part of the outcomes of the queued work that lay outside the band, by how far ahead it was " +
				"forecast. The lower line, one of ten, is the target; " +
				"above the upper one read the band as narrower than it should be.",
			queries: ask(`max by (cluster, horizon) (waitcast_load_forecast_outside_ratio{cluster=~"$cluster"})`,
				"{{cluster}} {{horizon}}"),
		},
		{
			title: "Loss of forecasts of the queued work, $horizon ahead", unit: plain, w: 12, h: 8, min: at(0),
			about: "Mean pinball loss of ours and of simple methods on the same outcomes: lower is better. Ours " +
				"should be the lowest; where persistence (it stays as it is) is as good, " +
				"the forecast tells nothing new so far ahead.",
			queries: ask(`max by (cluster, method) `+
				`(waitcast_load_forecast_log_pinball_mean{cluster=~"$cluster",horizon="$horizon"})`,
				"{{cluster}} {{method}}"),
		},
	}
}
