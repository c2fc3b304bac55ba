package simulator

// FCFS is strict first come, first served: jobs start in the order of submission, and no job overtakes the first
// waiting one. If queues have limits of processors, the first waiting job is the first job that is not blocked by the
// limit of its queue.
type FCFS struct{ Base }

// New implements Policy.
func (*FCFS) New() Policy { return new(FCFS) }

// CopyFrom implements Policy.
func (*FCFS) CopyFrom(Policy) {}

// Schedule implements Policy.
func (f *FCFS) Schedule(p *Pool, _ Cause) {
	for r := f.Head(p); r != None && p.Fits(r); r = f.Head(p) {
		if !p.Start(r) {
			return
		}
	}
}
