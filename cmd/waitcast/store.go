package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/postgres"
	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// defaultStore is the path of the database for a daemon that was installed from a package.
const defaultStore = "/var/lib/waitcast/waitcast.db"

// newStore returns the command "waitcast store". It is the only command that opens the daemon's database itself.
func newStore(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:   "store",
		Short: "Copy, back up, restore and inspect the daemon's database",
		Long: "Copy, back up, restore and inspect the daemon's database: a file (SQLite), or a PostgreSQL " +
			"database by its\n" +
			"address, postgres://USER@HOST/DATABASE. A password is better kept in the file that PGPASSFILE " +
			"names.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return console.NewUsageError("give copy, backup, restore or info")
		},
	}
	command.AddCommand(newStoreCopy(a), newStoreBackup(a), newStoreRestore(a), newStoreInfo(a))
	for _, sub := range command.Commands() {
		inner := sub.RunE
		sub.RunE = func(c *cobra.Command, args []string) error {
			a.started = true
			return inner(c, args)
		}
	}
	return command
}

func newStoreBackup(a *app) *cobra.Command {
	var from string
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database to a new file, while the daemon runs",
		Long: "Write a copy of the database, as of one moment, to a new file. The daemon may keep running " +
			"meanwhile. The " +
			"copy is checked in full.\n\n" +
			"This is for files; a PostgreSQL database is backed up by pg_dump.",
		Example: "  waitcast store backup /backup/waitcast-$(date +%F).db",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if isDatabase(from) || isDatabase(args[0]) {
				return console.NewUsageError("a PostgreSQL database is backed up by pg_dump (pg_dump " +
					"--schema=waitcast --format=custom ...); to get a file of one space, use waitcast store copy")
			}
			if err := sqlite.Backup(c.Context(), from, args[0]); err != nil {
				return orElsewhere(err)
			}
			info, err := sqlite.Describe(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printInfo(info)
		},
	}
	command.Flags().StringVar(&from, "from", defaultStore, "the daemon's database")
	return command
}

func newStoreRestore(a *app) *cobra.Command {
	var to string
	var replace bool
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a backup the daemon's database again",
		Long: "Replace the daemon's database by a backup. The daemon must be stopped. The backup is verified in " +
			"full first, and stays.\n\n" +
			"The daemon then continues the logs from the position at the time of the backup. The file gets the owner " +
			"of the database that it replaces, or of the folder, if this user may give it away; run the command as " +
			"the user of the daemon or as root.",
		Example: "  systemctl stop waitcastd\n" +
			"  sudo -u waitcast waitcast store restore /backup/waitcast-2026-03-01.db --replace\n" +
			"  systemctl start waitcastd",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if isDatabase(to) || isDatabase(args[0]) {
				return console.NewUsageError("a PostgreSQL database is restored by pg_restore; to put a file into " +
					"one, use waitcast store copy")
			}
			if err := canRead(args[0]); err != nil {
				return err
			}
			restored, err := sqlite.Restore(c.Context(), args[0], to, replace, time.Now())
			if err != nil {
				return err
			}
			if restored.Aside != "" {
				fmt.Fprintf(a.Stderr, "The previous database is now %s\n", console.Printable(restored.Aside))
			}
			if restored.Owner != nil {
				fmt.Fprintf(a.Stderr, "Warning: %s\n", console.Printable(restored.Owner.Error()))
			}
			info, err := sqlite.Describe(c.Context(), to)
			if err != nil {
				return err
			}
			return a.printInfo(info)
		},
	}
	flags := command.Flags()
	flags.StringVar(&to, "to", defaultStore, "the daemon's database")
	flags.BoolVar(&replace, "replace", false, "rename the existing database")
	return command
}

func newStoreInfo(a *app) *cobra.Command {
	var from string
	command := &cobra.Command{
		Use:   "info",
		Short: "Show what is in the database, and who writes it",
		Long: "Show the version of the database's schema, its size, its contents, and who writes it. " +
			"The daemon may be running.",
		Example: "  waitcast store info --from postgres://waitcast@db.example.org/waitcast",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info, err := describe(c.Context(), from)
			if err != nil {
				return orElsewhere(err)
			}
			return a.printInfo(info)
		},
	}
	command.Flags().StringVar(&from, "from", defaultStore, "a file, or the address of a PostgreSQL database")
	return command
}

func describe(ctx context.Context, place string) (*modelstore.Info, error) {
	if isDatabase(place) {
		return postgres.Describe(ctx, place)
	}
	return sqlite.Describe(ctx, place)
}

// printInfo prints a summary of a store.
func (a *app) printInfo(info *modelstore.Info) error {
	if a.JSON {
		return a.printJSON(mustJSON(info))
	}
	fmt.Fprintf(a.Stdout, "Store   %s (%s)\nSchema  %d, this program knows up to %d\nSize    %s\n",
		console.Printable(info.Place), info.Kind, info.Schema, info.Known, megabytes(info.Bytes))
	if len(info.Spaces) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "Nothing is in it yet.")
		return err
	}
	fmt.Fprintln(a.Stdout)
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "space\tlast event\tevents\tledger\tlogs\tsnapshots\tbad lines\thistory\twritten by\n")
	for _, s := range info.Spaces {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", dash(s.Name), s.LastSeq, s.Entries, s.Rows,
			s.Checkpoints, s.Snapshots, s.BadLines, imported(&s), a.writer(&s))
	}
	return t.Flush()
}

// imported describes the size of the histories in a space.
func imported(s *modelstore.SpaceInfo) string {
	if s.HistoryChunks == 0 {
		return dash("")
	}
	return fmt.Sprintf("%s in %d chunks", megabytes(s.HistoryBytes), s.HistoryChunks)
}

// writer describes which process writes a space.
func (a *app) writer(s *modelstore.SpaceInfo) string {
	if s.Holder == "" || s.Until.IsZero() {
		return dash(console.Printable(s.Holder))
	}
	return fmt.Sprintf("%s (lease %d until %s)", console.Printable(s.Holder), s.Epoch,
		s.Until.In(a.zone).Format("2006-01-02 15:04:05"))
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// megabytes formats a size in megabytes.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// canRead returns an error with advice if the user who restores a backup cannot read it.
func canRead(backup string) error {
	if info, err := os.Stat(backup); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", backup)
	}
	f, err := os.Open(backup)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: the backup must be readable to the user who restores it, that of the daemon: chown "+
			"it, and its folder", err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// orElsewhere adds advice to the error of a missing database: other places where it may be.
func orElsewhere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; --from names the database, waitcast.db in the daemon's data_dir", err)
	}
	return err
}
