// Command golden proves that a refactoring changes nothing. It observes the behavior of the programs from outside and
// compares it with a stored record. The record is earlier output of the programs. So the command proves that nothing
// changed, not that the output is right: a wrong figure is also wrong in the record.
//
//	make golden                  compare with scripts/golden/record, print what differs, fail if anything does
//	make golden RENEW=-renew     write the record; commit it with the reasons for what changed
//	go run ./scripts/golden -only own,kth-postgres      some chapters
//	go run ./scripts/golden -first ../old/waitcastd     databases that an older daemon began and this one continues
//
// One input is a workload that logs.go draws. The others come from ../shared: the beginning of the KTH trace written
// as PBS accounting, a site's sacct dump, and logs of a real Slurm and a real Grid Engine. The record has hashes.
// Only for the drawn workload it also has texts, of up to 2,000 bytes. Every text is stored in bin/golden, outside of
// the repository, under its hash. If the old text of a difference exists there, the difference is printed in full.
//
// The real waitcastd reads each log in three pieces, with SQLite and with PostgreSQL. The first life ends by kill -9.
// With SQLite, the database is backed up in the second life, and restored after it. A daemon in this process also reads
// each log, with a clock that the test sets. It is needed because answers depend on the wall clock, which waitcastd
// takes from the system. That daemon answers all requests over HTTP, and the requests of the waitcast command, at fixed
// instants.
//
// Prose is masked, because it may be rewritten: strings of JSON with a space in them, all words without a digit outside
// of JSON, and descriptions, summaries and titles of the OpenAPI document. Values that differ from run to run are
// masked too: see the comments of ledgerQuery, dropped and codeOnly. Three measures make the results independent of the
// speed of the machine. Requests wait until the daemon is idle (waitUntilQuiet). Logs are cut after instants at which
// jobs only end (cut). And no more is read at once than the learner of the load can process without leaving out samples
// (traceDays).
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/waitcast/waitcast/internal/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		stop()
		os.Exit(1)
	}
}

const recordDir = "scripts/golden/record"

// golden is the state of one run.
type golden struct {
	record *record
	tools  *tools
	server *pgtest.Server // nil if PostgreSQL is not installed
	first  string
}

// part is one step of a run. name consists of the name of the chapter and of what is done.
type part struct {
	name string
	do   func(context.Context) error
}

func (g *golden) chapter(in *input) *chapter {
	return &chapter{to: g.record, name: in.name, ours: in.ours}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("golden", flag.ContinueOnError)
	shared := flags.String("shared", "../shared",
		"folder with traces, logs and samples; what needs it is skipped where it is missing")
	renew := flags.Bool("renew", false, "write the record")
	only := flags.String("only", "", "parts, such as own or kth-postgres, separated by commas; empty: all")
	dir := flags.String("record", recordDir, "folder of the record")
	kept := flags.String("texts", "bin/golden", "folder outside of the repository where every text is kept")
	first := flags.String("first", "",
		"waitcastd that reads the first piece of each log; empty: the one that is built here")
	if err := flags.Parse(args); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "golden-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // what is left is in the temporary folder
	g := &golden{record: newRecord(work), first: *first}
	if g.tools, err = build(ctx, work); err != nil {
		return err
	}
	if g.server, err = pgtest.Start(pgtest.Options{}); err != nil && !errors.Is(err, pgtest.ErrMissing) {
		return err
	}
	if g.server != nil {
		defer g.server.Stop() //nolint:errcheck // nothing is left to be done
	}
	parts, skipped, err := g.parts(*shared)
	if err != nil {
		return err
	}
	if *only != "" {
		wanted := strings.Split(*only, ",")
		parts = slices.DeleteFunc(parts, func(p part) bool {
			return !slices.ContainsFunc(wanted, func(w string) bool { return strings.HasPrefix(p.name, w) })
		})
	}
	for _, s := range skipped {
		fmt.Fprintln(out, "skipped:", s)
	}
	if err := perform(ctx, parts, out); err != nil {
		return err
	}
	return g.judge(*renew, *only != "" || len(skipped) > 0, *dir, *kept, out)
}

