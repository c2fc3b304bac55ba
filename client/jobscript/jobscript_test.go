package jobscript_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/client/jobscript"
)

// onlyAsked makes comparisons ignore the fields of a request that are about the script, not about what it asks for.
var onlyAsked = cmpopts.IgnoreFields(jobscript.Request{}, "Warnings", "Directives")

func parse(t *testing.T, script string, opts jobscript.Options) jobscript.Request {
	t.Helper()
	opts.Name = "job.sh"
	r, err := jobscript.Parse(strings.NewReader(script), opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	return r
}

// TestUsualScripts checks the request of a typical script of each scheduler against the manuals that the package
// comment names.
func TestUsualScripts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   jobscript.Request
	}{
		"Slurm": {`#!/bin/bash -l
# A weather model.
#SBATCH --job-name=model
#SBATCH -p big,small
#SBATCH --nodes=4 --ntasks-per-node=12
#SBATCH -c 2
#SBATCH --time=1-12:00
#SBATCH --mem-per-cpu=2G
#SBATCH --gres=gpu:a100:2
#SBATCH -A climate
#SBATCH --qos=high
#SBATCH --array=1-10:2%4

srun ./model
#SBATCH --nodes=99
`, jobscript.Request{
			Scheduler: jobscript.Slurm, Name: "model", Queues: []string{"big", "small"}, Procs: 96, ProcsMax: 96,
			Nodes: 4, NodesMax: 4,
			TimeLimit: 36 * time.Hour, Memory: 192 << 30, GPUs: 8, GPUType: "a100", Account: "climate", QOS: "high",
			Tasks: 5, AtOnce: 4,
		}},
		"Slurm, a type in one of two options": {`#!/bin/sh
#SBATCH --gpus=volta:4
#SBATCH --gpus-per-node=2
`, jobscript.Request{
			Scheduler: jobscript.Slurm, Procs: 2, ProcsMax: 2, Nodes: 2, NodesMax: 2, GPUs: 4, GPUType: "volta",
		}},
		"Torque": {`#!/bin/sh
#PBS -N model
#PBS -q batch@server.example.org
#PBS -l nodes=2:ppn=8+1:ppn=4:gpus=1,walltime=12:30:00
#PBS -l pmem=500mb
#PBS -t 0-99%10 -A climate
#PBS -W depend=afterok:12.server
cd $PBS_O_WORKDIR
#PBS -l nodes=99
`, jobscript.Request{
			Scheduler: jobscript.PBS, Name: "model", Queues: []string{"batch"}, Procs: 20, ProcsMax: 20, Nodes: 3,
			NodesMax: 3, GPUs: 1,
			TimeLimit: 12*time.Hour + 30*time.Minute, Memory: 20 * 500 << 20, Tasks: 100, AtOnce: 10,
			Account: "climate", Dependent: true,
		}},
		"OpenPBS": {`#!/bin/sh
  #PBS -l select=2:ncpus=8:mpiprocs=8:mem=16gb+1:ncpus=4:ngpus=2:mem=8gb -l place=scatter:excl
#PBS -l walltime=3600 -J 1-10:3 -P climate -h -a 2301
:
#PBS -N late
./model
`, jobscript.Request{
			Scheduler: jobscript.PBS, Procs: 20, ProcsMax: 20, Nodes: 3, NodesMax: 3, GPUs: 2, TimeLimit: time.Hour,
			Memory: 40 << 30, Tasks: 4, Account: "climate", Hold: true, Begin: "2301", Exclusive: true, Name: "late",
		}},
		"Grid Engine": {`#!/bin/sh
#$ -N model -cwd -j y
#$ -pe mpi 4-16
#$ -l h_rt=8:0:0,mem_free=2G -l gpu=1
#$ -q all.q,big.q@@fast
#$ -t 1-100:2 -tc 5
#$ -P climate -hold_jid first
./model
#$ -l exclusive=true
`, jobscript.Request{
			Scheduler: jobscript.GridEngine, Name: "model", Procs: 4, ProcsMax: 16, TimeLimit: 8 * time.Hour,
			Memory: 8 << 30, GPUs: 1, Queues: []string{"all.q", "big.q"}, Tasks: 50, AtOnce: 5, Account: "climate",
			Dependent: true, Exclusive: true,
		}},
		"LSF": {`#!/bin/sh
#BSUB -J "model[1-10,20]%4"
#BSUB -n 16,32
#BSUB -W 1:30
#BSUB -q "normal night"
#BSUB -R "span[ptile=8]" -R "rusage[mem=4GB] select[type==any]"
#BSUB -P climate -x -H
./model
#BSUB -gpu "num=2:mode=shared" -w "done(12)" -b 20:00
`, jobscript.Request{
			Scheduler: jobscript.LSF, Name: "model", Tasks: 11, AtOnce: 4, Procs: 16, ProcsMax: 32, Nodes: 2,
			NodesMax: 2, TimeLimit: 90 * time.Minute, Memory: 8 << 30,
			Queues: []string{"normal", "night"}, Account: "climate", Exclusive: true, Hold: true, GPUs: 4,
			Dependent: true, Begin: "20:00",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := parse(t, c.script, jobscript.Options{})
			if diff := cmp.Diff(c.want, got, onlyAsked); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestWhichOfTwoCounts proves which of two options for the same setting applies, and that a warning names both.
func TestWhichOfTwoCounts(t *testing.T) {
	for _, c := range []struct {
		script  string
		args    []string
		env     map[string]string
		procs   int
		limit   time.Duration
		warning string
	}{
		{"#SBATCH -n 2\n#SBATCH -n 3\n", nil, nil, 3, 0, "line 2: --ntasks=2 is overridden by --ntasks=3 on line 3"},
		{"#SBATCH -t 2\n", nil, map[string]string{"SBATCH_TIMELIMIT": "3"}, 1, 3 * time.Minute,
			"line 2: --time=2 is overridden by 3 in the environment (SBATCH_TIMELIMIT)"},
		{"#SBATCH -n 2 -t 2\n", []string{"--ntasks", "5"}, nil, 5, 2 * time.Minute, ""},
		{"#PBS -l nodes=2,walltime=60\n#PBS -l nodes=4\n", nil, nil, 2, time.Minute,
			"line 3: -l nodes=4 is ignored: of a resource the first directive counts, -l nodes=2 on line 2"},
		{"#PBS -l nodes=2,walltime=60\n", []string{"-lnodes=3:ppn=2"}, nil, 6, time.Minute, ""},
		{"#$ -pe a 2\n#$ -pe b 4 -l h_rt=60\n", []string{"-l", "h_rt=0:2:0"}, nil, 4, 2 * time.Minute,
			"line 2: -pe a 2 is overridden by -pe b 4 on line 3"},
		{"#BSUB -n 2 -W 2\n#BSUB -n3\n", []string{"-W", "5"}, nil, 3, 5 * time.Minute,
			"line 2: -n 2 is overridden by -n 3 on line 3"},
	} {
		r := parse(t, "#!/bin/sh\n"+c.script, jobscript.Options{Args: c.args, Env: c.env})
		if r.Procs != c.procs || r.TimeLimit != c.limit {
			t.Errorf("%q %q: %d processors, limit %v; want %d, %v", c.script, c.args, r.Procs, r.TimeLimit,
				c.procs, c.limit)
		}
		var warnings []string
		for _, w := range r.Warnings {
			warnings = append(warnings, w.String())
		}
		if got := strings.Join(warnings, "\n"); got != c.warning {
			t.Errorf("%q %q: warnings %q, want %q", c.script, c.args, got, c.warning)
		}
	}
}

// TestFormsOfPBSAndLSF checks each form of options of PBS and LSF against their manuals, because no real PBS or LSF was
// available.
func TestFormsOfPBSAndLSF(t *testing.T) {
	type want struct {
		procs, nodes, tasks, atOnce, gpus int
		limit                             time.Duration
		memory                            int64
	}
	for line, w := range map[string]want{
		"#PBS -l nodes=4":                              {procs: 4, nodes: 4},
		"#PBS -l nodes=node1+node2:ppn=2":              {procs: 3, nodes: 2},
		"#PBS -l nodes=2:ppn=2:blue#excl":              {procs: 4, nodes: 2},
		"#PBS -l procs=24":                             {procs: 24},
		"#PBS -l ncpus=6 -l mem=100kw":                 {procs: 6, memory: 800 << 10},
		"#PBS -lselect=3":                              {procs: 3, nodes: 3},
		"#PBS -l select=ncpus=5:mem=1000":              {procs: 5, nodes: 1, memory: 1000},
		"#PBS -l 'walltime=90'":                        {procs: 1, limit: 90 * time.Second},
		"#PBS -l walltime=2:05":                        {procs: 1, limit: 125 * time.Second},
		"#PBS -l walltime=100:0:0":                     {procs: 1, limit: 100 * time.Hour},
		"#PBS -l walltime=1:0:0:0":                     {procs: 1, limit: 24 * time.Hour},
		"#PBS -l min_walltime=60,max_walltime=2:0:0":   {procs: 1, limit: 2 * time.Hour},
		"#PBS -l max_walltime=90,walltime=60":          {procs: 1, limit: time.Minute},
		"#PBS -l walltime=1.5":                         {procs: 1, limit: time.Second},
		"#PBS -t 1-3,3,7":                              {procs: 1, tasks: 4},
		"#PBS -J 0-9:2 -W max_run_subjobs=3":           {procs: 1, tasks: 5, atOnce: 3},
		"#PBS -l \\\nnodes=2:\\\nppn=3":                {procs: 6, nodes: 2},
		"#PBS-lncpus=2":                                {procs: 2},
		`#PBS -N "a b" -l ncpus=2 -v A=1,B="x y"`:      {procs: 2},
		"#BSUB -W 90":                                  {procs: 1, limit: 90 * time.Minute},
		"#BSUB -W 0:90/hostA":                          {procs: 1, limit: 90 * time.Minute},
		"#BSUB -n 10 -R 'span[ptile=4]'":               {procs: 10, nodes: 3},
		"#BSUB -n 10 -R span[hosts=1]":                 {procs: 10, nodes: 1},
		"#BSUB -n 4 -R 'rusage[mem=100/task]'":         {procs: 4, memory: 400 << 20},
		"#BSUB -n 4 -R 'rusage[mem=100/job:swp=5]'":    {procs: 4, memory: 100 << 20},
		"#BSUB -M 2000":                                {procs: 1, memory: 2000 << 10},
		"#BSUB -M 2GB!":                                {procs: 1, memory: 2 << 30},
		"#BSUB -gpu - -n 3":                            {procs: 3, gpus: 1},
		"#BSUB -gpu num=2/task -n 3":                   {procs: 3, gpus: 6},
		"#BSUB -J name[5] # remark":                    {procs: 1, tasks: 1},
		"#BSUB -J \"[1-10:3]\"\n\nsleep 1\n#BSUB -n 2": {procs: 2, tasks: 4},
	} {
		r := parse(t, "#!/bin/sh\n"+line+"\n", jobscript.Options{})
		got := want{r.Procs, r.Nodes, r.Tasks, r.AtOnce, r.GPUs, r.TimeLimit, r.Memory}
		if got != w {
			t.Errorf("%q: %+v, want %+v", line, got, w)
		}
	}
}

// TestSlurmGPUs checks Slurm's options for GPUs, and their effect on tasks. The expected numbers of tasks are the
// NumTasks of held jobs on nodes with GPUs, as scontrol of Slurm 22.05 shows them. scontrol shows neither the total of
// the GPUs nor the processors of --cpus-per-gpu; these expected numbers come from sbatch(1).
func TestSlurmGPUs(t *testing.T) {
	for args, want := range map[string]struct{ gpus, procs int }{
		"--gres=gpu:2": {2, 1}, "--gres=gpu": {1, 1}, "--gres=gpu:volta:2 -N2": {4, 2}, "--gpus=3": {3, 1},
		"-G volta:3 -N2": {3, 2}, "--gpus-per-node=2 -N3": {6, 3},
		"--gpus-per-task=1 -n3": {3, 3}, "--gpus=4 --gpus-per-task=2": {4, 2}, "--gpus=4 --ntasks-per-gpu=2": {4, 8},
		"--gpus=2 --cpus-per-gpu=3": {2, 6},
		"--ntasks-per-gpu=2 -n 6":   {3, 6}, "--gres=gpu:1,license:4": {1, 1}, "--gres=license:4": {0, 1},
		"--gres=gpu:2 -G 4": {4, 2}, "--gpus-per-node=1 -n7 --ntasks-per-node=3": {3, 7},
		"--gpus-per-node=2 --cpus-per-gpu=2 -N2": {4, 8},
	} {
		r := parse(t, "#!/bin/sh\n", jobscript.Options{Scheduler: jobscript.Slurm, Args: strings.Fields(args)})
		if r.GPUs != want.gpus || r.Procs != want.procs {
			t.Errorf("%s: %d GPUs, %d processors; want %+v", args, r.GPUs, r.Procs, want)
		}
	}
}

// TestErrorsNameThePlace proves that a script that its scheduler would refuse causes an error with the place, the
// option and, mostly, advice.
func TestErrorsNameThePlace(t *testing.T) {
	for script, want := range map[string]string{
		"#SBATCH -N two\n": `job.sh:2: --nodes=two: "two" is not a whole number; ` +
			`write --nodes=4 or --nodes=2-4`,
		"#SBATCH -t 5m\n": `job.sh:2: --time=5m: "5m" is not a whole number; write ` +
			`it as minutes, min:sec,`,
		"#SBATCH --mem=1G --mem-per-cpu=1G\n": `job.sh:2: --mem-per-cpu=1G: it contradicts --mem=1G ` +
			`(job.sh:2); sbatch takes only one`,
		"#SBATCH -n 2000000000 -c 2000000000\n": `job.sh: asks for more than 2147483647 processors`,
		"#SBATCH -a 0-5000000\n": `job.sh:2: --array=0-5000000: 5000000 is more than ` +
			`Slurm's largest index`,
		"#SBATCH --gpus-per-task=1\n": `job.sh:2: --gpus-per-task=1: it needs --ntasks or --gpus`,
		"#SBATCH --gpus=2 --cpus-per-gpu=3 -c2\n": `job.sh:2: --cpus-per-gpu=3: it contradicts ` +
			`--cpus-per-task`,
		"#SBATCH -n 2\r\n": `job.sh:2: a line break of DOS, which sbatch refuses; convert the script`,
		"#SBATCH -J 'x\n":  `job.sh:2: 'x: a quote is not closed`,
		"#PBS -l select=2:ncpus=4\n#PBS -l nodes=2\n": `job.sh:3: -l nodes=2: it contradicts -l select=2:ncpus=4 ` +
			`(job.sh:2); put it into the chunks, or remove one of both`,
		"#PBS -l nodes=2:ppn=x\n": `job.sh:2: -l nodes=2:ppn=x: ppn=x: "x" is not a whole number; write it as ` +
			`select=2:ncpus=8:mem=4gb or nodes=2:ppn=8`,
		"#PBS -l walltime=1h\n": `job.sh:2: -l walltime=1h: "1h" is not a whole number; write seconds, min:sec or ` +
			`h:m:s`,
		"#PBS -l nodes=2 # two\n": `job.sh:2: #: neither an option nor the value of one; quote a value with blanks`,
		"#PBS -y\n":               `job.sh:2: -y: there is no option -y; remove it`,
		"#PBS -l nodes=0\n":       `job.sh:2: -l nodes=0: it asks for nothing`,
		"#$ -pe mpi x\n":          `job.sh:2: -pe mpi x: "x" is not a whole number; write it as -pe mpi 4, 4-16 or 4-`,
		"#$ -tc 4\n":              `job.sh:2: -tc 4: it is for arrays only; give -t as well, or remove it`,
		"#$ -l h_rt=90:00\n":      `job.sh:2: -l h_rt=90:00: it must have two colons or none; write seconds or h:m:s`,
		"#BSUB -n 8,4\n":          `job.sh:2: -n 8,4: 4 is less than 8; write -n 16 or -n 4,16`,
		"#BSUB -J a[1-\n":         `job.sh:2: -J a[1-: a bracket is not closed; write it as -J "name[1-100]"`,
		"#BSUB -W 1:2:3\n":        `job.sh:2: -W 1:2:3: too many colons; write minutes or hours:minutes`,
		"#SBATCH -n 2\x00\n":      `job.sh:2: a NUL byte; this is no script`,
		"#SBATCH -a 1-3 -n 3\n#SBATCH hetjob\n#SBATCH -n2": `job.sh:2: --array=1-3: a heterogeneous job cannot be an ` +
			`array; remove one of both`,
	} {
		_, err := jobscript.Parse(strings.NewReader("#!/bin/sh\n"+script), jobscript.Options{Name: "job.sh"})
		var typed *jobscript.Error
		if !errors.As(err, &typed) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", script, err, want)
		}
	}
	_, err := jobscript.Parse(strings.NewReader("#!/bin/sh\n"),
		jobscript.Options{Scheduler: jobscript.Slurm, Args: []string{"-t", "soon"}})
	if err == nil || !strings.HasPrefix(err.Error(), "command line: --time=soon: ") {
		t.Errorf("on the command line: %v", err)
	}
	_, err = jobscript.Parse(strings.NewReader("#!/bin/sh\n"),
		jobscript.Options{Scheduler: jobscript.Slurm, Env: map[string]string{"SBATCH_TIMELIMIT": "soon"}})
	if err == nil || !strings.HasPrefix(err.Error(), "environment variable SBATCH_TIMELIMIT: soon: ") {
		t.Errorf("in the environment: %v", err)
	}
	_, err = jobscript.Parse(strings.NewReader("#!/bin/sh\n"+strings.Repeat("#", jobscript.MaxScript)),
		jobscript.Options{})
	if err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("too long: %v", err)
	}
}

// TestWhichScheduler proves that the directives determine the scheduler for which a script was written. If a script has
// directives of two schedulers, the caller must choose. A script without directives is refused with a hint.
func TestWhichScheduler(t *testing.T) {
	for script, want := range map[string]jobscript.Scheduler{
		"#SBATCH -n2\n": jobscript.Slurm, "#PBS -V\n": jobscript.PBS, "  #PBS -V\n": jobscript.PBS,
		"echo\n#$ -cwd\n": jobscript.GridEngine, "echo\n#BSUB -n 2\n": jobscript.LSF,
		"# $Id$\n#$Id: x $\n#SBATCH -n 2\n": jobscript.Slurm, "#SBATCH -n 2\necho\n#PBS -V\n": jobscript.Slurm,
	} {
		if r := parse(t, "#!/bin/sh\n"+script, jobscript.Options{}); r.Scheduler != want {
			t.Errorf("%q is taken for %s", script, r.Scheduler)
		}
	}
	both := "#!/bin/sh\n#SBATCH -n 2\n#PBS -l ncpus=3\n"
	_, err := jobscript.Parse(strings.NewReader(both), jobscript.Options{Name: "a.sh"})
	if !errors.Is(err, jobscript.ErrSchedulers) ||
		err.Error() != "a.sh: directives of several schedulers: #SBATCH (line 2) and #PBS (line 3); say which "+
			"scheduler is meant" {
		t.Errorf("of two: %v", err)
	}
	for scheduler, procs := range map[jobscript.Scheduler]int{jobscript.Slurm: 2, jobscript.PBS: 3} {
		r := parse(t, both, jobscript.Options{Scheduler: scheduler})
		if r.Procs != procs || len(r.Warnings) != 1 || len(r.Directives) != 1 {
			t.Errorf("of two, %s is said: %+v", scheduler, r)
		}
	}
	for script, hint := range map[string]string{
		"echo\n": "add one, or say the scheduler", "": "add one",
		"# SBATCH -n 2\n":      "line 2 looks like #SBATCH, but is none",
		"echo\n#SBATCH -n 2\n": "line 3 looks like #SBATCH",
	} {
		_, err := jobscript.Parse(strings.NewReader("#!/bin/sh\n"+script), jobscript.Options{})
		if !errors.Is(err, jobscript.ErrNoDirectives) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v, want %q", script, err, hint)
		}
	}
	r := parse(t, "echo\n", jobscript.Options{Scheduler: jobscript.LSF, Args: []string{"-n", "4"}})
	if r.Procs != 4 || len(r.Warnings) != 1 {
		t.Errorf("of none, with a command line: %+v", r)
	}
	if _, err := jobscript.Parse(strings.NewReader("echo"), jobscript.Options{Scheduler: "cron"}); err == nil {
		t.Error("a scheduler that does not exist")
	}
}

