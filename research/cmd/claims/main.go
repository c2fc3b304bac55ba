// Command claims compares every measured figure in README.md and docs with its origin. It runs the programs that
// generate pages, and the commands that claims.yaml names for figures in prose. It lists the figures that were
// reproduced, those that are missing, and those whose command was not run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/waitcast/waitcast/research/internal/checkout"
)

// table is the path of the table of claims, from the root of the tree.
const table = "research/cmd/claims/claims.yaml"

func main() {
	checkout.Enter()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "claims:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("claims", flag.ContinueOnError)
	shared := flags.String("shared", "../shared", "folder with the traces and references")
	full := flags.Bool("full", false, "run what takes long too: hours")
	folder := flags.String("keep", "", "folder that stores the outputs of commands: a run that was stopped continues")
	if err := flags.Parse(args); err != nil {
		return err
	}
	t, err := read(filepath.FromSlash(table))
	if err != nil {
		return err
	}
	found, err := pages(".")
	if err != nil {
		return err
	}
	k, err := newKeep(ctx, ".", *folder)
	if err != nil {
		return err
	}
	r := runner{root: ".", shared: *shared, full: *full, keep: k, pages: found, ran: map[string]result{}}
	outcomes := t.outcomes(ctx, &r)
	if err := ctx.Err(); err != nil {
		return err
	}
	wrong := t.uncovered(found)
	count := map[string]int{}
	for _, o := range outcomes {
		count[o.what]++
		fmt.Fprintf(stdout, "%-16s  %s: %s\n", o.what, o.page, o.why)
	}
	for _, w := range wrong {
		fmt.Fprintln(stdout, "no origin         "+w)
	}
	fmt.Fprintf(stdout, "%d reproduced, %d within tolerance, %d without their data, %d not rerun, %d measured once, "+
		"%d failed, %d without origin\n",
		count[reproduced], count[within], count[missing], count[notRerun], count[once], count[failed], len(wrong))
	if count[failed]+len(wrong) > 0 {
		return errors.New("not every figure holds")
	}
	return nil
}

// outcomes checks all entries of the table.
func (t *Table) outcomes(ctx context.Context, r *runner) []outcome {
	var out []outcome
	for _, g := range t.Generated {
		out = append(out, r.generate(ctx, g))
	}
	for _, c := range t.Measured {
		out = append(out, r.measure(ctx, c))
	}
	for _, p := range t.Timings {
		out = append(out, outcome{notRerun, p.Page, p.Why})
	}
	return out
}
