package advice

// The weights of Considerate. Of 0, 1, 3, 10, 20 and 40 for the base and 1, 2 and 4 for those who wait these did well in a first
// scan over loads from .5 to .95, one seed each, on KTH-SP2, CTC-SP2 and SDSC-SP2 made moldable by package moldable, with ends known: provisional until the study of size advice
// has chosen them on first halves.
const (
	considerateBase    = 10
	considerateWaiting = 2
)

// Considerate is the least finish in hours that also counts what the job takes from others: an objective of the kind Cost for a machine, or pool, of so many processors
// in whose queue so many other jobs wait.
//
// A job that holds n of P processors for R seconds puts off the work of the machine by n R/P, and with it each job that waits, and those that come until it
// ends. So a processor-hour has the price (10 + 2 waiting)/P, in hours of the job's own. The two weights are ours.
//
// Users who each minimize their own finish alone take more processors than the machine can spare, as K. Sevcik, "Application scheduling and processor allocation
// in multiprogrammed parallel processing systems", Performance Evaluation 19, 1994, says they must not; Downey 1996, sec. 8.1, left open what becomes of
// the system. In that scan the former was worse than the recorded sizes and this better, on all three.
func Considerate(waiting, machine int) Objective {
	price := (considerateBase + considerateWaiting*float64(max(0, waiting))) / float64(max(1, machine))
	return Objective{Kind: Cost, Hour: 1, ProcHour: price}
}