// judge compares the results with the record, or writes the record.
func (g *golden) judge(renew, partial bool, dir, kept string, out io.Writer) error {
	if err := g.record.keep(kept); err != nil {
		return err
	}
	if renew {
		if partial && dir == recordDir {
			return errors.New(
				"only a whole run can renew the record: without -only, with ../shared and with PostgreSQL")
		}
		return g.record.write(dir)
	}
	was, err := read(dir)
	if err != nil {
		return err
	}
	if n := g.record.compare(was, kept, func(string) bool { return !partial }, out); n > 0 {
		return fmt.Errorf("%d of %d observations differ from the record in %s", n, len(was.hashes), dir)
	}
	fmt.Fprintf(out, "%d observations are as in the record\n", len(g.record.texts))
	return nil
}

// parts returns the steps, the longest first, and the skipped ones.
func (g *golden) parts(shared string) (parts []part, skipped []string, err error) {
	own := ownInput()
	inputs := []*input{own}
	if _, err := os.Stat(filepath.Join(shared, "traces")); err != nil {
		skipped = append(skipped, "kth, site-a, samples: "+err.Error())
	} else {
		for _, open := range []func(string) (*input, error){traceInput, siteInput, samplesInput} {
			in, err := open(shared)
			if err != nil {
				return nil, nil, err
			}
			inputs = append(inputs, in)
		}
	}
	for _, in := range inputs {
		var more func(context.Context) func(*clocked, *world) error
		if in == own {
			more = func(ctx context.Context) func(*clocked, *world) error {
				return func(d *clocked, w *world) error { return g.ownMore(ctx, in, d, w) }
			}
		}
		parts = append(parts, part{in.name + "-answers", func(ctx context.Context) error {
			if more == nil {
				return g.answered(ctx, in, nil)
			}
			return g.answered(ctx, in, more(ctx))
		}})
		for _, database := range []string{"sqlite", "postgres"} {
			if database == "postgres" && g.server == nil {
				skipped = append(skipped, in.name+"-postgres: "+pgtest.ErrMissing.Error())
				continue
			}
			parts = append(parts, part{in.name + "-" + database, func(ctx context.Context) error {
				return g.stored(ctx, in, database)
			}})
		}
	}
	parts = append(parts, part{"own-commands", func(ctx context.Context) error { return g.offline(ctx, own) }})
	return parts, skipped, nil
}

// perform performs two parts at a time, and prints how long each took.
func perform(ctx context.Context, parts []part, out io.Writer) error {
	var failed error
	var mu sync.Mutex
	var workers sync.WaitGroup
	next := make(chan part)
	for range 2 {
		workers.Go(func() {
			for p := range next {
				begun := time.Now()
				err := p.do(ctx)
				mu.Lock()
				fmt.Fprintf(out, "%-18s %5.1f s\n", p.name, time.Since(begun).Seconds())
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s: %w", p.name, err))
				}
				mu.Unlock()
			}
		})
	}
	for _, p := range parts {
		next <- p
	}
	close(next)
	workers.Wait()
	return failed
}

// ownMore runs the commands that ask a daemon, and records the documents that describe the daemon.
func (g *golden) ownMore(ctx context.Context, in *input, d *clocked, w *world) error {
	c := g.chapter(in)
	// The imported jobs are the first 300 of the log without the cancelled ones, moved to 100 days earlier.
	past := ownJobs()[:300]
	for i := range past {
		j := &past[i]
		j.id += 100_000
		for _, at := range []*int64{&j.submit, &j.start, &j.end} {
			*at -= 100 * 86400
		}
	}
	past = slices.DeleteFunc(past, func(j job) bool { return j.start < 0 })
	if err := os.WriteFile(d.site.path("past.pbs"), []byte(text(accounting(past))), 0o644); err != nil {
		return err
	}
	if err := c.metrics(ctx, "metrics", d.site.url); err != nil {
		return err
	}
	if err := c.openAPI(ctx, d.site.url); err != nil {
		return err
	}
	extra := []string{"--url", d.site.url, "--token-file", "data/admin-token"}
	return c.perform(ctx, g.tools, d.site.dir, "asking", extra, askingCommands(w))
}

// offline runs the commands that need no daemon.
func (g *golden) offline(ctx context.Context, in *input) error {
	c, dir := g.chapter(in), filepath.Join(g.tools.work, "offline")
	jobs := ownJobs()
	var own, other strings.Builder
	err := errors.Join(os.MkdirAll(dir, 0o755), workloadFile(jobs, &own), workloadFile(jobs[len(jobs)/2:], &other))
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"own.swf": own.String(), "other.swf": other.String(), "own.pbs": in.texts[logFile],
		"broken.yaml": "listen: nowhere\nno_such_key: 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return c.perform(ctx, g.tools, dir, "offline", nil, offlineCommands())
}