// TestCommandLineOverrides proves that an option on the command line has the same meaning as in a directive, and
// overrides the directive.
func TestCommandLineOverrides(t *testing.T) {
	options := map[jobscript.Scheduler]struct {
		prefix string
		pool   []string
	}{
		jobscript.Slurm: {"#SBATCH ", []string{"-n 4", "-N 2", "-c 3", "-t 7", "-p long", "-a 1-4", "--mem=5G",
			"-J one", "--ntasks-per-node=2", "--exclusive", "-G 2"}},
		jobscript.PBS: {"#PBS ", []string{"-l walltime=60", "-l nodes=2:ppn=3", "-q short", "-N one", "-J 1-5",
			"-l mem=5gb", "-A me", "-h"}},
		jobscript.GridEngine: {"#$ ",
			[]string{"-pe mpi 4", "-l h_rt=60", "-q short.q", "-t 1-5", "-tc 3", "-N one", "-P me", "-h", "-l gpu=1"}},
		jobscript.LSF: {"#BSUB ",
			[]string{"-n 4", "-W 1:00", "-q short", "-J one[1-4]", "-M 5GB", "-x", "-P me", "-R span[ptile=2]"}},
	}
	rapid.Check(t, func(t *rapid.T) {
		scheduler := rapid.SampledFrom([]jobscript.Scheduler{jobscript.Slurm, jobscript.PBS, jobscript.GridEngine,
			jobscript.LSF}).Draw(t, "scheduler")
		o := options[scheduler]
		chosen := rapid.SliceOfDistinct(rapid.SampledFrom(o.pool), rapid.ID[string]).Draw(t, "options")
		inScript, other := "#!/bin/sh\n", "#!/bin/sh\n"
		var args []string
		for _, c := range chosen {
			inScript += o.prefix + c + "\n"
			if rapid.Bool().Draw(t, "there as well") {
				other += o.prefix + c + "\n"
			}
			args = append(args, strings.Fields(c)...)
		}
		read := func(script string, args []string) jobscript.Request {
			r, err := jobscript.Parse(strings.NewReader(script), jobscript.Options{Scheduler: scheduler, Args: args})
			if err != nil && !(scheduler == jobscript.GridEngine && strings.Contains(err.Error(), "arrays only")) {
				t.Fatalf("%v\n%s", err, script)
			}
			return r
		}
		if diff := cmp.Diff(read(inScript, nil), read(other, args), onlyAsked); diff != "" {
			t.Fatalf("-script +command line:\n%s", diff)
		}
	})
}

