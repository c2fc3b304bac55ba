package main

import (
	"io"

	"github.com/schollz/progressbar/v3"
)

// progress returns a bar of so many bytes on a terminal, a spinner where size is not known (0), and one that nobody sees where there is no terminal or the answer is
// for a program.
func (a *app) progress(size int64) *progressbar.ProgressBar {
	if size == 0 {
		size = -1
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(a.progressTo()), progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0), // else a goroutine of its own turns it, which Clear does not wait for
	)
}

// countBar is a bar of so many jobs, or whatever they are called; nobody sees it where progress is not shown.
func (a *app) countBar(n int, what string) *progressbar.ProgressBar {
	return progressbar.NewOptions(max(1, n),
		progressbar.OptionSetWriter(a.progressTo()), progressbar.OptionSetWidth(20), progressbar.OptionShowCount(), progressbar.OptionSetItsString(what),
		progressbar.OptionShowIts(), progressbar.OptionClearOnFinish(),
	)
}

// progressTo is where progress is shown: on a terminal, unless the answer is for a program.
func (a *app) progressTo() io.Writer {
	if !a.terminal || a.json {
		return io.Discard
	}
	return a.stderr
}
