package jobscript_test

// specialScripts are scripts and command lines of Slurm with something special each. What sbatch takes and we refuse on purpose is not here: a time limit of -5,
// which it makes 2,982,611 days of, the array ",", which it forgets, the array "%2", which it makes 0 of, and --nodes=0; nor unknown long options, which may be
// of a later Slurm, and which we warn of.
func specialScripts() []submission {
	var all []submission
	for _, lines := range [][]string{
		{},
		{"#SBATCH -n 4", "#SBATCH -c2"},
		{"#SBATCH-n4"},
		{" #SBATCH -n 4"},
		{"#sbatch -n 4", "##SBATCH -n 4", "# SBATCH -n 3"},
		{"#SBATCH -n", "#SBATCH 3"},
		{"#SBATCH -n 3 foo"},
		{"#SBATCH -n 3 # but -n 5", "#SBATCH -c 2"},
		{"#SBATCH -n 3# but -n 5"},
		{"#SBATCH -n\t3\v--mem=20"},
		{`#SBATCH -J "a b" -n 3`}, {`#SBATCH -J 'a b'c\\ -n 3`}, {`#SBATCH -J "a b -n 3`}, {`#SBATCH -J "a"x'c' -n 3`},
		{`#SBATCH -J a\ b -n 2`}, {`#SBATCH -J 'a\'b' -n 2`}, {`#SBATCH -J "a\"b" -n 2`}, {`#SBATCH -J a\b -n 2`}, {`#SBATCH -J "#x" -n 2`}, {`#SBATCH -J #x -n 2`},
		{`#SBATCH -J "" -n 2`}, {`#SBATCH -n 2 ""`}, {`#SBATCH -J a\"b -n 2`}, {`#SBATCH -n 2 \`, "#SBATCH -c 2"}, {`#SBATCH -n 2\`}, {`#SBATCH -n 2 \\`},
		{"   ", "\t", "# c", "  # d", "#SBATCH -n 3", "echo", "#SBATCH -n 5"},
		{"#SBATCH -n 3\r", "#SBATCH -c 2\r"}, {"#SBATCH -n 3", "echo\r"},
		{"#SBATCH --ntasks=2 --ntasks 3", "#SBATCH -n 4"},
		{"#SBATCH --part=long --nodes=2"}, {"#SBATCH --nod=2"}, {"#SBATCH --tasks=3"}, {"#SBATCH --tasks-per-node=3"}, {"#SBATCH --ntask=3"},
		{"#SBATCH -p short,long -t 5"},
		{"#SBATCH", "#SBATCH -- -n 3"}, {"#SBATCH -n 2 --", "#SBATCH -n 3"}, {"#SBATCHX -n 3"},
		{"#SBATCH -n=2"}, {"#SBATCH --time = 5"}, {"#SBATCH --hold=3"}, {"#SBATCH -HOn 2"}, {"#SBATCH -n 3;"}, {"#SBATCH --exclusive user"}, {"#SBATCH -P x"},
		{"#SBATCH -s --exclusive"}, {"#SBATCH --exclusive -s"}, {"#SBATCH --exclusive=yes"}, {"#SBATCH -k -n 2 --nice --no-kill"}, {"#SBATCH --nice 5"},
		{"#SBATCH -n 2 -p long", "#SBATCH hetjob", "#SBATCH -n 3"}, {"#SBATCH -n 2", "#SBATCH -p long hetjob -n 3"}, {"#SBATCH packjob", "#SBATCH -n 3"},
		{"#SBATCH -n 2", "#SBATCH hetjob", "#SBATCH hetjob", "#SBATCH -n 3"}, {"#SBATCH -J hetjob -n 2"}, {"#SBATCH -n 2 : -n 3"},
		{"#SBATCH -A acc -J nm -t 7 -p long --mem=10 --exclusive -c 2 -d singleton -N 2", "#SBATCH hetjob", "#SBATCH -n 3"},
		{"#SBATCH -a 1-3 -n 3", "#SBATCH hetjob", "#SBATCH -n 2"},
		{"#SBATCH -J a#b -n 3"}, {`#SBATCH -J a"#"b\#c -n 3`},
		{"#SBATCH -n 4", "#SBATCH -p long hetjob -n 3", "#SBATCH -c 2", "#SBATCH hetjob -n 9", "#SBATCH -n 2"}, {"#SBATCH -p long hetjob", "#SBATCH -n 2"},
		{"#SBATCH --wrap=foo -n 2"}, {"#SBATCH -n 2 -n"}, {"#SBATCH -n 2", "echo", "", "#SBATCH -q"},
	} {
		all = append(all, submission{lines: lines})
	}
	for _, args := range [][]string{
		{"-N2"}, {"-N2-4"}, {"-N2-"}, {"-N1k"}, {"-n1k"}, {"-N2", "-n5"}, {"-N4", "-n2"}, {"-N2", "--ntasks-per-node=3"}, {"--ntasks-per-node=3"},
		{"-N2", "-n5", "--ntasks-per-node=3"}, {"-n7", "--ntasks-per-node=3"}, {"-N2-4", "--ntasks-per-node=2"}, {"-N2", "-c3"}, {"-N2", "--ntasks-per-node=2", "-c2"},
		{"--exclusive"}, {"--exclusive=user"}, {"-n0"}, {"-c0"}, {"-n-1"}, {"-n", "1.5"}, {"-nx"}, {"-N", "3-2"}, {"-N", "2,4"}, {"-N", "1-2-3"}, {"-N2-4", "-c2"},
		{"--cores-per-socket=2"}, {"-N2", "--cores-per-socket=2"}, {"-N2", "--threads-per-core=2"}, {"-N2", "--sockets-per-node=2", "-n3"}, {"-B", "1:2:1"}, {"-B", "1-2:2"},
		{"-B", "*:2:*"}, {"-B", "2:2", "--ntasks-per-node=2"}, {"-O", "-n8"}, {"-O", "-n8", "-N2"}, {"-w", "n01,n02"}, {"-w", "n[01-02]"}, {"-N1", "-w", "n01,n02"},
		{"-N2", "-w", "n01"}, {"--hint=nomultithread", "-n4"},
		{"-t5"}, {"-t5:30"}, {"-t1:2:3"}, {"-t1-2"}, {"-t1-2:3"}, {"-t1-2:3:4"}, {"-t0"}, {"-tunlimited"}, {"-tINFINITE"}, {"-t-1"}, {"-t0:30"}, {"-t100:00:00"}, {"-t1:90"},
		{"-t1-25"}, {"-t1-2:70"}, {"-t1."}, {"-t5m"}, {"-t1-"}, {"-t--"}, {"-t0-0"}, {"-t5:"}, {"-t:30"}, {"-t1:2:3:4"}, {"-t+5"}, {"-t 5"}, {"-t5 "}, {"--time="}, {"-t1-2:3:4:5"},
		{"-t-5:30"}, {"-t1--2"}, {"-t0:0:0"}, {"-tunlimited5"},
		{"--mem=1000"}, {"--mem=4G"}, {"--mem=4GB"}, {"--mem=4gb"}, {"--mem=1500K"}, {"--mem=1T"}, {"--mem=1.5G"}, {"--mem-per-cpu=100", "-n3"}, {"--mem=-1"}, {"--mem=4Gi"},
		{"--mem-per-cpu=100M", "--mem=1G"}, {"--mem=100", "-N2"}, {"--mem-per-cpu=2G", "-n2", "-c2"}, {"--mem=10x"}, {"--mem=1P"}, {"--mem=0"}, {"--mem=10B"}, {"--mem="},
		{"-a1-10"}, {"-a1-10:2"}, {"-a1-10:2%4"}, {"-a1,3,5-7"}, {"-a0"}, {"-a10-1"}, {"-a1-10%0"}, {"-a1-3,2-4"}, {"-aa"}, {"-a1-3%2,5"}, {"-a[1-4]"}, {"-a1-10:0"}, {"-a3:2"},
		{"-a1-4:9"}, {"-a1-3%x"}, {"-a01-03"}, {"-a1 - 3"}, {"-a1,"}, {"-a,1"}, {"-a1-"}, {"-a1,,2"}, {"-a1%3x,4"}, {"-a1-3%2:2"}, {"-a[1-4"}, {"-a[1-4]%2"}, {"-a1-3%2,5%3"}, {"-a1-3%"},
		{"--begin=now+1hour"}, {"-d", "singleton"}, {"-J", ""}, {"-p", ""}, {"-A", "x"}, {"-n2", "-n3"}, {"--time", "4", "--time=5"},
		{"-n1", ":", "-n2"}, {"-n1", "-t", "3", ":", "-p", "long", ":", "-N2"},
	} {
		all = append(all, submission{args: args})
	}
	return append(all,
		submission{lines: []string{"#SBATCH -p medium -t 5 -n 2"}, env: map[string]string{"SBATCH_PARTITION": "long", "SBATCH_TIMELIMIT": "33", "SBATCH_ARRAY_INX": "1-3", "SLURM_NTASKS": "4"}},
		submission{lines: []string{"#SBATCH -p medium -t 5"}, args: []string{"-t", "8"}, env: map[string]string{"SBATCH_PARTITION": "long", "SBATCH_TIMELIMIT": "33"}},
		submission{env: map[string]string{"SBATCH_EXCLUSIVE": "user"}}, submission{env: map[string]string{"SBATCH_EXCLUSIVE": ""}},
		submission{env: map[string]string{"SBATCH_EXCLUSIVE": "no"}}, submission{env: map[string]string{"SBATCH_TIMELIMIT": "soon"}},
		submission{lines: []string{"#SBATCH --mem-per-cpu=100"}, env: map[string]string{"SBATCH_MEM_PER_NODE": "300"}},
		submission{lines: []string{"#SBATCH --mem=100"}, args: []string{"--mem=200"}, env: map[string]string{"SBATCH_MEM_PER_CPU": "300"}},
		submission{lines: []string{"#SBATCH --mem-per-cpu=100"}, args: []string{"--mem=200"}},
		submission{lines: []string{"#SBATCH -N2 -n4"}, env: map[string]string{"SBATCH_OVERCOMMIT": "no"}},
		submission{lines: []string{"#SBATCH -N2"}, env: map[string]string{"SBATCH_THREADS_PER_CORE": "2"}},
		submission{env: map[string]string{"SBATCH_MEM_PER_CPU": "300", "SBATCH_MEM_PER_NODE": "200"}},
		submission{lines: []string{"#SBATCH -n 2", "#SBATCH hetjob", "#SBATCH -n 3"}, args: []string{"-t", "3", "-n5"}},
		submission{lines: []string{"#SBATCH -n 2 -t 3", "#SBATCH hetjob", "#SBATCH -n 3"}, args: []string{"-c2", ":", "-c1"}},
		submission{lines: []string{"#SBATCH -n 2", "#SBATCH hetjob", "#SBATCH -n 3"}, args: []string{"-c2", ":", "-t3", ":", "-n5"}},
		submission{lines: []string{"#SBATCH -n 2", "#SBATCH hetjob", "#SBATCH -n 3 -p short"}, env: map[string]string{"SBATCH_TIMELIMIT": "4", "SBATCH_PARTITION": "long"}},
	)
}
