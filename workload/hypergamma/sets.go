package hypergamma

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// SetNames returns the names that [Named] knows.
func SetNames() []string {
	return []string{
		"paper", "paper-batch", "paper-interactive",
		"lublin99", "lublin99-batch", "lublin99-interactive", "lublin99-mixed",
	}
}

// Named returns built-in parameters for a machine of procs processors: one set for each class of jobs that [New]
// merges.
//
//   - "paper", "paper-batch", "paper-interactive": the model as published ([PaperAll]). The paper prints numbers only
//     for all jobs together. The two classes have the program's numbers with the paper's conventions (no caps, slots
//     numbered by the hour times 2).
//   - "lublin99", "lublin99-batch", "lublin99-interactive": the authors' program, with its caps and its clock in whole
//     seconds that falls behind ([ProgramAll], [ProgramBatch], [ProgramInteractive] with
//     [ArrivalParams].WholeSeconds). "lublin99-mixed" is interactive and batch jobs together. They have the queues 0
//     and 1, as in the program.
func Named(name string, procs int) ([]Params, error) {
	var sets []Params
	switch name {
	case "paper":
		return []Params{PaperAll(procs)}, nil
	case "paper-batch":
		return []Params{ProgramBatch(procs).asPaper()}, nil
	case "paper-interactive":
		return []Params{ProgramInteractive(procs).asPaper()}, nil
	case "lublin99":
		sets = []Params{ProgramAll(procs)}
	case "lublin99-batch":
		sets = []Params{ProgramBatch(procs)}
	case "lublin99-interactive":
		sets = []Params{ProgramInteractive(procs)}
	case "lublin99-mixed":
		sets = []Params{ProgramInteractive(procs), ProgramBatch(procs)}
	default:
		names := SetNames()
		slices.Sort(names)
		return nil, fmt.Errorf("hypergamma: no parameter set %q (known: %s)", name, strings.Join(names, ", "))
	}
	for i := range sets {
		sets[i].Arrival.WholeSeconds = true
	}
	return sets, nil
}

func (p Params) asPaper() Params {
	p.Runtime.MaxLog = math.Inf(1)
	p.Arrival.MaxLog, p.Arrival.FirstSlot = math.Inf(1), 0
	return p
}
