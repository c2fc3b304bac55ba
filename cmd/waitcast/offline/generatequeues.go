package offline

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// formFlag defines the flag for the form of a model.
func formFlag(flags *pflag.FlagSet, form *string) {
	flags.StringVar(form, "form", formLog,
		"form of the models: log, which keeps the mean work of the trace's jobs, or paper, as published")
}

// rulesOf returns the rules by which the Markov chains derive sizes from runtimes. If rules is empty, the rules
// follow from the form.
func rulesOf(rules, form string) []markov.Option {
	if rules == "" {
		rules = rulesJoint
		if form == formPaper {
			rules = rulesPaper
		}
	}
	switch rules {
	case rulesJoint:
		return []markov.Option{markov.WithJointSizes()}
	case rulesMagnitude:
		return []markov.Option{markov.WithMagnitudeOfCor0()}
	case rulesNone:
		return []markov.Option{markov.WithoutRules()}
	}
	return nil
}

// lawClass is a class of jobs. It has the law of their runtimes, and the recorded jobs from which sizes are drawn.
type lawClass struct {
	uniformlog.Class
	recorded []*swf.Record
}

// drawQueues prepares drawing from laws of runtimes. For each job it draws three things: a class, with the class's
// share of the jobs as probability; a runtime from the class's law; and a size from the recorded jobs of the class.
func drawQueues(r *recording, f *GenerateFlags, procs int) (*synthetic, error) {
	laws := stagedLaws
	if f.form == formPaper {
		laws = queueLaws
	}
	classes, err := laws(r)
	if err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		return nil, errors.New("no job of at least 1 s")
	}
	plain := make([]uniformlog.Class, len(classes))
	for i := range classes {
		plain[i] = classes[i].Class
	}
	g, err := uniformlog.NewGenerator(f.seed.rng('g'), plain...)
	if err != nil {
		return nil, err
	}
	submit, header, err := submits(r, f, procs)
	if err != nil {
		return nil, err
	}
	header.Queues = r.header.Queues
	sizes := f.seed.rng('p')
	return &synthetic{header: header, next: func() (draw, bool) {
		at, ok := submit()
		if !ok {
			return draw{}, false
		}
		class, seconds := g.Next()
		recorded := classes[class].recorded
		like := recorded[sizes.IntN(len(recorded))]
		return draw{submit: at, runtime: seconds, procs: fits(int(like.Procs()), procs), queue: like.Queue}, true
	}}, nil
}

// queueLaws returns Downey's law of each queue. The limit of the law is the queue's longest recorded runtime. A queue
// that cannot be fitted gets the law of all jobs together.
func queueLaws(r *recording) ([]lawClass, error) {
	names, of := byQueue(r, new(Grouping))
	var all []*swf.Record
	for _, name := range names {
		all = append(all, of[name]...)
	}
	common, commonErr := uniformlog.FitValues(runtimesOf(all))
	var classes []lawClass
	for _, name := range names {
		values := runtimesOf(of[name])
		fit, err := uniformlog.FitValues(values)
		if err != nil {
			if commonErr != nil {
				return nil, fmt.Errorf("queue %s: %w; all queues together: %w", name, err, commonErr)
			}
			fit = common
		}
		classes = append(classes, lawClass{recorded: of[name],
			Class: uniformlog.Class{Name: name, Weight: float64(len(values)), Model: fit.Model,
				Limit: slices.Max(values)}})
	}
	return classes, nil
}

// leastStaged is the minimum number of jobs of one queue and one size class for which these jobs have their own law.
const leastStaged = 50

// stagedLaws returns a law of several stages (see uniformlog.FitStages) for the jobs of each queue and size class. The
// size classes end at powers of two; this extends Downey's separation of sequential jobs. A class with fewer than
// leastStaged jobs gets the law of its queue or, if the queue has too few jobs for a law, the law of all jobs together.
func stagedLaws(r *recording) ([]lawClass, error) {
	type key struct {
		queue string
		class int
	}
	var all []float64
	queues, of := map[string][]float64{}, map[key]*lawClass{}
	for i := range r.records {
		rec := &r.records[i]
		k := key{r.header.QueueName(rec), bits.Len64(uint64(max(rec.Procs(), 1)) - 1)}
		if of[k] == nil {
			of[k] = &lawClass{Class: uniformlog.Class{Name: fmt.Sprintf("%s/%02d", k.queue, k.class)}}
		}
		of[k].recorded = append(of[k].recorded, rec)
		seconds := float64(max(rec.Runtime, 0))
		all, queues[k.queue] = append(all, seconds), append(queues[k.queue], seconds)
	}
	common, err := uniformlog.FitStages(all)
	if err != nil {
		return nil, err
	}
	laws := map[string]*uniformlog.Stages{}
	for name, values := range queues {
		laws[name] = &common
		if fit, err := uniformlog.FitStages(values); err == nil {
			laws[name] = &fit
		}
	}
	var classes []lawClass
	for k, c := range of {
		c.Weight, c.Stages = float64(len(c.recorded)), laws[k.queue]
		if len(c.recorded) >= leastStaged {
			fit, err := uniformlog.FitStages(runtimesOf(c.recorded))
			if err != nil {
				return nil, err
			}
			c.Stages = &fit
		}
		classes = append(classes, *c)
	}
	slices.SortFunc(classes, func(a, b lawClass) int { return strings.Compare(a.Name, b.Name) })
	return classes, nil
}
