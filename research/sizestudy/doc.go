// Package sizestudy simulates recorded traces whose jobs are made moldable, under EASY backfilling. The jobs choose
// their sizes by several rules. The package reports how each rule affects turnaround, utilization, and the jobs that do
// not choose.
//
// A job is moldable by Downey's model (package moldable). Its user knows the runtime for each number of processors and
// provides that curve, as in `waitcast size --downey`. Of all other jobs, a choice uses only data that waitcast would
// have: the running jobs and their starts, the waiting jobs, and the laws of package residual, which are learnt online
// from the ends so far. The choice itself is made by advice.Choose with the objective that the daemon serves.
//
// Times are in seconds.
package sizestudy
