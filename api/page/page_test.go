package page_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/internal/browser"
)

// views are the names of the page's views, in their order, with their headings.
func views() [][2]string {
	return [][2]string{
		{"wait", "How long would this job wait?"}, {"sizes", "How the wait depends on size and time limit"},
		{"ahead", "The next 24 hours"}, {"accuracy", "Forecast and fact"}, {"lifetimes", "How long jobs run"},
		{"jobs", "Waiting jobs"},
	}
}

// history is long enough for all models to be fitted and for jobs to wait.
const history = 9 * time.Hour

// TestPage drives the page in a real Chromium, on a real daemon that has read the log of a simulated cluster.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a daemon and a browser; left out by -short")
	}
	if _, err := browser.Find(); err != nil {
		t.Skip("SKIP: " + err.Error())
	}
	s := serve(t, history)
	stop := stopper(t, s)
	b := open(t, s.url)
	t.Run("values of the interface", func(t *testing.T) {
		b.TB = t
		waitEqual(t, s, b)
		sizesEqual(t, s, b)
		aheadEqual(t, s, b)
		accuracyEqual(t, s, b)
		lifetimesEqual(t, s, b)
		jobsEqual(t, s, b)
		rulesEqual(t, s, b)
	})
	for _, part := range []struct {
		name string
		run  func(*testing.T, *site, *tab)
	}{
		{"rounded times", rounded}, {"axis of loads", loadAxis}, {"first question", firstQuestion},
		{"pages of jobs", pages},
		{"keyboard alone", keyboard}, {"names for everything", named}, {"narrow", narrow}, {"themes", themes},
		{"what it cannot answer", refusals}, {"quiet", quiet}, {"news", news}, {"token", withToken}, {"stale", stale},
		{"degraded", degraded},
	} {
		t.Run(part.name, func(t *testing.T) {
			b.TB = t
			part.run(t, s, b)
		})
	}
	t.Run("daemon gone", func(t *testing.T) {
		b.TB = t
		gone(t, b, stop)
	})
	t.Run("no queue known", func(t *testing.T) {
		b.TB = t
		unknown(t, b)
	})
}

