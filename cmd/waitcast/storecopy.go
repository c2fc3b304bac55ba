package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/transfer"
)

// copyLease is the duration of a lease after its last renewal during a copy.
const copyLease = time.Minute

// storeCopyFlags are the flags of waitcast store copy.
type storeCopyFlags struct{ from, to, space, toSpace string }

func newStoreCopy(a *app) *cobra.Command {
	var f storeCopyFlags
	command := &cobra.Command{
		Use:   "copy --from FILE|URL --to FILE|URL",
		Short: "Copy a database into another one, of either kind",
		Long: "Copy the whole content of a database into another one: from a file to PostgreSQL, back, " +
			"or from one to the same kind.\n" +
			"The daemon must be stopped. The target must be empty; " +
			"a copy that was interrupted continues when the command is run again.\n" +
			"At the end both are read and compared. " +
			"If root runs the command, a new file gets the owner of its folder.",
		Example: "  waitcast store copy --from /var/lib/waitcast/waitcast.db --to " +
			"postgres://waitcast@db.example.org/waitcast --space kth",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.storeCopy(c.Context(), f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.from, "from", "", "the database to copy: a file, or the address of a PostgreSQL database")
	flags.StringVar(&f.to, "to", "", "the database to copy it into")
	flags.StringVar(&f.space, "space", postgres.DefaultSpace, "the space of the PostgreSQL database")
	flags.StringVar(&f.toSpace, "to-space", "", "the space of the target, if it differs from that of the source")
	return command
}

func (a *app) storeCopy(ctx context.Context, f storeCopyFlags) (err error) {
	switch {
	case f.from == "" || f.to == "":
		return console.NewUsageError("give --from and --to")
	case f.toSpace == "":
		f.toSpace = f.space
	case !isDatabase(f.to):
		return console.NewUsageError("--to-space is for a PostgreSQL database")
	}
	if f.from == f.to && f.space == f.toSpace {
		return console.NewUsageError("--from and --to are the same")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	source, err := a.openToCopy(ctx, f.from, f.space, true, stop)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := a.openToCopy(ctx, f.to, f.toSpace, false, stop)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	bar := a.CountBar(1, "events")
	summary, err := transfer.Copy(ctx, target, source, func(p transfer.Progress) {
		bar.Describe(p.Stage)
		if p.Total > 0 {
			bar.ChangeMax64(p.Total)
			_ = bar.Set64(p.Done) // an error only spoils the bar
		}
	})
	_ = bar.Clear() // an error only spoils the bar
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return err
	}
	if a.JSON {
		return a.printJSON(mustJSON(summary))
	}
	_, err = fmt.Fprintf(a.Stdout,
		"Copied %d events (the last has number %d), %d rows of the ledger, the places in %d logs, "+
			"%d bad lines, %d snapshots, %d saved models, %d histories (%s) and %d values.\n"+
			"Both were read and are the same.\n",
		summary.Entries, summary.LastSeq, summary.Rows, summary.Checkpoints,
		summary.BadLines, summary.Snapshots, summary.SavedModels, summary.Histories,
		megabytes(summary.HistoryBytes), summary.Values)
	return err
}

// openToCopy opens one side of a copy. Until it is closed, no other process can write to it. Even if root runs the
// command, the files belong to the daemon's user.
func (a *app) openToCopy(ctx context.Context, place, space string, mustExist bool,
	stop context.CancelCauseFunc) (modelstore.Portable, error) {
	if isDatabase(place) {
		return openSpace(ctx, place, space, mustExist, stop)
	}
	if _, err := os.Stat(place); mustExist && err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, place, sqlite.Options{InheritOwner: true})
	if err != nil {
		return nil, err
	}
	if err := s.OwnerError(); err != nil {
		fmt.Fprintf(a.Stderr, "Warning: %s\n", console.Printable(err.Error()))
	}
	if r := s.Recovered(); r != nil {
		return nil,
			errors.Join(fmt.Errorf("the database is damaged, and was set aside as %s: %w", r.Path, r.Reason), s.Close())
	}
	return s, nil
}

// openSpace opens a space and holds its lease until the space is closed. If the lease is lost, the copy stops.
func openSpace(ctx context.Context, url, space string, mustExist bool,
	stop context.CancelCauseFunc) (modelstore.Portable, error) {
	if mustExist { // opening a space for writing would create the space
		s, err := postgres.Open(ctx, url, postgres.Options{Space: space, ReadOnly: true})
		if err != nil {
			return nil, err
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	s, err := postgres.Open(ctx, url, postgres.Options{Space: space})
	if err != nil {
		return nil, err
	}
	lease, err := s.Acquire(ctx, storeHolder(), copyLease)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	keeping, end := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		if err := lease.Keep(keeping); err != nil {
			stop(err)
		}
	}()
	return &heldSpace{Store: s, end: end, kept: kept}, nil
}

// heldSpace is a space whose lease is held until the space is closed.
type heldSpace struct {
	*postgres.Store
	end  context.CancelFunc
	kept <-chan struct{}
}

// Close implements modelstore.Store.
func (h *heldSpace) Close() error {
	h.end()
	<-h.kept
	return h.Store.Close()
}

// mustJSON returns a value as JSON. It ignores errors, because encoding a plain struct cannot fail.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte(fmt.Sprintf("{%q:%q}", "error", err))
	}
	return text
}
