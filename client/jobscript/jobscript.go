// Package jobscript parses the request of a batch script in the same way as the scheduler's own command. First it reads
// the #SBATCH, #PBS, #$ or #BSUB lines, then the environment if the scheduler uses it, and then the options of the
// command line. Later sources override earlier ones.
//
// The rules come from the following sources. Slurm: sbatch(1) of Slurm 22.05 and trials of that sbatch. PBS: qsub of
// OpenPBS (its manual and src/cmds/qsub.c), and the Torque manual. Grid Engine: submit(1) and sge_types(5) of Grid
// Engine 8.1.9, and trials of its qsub. LSF: the bsub pages of IBM Spectrum LSF 10.1. In short:
//
//	            directives                      ends at          given twice            command line
//	Slurm       #SBATCH at the start of a line  first command    the last               overrides; SBATCH_* between
//	PBS         #PBS, blanks may stand before   first command    the last, of -l the    overrides, -l by resource
//	                                                             first by resource
//	Grid Engine #$ at the start of a line       end of the file  the last, -q add up,   overrides, -l by resource
//	                                                             -l by resource
//	LSF         #BSUB at the start of a line    end of the file  the last, -R add up    overrides
//
// The package does not know the settings of the site: default queues, limits and sizes, submit filters, default
// request files, and the size of a node.
package jobscript

import (
	"fmt"
	"io"
	"time"
)

// Scheduler is the kind of scheduler that a script is written for.
type Scheduler string

// These are the supported schedulers.
const (
	Slurm      Scheduler = "slurm"
	PBS        Scheduler = "pbs" // OpenPBS, PBS Professional, Torque
	GridEngine Scheduler = "sge"
	LSF        Scheduler = "lsf"
)

// MaxScript is the maximum size of a script in bytes: Slurm's default for max_script_size, slurm.conf(5).
const MaxScript = 4 << 20

// MaxCount is the maximum number of processors, nodes, GPUs or tasks that a script may request.
const MaxCount = 1<<31 - 1

// Options control how a script is read.
type Options struct {
	// Scheduler is the scheduler that the script is for. If it is empty, the directives decide.
	Scheduler Scheduler
	// Args are the options before the script on the command line of sbatch, qsub or bsub. They override the
	// directives.
	Args []string
	// Env is the environment of that command; nil means none. Only SBATCH_* (Slurm) and PBS_DPREFIX (PBS) are used.
	Env map[string]string
	// Name is the name of the script in errors, usually its path. Empty means "script".
	Name string
}

// Request is the request of a script. A zero field means that the script does not set it, unless the field's comment
// says otherwise.
type Request struct {
	Scheduler Scheduler
	// Queues are the acceptable queues or partitions, in the given order.
	Queues []string
	// Procs is the number of processors as the scheduler counts them, at least 1. For a range it is the minimum.
	// ProcsMax is the maximum. Without a range it equals Procs; for a range without an end it is MaxCount.
	Procs, ProcsMax int
	// Nodes is the number of nodes; 0 if the scheduler may choose. For a range it is the minimum. NodesMax is the
	// maximum. For chunks of PBS (select), Nodes is the number of chunks, which PBS calls nodect.
	Nodes, NodesMax int
	// TimeLimit is the requested wall-clock time. For Slurm and LSF it is in whole minutes. Unlimited is true if the
	// script requests no limit.
	TimeLimit time.Duration
	Unlimited bool
	// Tasks is the number of tasks of an array; 0 for a single job. AtOnce is the maximum number of running tasks; 0
	// for no maximum.
	Tasks, AtOnce int
	// Memory is the memory in bytes on all nodes together, for the minimum number of processors.
	Memory int64
	// GPUs is the number of GPUs on all nodes together.
	GPUs    int
	GPUType string
	// Name is the job's name. Account is the charged account or project. QOS is the quality of service.
	Name, Account, QOS string
	// Hold is true if the job is submitted held. Dependent is true if it waits for other jobs. Begin is its earliest
	// start, as written in the script.
	Hold, Dependent bool
	Begin           string
	// Exclusive is true if the job does not share its nodes with other jobs or users. Then it uses more processors
	// than Procs if the nodes are larger.
	Exclusive bool
	// Components are the parts of a heterogeneous job of Slurm, which start together. If there are any, then in the
	// whole request Procs, ProcsMax, Nodes, NodesMax, Memory and GPUs are sums, TimeLimit is the longest one, Unlimited
	// and Exclusive are true if they are for any component, and the other fields are those of the first component.
	Components []Request
	// Warnings list ignored, overridden and guessed options. Directives are the directives that were read.
	Warnings   []Warning
	Directives []Directive
}

// Warning is a message to the user who submits the script.
type Warning struct {
	// Line is counted from 1; 0 means the command line, the environment or the whole script.
	Line int
	Text string
}

// String returns the line and the text.
func (w Warning) String() string {
	if w.Line == 0 {
		return w.Text
	}
	return fmt.Sprintf("line %d: %s", w.Line, w.Text)
}

// Directive is a line of the script with options for the scheduler.
type Directive struct {
	Line int
	Text string
}

// Parse parses a script. It returns an error if the scheduler would refuse the script. Every such error is an *Error
// with the script, the line and the option; it may wrap ErrNoDirectives or ErrSchedulers. Unknown options cause only
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

// request parses the script by the rules of its scheduler.
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