// stopper stops a daemon once.
func stopper(t *testing.T, s *site) func() {
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

// keyboard proves that every view can be reached and used with the keyboard alone. The links work with Tab and Enter. A
// cell of the heat map leads to its forecast. Arrow keys move through the points of a chart. The address changes, so
// that "back" works.
func keyboard(t *testing.T, _ *site, b *tab) {
	b.show("cluster=demo&queue=medium")
	b.do(chromedp.KeyEvent(kb.Tab))
	if got := eval[string](b, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first stop is %q, want the link that skips to the figures", got)
	}
	for _, v := range views() {
		found := slices.ContainsFunc(slices.Repeat([]int{0}, 40), func(int) bool {
			b.do(chromedp.KeyEvent(kb.Tab))
			return eval[string](b, "document.activeElement.dataset.view ?? ''") == v[0]
		})
		if !found {
			t.Fatalf("view %s is not reached by Tab", v[0])
		}
		if !eval[bool](b, "document.activeElement.matches(':focus-visible') && "+
			"getComputedStyle(document.activeElement).outlineStyle !== 'none'") {
			t.Errorf("the focus on %s cannot be seen", v[0])
		}
		b.do(chromedp.KeyEvent(kb.Enter))
		arrived(t, b, v)
		b.show("cluster=demo&queue=medium")
	}
	b.show("view=sizes&cluster=demo&queue=medium")
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.heat td a').focus()`),
		chromedp.KeyEvent(kb.ArrowRight+kb.ArrowRight+kb.ArrowDown))
	if got := eval[string](b, "document.querySelector('.heat + .readout').textContent"); !strings.HasPrefix(got,
		"4 processors for 30 min: median wait") {
		t.Errorf("two to the right and one down the readout is %q", got)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	arrived(t, b, views()[0])
	if q := b.address(); q.Get("procs") != "4" || q.Get("time_limit") != "30m" || q.Get("queue") != "medium" {
		t.Errorf("the cell led to %v", q)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.chart').focus()`), chromedp.KeyEvent(kb.End))
	if got := eval[string](b, "document.querySelector('.chart .readout').textContent"); !strings.HasPrefix(got,
		"within ") {
		t.Errorf("at its end the chart reads %q", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.waitFor(`new URLSearchParams(location.search).get("view") === "sizes" && !!document.querySelector(".heat")`)
}

// arrived proves that a view is shown, its heading has the focus, and the address is right.
func arrived(t *testing.T, b *tab, v [2]string) {
	t.Helper()
	b.waitFor(fmt.Sprintf(`document.activeElement.id === "title" && document.activeElement.textContent === %q`, v[1]))
	if got := b.address().Get("view"); got != v[0] {
		t.Errorf("the address tells view %q, want %q", got, v[0])
	}
	if got := eval[string](b, `document.querySelector('nav [aria-current="page"]').dataset.view`); got != v[0] {
		t.Errorf("the current link is %q, want %q", got, v[0])
	}
}

// named proves that all controls have a name, that charts have a name and a table with the same figures, and that
// headings and landmarks are unique.
func named(t *testing.T, _ *site, b *tab) {
	for _, v := range views() {
		b.show("cluster=demo&view=" + v[0])
		nameless := eval[[]string](b,
			`[...document.querySelectorAll("input, select, button, a, summary, [tabindex='0']")]
			.filter((e) => e.offsetParent !== null && !(e.getAttribute("aria-label") || e.labels?.length ||
				e.textContent.trim())).map((e) => e.outerHTML)`)
		if len(nameless) > 0 {
			t.Errorf("%s: without a name: %v", v[0], nameless)
		}
		got := eval[[]int](b,
			`["main", "header", "nav", "footer", "h1", "[lang]"].map((s) => document.querySelectorAll(s).length)`)
		if !slices.Equal(got, []int{1, 1, 1, 1, 1, 1}) {
			t.Errorf("%s: landmarks %v, want one each", v[0], got)
		}
		charts, tables := eval[int](b, `document.querySelectorAll(".chart[aria-label]").length`),
			eval[int](b, `document.querySelectorAll("table caption:not(:empty)").length`)
		if tables == 0 || charts == 0 && v[0] != "sizes" && v[0] != "jobs" {
			t.Errorf("%s: %d charts with a name, %d tables with one", v[0], charts, tables)
		}
		if n := eval[int](b, `[...document.querySelectorAll("[id]")].length - new `+
			`Set([...document.querySelectorAll("[id]")].map((e) => e.id)).size`); n != 0 {
			t.Errorf("%s: %d ids are there twice", v[0], n)
		}
	}
}

// narrow proves that no view is wider than the screen of a phone, even with all details open, and that the heat map's
// cells are large enough to touch.
func narrow(t *testing.T, _ *site, b *tab) {
	b.do(chromedp.EmulateViewport(360, 740))
	for _, v := range views() {
		b.show("cluster=demo&queue=short&view=" + v[0])
		b.do(
			chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => { d.open = true; })`))
		if got := eval[int](b, "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"); got > 360 {
			wide := eval[[]string](b, `[...document.querySelectorAll("body *")].filter((e) => `+
				`e.getBoundingClientRect().right > 361).slice(0, 5).map((e) => e.tagName + "." + e.className)`)
			t.Errorf("%s is %d pixels wide on a phone of 360: %v", v[0], got, wide)
		}
	}
	b.show("cluster=demo&queue=short&view=sizes")
	// The minimum size of a target is that of WCAG 2.2, 2.5.8.
	if got := eval[[]float64](b, `(() => { const r = document.querySelector(".heat td a").getBoundingClientRect(); `+
		`return [r.width, r.height]; })()`); got[0] < 24 || got[1] < 24 {
		t.Errorf("a cell of the heat map is %v pixels", got)
	}
	b.do(chromedp.EmulateViewport(1180, 900))
}

// themes proves that the page and its charts use the theme of the system, that the button overrides it, and that the
// choice is stored.
func themes(t *testing.T, _ *site, b *tab) {
	const background = "getComputedStyle(document.body).backgroundColor"
	b.do(browser.Theme("light"))
	b.show("cluster=demo&view=wait")
	light := eval[string](b, background)
	b.do(browser.Theme("dark"))
	dark := eval[string](b, background)
	if light != "rgb(246, 247, 249)" || dark != "rgb(15, 19, 25)" {
		t.Errorf("backgrounds %s and %s, want those of the custom properties", light, dark)
	}
	b.do(chromedp.Click[chromedp.CSS]("#theme"))
	if got, label := eval[string](b, background),
		eval[string](b, "document.getElementById('theme').ariaLabel"); got != light || label != "Theme: Light" {
		t.Errorf("overruled the background is %s, the button says %q", got, label)
	}
	b.show("cluster=demo&view=wait")
	if got := eval[string](b, background); got != light {
		t.Errorf("after a reload the background is %s, want the chosen light one", got)
	}
	b.do(chromedp.Click[chromedp.CSS]("#theme"), chromedp.Click[chromedp.CSS]("#theme"), browser.Theme("light"))
	if got := eval[string](b, "document.getElementById('theme').ariaLabel"); got != "Theme: Auto" {
		t.Errorf("three clicks on the button says %q", got)
	}
}

// refusals proves that the page shows the daemon's message if there is no forecast, and that the next request is
// answered again.
func refusals(t *testing.T, _ *site, b *tab) {
	for query, says := range map[string]string{
		"view=wait&queue=werk&procs=1":                 `cluster demo has no queue "werk"`,
		"view=wait&queue=short&procs=4000":             "4000 processors asked for, cluster demo has 128",
		"view=wait&queue=short&procs=1&time_limit=sun": "sun",
	} {
		b.show(query)
		if got := eval[string](b, `document.querySelector("#view .notice")?.innerText ?? ""`); !strings.Contains(got,
			says) {
			t.Errorf("%s: the page says %q, want %q", query, got, says)
		}
	}
	b.show("view=wait&queue=short&procs=many") // status 422 with a message for the field
	got := eval[string](b, `document.querySelector("#view .notice")?.innerText ?? ""`)
	if want := "\nprocs: "; !strings.Contains(got, want) || strings.Contains(got, "[object") {
		t.Errorf("a bad field: the page shows %q, want a line with %q", got, want)
	}
	b.show("view=wait&queue=short&procs=4000")
	b.do(
		chromedp.Evaluate[chromedp.Void](`(() => { const e = document.getElementById("choose-procs"); e.focus(); `+
			`e.select(); })()`), chromedp.KeyEvent("8"+kb.Enter))
	b.waitFor(`!!document.querySelector(".hero") && new URLSearchParams(location.search).get("procs") === "8"`)
	b.heard() // the console shows refusals
}

// quiet proves that all views together send requests only to the daemon, and that the browser's console has no message,
// such as a violation of the policy.
func quiet(t *testing.T, s *site, b *tab) {
	for _, v := range views() {
		b.show("cluster=demo&view=" + v[0])
	}
	requests, complaints := b.heard()
	if len(complaints) > 0 {
		t.Errorf("the console has %q", complaints)
	}
	if len(requests) < 40 {
		t.Errorf("only %d requests were heard", len(requests))
	}
	for _, r := range requests {
		if !strings.HasPrefix(r, s.url+"/") {
			t.Errorf("asked for %s", r)
		}
	}
}

// news proves that a new record of the log appears on the page without a reload.
func news(t *testing.T, s *site, b *tab) {
	b.show("cluster=demo&view=jobs")
	submit := s.end.Add(10 * time.Second)
	line := pbs.AppendQueued(nil, pbs.Record{ID: "999999.demo", User: "user01", Queue: "short", Created: submit,
		Queued: submit, Eligible: submit, Procs: 128, TimeLimit: time.Hour})
	log, err := os.OpenFile(filepath.Join(s.logs, submit.Format("20060102")), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.Write(line)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.waitFor(`!!document.querySelector('#view [data-value="999999.demo"]')`)
}

// withToken proves that the page reports that an answer needs a token, sends the pasted one, and stores it only in the
// tab.
func withToken(t *testing.T, s *site, b *tab) {
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	guard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/jobs" && r.Header.Get("Authorization") != "Bearer sesame" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(
				[]byte(`{"title":"Unauthorized","status":401,"detail":"the jobs are for those who have a token"}`))
			return
		}
		r.Header.Del("Authorization") // the daemon itself does not have this token, and would refuse it
		proxy.ServeHTTP(w, r)
	}))
	b.url = guard.URL
	defer func() { b.url = s.url }()
	b.show("cluster=demo&view=jobs")
	if got := eval[string](b, `document.querySelector("#view .notice").innerText`); !strings.Contains(got,
		"This needs a token") || !strings.Contains(got, "the jobs are for those who have a token") {
		t.Errorf("the page says %q", got)
	}
	b.do(chromedp.Click[chromedp.CSS]("#view .notice button"), chromedp.KeyEvent("sesame"+kb.Enter))
	b.waitFor(`!!document.querySelector("table.jobs")`)
	if got := eval[[]string](b, `[JSON.stringify(localStorage), document.cookie, `+
		`sessionStorage.getItem("waitcast-token"), document.getElementById("token").textContent]`); strings.Contains(
		got[0]+got[1], "sesame") || got[2] != "sesame" || got[3] != "Token: set" {
		t.Errorf("storage, cookies, the tab's storage and the button: %q", got)
	}
	b.do(chromedp.Navigate("about:blank"))
	guard.CloseClientConnections()
	guard.Close()
	b.heard()
}

// stale proves that old data are still shown, marked with their age.
func stale(t *testing.T, s *site, b *tab) {
	s.past.Store(int64(13 * time.Hour))
	defer s.past.Store(int64(20 * time.Second))
	for _, v := range views() {
		b.show("cluster=demo&view=" + v[0])
		if got := eval[string](b, `document.querySelector('#banner .stale')?.textContent ?? ""`); !strings.Contains(got,
			"Stale: the newest record is 13 h") && !strings.Contains(got, "Stale: the newest record is 12 h") {
			t.Errorf("%s: the banner says %q", v[0], got)
		}
		if eval[int](b, `document.querySelectorAll("#view table").length`) == 0 {
			t.Errorf("%s: nothing is shown any more", v[0])
		}
	}
}

// degraded proves that when a log cannot be read, the status dot and a banner show this within seconds, without a
// reload, with source, file and reason as in /readyz, and that they disappear when the log is back.
func degraded(t *testing.T, s *site, b *tab) {
	b.show("cluster=demo&view=ahead&queue=short")
	b.waitFor(`document.querySelector("#status .dot").className === "dot" && ` +
		`document.getElementById("banner").textContent === ""`)
	aside := s.logs + ".aside"
	if err := os.Rename(s.logs, aside); err != nil {
		t.Fatal(err)
	}
	words := "source_unreadable: source demo/accounting: " + s.logs + ": no such file or directory"
	b.waitFor(fmt.Sprintf(`document.querySelector("#banner .degraded")?.textContent === %q`, words))
	dot := eval[[]string](b, `[document.querySelector("#status .dot").className, document.querySelector("#status `+
		`.dot").title, document.getElementById("status").textContent]`)
	if dot[0] != "dot degraded" || dot[1] != words || !strings.HasSuffix(dot[2], ", degraded") {
		t.Errorf("the dot is %q", dot)
	}
	resp, err := http.Get(s.url + "/readyz") //nolint:noctx // a test's own daemon
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK ||
		string(text) != "degraded\n"+words+"\n" {
		t.Errorf("readyz: %d %q, %v", resp.StatusCode, text, err)
	}
	if err := os.Rename(aside, s.logs); err != nil {
		t.Fatal(err)
	}
	b.waitFor(`document.querySelector("#status .dot").className === "dot" && ` +
		`document.getElementById("banner").textContent === ""`)
}

// gone proves that a page whose daemon has ended keeps its content, and reports that the daemon does not answer.
func gone(t *testing.T, b *tab, stop func()) {
	b.show("cluster=demo&view=wait&queue=short&procs=4&time_limit=1h")
	before := b.figures()["p90"].Text
	stop()
	b.do(chromedp.Click[chromedp.CSS]("#controls button"))
	b.waitFor(`document.querySelector("#banner .offline")?.textContent.includes("does not answer") && ` +
		`document.getElementById("status").textContent === "not connected"`)
	if got := b.figures()["p90"].Text; got != before || got == "" {
		t.Errorf("the wait was %q, is %q", before, got)
	}
}

// unknown proves that every view reports that the daemon knows no queue yet.
func unknown(t *testing.T, b *tab) {
	s := serve(t, 0)
	t.Cleanup(stopper(t, s))
	b.do(chromedp.Navigate("about:blank"))
	b.heard()
	b.url = s.url
	for _, v := range views() {
		b.show("view=" + v[0])
		if got := eval[string](b, `document.querySelector("#view .notice").innerText`); !strings.Contains(got,
			"No queue is known yet") || !strings.Contains(got, "ready") {
			t.Errorf("%s: the page says %q", v[0], got)
		}
	}
	if _, complaints := b.heard(); len(complaints) > 0 {
		t.Errorf("the console has %q", complaints)
	}
}
