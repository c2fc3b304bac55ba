// Command screenshots takes the pictures of the web page for the documentation. It runs the demonstration, waits until
// there is something to show, and lets a real Chromium draw the page. With -file it instead takes a picture of a report
// that waitcast backtest wrote, beginning at an element.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/daemon/demo"
	"github.com/waitcast/waitcast/internal/browser"
	"github.com/waitcast/waitcast/research/internal/checkout"
)

// shot is one picture.
type shot struct {
	name, query   string
	width, height int64
	scale         float64
	theme         string
}

// shots returns the pictures of the documentation.
func shots() []shot {
	return []shot{
		{"page-wait.png", "view=wait&queue=medium&procs=16&time_limit=2h", 1180, 800, 1, "light"},
		{"page-sizes.png", "view=sizes&queue=medium", 1180, 720, 1, "dark"},
		{"page-ahead.png", "view=ahead", 1180, 800, 1, "light"},
	}
}

// more returns the pictures for developers: every view in both themes, and on a phone.
func more() []shot {
	out := []shot{}
	for _, view := range []string{
		"wait&procs=16&time_limit=2h&queue=medium", "sizes&queue=medium", "ahead", "accuracy",
		"lifetimes&queue=medium", "jobs",
	} {
		name, _, _ := strings.Cut(view, "&")
		for _, theme := range []string{"light", "dark"} {
			out = append(out,
				shot{name + "-" + theme + ".png", "view=" + view, 1180, 0, 1, theme},
				shot{name + "-" + theme + "-phone.png", "view=" + view, 360, 0, 2, theme})
		}
	}
	return out
}

func main() {
	checkout.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	url := flag.String("url", "", "take them from this daemon; left out: from the demonstration")
	out := flag.String("out", "docs/images", "folder for the pictures")
	every := flag.Bool("all", false, "every view, in both themes and on a phone")
	only := flag.String("only", "", "only pictures whose names contain this")
	var r reportShot
	flag.StringVar(&r.file, "file", "", "take one picture of this report instead")
	flag.StringVar(&r.name, "name", "report.png", "its name")
	flag.StringVar(&r.at, "at", "h1", "selector of the element at its top")
	flag.Int64Var(&r.height, "height", 1000, "its height in pixels")
	flag.Parse()
	path, err := browser.Find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if r.file != "" {
		return r.take(ctx, path, *out)
	}
	if *url == "" {
		found, stop, err := runDemo(ctx)
		if err != nil {
			return err
		}
		defer stop()
		*url = found
	}
	if err := ready(ctx, *url); err != nil {
		return err
	}
	profile, err := os.MkdirTemp("", "waitcast-screenshots-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(profile) }()
	tab, end, err := browser.Start(ctx, path, profile)
	if err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	defer end()
	list := shots()
	if *every {
		list = more()
	}
	for _, s := range list {
		if !strings.Contains(s.name, *only) {
			continue
		}
		if err := s.take(tab, *url, *out); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// take takes one picture. A height of 0 means the height of the page.
func (s shot) take(ctx context.Context, url, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	height, full := s.height, s.height == 0
	if full {
		height = 900
	}
	if err := chromedp.Do(ctx,
		chromedp.EmulateViewport(s.width, height, chromedp.EmulateScale(s.scale)),
		browser.Theme(s.theme),
		chromedp.Navigate(url+"/?cluster="+demo.ClusterName+"&"+s.query),
	); err != nil {
		return err
	}
	if _, err := chromedp.Run(ctx, settled()); err != nil {
		return err
	}
	picture := chromedp.CaptureScreenshot()
	if full {
		picture = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(ctx, picture)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, s.name)
	fmt.Printf("%s: %d kB\n", file, len(png)/1000)
	return os.WriteFile(file, png, 0o644) //nolint:gosec // a picture for everybody
}

// reportShot is a picture of a report on disk.
type reportShot struct {
	file, name, at string
	height         int64
}

// take starts the browser with an executable at path and takes the picture.
func (r *reportShot) take(ctx context.Context, path, dir string) error {
	file, err := filepath.Abs(r.file)
	if err != nil {
		return err
	}
	profile, err := os.MkdirTemp("", "waitcast-screenshots-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(profile) }()
	tab, end, err := browser.Start(ctx, path, profile)
	if err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	defer end()
	scroll := fmt.Sprintf("document.querySelector(%q).scrollIntoView()", r.at)
	if err := chromedp.Do(tab, chromedp.EmulateViewport(960, r.height), browser.Theme("light"),
		chromedp.Navigate("file://"+file), chromedp.Evaluate[chromedp.Void](scroll)); err != nil {
		return err
	}
	png, err := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, r.name), png, 0o644) //nolint:gosec // a picture for everybody
}

// runDemo runs the demonstration at a slow speed, so that the jobs that wait at the end of its history still wait. When
// the demonstration has printed its address, runDemo returns it.
func runDemo(ctx context.Context) (string, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	in, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := demo.Run(ctx, demo.Options{Listen: "127.0.0.1:0", Speed: 5, Seed: 1, Version: "screenshots",
			Log: zap.NewNop(), Out: out})
		done <- errors.Join(err, out.Close())
	}()
	stop := func() {
		cancel()
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, "screenshots: the demonstration:", err)
		}
	}
	address := make(chan string, 1)
	go func() {
		text := make([]byte, 0, 4096)
		buf := make([]byte, 1024)
		pattern := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
		told := false
		for {
			n, err := in.Read(buf)
			if text = append(text, buf[:n]...); !told && pattern.Match(text) {
				address <- string(pattern.Find(text))
				told = true
			}
			if told {
				text = text[:0]
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case found := <-address:
		return found, stop, nil
	case err := <-done:
		cancel()
		return "", nil, fmt.Errorf("the demonstration ended: %w", err)
	case <-ctx.Done():
		stop()
		return "", nil, ctx.Err()
	}
}

// ready waits until the history is read and the load is forecast, which is the last step.
func ready(ctx context.Context, url string) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok(ctx, url+"/readyz") && ok(ctx, url+"/v1/forecast?hours=1") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the daemon at %s is not ready: %w", url, ctx.Err())
		case <-tick.C:
		}
	}
}

func ok(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

// settled waits until the page shows the contents of its address.
func settled() chromedp.Action[bool] {
	return chromedp.Poll[bool](`!!document.querySelector('#view[aria-busy="false"] h1')`,
		chromedp.WithPollingInterval(20*time.Millisecond))
}
