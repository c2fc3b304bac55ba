// Command scale measures how the cost of the daemon grows with the size of a cluster. A pipeline in this process
// learns a cluster with given numbers of nodes, running and queued jobs, users and jobs of history. Starting from a
// medium cluster, each number grows alone. Then the pipeline receives typical events and requests. The command writes
// docs/performance-scale.csv, docs/images/scale.svg and a table in docs/performance.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/research/internal/checkout"
)

// point is the size of a cluster.
type point struct {
	grown                                     string // name of the dimension; empty for the medium cluster
	nodes, running, queued, users, historical int
	tasks                                     int // number of tasks of each waiting array; 0 if single jobs wait
}

// base returns the medium cluster.
func base() point {
	return point{nodes: 10_000, running: 1000, queued: 1000, users: 100, historical: 1000}
}

// dimension is a number that grows while the others stay the same.
type dimension struct {
	name  string
	from  int
	until int
	field func(*point) *int
}

func dimensions() []dimension {
	return []dimension{
		{"nodes", 100, 100_000, func(p *point) *int { return &p.nodes }},
		{"running", 100, 100_000, func(p *point) *int { return &p.running }},
		{"queued", 100, 100_000, func(p *point) *int { return &p.queued }},
		{"users", 10, 10_000, func(p *point) *int { return &p.users }},
		{"history", 1000, 100_000, func(p *point) *int { return &p.historical }},
	}
}

// points returns clusters that differ in one dimension only. The size in this dimension grows by factors of ten, to at
// most the given maximum.
func (d *dimension) points(most int) []point {
	var out []point
	for n := d.from; n <= min(max(d.until, most), most); n *= 10 {
		p := base()
		p.grown = d.name
		*d.field(&p) = n
		out = append(out, p)
	}
	return out
}

type options struct {
	only, docs, profile, memory string
	one                         point
	least, most, long           int
	dry                         bool
}

func main() {
	checkout.Enter()
	var o options
	flag.StringVar(&o.only, "dimensions", "nodes,running,queued,users,history", "which are grown")
	flag.StringVar(&o.docs, "docs", "docs", "folder of the page")
	flag.IntVar(&o.least, "least", 0, "the smallest size; the others stay as they were measured before")
	flag.IntVar(&o.most, "most", 100_000, "the largest size")
	flag.IntVar(&o.long, "history", 100_000, "the largest history; a million takes half an hour")
	flag.StringVar(&o.profile, "profile", "", "file for a CPU profile")
	flag.StringVar(&o.memory, "memory", "",
		"file for a heap profile of 10,000 running and 20,000 queued jobs with the history; nothing else is measured")
	flag.IntVar(&o.one.running, "running", 0, "measure one cluster of so many running jobs; the page stays as it is")
	flag.IntVar(&o.one.queued, "queued", base().queued, "with -running: entries that wait")
	flag.IntVar(&o.one.tasks, "tasks", 0, "with -running: tasks of each entry that waits, an array; 0 for jobs")
	flag.BoolVar(&o.dry, "dry", false, "print figures and leave the page as it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := profiled(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// profiled does the same as run, with a profiler if one is requested.
func profiled(ctx context.Context, o *options) error {
	if o.profile == "" {
		return run(ctx, o)
	}
	f, err := os.Create(o.profile)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = run(ctx, o)
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

// measureOne measures a cluster outside of the dimensions and prints its cost.
func measureOne(ctx context.Context, p point) error {
	middling := base()
	p.nodes, p.users, p.historical = middling.nodes, middling.users, middling.historical
	begun := time.Now()
	c, err := measure(ctx, p)
	if err != nil {
		return fmt.Errorf("%+v: %w", p, err)
	}
	r := row{p, p.running, c}
	fmt.Printf("%s\n%s\nwaiting tasks\t%d\nseconds\t%.0f\n", strings.Join(header(), "\t"),
		strings.Join(r.fields(), "\t"), p.queued*max(1, p.tasks), time.Since(begun).Seconds())
	return nil
}

func run(ctx context.Context, o *options) error {
	if o.memory != "" {
		return measureMemory(ctx, largest(o.long), o.memory)
	}
	if o.one.running > 0 {
		return measureOne(ctx, o.one)
	}
	known := dimensions()
	path := filepath.Join(o.docs, "performance-scale.csv")
	rows, err := readCSV(path)
	if err != nil {
		return err
	}
	measured := map[point]cost{}
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(known, func(d dimension) bool { return d.name == name })
		if i < 0 {
			return fmt.Errorf("%q is no dimension", name)
		}
		most := min(o.most, known[i].until)
		if name == "history" {
			most = min(o.most, o.long)
		}
		for _, p := range known[i].points(most) {
			size := *known[i].field(&p)
			if size < o.least {
				continue
			}
			begun := time.Now()
			at := p
			at.grown = ""
			c, ok := measured[at] // the medium cluster is a point of every dimension
			if !ok {
				if c, err = measure(ctx, p); err != nil {
					return fmt.Errorf("%+v: %w", p, err)
				}
				measured[at] = c
			}
			r := row{p, size, c}
			fmt.Printf("%s\t%.0f s\n", strings.Join(r.fields(), "\t"), time.Since(begun).Seconds())
			rows = put(rows, r)
			if o.dry {
				continue
			}
			if err := writeCSV(path, rows); err != nil {
				return err
			}
		}
	}
	if o.dry {
		return nil
	}
	if err := draw(filepath.Join(o.docs, "images", "scale.svg"), rows); err != nil {
		return err
	}
	return writeTable(filepath.Join(o.docs, "performance.md"), rows)
}
