// Package sizestudy plays recorded traces, made moldable, through EASY backfilling while jobs choose their sizes by
// several rules, and says what each rule does to turnaround, to utilization, and to those who do not choose.
//
// A job is moldable by Downey's model (package moldable), and its user knows how long it runs on how many processors:
// he brings the curve, as in `waitcast size --downey`. Of all other jobs a choice knows only what waitcast would: who
// runs since when, who waits, and the laws of package residual, learnt online from the ends seen so far. The choice
// itself is advice.Choose under the objective that the daemon serves.
//
// Times are seconds.
package sizestudy
