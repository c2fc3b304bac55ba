package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/waitcast/waitcast/internal/browser"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/backtest/report"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/swf"
)

// queues are names that a page must show unchanged.
var queues = []string{`<script>alert(1)</script>`, `"onload=x`, "short", "long&co"}

// trace returns a log of a machine of 8 processors on which jobs wait for each other. Every tenth job is cancelled.
func trace(t *testing.T, jobs int) *backtest.Trace {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var out strings.Builder
	out.WriteString("; MaxProcs: 8\n; UnixStartTime: 1772409600\n")
	for i, name := range queues {
		fmt.Fprintf(&out, "; Queue: %d %s\n", i+1, name)
	}
	free, submit := make([]int, 8), 0
	for i := range jobs {
		submit += rng.IntN(2400)
		runtime, at := 60+rng.IntN(17000), 0
		for k := range free { // each job takes one processor, the first to become free
			if free[k] < free[at] {
				at = k
			}
		}
		if i%10 == 9 {
			fmt.Fprintf(&out, "%d %d %d -1 -1 -1 -1 1 3600 -1 5 %d 1 -1 %d -1 -1 -1\n", i+1, submit, rng.IntN(900), i%5,
				1+i%4)
			continue
		}
		start := max(submit, free[at])
		free[at] = start + runtime
		fmt.Fprintf(&out, "%d %d %d %d 1 -1 -1 1 3600 -1 1 %d 1 -1 %d -1 -1 -1\n", i+1, submit, start-submit, runtime,
			i%5, 1+i%4)
	}
	return read(t, out.String())
}

