// Package swf reads and writes the Standard Workload Format. The Parallel Workloads Archive keeps the accounting logs
// of batch schedulers in this format.
//
// A file is text. Lines that start with ';' are the header ("; Key: value"). Every other line is one job: 18 numbers
// separated by spaces or tabs, where -1 means that the value is unknown. The format is defined by S. J. Chapin et
// al., "Benchmarks and Standards for the Evaluation of Parallel Job Schedulers", JSSPP 1999, and by the archive's
// page about it.
package swf

// Unknown is the value of a field that the log does not have.
const Unknown = -1

// Fields is the number of fields of a record. A line may have more fields, which are ignored.
const Fields = 18

// These are the values of [Record.Status]. Unknown is possible too.
const (
	StatusFailed        = 0 // ended without success
	StatusCompleted     = 1 // ended with success
	StatusPartial       = 2 // one of several partial executions, to be continued
	StatusLastCompleted = 3 // the last partial execution, ended with success
	StatusLastFailed    = 4 // the last partial execution, ended without success
	StatusCancelled     = 5 // cancelled, before its start or while it ran
)

// Record is one job: the 18 fields in the order of the file. Times are in seconds. Unknown (-1) means that the log
// does not have the value. Other negative numbers are kept as they are in the file.
type Record struct {
	ID             int64   // 1: job number
	Submit         int64   // 2: submit time, seconds since the header's UnixStartTime
	Wait           int64   // 3: start - submit; for a job that never ran, the time until it was cancelled
	Runtime        int64   // 4: end - start, wall-clock seconds
	Allocated      int64   // 5: processors allocated
	CPUTime        float64 // 6: mean CPU time per processor, seconds; the only field that keeps its fraction
	Memory         int64   // 7: mean memory used per processor, kilobytes
	RequestedProcs int64   // 8: processors requested
	TimeLimit      int64   // 9: requested wall-clock time, seconds
	RequestedMem   int64   // 10: requested memory per processor, kilobytes
	Status         int64   // 11: one of the Status constants
	User           int64   // 12: user number
	Group          int64   // 13: group number
	Executable     int64   // 14: application number
	Queue          int64   // 15: queue number
	Partition      int64   // 16: partition number
	Preceding      int64   // 17: number of the job that this job waited for
	ThinkTime      int64   // 18: seconds from the preceding job's end to this submit
}

// Ran reports whether the job is known to have run. It has run if its runtime is positive. It has also run if its
// runtime is 0 (too short for the log's clock), unless its status is StatusCancelled. A negative runtime is unknown
// and counts as not run. The wait of a job that never ran is only a lower bound of the wait it would have had.
func (r *Record) Ran() bool {
	if r.Runtime == 0 {
		return r.Status != StatusCancelled
	}
	return r.Runtime > 0
}

// Procs returns the number of allocated processors if the log has it (above 0). Otherwise it returns the number of
// requested processors, which may be Unknown.
func (r *Record) Procs() int64 {
	if r.Allocated > 0 {
		return r.Allocated
	}
	return r.RequestedProcs
}

// fieldNames are the names used in errors, by field number - 1.
var fieldNames = [Fields]string{
	"job number", "submit time", "wait time", "runtime", "allocated processors", "CPU time", "memory used",
	"requested processors", "requested time", "requested memory", "status", "user", "group", "application", "queue",
	"partition", "preceding job", "think time",
}
