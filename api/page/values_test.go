package page_test

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
)

// expect has the figures of the interface that the page must show.
type expect map[string]string

// number formats a number as JavaScript does. nil becomes "null".
func number(x *float64) string {
	if x == nil {
		return "null"
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

// same compares the exact values in the view with those of the interface. If background work publishes another forecast
// between the two requests, both are requested again.
func same(t *testing.T, b *tab, query string, told func() (expect, error)) {
	t.Helper()
	eventually(t, "page and interface tell the same: "+query, func() error {
		b.show(query)
		want, err := told()
		if err != nil {
			return err
		}
		got := b.figures()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if g := got[name]; !alike(g.Value, want[name]) {
				return fmt.Errorf("%s is %q (%s) on the page, %q by the interface", name, g.Value, g.Text, want[name])
			}
		}
		if len(want) == 0 {
			return fmt.Errorf("the interface tells nothing")
		}
		return nil
	})
}

// alike reports whether two values are equal as texts or as numbers. A value may be several, separated by spaces.
func alike(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(x, y, func(a, b string) bool {
		p, err := strconv.ParseFloat(a, 64)
		q, also := strconv.ParseFloat(b, 64)
		return a == b || err == nil && also == nil && p == q
	})
}

func (e expect) quantiles(q *wire.Quantiles) {
	e["p10"], e["p25"], e["p50"], e["p75"], e["p90"], e["p95"] = number(q.P10), number(q.P25), number(q.P50),
		number(q.P75), number(q.P90), number(q.P95)
}

// waitEqual proves that the quantiles and probabilities of a wait are those of GET /v1/wait, in the format of the
// command.
func waitEqual(t *testing.T, s *site, b *tab) {
	const asked = "queue=medium&procs=16&time_limit=4h&by=2h"
	var w wire.Wait
	same(t, b, "view=wait&cluster=demo&"+asked, func() (expect, error) {
		w = wire.Wait{}
		err := get(s.url+"/v1/wait?"+asked, &w)
		if err == nil && w.StartBy == nil {
			return nil, errors.New("the answer has no start_by")
		}
		e := expect{"median": number(w.WaitSeconds.P50), "1m": number(&w.StartWithin.Minute),
			"1h": number(&w.StartWithin.Hour), "1d": number(&w.StartWithin.Day)}
		if err == nil {
			e["by"] = number(&w.StartBy.Probability)
		}
		e.quantiles(&w.WaitSeconds)
		return e, err
	})
	got := b.figures()
	for name, q := range map[string]*float64{
		"p10": w.WaitSeconds.P10, "p95": w.WaitSeconds.P95,
	} {
		if want := duration.Format(time.Duration(*q * float64(time.Second))); got[name].Text != want {
			t.Errorf("%s reads %q, the command writes %q", name, got[name].Text, want)
		}
	}
	if exact, rough := duration.Format(time.Duration(*w.WaitSeconds.P50*float64(time.Second))), eval[[]string](b,
		`["textContent", "title"].map((k) => document.querySelector('[data-name="median"]')[k])`); rough[1] != exact ||
		rough[0] == "" {
		t.Errorf("the median reads %q, its exact figure %q, want %q", rough[0], rough[1], exact)
	}
	if got["reason"].Text != w.Reason {
		t.Errorf("reason %q, want %q", got["reason"].Text, w.Reason)
	}
}

// rulesEqual proves that both views of a queue have the sentences of GET /v1/queues about the rules by which jobs
// start.
func rulesEqual(t *testing.T, s *site, b *tab) {
	for _, view := range []string{"view=wait&procs=16&time_limit=4h", "view=jobs"} {
		same(t, b, view+"&cluster=demo&queue=medium", func() (expect, error) {
			var all wire.Queues
			err := get(s.url+"/v1/queues", &all)
			e := expect{}
			for _, q := range all.Queues {
				if q.Name == "medium" && q.Rules != nil {
					for i, words := range q.Rules.Words {
						e[fmt.Sprintf("rule/%d", i)] = words
					}
				}
			}
			return e, err
		})
		for name, f := range b.figures() {
			if strings.HasPrefix(name, "rule/") && (f.Text != f.Value || !strings.HasSuffix(f.Text, ".")) {
				t.Errorf("%s: %s reads %q, the sentence is %q", view, name, f.Text, f.Value)
			}
		}
	}
}

// sizesEqual proves that each cell of the heat map shows its candidate of POST /v1/wait, and that no candidate is
// missing.
func sizesEqual(t *testing.T, s *site, b *tab) {
	limits := []string{"10m", "30m", "1h", "2h", "4h", "8h", "12h", "1d"}
	body := `{"places":[{"cluster":"demo","queue":"short"}],"procs":[1,2,4,8,16,32,64,128],"time_limits":["` +
		strings.Join(limits, `","`) + `"]}`
	for _, level := range []string{"p50", "p90"} {
		same(t, b, "view=sizes&cluster=demo&queue=short&level="+level, func() (expect, error) {
			var w wire.Waits
			err := post(s.url+"/v1/wait", body, &w)
			e := expect{}
			for _, c := range w.Candidates {
				q := map[string]*float64{"p50": c.WaitSeconds.P50, "p90": c.WaitSeconds.P90}[level]
				for _, l := range limits {
					if d, err := duration.Parse(l); err == nil && d.Seconds() == c.TimeLimitSeconds {
						e[fmt.Sprintf("%d/%s", c.Procs, l)] = number(q)
					}
				}
			}
			if err == nil && len(e) != 64 {
				err = fmt.Errorf("%d candidates, want 64", len(e))
			}
			return e, err
		})
	}
}

// aheadEqual proves that the load's figures are those of GET /v1/forecast up to 24 hours.
func aheadEqual(t *testing.T, s *site, b *tab) {
	for _, queue := range []string{"", "short"} {
		same(t, b, "view=ahead&cluster=demo&queue="+queue, func() (expect, error) {
			var f wire.LoadForecast
			err := get(s.url+"/v1/forecast?hours=24&queue="+queue, &f)
			e := expect{}
			if err != nil || len(f.Loads) == 0 {
				return e, err
			}
			for _, p := range f.Loads[0].Horizons {
				for name, band := range map[string]wire.Band{
					"utilization": p.Utilization, "queued_jobs": p.QueuedJobs,
					"queued_work_processor_seconds": p.QueuedWork, "jobs_per_hour": p.JobsPerHour,
				} {
					for q, x := range map[string]float64{"p05": band.P05, "p50": band.P50, "p95": band.P95} {
						e[fmt.Sprintf("%s/%g/%s", name, p.HorizonSeconds, q)] = number(&x)
					}
				}
			}
			return e, err
		})
	}
}

// accuracyEqual proves that coverage and losses are those of GET /v1/accuracy, and the rows of the newest starts those
// of GET /v1/accuracy/recent.
func accuracyEqual(t *testing.T, s *site, b *tab) {
	same(t, b, "view=accuracy&cluster=demo&queue=short", func() (expect, error) {
		var a wire.Accuracy
		err := get(s.url+"/v1/accuracy?queue=short", &a)
		e := expect{}
		for _, g := range a.Groups {
			if g.Queue != "short" || g.SizeClass != "" || g.Made != "replayed" {
				continue
			}
			for level, c := range g.Methods[0].Coverage {
				e["coverage/"+level] = number(&c[0]) + " " + number(&c[1])
				o := g.Methods[0].Outcomes[level]
				for name, n := range map[string]int64{"decided": o.Decided, "missed": o.Missed,
					"left_undecided": o.LeftUndecided, "undecided": o.Undecided, "waiting_past": g.WaitingPast[level]} {
					e[name+"/"+level] = strconv.FormatInt(n, 10)
				}
			}
			if g.Waiting > 0 {
				e["past"] = strconv.FormatInt(g.WaitingPast["0.95"], 10)
			}
			for _, m := range g.Methods {
				loss, n := m.LogPinball["0.5"], float64(m.N)
				e[m.Method+"/0.5"], e[m.Method+"/n"], e[m.Method+"/factor"] = number(&loss), number(&n),
					number(&m.WithinFactor2)
			}
		}
		return e, err
	})
	var r wire.RecentForecasts
	if err := get(s.url+"/v1/accuracy/recent?queue=short&limit=60", &r); err != nil {
		t.Fatal(err)
	}
	rows := b.rows("The newest starts")
	forecast := slices.DeleteFunc(r.Forecasts, func(f wire.RecentForecast) bool { return f.Forecast == nil })
	if len(rows) != len(forecast) || len(rows) < 50 {
		t.Fatalf("%d rows of the newest starts, the interface tells %d", len(rows), len(forecast))
	}
	for i, f := range forecast {
		got := rows[i]
		want := []string{f.Queue, f.SizeClass, number(&f.WaitSeconds), number(f.Forecast.P10), number(f.Forecast.P50),
			number(f.Forecast.P90)}
		inside := "no"
		if *f.Forecast.P10 <= f.WaitSeconds && (f.Forecast.P90 == nil || f.WaitSeconds <= *f.Forecast.P90) {
			inside = "yes"
		}
		want = append(want, inside)
		if !slices.EqualFunc(got[1:], want, alike) {
			t.Fatalf("start %d is %v on the page, %v by the interface", i, got[1:], want)
		}
	}
}

// lifetimesEqual proves that the fitted line and the quantiles of the lifetimes are those of the interface, for both
// classes.
func lifetimesEqual(t *testing.T, s *site, b *tab) {
	for i, class := range []string{"sequential", "parallel"} {
		same(t, b, "view=lifetimes&cluster=demo&queue=short&class="+class, func() (expect, error) {
			var c wire.LifetimeCurves
			if err := get(s.url+"/v1/models/short/lifetimes", &c); err != nil {
				return nil, err
			}
			curve := c.Curves[i]
			f, n := curve.Fit, float64(curve.Fit.N)
			if f.FittedAt == nil || f.KS == nil || len(curve.Observed) != 101 {
				return nil, fmt.Errorf("not fitted: %+v", curve)
			}
			return expect{
				"n": number(&n), "line": number(&f.B0) + " " + number(&f.B1), "tmin": number(&f.TMinSeconds),
				"tmax": number(&f.TMaxSeconds), "r2": number(&f.R2), "ks": number(f.KS),
				"observed/0.1": number(&curve.Observed[10]), "observed/0.5": number(&curve.Observed[50]),
				"observed/0.95": number(&curve.Observed[95]),
			}, nil
		})
	}
}

// jobsEqual proves that every waiting job is shown with the figures of GET /v1/jobs.
func jobsEqual(t *testing.T, s *site, b *tab) {
	eventually(t, "the waiting jobs are those of the interface", func() error {
		b.show("view=jobs&cluster=demo")
		var jobs wire.Jobs
		if err := get(s.url+"/v1/jobs?limit=200", &jobs); err != nil {
			return err
		}
		rows := b.rows("Waiting jobs, the first submitted first")
		if len(rows) != len(jobs.Jobs) || len(rows) < 5 {
			return fmt.Errorf("%d rows for %d jobs", len(rows), len(jobs.Jobs))
		}
		for i, j := range jobs.Jobs {
			procs, ahead := float64(j.Procs), float64(j.AheadJobs)
			want := []string{j.ID, j.Queue, number(&procs), number(&j.WaitedSeconds), number(&ahead)}
			got := []string{rows[i][0], rows[i][1], rows[i][2], rows[i][4], rows[i][9]}
			if j.Forecast != nil {
				want, got = append(want, number(j.Forecast.Now.P50),
					number(j.Forecast.Now.P10)+" "+number(j.Forecast.Now.P90)), append(got, rows[i][5], rows[i][6])
			}
			if !slices.EqualFunc(got, want, alike) {
				return fmt.Errorf("job %s is %v on the page, %v by the interface", j.ID, got, want)
			}
		}
		return nil
	})
}

// address returns the parameters of the page's address.
func (b *tab) address() url.Values {
	b.Helper()
	q, err := url.ParseQuery(strings.TrimPrefix(eval[string](b, "location.search"), "?"))
	if err != nil {
		b.Fatal(err)
	}
	return q
}

// rounded proves that times in sentences are rounded as in everyday speech.
func rounded(_ *testing.T, _ *site, b *tab) {
	b.show("cluster=demo&view=wait&queue=medium")
	for seconds, want := range map[string]string{
		"0": "no time", "30": "less than a minute", "47": "1 min", "3247": "55 min", "4500": "75 min", "5400": "1½ h",
		"7300": "2 h", "36001": "10 h", "86400": "24 h", "180000": "2 days", "null": "never",
	} {
		b.do(chromedp.Evaluate[chromedp.Void](
			fmt.Sprintf(`import("/page/format.js").then((m) => { window.said = m.about(%s); }), undefined`, seconds)))
		b.waitFor(fmt.Sprintf("window.said === %q", want))
	}
}

// evaluates proves that an expression of a module of the page has a value, as text.
func (b *tab) evaluates(module, expression, want string) {
	b.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](
		fmt.Sprintf(`import(%q).then((m) => { window.said = m.%s; }), undefined`, module, expression)))
	b.waitFor(fmt.Sprintf("window.said === %q", want))
}

