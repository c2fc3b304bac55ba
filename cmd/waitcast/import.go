package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// importFlags are those of waitcast import.
type importFlags struct {
	cluster, format string
}

func newImport(a *app) *cobra.Command {
	var f importFlags
	command := &cobra.Command{
		Use:   "import FILE... | -",
		Short: "Let the daemon learn from logs of the past",
		Long: "Let the daemon learn from logs of the past: dumps of sacct and old logs, plain, gzip or zstd; " +
			"- is standard input.\n\n" +
			"The models learn the jobs that are over; what runs and waits now, and the forecasts that were made, " +
			"stay as they are.\n" +
			"A job counts once, however often it is imported: after an interruption, import again.",
		Example: "  sacct -a -X -D -P -S 2026-01-01 --format=... | waitcast import -\n" +
			"  waitcast import --format pbs /var/spool/pbs/server_priv/accounting/2026*",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error { return a.importFiles(c.Context(), f, files) },
	}
	flags := command.Flags()
	flags.StringVar(&f.format, "format", "slurm-sacct", "format of the logs, as the daemon's configuration names it")
	flags.StringVar(&f.cluster, "cluster", "", "cluster, where the daemon watches several")
	return command
}

// importFiles imports one file after the other and prints what became of each.
func (a *app) importFiles(ctx context.Context, f importFlags, files []string) error {
	if a.timeout <= 0 {
		return console.NewUsageError("--timeout must be more than 0")
	}
	token, err := a.token()
	if err != nil {
		return err
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := a.importFile(ctx, c, token, f, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func (a *app) importFile(ctx context.Context, c *client.Client, token string, f importFlags, file string) error {
	log, size, err := a.Open(file)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // it was only read
	in := client.Import{Cluster: f.cluster, Format: f.format, Name: file, Silence: time.Duration(a.timeout)}
	read := &logReader{from: log}
	in.Log = read
	bar := a.Progress(size)
	in.Progress = func(p wire.ImportProgress) {
		_ = bar.Set64(p.Bytes) // it is only decoration
		bar.Describe(console.Printable(fmt.Sprintf("%d jobs, %d bad lines", p.Jobs, p.BadLines)))
	}
	report, raw, err := c.Import(ctx, token, in)
	_ = bar.Clear()
	if err != nil {
		var problem *client.ProblemError
		if a.JSON && errors.As(err, &problem) {
			return errors.Join(err, a.printJSON(problem.JSON))
		}
		if failure := read.failure.Load(); failure != nil {
			return *failure
		}
		return err
	}
	return a.printImport(report, raw)
}

// logReader remembers why a file could not be read: to the client that looks as if the daemon were to blame.
type logReader struct {
	from    io.Reader
	failure atomic.Pointer[error]
}

// Read implements io.Reader.
func (r *logReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failure.Store(&err)
	}
	return n, err
}

func (a *app) printImport(r *wire.ImportReport, raw json.RawMessage) error {
	if a.JSON {
		return a.printJSON(raw)
	}
	var p page
	p.Line("Imported", fmt.Sprintf("%s into cluster %s", r.Name, r.Cluster))
	jobs := fmt.Sprintf("%d taken in", r.Jobs)
	if r.NeverRanJobs > 0 {
		jobs += fmt.Sprintf(" (%d of them never ran)", r.NeverRanJobs)
	}
	for _, more := range []struct {
		n    int64
		what string
	}{
		{r.KnownJobs, "known already"}, {r.FollowedJobs, "left to the logs that are followed"},
		{r.TooOldJobs, "older than the daemon's journal_retention"},
	} {
		if more.n > 0 {
			jobs += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	p.Line("Jobs", jobs)
	p.Line("Lines", fmt.Sprintf("%d, %d of them bad", r.Lines, r.BadLines))
	for _, b := range r.Bad {
		p.Line("", fmt.Sprintf("%d for reason %s, such as", b.Lines, b.Reason))
		for _, message := range b.First {
			p.Line("", "  "+message)
		}
	}
	if r.BadLines > 0 {
		p.Line("", "See 'waitcast quarantine'.")
	}
	_, err := a.Stdout.Write(p.Bytes())
	return err
}
