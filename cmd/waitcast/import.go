package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
)

// importFlags are the flags of waitcast import.
type importFlags struct {
	cluster, format, columns, mode string
}

func newImport(a *app) *cobra.Command {
	var f importFlags
	command := &cobra.Command{
		Use:   "import FILE... | -",
		Short: "Let the daemon learn from old logs",
		Long: "Let the daemon learn from old logs: dumps of sacct and logs of any format that it knows, " +
			"plain, gzip or zstd, in any order; - is standard input.\n\n" +
			"All files are one import. Together with earlier imports they are the history of the cluster. The " +
			"daemon replays it as if it had run all along, and learns waits and lifetimes. Meanwhile it answers " +
			"from its old state.\n" +
			"A job counts once, however often it is imported, and whether it was followed too. An import that is " +
			"refused or interrupted while it is read leaves nothing behind.",
		Example: "  sacct -a -X -D -P -S 2026-01-01 --format=... | waitcast import -\n" +
			"  waitcast import /var/spool/pbs/server_priv/accounting/2026*",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error { return a.importFiles(c.Context(), f, files) },
	}
	flags := command.Flags()
	flags.StringVar(&f.format, "format", "",
		"format of the logs, as the daemon's configuration names it; by default each file's content shows it")
	flags.StringVar(&f.columns, "columns", "",
		"columns of a dump of sacct without a header, separated by commas, as in its --format")
	flags.StringVar(&f.mode, "mode", "auto",
		"exact forecasts every job of the past, fast a sample of them; auto is fast above 100,000 jobs")
	flags.StringVar(&f.cluster, "cluster", "", "cluster, if the daemon has several")
	return command
}

// importFiles imports all files in one import and prints the result.
func (a *app) importFiles(ctx context.Context, f importFlags, files []string) error {
	if a.timeout <= 0 {
		return console.NewUsageError("--timeout must be more than 0")
	}
	in := client.Import{Cluster: f.cluster, Format: f.format, Columns: f.columns, Silence: time.Duration(a.timeout)}
	switch f.mode {
	case "auto":
	case "exact", "fast":
		in.Mode = f.mode
	default:
		return console.NewUsageError(fmt.Sprintf("--mode is auto, exact or fast, not %q", f.mode))
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	size, err := a.addFiles(&in, files)
	if err != nil {
		return err
	}
	bar := newImportBar(a, size)
	in.Progress = bar.show
	report, raw, err := c.Import(ctx, token, in)
	bar.clear()
	if err != nil {
		var problem *client.ProblemError
		if a.JSON && errors.As(err, &problem) {
			return errors.Join(err, a.printJSON(problem.JSON))
		}
		return err
	}
	return a.printImport(report, raw)
}

// addFiles adds the files and returns their total size in bytes; 0 if it is unknown. If a file cannot be opened,
// addFiles returns an error before anything is sent.
func (a *app) addFiles(in *client.Import, files []string) (total int64, err error) {
	known := true
	for _, file := range files {
		log, size, err := a.Open(file)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if err := log.Close(); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		known, total = known && size > 0, total+size
		in.Files = append(in.Files, client.ImportFile{Name: file, Open: func() (io.ReadCloser, error) {
			log, _, err := a.Open(file)
			return log, err
		}})
	}
	if !known {
		return 0, nil
	}
	return total, nil
}

// importBar shows the progress of an import, with one bar for each stage.
type importBar struct {
	app   *app
	size  int64 // total size of the files in bytes
	stage string
	bar   *progressbar.ProgressBar
}

func newImportBar(a *app, size int64) *importBar { return &importBar{app: a, size: size} }

// show shows the newest progress.
func (b *importBar) show(p wire.ImportProgress) {
	if p.Stage == "" {
		return
	}
	total := p.Total
	if p.Stage == "reading" {
		total = b.size
	}
	if b.bar == nil || b.stage != p.Stage {
		b.clear()
		b.stage, b.bar = p.Stage, b.app.StageBar(total)
	}
	if total > 0 {
		b.bar.ChangeMax64(total)
	}
	_ = b.bar.Set64(p.Done) // an error only spoils the bar
	text := p.Stage
	if p.BadLines > 0 {
		text += fmt.Sprintf(", %d bad lines", p.BadLines)
	}
	if p.RemainingSeconds != nil {
		text += ", about " + duration.Format(time.Duration(*p.RemainingSeconds)*time.Second) + " left"
	}
	b.bar.Describe(console.Printable(text))
}

// clear removes the bar.
func (b *importBar) clear() {
	if b.bar != nil {
		_ = b.bar.Clear() // an error only spoils the bar
	}
}

func (a *app) printImport(r *wire.ImportReport, raw json.RawMessage) error {
	if a.JSON {
		return a.printJSON(raw)
	}
	_, err := a.Stdout.Write([]byte(strings.Join(importText(r), "\n") + "\n"))
	return err
}

// importText describes the result of an import in sentences.
func importText(r *wire.ImportReport) []string {
	var out []string
	line := func(format string, args ...any) { out = append(out, console.Printable(fmt.Sprintf(format, args...))) }
	switch {
	case r.Jobs == 0:
		line("There is no job in %s.", filesOf(r))
	case !r.Changed:
		line("Cluster %s knows all of %s already: nothing was done.", r.Cluster, filesOf(r))
	default:
		line("Imported %s into cluster %s.", filesOf(r), r.Cluster)
	}
	if r.Jobs > 0 {
		added := "this import added none"
		if r.NewJobs > 0 {
			added = fmt.Sprintf("this import added %d of them", r.NewJobs)
		}
		line("Its history now has %d jobs, from %s to %s; %s.", r.Jobs, r.From.Format(time.DateOnly),
			r.To.Format(time.DateOnly), added)
	}
	if r.TooOldJobs > 0 {
		line("%d jobs are older than history_retention and were left out.", r.TooOldJobs)
	}
	for _, f := range r.Files {
		if f.Note != "" {
			line("%s: %s.", f.Name, f.Note)
		}
	}
	if r.BadLines > 0 {
		line("%d of %d lines could not be used; see 'waitcast quarantine'.", r.BadLines, r.Lines)
	}
	for _, b := range r.Bad {
		line("  %d for reason %s, such as", b.Lines, b.Reason)
		for _, message := range b.First {
			line("    %s", message)
		}
	}
	if r.Changed {
		line("Forecasts have learnt from %d waits and %d lifetimes (%s replay).", r.Waits, r.Lifetimes, r.Mode)
	}
	if r.Replayed > 0 && r.Forecasts > 0 {
		line("In the replay %.0f %% of %d waits ended within their 90 %% forecast, and %.0f %% were within a factor "+
			"of 2 of the median.", 100*float64(r.Covered90)/float64(r.Replayed), r.Replayed,
			100*float64(r.WithinFactor2)/float64(r.Forecasts))
		line("See 'waitcast accuracy --replayed'.")
	}
	return out
}

// filesOf names the files of an import.
func filesOf(r *wire.ImportReport) string {
	if len(r.Files) == 1 {
		return r.Files[0].Name
	}
	return fmt.Sprintf("%d files", len(r.Files))
}