// firstQuestion proves that the first request is about a typical job of the queue, that times of day are by the
// daemon's clock if that is simulated, and that probabilities are described in words.
func firstQuestion(t *testing.T, s *site, b *tab) {
	eventually(t, "the first question is that of a typical job", func() error {
		b.show("cluster=demo&view=wait&queue=medium")
		var queues wire.Queues
		if err := get(s.url+"/v1/queues", &queues); err != nil {
			return err
		}
		i := slices.IndexFunc(queues.Queues, func(q wire.Queue) bool { return q.Name == "medium" })
		typical := queues.Queues[i].Typical
		limit, err := duration.Parse(b.address().Get("time_limit"))
		if b.address().Get("procs") != fmt.Sprint(typical.Procs) || err != nil ||
			limit.Seconds() != typical.TimeLimitSeconds {
			return fmt.Errorf("the first question is %v (%w), a typical job is %+v", b.address(), err, typical)
		}
		return nil
	})
	clock := `makeContext({queues: {as_of: "2026-03-02T10:00:00Z", age_seconds: 60}, health: {simulated_speed: 60}}, ` +
		`() => {}).now().toISOString()`
	b.evaluates("/page/controls.js", clock, "2026-03-02T10:01:00.000Z")
	for p, want := range map[string]string{"1": "almost certain", ".93": "very likely", ".5": "as likely as not",
		".1": "very unlikely", "0": "almost out of the question"} {
		b.evaluates("/page/format.js", "likely("+p+")", want)
	}
}

