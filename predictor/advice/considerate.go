package advice

// The weights of Considerate, chosen by the study of size advice (package sizestudy, research/docs/size-advice.md) on
// the first halves of KTH-SP2, CTC-SP2 and SDSC-SP2, with waits as waitcast could have forecast them. Of those tried
// whose median regret stays below a tenth of the turnaround, and whose mean turnaround is within 1 % of the least, they
// have the least regret.
const (
	considerateBase    = 10
	considerateWaiting = 4
)

// Considerate is the least finish in hours that also counts what the job takes from others: an objective of the kind
// Cost for a machine, or pool, of so many processors in whose queue so many other jobs wait. A processor-hour has the
// price
//
//	(10 + 4 waiting) / machine
//
// in hours of the job's own.
//
// A job that holds n of P processors for R seconds puts the work of the machine off by n R/P seconds. Every job that
// waits starts, and so ends, so much later; and so do those that are yet to come, for as long as the queue does not run
// empty. Each of these is a second of somebody's turnaround, as good as one of the job's own. So the price of a
// processor-second is the number of jobs that it puts off, over P.
//
// That number grows with those who wait now: where the work that comes takes a share rho of the machine, a queue of W
// has been joined by some W rho/(1-rho) more by the time it is gone, so that W/(1-rho) are put off: 2 W at a load of
// .5, 10 W at .9. Fitted is 4. What remains without a queue, 10, is for those who come while the job runs. The form is
// reasoned, the weights are fitted, and the optimum is flat: half or twice as much costs a few per cent.
//
// So on an idle machine an hour on all processors costs ten hours beside its own, and a wide size has to pay for
// itself; as the queue grows without bound the advice tends to the size of the fewest processor-seconds.
//
// Users who each minimize their own finish alone take more processors than the machine can spare, as K. Sevcik,
// "Application scheduling and processor allocation in multiprogrammed parallel processing systems", Performance
// Evaluation 19, 1994, says they must not; Downey 1996, sec. 8.1, left open what becomes of the system. In the study
// mean turnaround is then longer than by the users' requests, and with this price a quarter shorter and more.
func Considerate(waiting, machine int) Objective {
	price := (considerateBase + considerateWaiting*float64(max(0, waiting))) / float64(max(1, machine))
	return Objective{Kind: Cost, Hour: 1, ProcHour: price}
}
