package main

const preface = `# Which size pays

<!-- Made by make study-size; do not edit. -->

Made by ` + "`make study-size`" +
	`: recorded workloads whose jobs can run on any number of processors are played through EASY backfilling, and choose their sizes by one rule or another. Seeds of every
trace and load: %d, each a stretch of %d jobs out of the second half of its trace. All figures of all cells are in [size-advice.csv](size-advice.csv).

`

const method = `## What was done

**Jobs.** KTH-SP2, CTC-SP2 and SDSC-SP2 (Parallel Workloads Archive), second halves; the first halves served to choose the weights. Logs do not tell how programs scale. Every job of more than one processor is given a
speedup curve of Downey's model (1997) through its recorded size and runtime: average parallelism log-uniform between 1 and the machine, sigma uniform between 0 and 2, drawn until the job is at least half efficient at the
size that its user chose. Jobs of one processor, a third of all, stay as they are. Time limits scale with the runtime. A seed chooses the stretch, draws the curves, and says who asks.

**Load** is that of the recorded sizes: the times between submissions are stretched until the requests offer it. Another rule makes other work of the same jobs.

**Rules.** *User's request*: the recorded size. *Most efficient*: the size of the fewest processor-seconds, mostly 1. *Knee*: the highest efficiency per runtime (Eager, Zahorjan and Lazowska 1989). *Largest*: the largest that still gains something.
*waitcast at submission*: the advice of waitcast once, when the job is submitted. *waitcast at the head*: while the job is the first of the queue, anew whenever the scheduler looks, until it starts, as a job that subscribes to /v1/watch has it; a job that
is backfilled before that keeps its request. *waitcast at both*: at submission, and again while it is the first. "20 % ask" means a fifth of the jobs of more than one processor, the others run as requested.

**What waitcast knows.** The asking user brings his curve, so that his own runtime is known at every size, as in ` +
	"`waitcast size --downey`" +
	`. Of the others' ends nothing is known: the running and waiting jobs have the laws that
waitcast learns online from users, time limits and ages, and start out with none in every stretch; its first tenth is not scored. A wait is forecast in 8 futures of these laws: at the head until enough processors are free, as the forward simulation of the daemon has it;
at submission by a first-fit plan of all that wait. The choice is made by the function that the daemon calls, among powers of two, the request, the knee and the extremes.

**What waitcast minimizes.** The objective ` + "`considerate`" +
	`: the hours to the job's finish, and a price for the processor-hours that it takes from others, (10 + 4 waiting) / machine, where *waiting* is how many other jobs wait. The job puts off everybody who waits
by its processor-hours over the machine's processors; the reasoning is told at ` + "`advice.Considerate`" +
	`. *Own finish alone* is the objective ` + "`mean`" + `, the same without the price: Downey's E[Q(n)] + R(n).

`

const everybodyText = `The fixed rules lose because they never look at the queue: the largest sizes make half as much work again out of the same jobs, the most efficient ones run on one processor beside idle ones. Advice takes what
is free when little waits and little when much waits, so that its gain grows with the load. Where all mind their own finish alone, each takes what the others then wait for, and nearly everywhere all are worse off than by the requests.

`

const systemText = `By the advice that is served jobs take about as many processor-hours as by the requests at low loads, and fewer at high ones. Utilization falls with them: the same jobs are less work, the machine does not stand idle before a queue.

`

const fairText = `Those who do not ask gain as well, the more the more jobs ask, as there is less work before them; none of the groups loses. At submission those who ask gain most. At the head few askers among many others gain less under load, down to no more than the
others: most of their jobs are backfilled before they can choose, and the rest leave to others what those do not leave to them. Minding one's own finish alone does not pay then either: where a fifth does, they gain at low loads and lose at high ones, and the others lose.

Not every user gains: a mean over a user's jobs has luck in it, and some programs are asked for fewer processors. The last tables say how many end up worse.

`

const hindsightText = `## Against hindsight

The whole of KTH-SP2 at its own load of .7, all jobs ask once, when they come to the head, %d seeds. For every advice the same machine was played on from the same instant with each other size that was thought of, until the job started; the best of these is what hindsight would have chosen.
Regret is how much shorter its turnaround is than that of the advice.

`

const weightsText = `## How the price was chosen

The form of the price is reasoned, its weights are fitted: on the first halves of the traces, at loads .5, .7 and .9 (2 seeds of 5,000 jobs), with the same forecasts as above. Asked for is the least mean turnaround (the geometric mean over traces, loads, seeds, and asking at submission and once at the head) among the
weights whose median regret on the first half of KTH-SP2 stays below 10 %: the price makes a job leave to others what is best for itself, and that must have a bound. Of those within 1 % of that the one of the least regret is served. *Lately*, the mean number of jobs that
waited over about a day, was tried as a third part of the price; it gains nothing that the trials can tell, and is not served.

`

const assumptionsText = `## Under other assumptions

How jobs scale is an assumption, so here are others; all jobs that can, ask, and change of the mean turnaround against the requests in %% is told, %d seeds.

`

const limits = `## What this does not say

- The curves are drawn, not measured. Where users asked for sizes far from what their programs can use, there is more to gain; where memory or the program leaves little choice, less: see the bounded sizes above.
- The asking user knows his curve. Users' own estimates are worse; the last variant above says what that costs.
- Jobs come when they came, whatever the machine does; users who are served sooner would submit more.
- Stretching the times between submissions stretches days and weeks with them.
- Forecasts are simpler than the daemon's: laws and futures alone, without its learned corrections.
`
