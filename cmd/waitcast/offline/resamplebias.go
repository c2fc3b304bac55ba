package offline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/workload/users"
)

// bias defines which users are more frequent in a resampled workload (Zakay and Feitelson 2013, section 6.5.4:
// selective manipulation).
type bias struct {
	favor               []string // the given CLASS=WEIGHT
	longTerm, temporary float64  // factors on the numbers of users

	classes []string
	weights []float64
}

func (b *bias) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&b.favor, "favor", nil,
		"CLASS=WEIGHT: draw users of a class WEIGHT times as often: short, long, narrow, wide, few, many; can be "+
			"given several times")
	c.Flags().Float64Var(&b.longTerm, "long-term", 1, "factor on the number of long-term users, beside --load")
	c.Flags().Float64Var(&b.temporary, "temporary", 1, "factor on the number of temporary users, beside --load")
}

// habits are functions by which users are classified. Each has two names: one for users below the value of the median
// user, and one for users above.
func habits() map[string]func(*users.User) float64 {
	median := func(of func(*users.Job) float64) func(*users.User) float64 {
		return func(u *users.User) float64 {
			values := make([]float64, len(u.Jobs))
			for i := range u.Jobs {
				values[i] = of(&u.Jobs[i])
			}
			slices.Sort(values)
			return stat.Quantile(.5, stat.Empirical, values, nil)
		}
	}
	return map[string]func(*users.User) float64{
		"short,long":  median(func(j *users.Job) float64 { return j.Runtime }),
		"narrow,wide": median(func(j *users.Job) float64 { return float64(j.Procs) }),
		"few,many": func(u *users.User) float64 { // jobs in a week in which the user was active
			return float64(len(u.Jobs)) / max(1, (u.End-u.First)/WeekSeconds)
		},
	}
}

// habit returns the function of a class. above is true if the class has the users above the median user.
func habit(class string) (of func(*users.User) float64, above, ok bool) {
	for pair, of := range habits() {
		low, high, _ := strings.Cut(pair, ",")
		if class == low || class == high {
			return of, class == high, true
		}
	}
	return nil, false, false
}

// parse parses the flags.
func (b *bias) parse() error {
	for flag, f := range map[string]float64{"--long-term": b.longTerm, "--temporary": b.temporary} {
		if !(f >= 0) || math.IsInf(f, 1) {
			return fmt.Errorf("%s is %v; want a factor of 0 or more", flag, f)
		}
	}
	b.classes, b.weights = nil, nil
	for _, text := range b.favor {
		class, number, _ := strings.Cut(text, "=")
		weight, err := console.ParseNumber(number)
		if _, _, ok := habit(class); !ok || err != nil || !(weight >= 0) || math.IsInf(weight, 1) {
			return fmt.Errorf(
				"--favor is %q; want CLASS=WEIGHT, as wide=3; classes: short, long, narrow, wide, few, many", text)
		}
		b.classes, b.weights = append(b.classes, class), append(b.weights, weight)
	}
	return nil
}

// any reports whether the numbers of any users are changed.
func (b *bias) any() bool { return len(b.classes) > 0 || b.longTerm != 1 || b.temporary != 1 }

// String describes the bias for the header of the workload. It returns "" if there is none.
func (b *bias) String() string {
	if !b.any() {
		return ""
	}
	return fmt.Sprintf(", favored %q, long-term x %v, temporary x %v", b.favor, b.longTerm, b.temporary)
}

// factors sets the factors on the numbers of users in all sources.
func (b *bias) factors(sources []users.Source) {
	factor := func(f float64) float64 {
		if f == 0 {
			return -1 // -1 means none, because 0 would mean 1
		}
		return f
	}
	for i := range sources {
		sources[i].LongTerm, sources[i].Temporary = factor(b.longTerm), factor(b.temporary)
	}
}

// weight returns the relative probability with which a user is drawn: the product of the weights of the user's classes.
// The function is nil if no class is favored.
func (b *bias) weight(sources []users.Source) func(*users.User) float64 {
	if len(b.classes) == 0 {
		return nil
	}
	of, above, middle := make([]func(*users.User) float64, len(b.classes)), make([]bool, len(b.classes)),
		make([]float64, len(b.classes))
	for i, class := range b.classes {
		of[i], above[i], _ = habit(class)
		var all []float64
		for _, s := range sources {
			for _, u := range slices.Concat(s.Pools.LongTerm, s.Pools.Temporary) {
				all = append(all, of[i](u))
			}
		}
		slices.Sort(all)
		if len(all) > 0 {
			middle[i] = stat.Quantile(.5, stat.Empirical, all, nil)
		}
	}
	return func(u *users.User) float64 {
		weight := 1.
		for i := range b.classes {
			if x := of[i](u); above[i] && x > middle[i] || !above[i] && x <= middle[i] {
				weight *= b.weights[i]
			}
		}
		return weight
	}
}
