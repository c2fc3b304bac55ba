package offline

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// shakeFlags are the flags of waitcast shake.
type shakeFlags struct {
	attribute, degree, level string
	relative, fraction       float64
	gap                      duration.Value
	seed                     seed
}

func newShake(a *Commands) *cobra.Command {
	var f shakeFlags
	command := &cobra.Command{
		Use:   "shake TRACE.swf | -",
		Short: "Change a workload a little, at random",
		Long: "Change one attribute of some of a workload's jobs a little, at random, so that an effect in a " +
			"simulation can be separated from\n" +
			"an accident of one workload. The workload with the changed fields goes to standard output. TRACE " +
			"may be compressed with gzip; - is standard input.",
		Example: "  waitcast shake SDSC-SP2-1998-4.2-cln.swf.gz --attribute interarrival --degree 60s --fraction 0.1 " +
			"--seed 1 > shaken.swf",
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			if err := a.noJSON("shake"); err != nil {
				return err
			}
			f.gap = max(f.gap, 0)
			cfg, err := f.config()
			if err != nil {
				return console.NewUsageError(err.Error())
			}
			f.seed.drawIfUnset(a, c)
			return a.shake(args[0], f, cfg)
		},
	}
	d := shake.Default()
	f.gap = duration.Value(users.SessionGap * time.Second)
	flags := command.Flags()
	flags.StringVar(&f.attribute, "attribute", d.Attribute.String(),
		"attribute that is changed: interarrival, runtime, estimate or size")
	flags.StringVar(&f.degree, "degree", "60s", "the largest change: a duration, or a number of processors for size")
	flags.Float64Var(&f.relative, "relative", 0,
		"limit the change to this share of the original value; 0 for no such limit")
	flags.Float64Var(&f.fraction, "fraction", d.Fraction,
		"share of the jobs, sessions or users that are changed, above 0 and up to 1")
	flags.StringVar(&f.level, "level", d.Level.String(), "unit that is changed together: job, session or user")
	flags.Var(&f.gap, "session-gap", "time between two submits of a user that ends a session")
	f.seed.flag(command)
	return command
}

// config converts the flags.
func (f *shakeFlags) config() (shake.Config, error) {
	c := shake.Config{Relative: f.relative, Fraction: f.fraction, Gap: time.Duration(f.gap).Seconds()}
	var err error
	if c.Attribute, err = shake.ParseAttribute(f.attribute); err != nil {
		return c, fmt.Errorf("--attribute: %w", err)
	}
	if c.Level, err = shake.ParseLevel(f.level); err != nil {
		return c, fmt.Errorf("--level: %w", err)
	}
	if c.Attribute == shake.Size {
		if c.Degree, err = console.ParseNumber(f.degree); err != nil {
			return c, fmt.Errorf("--degree is %q; want a number of processors for size", f.degree)
		}
	} else {
		degree, err := duration.Parse(f.degree)
		if err != nil {
			return c, fmt.Errorf("--degree: %w", err)
		}
		c.Degree = degree.Seconds()
	}
	switch {
	case !(c.Degree > 0) || math.IsInf(c.Degree, 1):
		return c, fmt.Errorf("--degree is %q; want more than 0", f.degree)
	case !(c.Relative >= 0) || math.IsInf(c.Relative, 1):
		return c, fmt.Errorf("--relative is %v; want a share such as 0.1, or 0 for no limit", c.Relative)
	case !(c.Fraction > 0 && c.Fraction <= 1):
		return c, fmt.Errorf("--fraction is %v; want above 0, up to 1", c.Fraction)
	}
	return c, nil
}

func (a *Commands) shake(file string, f shakeFlags, cfg shake.Config) error {
	r, err := a.record(file)
	if err != nil {
		return err
	}
	cfg.MaxProcs = int(min(r.header.MaxProcs, mostProcs))
	s, err := shake.New(r.jobs(), cfg)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	out := swf.NewWriter(a.Data())
	how := fmt.Sprintf(
		"shake: attribute %s, degree %s, relative %v, fraction %v, level %s, session gap %s, seed %d, of %s",
		cfg.Attribute, f.degree, cfg.Relative, cfg.Fraction, cfg.Level, f.gap.String(), f.seed.value, r.name)
	if err := out.WriteHeader(madeBy(r.header, how, false)); err != nil {
		return err
	}
	for _, j := range s.Shake(nil, f.seed.rng('s')) {
		rec := r.records[j.Index]
		change(&rec, cfg.Attribute, &j)
		if err := out.Write(&rec); err != nil {
			return err
		}
	}
	return out.Flush()
}

// change writes the changed attribute of a job into its record. All other fields stay as they are.
func change(rec *swf.Record, attribute shake.Attribute, j *users.Job) {
	put := func(field *int64, shaken float64) {
		if float64(*field) != shaken {
			*field = int64(shaken)
		}
	}
	switch attribute {
	case shake.Interarrival:
		put(&rec.Submit, j.Submit)
	case shake.Runtime:
		put(&rec.Runtime, j.Runtime)
	case shake.Estimate:
		put(&rec.TimeLimit, j.Estimate)
	case shake.Size:
		if before := rec.Procs(); rec.RequestedProcs == before || rec.Allocated <= 0 {
			rec.RequestedProcs = int64(j.Procs)
		}
		if rec.Allocated > 0 {
			rec.Allocated = int64(j.Procs)
		}
	}
}
