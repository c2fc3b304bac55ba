// Package sizestudy simulates recorded traces, made moldable, under EASY backfilling while jobs choose their sizes by
// several rules. It reports how each rule affects turnaround, utilization, and the jobs that do not choose.
//
// A job is moldable by Downey's model (package moldable). Its user knows its runtime for each number of processors and
// provides the curve, as in `waitcast size --downey`. About all other jobs a choice uses only what waitcast would know:
// the running jobs and their starts, the waiting jobs, and the laws of package residual, learnt online from the ends so
// far. The choice itself is advice.Choose under the objective that the daemon serves.
//
// Times are in seconds.
package sizestudy