// pages proves that the list of waiting jobs has pages, each with its own address.
func pages(t *testing.T, s *site, b *tab) {
	eventually(t, "the list has pages", func() error {
		b.show("cluster=demo&view=jobs&offset=1")
		var jobs wire.Jobs
		if err := get(s.url+"/v1/jobs?limit=200&offset=1", &jobs); err != nil {
			return err
		}
		lead := fmt.Sprintf("Jobs 2 to %d of %d that wait", len(jobs.Jobs)+1, jobs.Waiting)
		if got := eval[string](b, `document.querySelector("#view .lead").textContent`); !strings.HasPrefix(got, lead) {
			return fmt.Errorf("the page says %q, want %q", got, lead)
		}
		return nil
	})
	b.do(chromedp.Click[chromedp.CSS](`#view a[data-key="page-before"]`))
	b.waitFor(`!new URLSearchParams(location.search).get("offset") && !!document.querySelector("table.jobs") && ` +
		`!document.querySelector("#view a[data-key='page-before']")`)
}

// loadAxis proves that the upper end of a load's axis depends on the median, so that a wide upper range does not
// compress the median, and a narrow range is completely visible. The rows are p05, p95, p25, p75 and p50.
func loadAxis(_ *testing.T, _ *site, b *tab) {
	b.show("cluster=demo&view=ahead")
	for rows, want := range map[string]string{
		"[[0], [1000], [5], [20], [10]]": "27", "[[8], [12], [9], [11], [10]]": "12.96",
	} {
		b.do(chromedp.Evaluate[chromedp.Void](
			fmt.Sprintf(`import("/page/views/ahead.js").then((m) => { window.top_ = m.loadTop(%s); }), undefined`,
				rows)))
		b.waitFor("Math.abs(window.top_ - " + want + ") < 1e-9")
	}
}
