package simulator

// FCFS is strict first come, first served: jobs start in the order of submission, and nothing overtakes the first one
// waiting. (Where queues have limits of processors, the first one waiting is the first that its queue does not hold
// up.)
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