// FuzzParse proves that no script, command line or environment makes Parse panic or hang, that every result is within
// its bounds, and that every error is an *Error with a short text.
func FuzzParse(f *testing.F) {
	for _, s := range specialScripts() {
		f.Add(s.text(), strings.Join(s.args, "\x1f"), "", uint8(0))
	}
	for _, s := range specialGridEngine() {
		f.Add(s.text(), strings.Join(s.args, "\x1f"), "", uint8(3))
	}
	f.Add("#PBS -l select=2:ncpus=8:mem=4gb+3,walltime=1:2:3 \\\n-J 1-9%3", "-W\x1fdepend=on:1", "#PBS", uint8(2))
	f.Add("#BSUB -R 'span[ptile=3] rusage[mem=4GB/task]' -n 4,8 -J 'a[1-9:2]%3' -W 1:3 -gpu num=2", "-M\x1f4G",
		"", uint8(4))
	f.Fuzz(func(t *testing.T, script, args, variable string, scheduler uint8) {
		opts := jobscript.Options{
			Scheduler: [...]jobscript.Scheduler{"", jobscript.Slurm, jobscript.PBS, jobscript.GridEngine,
				jobscript.LSF}[scheduler%5],
			Env: map[string]string{"SBATCH_TIMELIMIT": variable, "SBATCH_ARRAY_INX": variable, "PBS_DPREFIX": variable},
		}
		if variable == "" {
			opts.Env = nil
		}
		if args != "" {
			opts.Args = strings.Split(args, "\x1f")
		}
		r, err := jobscript.Parse(strings.NewReader(script), opts)
		if err != nil {
			var typed *jobscript.Error
			if !errors.As(err, &typed) || typed.Place == "" || typed.Problem == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, n := range [...]int{
			r.Procs - 1, r.ProcsMax - r.Procs, jobscript.MaxCount - r.ProcsMax, r.Nodes, r.NodesMax - r.Nodes, r.Tasks,
			r.AtOnce, r.GPUs, int(r.TimeLimit), int(r.Memory),
		} {
			if n < 0 {
				t.Fatalf("out of bounds: %+v", r)
			}
		}
		if r.Unlimited && r.TimeLimit != 0 {
			t.Fatalf("a limit and none: %+v", r)
		}
	})
}
