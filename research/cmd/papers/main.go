// Command papers writes research/docs/papers.md: the tables of the five papers beside the results that waitcast gets.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/waitcast/waitcast/research/internal/checkout"
	"github.com/waitcast/waitcast/research/papers"
)

func main() {
	checkout.Enter()
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "papers:", err)
		os.Exit(1)
	}
}

// command is the command that the page names as its origin.
const command = "make papers"

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("papers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	shared := flags.String("shared", "../shared", "folder with the traces and references")
	out := flags.String("out", filepath.Join("research", "docs", "papers.md"),
		"the page; its CSV files and pictures are in the folder beside it that has its name")
	long := flags.Bool("long", false,
		"work out again what takes minutes: 4,500 simulations of SDSC-SP2 and three times 4,646 of CTC")
	missing := flags.Bool("missing", false, "work out what takes minutes and is not there yet")
	runs := flags.String("runs", "",
		"folder in which -long keeps its runs until it is through; by default one in the user's cache")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("%q: there are no arguments beside the flags", flags.Args())
	}
	if *runs == "" {
		cache, err := os.UserCacheDir()
		if err != nil && *long {
			return fmt.Errorf("%w; name a folder with -runs", err)
		}
		*runs = filepath.Join(cache, "waitcast", "papers")
	}
	folder := (*out)[:len(*out)-len(filepath.Ext(*out))]
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // it is a page for all
		return err
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(stderr, "%6.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	d := papers.Data{Shared: *shared, Folder: folder, Runs: *runs, Long: *long, Missing: *missing, Say: say}
	sections, err := d.All()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := papers.Write(&page, command, sections); err != nil {
		return err
	}
	c := papers.Tally(sections, papers.Paper|papers.Program|papers.Self)
	fmt.Fprintf(stderr, "%d promised figures met, %d missed\n", c.Met, c.Missed)
	return os.WriteFile(*out, page.Bytes(), 0o644) //nolint:gosec // it is a page for all
}
