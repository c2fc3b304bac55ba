package main

import (
	"io"

	"github.com/schollz/progressbar/v3"
)

// progress returns a bar of so many bytes on a terminal, a spinner where size is not known (0), and one that nobody sees where there is no terminal or the answer is
// for a program.
func (a *app) progress(size int64) *progressbar.ProgressBar {
	to := a.stderr
	if !a.terminal || a.json {
		to = io.Discard
	}
	if size == 0 {
		size = -1
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(to), progressbar.OptionShowBytes(true),
		progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetSpinnerChangeInterval(0), // else a goroutine of its own turns it, which Clear does not wait for
	)
}
