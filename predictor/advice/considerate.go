package advice

// These are the weights of Considerate. The study of size advice (package sizestudy, research/docs/size-advice.md)
// chose them on the first halves of KTH-SP2, CTC-SP2 and SDSC-SP2, with waits as waitcast could have forecast them.
// It considered the weights with a median regret below a tenth of the turnaround, and a mean turnaround within 1 % of
// the minimum. Of these it chose those with the least regret.
const (
	considerateBase    = 10
	considerateWaiting = 4
)

// Considerate returns an objective of the kind Cost. It minimizes the time to the finish in hours plus the delay that
// the job causes to others. machine is the number of processors of a machine or pool, and waiting the number of other
// waiting jobs there. A processor-hour has the price
//
//	(10 + 4 waiting) / machine
//
// in hours of the job's own time.
//
// A job that holds n of P processors for R seconds delays the work of the machine by n R/P seconds. Every waiting job
// starts and ends that much later, and so do later jobs until the queue is empty. Each such second counts like a
// second of the job's own turnaround. So the price of a processor-second is the number of delayed jobs divided by P.
//
// That number grows with the waiting jobs. If arriving work takes a share rho of the machine, about W rho/(1-rho) jobs
// join a queue of W jobs before it is empty, so that W/(1-rho) jobs are delayed: 2 W at a load of 0.5, 10 W at 0.9. The
// fitted factor is 4. The constant 10 stands for jobs that arrive while this one runs. The form follows from this
// argument. The weights are fitted, and the optimum is flat: halving or doubling the weights costs a few per cent.
//
// On an idle machine an hour on all processors therefore costs ten hours in addition to the hour itself. So a large
// size must shorten the job enough. As the queue grows without bound, the advice tends to the size with the fewest
// processor-seconds.
//
// If each user minimizes only their own finish, the users together take more processors than the machine can spare. K.
// Sevcik, "Application scheduling and processor allocation in multiprogrammed parallel processing systems", Performance
// Evaluation 19, 1994, warns of this. Downey 1996, sec. 8.1, left the effect on the system open. In the study such
// choices made the users' mean turnaround longer than with their own requests. With this price it is shorter than with
// their own requests, by a quarter or more.
func Considerate(waiting, machine int) Objective {
	price := (considerateBase + considerateWaiting*float64(max(0, waiting))) / float64(max(1, machine))
	return Objective{Kind: Cost, Hour: 1, ProcHour: price}
}
