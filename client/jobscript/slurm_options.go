package jobscript

// slurmOptions are the options of sbatch 22.05 (sbatch(1)), and some options of later versions.
var slurmOptions = [...]option{
	{'a', "array", needed}, {'A', "account", needed}, {'b', "begin", needed}, {'B', "extra-node-info", needed},
	{'c', "cpus-per-task", needed}, {'C', "constraint", needed}, {'d', "dependency", needed}, {'D', "chdir", needed},
	{'e', "error", needed}, {'F', "nodefile", needed}, {'G', "gpus", needed}, {'h', "help", none},
	{'H', "hold", none}, {'i', "input", needed}, {'J', "job-name", needed}, {'k', "no-kill", maybe},
	{'L', "licenses", needed}, {'m', "distribution", needed}, {'M', "clusters", needed}, {'n', "ntasks", needed},
	{'N', "nodes", needed}, {'o', "output", needed}, {'O', "overcommit", none}, {'p', "partition", needed},
	{'q', "qos", needed}, {'Q', "quiet", none}, {'s', "oversubscribe", none}, {'S', "core-spec", needed},
	{'t', "time", needed}, {'v', "verbose", none}, {'V', "version", none}, {'w', "nodelist", needed},
	{'W', "wait", none}, {'x', "exclude", needed},
	{0, "acctg-freq", needed}, {0, "batch", needed}, {0, "bb", needed}, {0, "bbf", needed},
	{0, "cluster", needed}, {0, "cluster-constraint", needed}, {0, "comment", needed}, {0, "container", needed},
	{0, "context", needed}, {0, "contiguous", none}, {0, "cores-per-socket", needed}, {0, "cpu-freq", needed},
	{0, "cpus-per-gpu", needed}, {0, "deadline", needed}, {0, "delay-boot", needed}, {0, "exclusive", maybe},
	{0, "export", needed}, {0, "export-file", needed}, {0, "get-user-env", maybe}, {0, "gid", needed},
	{0, "gpu-bind", needed}, {0, "gpu-freq", needed}, {0, "gpus-per-node", needed}, {0, "gpus-per-socket", needed},
	{0, "gpus-per-task", needed}, {0, "gres", needed}, {0, "gres-flags", needed}, {0, "hint", needed},
	{0, "ignore-pbs", none}, {0, "kill-on-invalid-dep", needed}, {0, "mail-type", needed}, {0, "mail-user", needed},
	{0, "mcs-label", needed}, {0, "mem", needed}, {0, "mem-bind", needed}, {0, "mem-per-cpu", needed},
	{0, "mem-per-gpu", needed}, {0, "mincpus", needed}, {0, "network", needed}, {0, "nice", maybe},
	{0, "no-requeue", none}, {0, "ntasks-per-core", needed}, {0, "ntasks-per-gpu", needed},
	{0, "ntasks-per-node", needed}, {0, "ntasks-per-socket", needed}, {0, "ntasks-per-tres", needed},
	{0, "open-mode", needed}, {0, "parsable", none}, {0, "power", needed}, {0, "prefer", needed},
	{0, "priority", needed}, {0, "profile", needed}, {0, "propagate", maybe}, {0, "reboot", none}, {0, "requeue", none},
	{0, "reservation", needed}, {0, "signal", needed}, {0, "sockets-per-node", needed}, {0, "spread-job", none},
	{0, "switches", needed}, {0, "tasks-per-node", needed}, {0, "test-only", none}, {0, "thread-spec", needed},
	{0, "threads-per-core", needed}, {0, "time-min", needed}, {0, "tmp", needed}, {0, "uid", needed},
	{0, "usage", none}, {0, "use-min-nodes", none}, {0, "wait-all-nodes", needed}, {0, "wckey", needed},
	{0, "wrap", needed}, {0, "tres-per-task", needed}, {0, "segment", needed}, // since Slurm 23.11 and 24.05
}

// slurmVariables are the environment variables for options that this package uses (sbatch(1), INPUT ENVIRONMENT
// VARIABLES).
var slurmVariables = [...]struct{ variable, option string }{
	{"SBATCH_ACCOUNT", "account"}, {"SBATCH_ARRAY_INX", "array"}, {"SBATCH_CPUS_PER_GPU", "cpus-per-gpu"},
	{"SBATCH_EXCLUSIVE", "exclusive"}, {"SBATCH_GPUS", "gpus"}, {"SBATCH_GPUS_PER_NODE", "gpus-per-node"},
	{"SBATCH_GPUS_PER_TASK", "gpus-per-task"}, {"SBATCH_GRES", "gres"}, {"SBATCH_JOB_NAME", "job-name"},
	{"SBATCH_MEM_PER_CPU", "mem-per-cpu"}, {"SBATCH_MEM_PER_GPU", "mem-per-gpu"}, {"SBATCH_MEM_PER_NODE", "mem"},
	{"SBATCH_OVERCOMMIT", "overcommit"}, {"SBATCH_PARTITION", "partition"}, {"SBATCH_QOS", "qos"},
	{"SBATCH_THREADS_PER_CORE", "threads-per-core"}, {"SBATCH_TIMELIMIT", "time"},
}
