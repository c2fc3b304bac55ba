package offline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history/workloadfile"
	"github.com/waitcast/waitcast/internal/version"
	"github.com/waitcast/waitcast/internal/wholefile"
	"github.com/waitcast/waitcast/swf"
)

// convertFlags are the flags of the subcommand convert.
type convertFlags struct {
	logFlags
	output     string
	procs      int
	queueNames bool
}

func newConvert(a *Commands) *cobra.Command {
	var f convertFlags
	command := &cobra.Command{
		Use:   "convert LOG...",
		Short: "Write recorded logs as a workload file without names, to share it",
		Long: "Convert recorded logs of any format that waitcast reads into one file in the Standard Workload " +
			"Format, version 2.2, on\n" +
			"standard output or to a file. Numbers replace the names of users, accounts, jobs and queues, so " +
			"that the file can be shared.\n" +
			"The files are of one cluster, plain, gzip or zstd, in any order.",
		Example: "  waitcast convert /var/spool/pbs/server_priv/accounting/2026* > ours.swf\n" +
			"  waitcast convert --format slurm-sacct --time-zone Europe/Berlin --output ours.swf dump.psv.gz",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.convert(c.Context(), args, f) },
	}
	flags := command.Flags()
	f.add(flags)
	flags.StringVar(&f.output, "output", "", "file to write; by default it is standard output")
	flags.IntVar(&f.procs, "procs", 0,
		"processors of the machine, for the header; 0 takes the highest number that was in use at once")
	flags.BoolVar(&f.queueNames, "queue-names", false, "write the names of the queues into the header")
	return command
}

// convert writes logs as a workload file.
func (a *Commands) convert(ctx context.Context, paths []string, f convertFlags) (err error) {
	if f.procs < 0 {
		return console.NewUsageError(fmt.Sprintf("--procs is %d; want 0 or more", f.procs))
	}
	cfg, err := f.config()
	if err != nil {
		return err
	}
	workloads, others, err := a.areWorkloads(paths, &cfg)
	switch {
	case err != nil:
		return err
	case len(workloads) > 0 && len(paths) > 1:
		return console.NewUsageError(workloads[0] + " is a workload file, with numbers of its own: convert it alone")
	}
	write := func(to io.Writer) error { return copyWorkload(workloads[0], to, a) }
	if len(others) > 0 {
		l, files, err := a.readLives(ctx, others, cfg)
		if err != nil {
			return err
		}
		if len(l.Jobs) == 0 {
			return fmt.Errorf("%s: no job in %s", others[0], summary(files))
		}
		o := workloadfile.Options{Procs: f.procs, Location: cfg.Options.Location, QueueNames: f.queueNames,
			Program: "waitcast " + version.String()}
		write = func(to io.Writer) error { return workloadfile.Write(to, l, o) }
		defer func() {
			if err == nil {
				a.Note("%d jobs of %s", len(l.Jobs), summary(files))
			}
		}()
	}
	if f.output == "" {
		return write(a.Data())
	}
	return wholefile.Write(f.output, outMode, write)
}

// copyWorkload copies the 18 columns and the header of a workload file.
func copyWorkload(path string, to io.Writer, a *Commands) error {
	text, closeText, err := openText(path)
	if err != nil {
		return err
	}
	defer closeText()
	bad := lineReport{to: a.Console}
	r := swf.NewReader(text, swf.Name(path), swf.OnBadLine(func(e *swf.LineError) {
		bad.refused(source.Refused(path, e.Line, nil, e.Err))
	}))
	if err := r.ReadHeader(); err != nil {
		return err
	}
	w := swf.NewWriter(to)
	if err := w.WriteHeader(r.Header()); err != nil {
		return err
	}
	for {
		var rec swf.Record
		err := r.Next(&rec)
		switch {
		case errors.Is(err, io.EOF):
			bad.summarize()
			return w.Flush()
		case err != nil:
			return errors.Join(err, w.Flush())
		}
		if err := w.Write(&rec); err != nil {
			return err
		}
	}
}
