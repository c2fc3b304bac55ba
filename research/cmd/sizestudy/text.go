package main

const preface = `# Which size pays

<!-- Made by make study-size; do not edit. -->

Made by ` + "`make study-size`" + `. It plays recorded workloads, whose jobs can run on any number of processors, through EASY
backfilling. The jobs choose their sizes by different rules. Every trace and load has %d seeds; each seed is a stretch
of %d jobs from the second half of its trace. All figures of all cells are in [size-advice.csv](size-advice.csv).

`

const method = `## What was done

**Jobs.** The jobs are those of the second halves of KTH-SP2, CTC-SP2 and SDSC-SP2 (Parallel Workloads Archive). The
weights of the price (see below) were chosen on the first halves. Logs do not show how programs scale. So every job of
more than one processor is given a speedup curve of Downey's model (1997) through its recorded size and runtime. The
average parallelism is log-uniform between 1 and the size of the machine, and sigma is uniform between 0 and 2. Both are
drawn until the job is at least half efficient at the size that its user chose. Jobs of one processor, a third of all,
keep their size. Time limits scale with the runtime. A seed chooses the stretch, draws the curves, and determines which
jobs ask.

**Load.** A load in the tables holds for the recorded sizes: the times between submissions are stretched until the jobs,
at the sizes that their users requested, make this load. Under another rule the jobs have other sizes, so they make more
or less work than that.

**Rules.**

- *User's request* is the recorded size.
- *Most efficient* is the size with the fewest processor-seconds, mostly 1.
- *Knee* is the size with the highest ratio of efficiency to runtime (Eager, Zahorjan and Lazowska 1989).
- *Largest* is the largest size that still gains something.
- *waitcast at submission* is the advice of waitcast when the job is submitted.
- *waitcast at the head* is advice while the job is the first of the queue. It is given again whenever the scheduler
  looks at the queue, until the job starts, as for a job that subscribes to /v1/watch. A job that is backfilled before
  it is the first keeps its request.
- *waitcast at both* is advice at submission, and again while the job is the first.

"20 % ask" means that a fifth of the jobs of more than one processor ask; the others run as requested.

**What waitcast knows.** The asking user gives the speedup curve, so the job's own runtime is known at every size, as in
` + "`waitcast size --downey`" + `. The ends of other jobs are not known. Running and waiting jobs have the laws that waitcast
learns online from users, time limits and ages. Every stretch begins without any law, and its first tenth is not
scored. A wait is forecast in 8 futures of these laws. At the head, a future is played until enough processors are free,
as in the daemon's forward simulation. For advice at submission, a future is a first-fit plan of all waiting jobs. The
choice is made by the daemon's own code. The candidates are the powers of two, the request, the knee, and the smallest
and the largest size.

**What waitcast minimizes.** The objective ` + "`considerate`" + ` is the hours to the job's finish, plus a price for the
processor-hours that the job takes from others. The price is (10 + 4 waiting) / machine for each processor-hour, where
*waiting* is the number of other jobs that wait. The job delays every waiting job by its processor-hours divided by the
machine's processors; ` + "`advice.Considerate`" + ` explains the reasoning. *Own finish alone* is the objective ` + "`mean`" + `, which
is the same without the price: Downey's E[Q(n)] + R(n).

`

const everybodyText = `The fixed rules lose because they never look at the queue. With the largest sizes the same jobs make about 1.5 times the
work. With the most efficient sizes jobs run on one processor while others are idle. Advice takes the free processors
when few jobs wait, and few processors when many jobs wait. So its gain grows with the load. If every job minimizes only
its own finish, each takes processors for which the others then wait. Then all jobs together are worse off than with the
users' requests at nearly every load.

`

const systemText = `With waitcast's advice (not with *own finish alone*), jobs take about as many processor-hours as with the users'
requests at low loads, and fewer at high loads. On SDSC-SP2 they take fewer at every load. Utilization falls with the
processor-hours: the same jobs make less work, and the machine is not idle while jobs wait.

`

const fairText = `Jobs that do not ask gain too, because there is less work ahead of them; they gain more if more jobs ask. None of the
groups loses. With advice at submission, the jobs that ask gain most. With advice at the head, a few askers among many
others gain less under load, down to no more than the others. Most of their jobs are backfilled before they can choose,
and the remaining ones leave processors to others, who do not do the same for them. To minimize only one's own finish
does not pay in this case either: if a fifth of the jobs do so, they gain at low loads and lose at high ones, and the
other jobs lose.

Not every user gains: the mean over a user's jobs depends on chance too, and some programs get advice to use fewer
processors. The last tables show how many users are worse off.

`

const hindsightText = `## Against hindsight

The whole of KTH-SP2 was played at its own load of .7. All jobs ask once, when they come to the head; there are %d seeds.
For every advice, the same machine was played on from the same instant with each other size that was considered, until
the job started. The best of these sizes is the choice of hindsight. Regret is the part by which the turnaround of that
choice is shorter than the turnaround of the advice.

`

const weightsText = `## How the price was chosen

The form of the price follows from reasoning; its weights are fitted. They were fitted on the first halves of the
traces, at loads .5, .7 and .9 (2 seeds of 5,000 jobs), with the same forecasts as above. The criterion is the
lowest mean turnaround: the geometric mean over traces, loads, seeds, and asking at submission and once at the head.
Only weights whose median regret on the first half of KTH-SP2 stays below 10 % are allowed. The price makes a job
leave to others what would be best for itself, and this needs a bound. Among the weights within 1 % of the lowest
mean turnaround, those with the lowest regret are served. *Lately* is the mean number of jobs that waited over about
a day. It was tried as a third part of the price. It has no gain that the trials can show, and is not served.

`

const assumptionsText = `## Under other assumptions

How jobs scale is an assumption, so this section tries others. All jobs that can ask do so. The tables show the
change of the mean turnaround against the requests, in %%, over %d seeds.

`

const limits = `## What this does not say

- The curves are drawn, not measured. If users asked for sizes far from those that their programs can use, more can be
  gained. If memory or the program leaves little choice, less can be gained: see the bounded sizes above.
- The asking user knows the speedup curve. Users' own estimates are worse; the third variant above shows the cost.
- Jobs come when they came in the log, whatever the machine does. Users who are served sooner would submit more.
- When the times between submissions are stretched, days and weeks are stretched with them.
- Forecasts are simpler than the daemon's: they use only laws and futures, without the learned corrections.
`
