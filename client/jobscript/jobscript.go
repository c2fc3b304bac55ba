// Package jobscript reads what a batch script asks of its scheduler, as the scheduler's own command would: the #SBATCH,
// #PBS, #$ or #BSUB lines, then the environment where the scheduler looks there, then the options of the command line,
// which override them.
//
// What each scheduler does was taken from sbatch(1) of Slurm 22.05 and trials of that sbatch; from qsub of OpenPBS (its
// manual and src/cmds/qsub.c) and the Torque manual; from submit(1) and sge_types(5) of Grid Engine 8.1.9 and trials of
// its qsub; and from the bsub pages of IBM Spectrum LSF 10.1. In short:
//
//	            directives                      ends at          given twice            command line
//	Slurm       #SBATCH at the start of a line  first command    the last               overrides; SBATCH_* between
//	PBS         #PBS, blanks may stand before   first command    the last, of -l the    overrides, -l by resource
//	                                                             first by resource
//	Grid Engine #$ at the start of a line       end of the file  the last, -q add up,   overrides, -l by resource
//	                                                             -l by resource
//	LSF         #BSUB at the start of a line    end of the file  the last, -R add up    overrides
//
// What a site sets up itself is not known here: default queues, limits and sizes, submit filters, default request
// files, the size of a node.
package jobscript

import (
	"fmt"
	"io"
	"time"
)

// Scheduler names the family of schedulers that a script is for.
type Scheduler string

// The schedulers.
const (
	Slurm      Scheduler = "slurm"
	PBS        Scheduler = "pbs" // OpenPBS, PBS Professional, Torque
	GridEngine Scheduler = "sge"
	LSF        Scheduler = "lsf"
)

// MaxScript is how many bytes a script may have: Slurm's default for max_script_size, slurm.conf(5).
const MaxScript = 4 << 20

// MaxCount is the most processors, nodes, GPUs or tasks that a script may ask for.
const MaxCount = 1<<31 - 1

// Options control how a script is read.
type Options struct {
	// Scheduler is the scheduler that the script is for. Empty: the one whose directives it has.
	Scheduler Scheduler
	// Args are options as they would stand before the script on the command line of sbatch, qsub or bsub. They override
	// the directives.
	Args []string
	// Env is the environment of that command, of which SBATCH_* (Slurm) and PBS_DPREFIX (PBS) matter. nil is none.
	Env map[string]string
	// Name is what errors call the script, usually its path. Empty: "script".
	Name string
}

// Request is what a script asks for. Zero means that the script leaves it open, unless a field's comment differs.
type Request struct {
	Scheduler Scheduler
	// Queues are the queues or partitions that will do, in the order given.
	Queues []string
	// Procs is the number of processors as the scheduler counts it, at least 1, of a range the least. ProcsMax is the
	// most, equal to Procs where there is no range and MaxCount where the range is open.
	Procs, ProcsMax int
	// Nodes is the number of nodes, of a range the least; 0 where the scheduler may choose. NodesMax is the most. For
	// chunks of PBS (select) it is the number of chunks, which PBS calls nodect.
	Nodes, NodesMax int
	// TimeLimit is the requested wall-clock time, for Slurm and LSF in whole minutes. Unlimited is set if the script
	// asks for no limit.
	TimeLimit time.Duration
	Unlimited bool
	// Tasks is the number of tasks of an array, 0 if it is none. AtOnce is how many of them may run at once, 0 for as
	// many as fit.
	Tasks, AtOnce int
	// Memory is in bytes, of all nodes together, of the least number of processors.
	Memory int64
	// GPUs are those of all nodes together.
	GPUs    int
	GPUType string
	// Name is the job's name, Account what is charged (a project where that is charged), QOS the quality of service.
	Name, Account, QOS string
	// Hold: the job is submitted held. Dependent: it waits for other jobs. Begin is the time before which it may not
	// start, as it was written.
	Hold, Dependent bool
	Begin           string
	// Exclusive: its nodes are shared with no other job, or user, so that it takes more processors than Procs where
	// they are larger.
	Exclusive bool
	// Components are the parts of a heterogeneous job of Slurm, which start together. Then Procs, Nodes, Memory and
	// GPUs are sums, TimeLimit is the longest and the rest is of the first component.
	Components []Request
	// Warnings list what was ignored, overridden or guessed. Directives are the lines that were read.
	Warnings   []Warning
	Directives []Directive
}

// Warning is something that who submits the script should know.
type Warning struct {
	// Line counts from 1; 0 is the command line, the environment or the script as a whole.
	Line int
	Text string
}

// String puts the line before the text.
func (w Warning) String() string {
	if w.Line == 0 {
		return w.Text
	}
	return fmt.Sprintf("line %d: %s", w.Line, w.Text)
}

// Directive is a line of the script that speaks to the scheduler.
type Directive struct {
	Line int
	Text string
}

// Parse reads a script. It fails if the scheduler would refuse the script: every such error is an *Error, which names
// the script, the line and the option. errors.Is distinguishes ErrNoDirectives and ErrSchedulers. Unknown options cause
// warnings.
func Parse(r io.Reader, opts Options) (Request, error) {
	p := &parser{name: opts.Name, opts: opts}
	if p.name == "" {
		p.name = "script"
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxScript+1))
	if err != nil {
		return Request{}, fmt.Errorf("%s: %w", p.name, err)
	}
	if err := p.split(text); err != nil {
		return Request{}, err
	}
	scheduler, err := p.detect()
	if err != nil {
		return Request{}, err
	}
	request, err := p.request(scheduler)
	if err != nil {
		return Request{}, err
	}
	request.Scheduler, request.Warnings, request.Directives = scheduler, p.warnings, p.directives
	return request, nil
}

// request has the script read as the scheduler would.
func (p *parser) request(s Scheduler) (Request, error) {
	p.strangers(s)
	switch s {
	case Slurm:
		return p.slurm()
	case PBS:
		return p.pbs()
	case GridEngine:
		return p.gridEngine()
	case LSF:
		return p.lsf()
	}
	return Request{}, p.fail(origin{}, "", fmt.Sprintf("unknown scheduler %q", s), "write slurm, pbs, sge or lsf")
}
