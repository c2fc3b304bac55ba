package page_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/page"
)

func ask(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for k, v := range header {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	page.Handler(func() string { return "'none'" }).ServeHTTP(rec, req)
	return rec
}

// TestHandler proves that every file is served with its type, a strict policy and a tag by which it is not sent again,
// and that other paths get problems.
func TestHandler(t *testing.T) {
	types := map[string]string{".html": "text/html", ".js": "text/javascript", ".css": "text/css",
		".svg": "image/svg+xml", "LICENSE": "text/plain"}
	files := map[string]string{"/": "text/html"}
	err := fs.WalkDir(os.DirFS("static"), ".", func(name string, d fs.DirEntry, err error) error {
		for suffix, want := range types {
			if !d.IsDir() && strings.HasSuffix(name, suffix) {
				files["/page/"+name] = want
			}
		}
		return err
	})
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for path, want := range files {
		rec := ask(t, path, nil)
		h := rec.Header()
		if rec.Code != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), want) ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: status %d, %v", path, rec.Code, h)
		}
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"frame-ancestors 'none'",
		} {
			if !strings.Contains(h.Get("Content-Security-Policy"), part) {
				t.Errorf("%s: the policy is %q, without %s", path, h.Get("Content-Security-Policy"), part)
			}
		}
		if again := ask(t, path, http.Header{"If-None-Match": {h.Get("ETag")}}); again.Code != http.StatusNotModified ||
			again.Body.Len() > 0 {
			t.Errorf("%s: with its tag status %d", path, again.Code)
		}
	}
	for _, path := range []string{"/page/", "/page/none.js", "/page/../page.go", "/nope", "/v1/nope"} {
		rec := ask(t, path, nil)
		var p struct{ Status int }
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || rec.Code != http.StatusNotFound ||
			p.Status != http.StatusNotFound || rec.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: status %d, %s, %v", path, rec.Code, rec.Body, err)
		}
	}
}

// TestNothingFromOutside proves that no file loads anything from another site, and that the page has no inline script
// or style, which the policy would forbid.
func TestNothingFromOutside(t *testing.T) {
	outside := regexp.MustCompile(`https?://[^"'\s)]+`)
	err := fs.WalkDir(os.DirFS("static"), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "vendor/") {
			return err
		}
		text, err := os.ReadFile("static/" + name)
		for _, u := range outside.FindAllString(string(text), -1) {
			if u != "http://www.w3.org/2000/svg" { // the XML namespace of SVG, which is not loaded
				t.Errorf("%s names %s", name, u)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	html := ask(t, "/", nil).Body.String()
	for _, m := range regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(html, -1) {
		if !strings.Contains(m[1], ` src="/page/`) || m[2] != "" {
			t.Errorf("index.html has the script %q", m[0])
		}
	}
	if m := regexp.MustCompile(`<style|\sstyle=|\son\w+=`).FindString(html); m != "" {
		t.Errorf("index.html has %q", m)
	}
}

// TestVendored proves that uPlot has the stated version, and its license.
func TestVendored(t *testing.T) {
	for name, want := range map[string]string{"uPlot.iife.min.js": "(v1.6.32)", "LICENSE": "MIT License"} {
		if got := ask(t, "/page/vendor/uplot/"+name, nil).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s does not have %q", name, want)
		}
	}
}

// palettes reads the custom properties of both themes from the style sheet.
func palettes(t *testing.T) map[string]map[string]string {
	t.Helper()
	css := ask(t, "/page/page.css", nil).Body.String()
	block := func(start string) map[string]string {
		_, rest, ok := strings.Cut(css, start)
		if !ok {
			t.Fatalf("no block %q", start)
		}
		body, _, _ := strings.Cut(rest, "}")
		out := map[string]string{}
		for _, m := range regexp.MustCompile(`--([\w-]+):\s*(#[0-9a-f]{6})`).FindAllStringSubmatch(body, -1) {
			out[m[1]] = m[2]
		}
		return out
	}
	light, dark, system := block("\n:root {"), block(`:root[data-theme="dark"] {`),
		block(`:root:not([data-theme="light"]) {`)
	if len(light) < 25 || len(dark) < 15 || fmt.Sprint(dark) != fmt.Sprint(system) {
		t.Fatalf("the dark theme that is chosen, %v, is not that of the system, %v", dark, system)
	}
	for k, v := range light {
		if _, ok := dark[k]; !ok { // the light theme's value applies, as in a style sheet
			dark[k] = v
		}
	}
	return map[string]map[string]string{"light": light, "dark": dark}
}

// luminance returns the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift uint) float64 {
		c := float64(v>>shift&255) / 255
		if c <= .04045 {
			return c / 12.92
		}
		return math.Pow((c+.055)/1.055, 2.4)
	}
	return .2126*part(16) + .7152*part(8) + .0722*part(0)
}

// TestContrast proves WCAG 2.2's contrasts (1.4.3 and 1.4.11) in both themes: 4.5 to 1 for text on each of its
// backgrounds, 3 to 1 for the lines of charts and controls.
func TestContrast(t *testing.T) {
	type pair struct {
		front, back string
		least       float64
	}
	pairs := []pair{
		{"ink", "page", 4.5}, {"ink", "card", 4.5}, {"muted", "page", 4.5}, {"muted", "card", 4.5},
		{"accent", "page", 4.5}, {"accent", "card", 4.5}, {"accent-ink", "accent", 4.5}, {"warn-ink", "warn", 4.5},
		{"bad-ink", "bad", 4.5}, {"median", "card", 4.5},
		{"median", "band-tail", 3}, {"median", "band-outer", 3}, {"fact", "card", 3}, {"fact", "band-outer", 3},
		{"fact", "band-tail", 3}, {"edge", "card", 3}, {"edge", "page", 3}, {"ink", "band-inner", 4.5},
		{"ink", "band-outer", 4.5},
	}
	for i := range 8 {
		pairs = append(pairs, pair{fmt.Sprintf("h%d-ink", i), fmt.Sprintf("h%d", i), 4.5})
	}
	for theme, colors := range palettes(t) {
		worst := math.Inf(1)
		for _, p := range pairs {
			a, b := luminance(t, colors[p.front]), luminance(t, colors[p.back])
			ratio := (max(a, b) + .05) / (min(a, b) + .05)
			if ratio < p.least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %g", theme, p.front, p.back, ratio, p.least)
			}
			if p.least == 4.5 {
				worst = min(worst, ratio)
			}
		}
		t.Logf("%s: the least contrast of text is %.2f", theme, worst)
	}
}