func read(t *testing.T, text string) *backtest.Trace {
	t.Helper()
	out, err := backtest.Read(swf.NewReader(strings.NewReader(text)), "our <cluster>")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write replays traces and writes the page.
func write(t *testing.T, warmup float64, traces ...*backtest.Trace) (string, *backtest.Result) {
	t.Helper()
	var r backtest.Result
	for _, trace := range traces {
		result, err := backtest.Run(trace, backtest.Options{Warmup: warmup})
		if err != nil {
			t.Fatal(err)
		}
		result.Files = []backtest.File{{Path: "/home/mallory/logs/20260302.gz", Format: "swf",
			Records: int64(len(trace.Jobs)) + 3, LeftOut: 3, Notices: 1,
			Reasons: map[string]int64{"procs": 2, "field": 1}}}
		r.Traces = append(r.Traces, *result)
	}
	return page(t, &r), &r
}

func page(t *testing.T, r *backtest.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.Write(&out, r, report.Options{Version: "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestFastReplay proves that under a plan only the newest jobs are forecast and scored, and that the page says so. A
// log that is no longer than the plan's newest jobs gives the same page as without a plan.
func TestFastReplay(t *testing.T) {
	log := trace(t, 700)
	fast := func(newest int) *backtest.Result {
		r, err := backtest.Run(log, backtest.Options{Fast: &engine.Replay{Newest: newest, Older: 100}})
		if err != nil {
			t.Fatal(err)
		}
		r.Seconds = 0
		return &backtest.Result{Traces: []backtest.TraceResult{*r}}
	}
	r := fast(300)
	got := &r.Traces[0]
	if p := got.Population; got.ForecastJobs != 300 || p.WarmUp != 400 || p.Scored+p.Cancelled != 300 ||
		got.Method(backtest.Waitcast).N != p.Scored || got.Learning != nil {
		t.Errorf("%d forecast, %+v, %d steps", got.ForecastJobs, p, len(got.Learning))
	}
	text := page(t, r)
	for want, times := range map[string]int{"waits of the last 300 only": 1, "How quickly it learnt": 0, "NaN": 0} {
		if n := strings.Count(text, want); n != times {
			t.Errorf("the page has %q %d times, want %d", want, n, times)
		}
	}
	exact, err := backtest.Run(log, backtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	exact.Seconds = 0
	if all := page(t, fast(700)); all != page(t, &backtest.Result{Traces: []backtest.TraceResult{*exact}}) {
		t.Error("a plan of no more jobs changes the page")
	}
}

// TestNothingFromTheNetwork proves that the page names no address, runs no script and forbids both, and that a second
// page has the same bytes. Names of queues are text. The folders of files are not shown, because their names may be
// those of people.
func TestNothingFromTheNetwork(t *testing.T) {
	log := trace(t, 1500)
	text, r := write(t, .1, log, trace(t, 200))
	for _, never := range []string{"http:", "https:", "//", "<script", "onload=x\"", "@import", "url(", "mallory",
		"NaN", "+Inf", "%!"} {
		if i := strings.Index(text, never); i >= 0 {
			t.Errorf("the page has %q: ...%s...", never, text[max(0, i-80):min(len(text), i+80)])
		}
	}
	for _, want := range []string{
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'`,
		"&lt;script&gt;alert(1)&lt;/script&gt;", "our &lt;cluster&gt;", "20260302.gz", "long&amp;co",
		"by waitcast 1.2.3",
		"no number of processors, or an impossible one (2)", "a field is missing or cannot be read (1)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if again := page(t, r); again != text {
		t.Error("the same result gives another page")
	}
	if svg, described := strings.Count(text, "<svg"), strings.Count(text, "<desc id="); svg != described || svg < 12 {
		t.Errorf("%d plots, %d descriptions; want 14 or 12 of each", svg, described)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		ids[m[1]] = true
	}
}

// TestSentences proves that the plain sentences have the result's figures, which the test writes independently.
func TestSentences(t *testing.T) {
	text, r := write(t, .1, trace(t, 1500))
	tr := &r.Traces[0]
	served, qbets, bound := tr.Method("waitcast"), tr.Method("qbets"), tr.Comparisons[0]
	for _, want := range []string{
		"waitcast went through the 1,500 jobs of this log",
		"The first 150 only taught it. Of the other 1,350, 1,215 are scored",
		fmt.Sprintf("would have given a typical job a 95 %% bound %.2f times as long", *bound.BoundRatio),
		fmt.Sprintf("%.1f of 100 jobs would have started within it.", 100*qbets.Coverage["0.95"][1]),
		fmt.Sprintf("<td>QBETS</td><td>1,215</td><td>50 %%</td><td>%.3f</td><td>%.3f</td><td>%.2f</td><td>%.2f to "+
			"%.2f</td>", bound.Levels["0.5"].Other, bound.Levels["0.5"].Waitcast, *bound.Levels["0.5"].Ratio,
			bound.Levels["0.5"].Chance[0], bound.Levels["0.5"].Chance[1]),
		fmt.Sprintf("%.1f of 100 jobs started within its 95 %% bound", 100*served.Coverage["0.95"][1]),
		fmt.Sprintf("Of the %d jobs for which it gave more than a minute", tr.Long.N),
		"135 jobs were cancelled while waiting", "The log has no priorities.",
		"submitted from 2026-03-02 to ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if served.N != 1215 {
		t.Errorf("%d jobs are scored, want 1,215: nine of ten after the first 150", served.N)
	}
}

// TestTooLittle proves that logs of a few jobs, of jobs without waits, and of a few days give a page that says so.
func TestTooLittle(t *testing.T) {
	noWaits := read(t, "1 0 -1 5 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n2 9 -1 5 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1\n")
	waiting := read(t, "1 0 -1 -1 -1 -1 -1 1 60 -1 -1 1 1 1 1 -1 -1 -1\n")
	for _, tc := range []struct {
		name  string
		trace *backtest.Trace
		want  []string
	}{
		{"five jobs", trace(t, 5), []string{"Too little to judge by: 4 jobs", "There is no interval of chance"}},
		{"one job", trace(t, 1), []string{"cannot show how good",
			"1 job in this log none can be scored: 1 submitted before"}},
		{"no waits", noWaits, []string{"cannot show how good", "2 without a wait in the log"}},
		{"never started", waiting, []string{"1 without a start in the log"}},
	} {
		text, _ := write(t, 0, tc.trace)
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %q:\n%s", tc.name, want, text[strings.Index(text, "<main>"):])
			}
		}
		for _, never := range []string{"NaN", "Inf", "promise was missed", "%!"} {
			if strings.Contains(text, never) {
				t.Errorf("%s: the page has %q", tc.name, never)
			}
		}
	}
	short := trace(t, 1500)
	for i := range short.Jobs { // all within three days
		j := &short.Jobs[i]
		wait := j.Start - j.Submit
		j.Submit = float64(i) * 170
		j.Start, j.End = j.Submit+wait, j.Submit+wait+60
		j.Starts, j.Cancelled, j.Ends, j.Recorded = true, false, true, true
	}
	want := "Too short to judge by: the scored jobs were submitted on 3 days"
	if text, _ := write(t, .1, short); !strings.Contains(text, want) {
		t.Errorf("of three days the page says:\n%s", text[strings.Index(text, "<main>"):][:1500])
	}
}

// TestRefusesOtherResults proves that a result without details is refused with its name.
func TestRefusesOtherResults(t *testing.T) {
	bare := backtest.Result{Traces: []backtest.TraceResult{{Trace: "ours"}}}
	err := report.Write(&bytes.Buffer{}, &bare, report.Options{})
	if err == nil || !strings.Contains(err.Error(), "ours") {
		t.Errorf("%v, want one that names the trace", err)
	}
}

// TestChromium proves that a real Chromium without a network shows the page without a request and without an error, in
// both themes. All plots have a size, no text leaves the window on a phone, and colors differ between the themes.
func TestChromium(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a browser; left out by -short")
	}
	path, err := browser.Find()
	if err != nil {
		t.Skip("SKIP: " + err.Error())
	}
	text, _ := write(t, .1, trace(t, 1500), trace(t, 5))
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, end, err := browser.Start(context.Background(), path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var heard listener
	if err := chromedp.Listen(ctx, heard.hear); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, theme := range []string{"light", "dark"} {
		if err := chromedp.Do(ctx, offline(), chromedp.EmulateViewport(360, 800), browser.Theme(theme),
			chromedp.Navigate("file://"+file)); err != nil {
			t.Fatal(err)
		}
		plots, err := chromedp.Run(ctx, chromedp.Evaluate[int](
			`[...document.querySelectorAll("figure svg")].filter((s) => s.getBoundingClientRect().height > 50).length`))
		if err != nil || plots != strings.Count(text, "<svg") {
			t.Errorf("%s: %d plots have a size, want %d (%v)", theme, plots, strings.Count(text, "<svg"), err)
		}
		overflow, err := chromedp.Run(ctx, chromedp.Evaluate[int](
			`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		if err != nil || overflow > 0 {
			t.Errorf("%s: the page is %d pixels wider than a phone (%v)", theme, overflow, err)
		}
		color, err := chromedp.Run(ctx, chromedp.Evaluate[string](
			`getComputedStyle(document.body).backgroundColor + `+
				`getComputedStyle(document.querySelector("svg path")).stroke`))
		if err != nil {
			t.Fatal(err)
		}
		seen[color] = theme
	}
	if len(seen) != 2 {
		t.Errorf("both themes have the colors %v", seen)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, url := range heard.requests {
		if url != "file://"+file {
			t.Errorf("the page asked for %s", url)
		}
	}
	if len(heard.requests) < 2 || len(heard.complaints) > 0 {
		t.Errorf("%d requests, want the page twice; the console has %q", len(heard.requests), heard.complaints)
	}
}

// offline disconnects the browser from the network, and enables its events.
func offline() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		_, also := cdp.Call(ctx, target, cdplog.Enable, cdp.Empty{})
		_, off := cdp.Call(ctx, target, network.EmulateNetworkConditionsByRule,
			network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{
				{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}}})
		return errors.Join(err, also, off)
	})
}

// listener records the browser's requests and errors.
type listener struct {
	mu                   sync.Mutex
	requests, complaints []string
}

func (l *listener) hear(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		l.requests = append(l.requests, e.Request.URL)
	case *cdplog.EventEntryAdded:
		l.complaints = append(l.complaints, e.Entry.Text+" "+e.Entry.URL)
	case *runtime.EventExceptionThrown:
		l.complaints = append(l.complaints, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		l.complaints = append(l.complaints, fmt.Sprintf("console.%s", e.Type))
	}
}
