package hypergamma

import (
	"errors"
	"fmt"
	"math"
)

// SizeParams describes the number of processors of a job (paper, section 4, Table 1).
type SizeParams struct {
	Serial float64 `json:"serial"` // p1: probability of one processor
	// p2: probability that the log2 size of a *parallel* job is rounded to a whole number
	PowerOfTwo float64 `json:"power_of_two"`
	Low        float64 `json:"low"`    // l: smallest log2 size of a parallel job
	Medium     float64 `json:"medium"` // m: log2 size at which the two uniform parts meet
	High       float64 `json:"high"`   // h: largest log2 size
	Prob       float64 `json:"prob"`   // p: weight of the lower part [Low, Medium]
}

// RuntimeParams describes runtimes (paper, sections 5 and 6, Tables 2 and 5). The logarithm of the runtime is
// hyper-Gamma, and the weight of First depends on the size.
type RuntimeParams struct {
	First  Gamma   `json:"first"`  // law of ln seconds (A1, B1)
	Second Gamma   `json:"second"` // law of ln seconds (A2, B2)
	PA     float64 `json:"pa"`     // the weight of First for a job of s processors is PA s + PB, limited to [0, 1]
	PB     float64 `json:"pb"`
	MaxLog float64 `json:"-"` // runtimes above e^MaxLog seconds are drawn again; +Inf means no cap
	// Groups are laws for groups of sizes, in ascending order. If there are any, they replace all laws above. The
	// paper's form has none. See [ModelFit.KeepWork].
	Groups []GroupLaw `json:"groups,omitempty"`
}

// ArrivalParams describes arrivals (paper, section 7, Tables 6 and 7).
type ArrivalParams struct {
	Peak Gamma `json:"peak"` // law of ln interarrival seconds at peak hours (AARR, BARR)
	// mean of ln interarrival time over all hours, divided by the mean at peak hours; it multiplies the shape of Peak
	ARAR      float64 `json:"arar"`
	Daily     Gamma   `json:"daily"`      // law of the slot numbers at which jobs arrive (ANUM, BNUM)
	Shift     int     `json:"shift"`      // number of half hours after midnight, 0 to 47, that belong to the day before
	FirstSlot int     `json:"first_slot"` // number of the slot at midnight before the shift: 0 or 1
	// virtual interarrival times above e^MaxLog seconds are drawn again; +Inf means no cap
	MaxLog float64 `json:"-"`
	// WholeSeconds cuts the clock to whole seconds after every job, but not the position in the slot, as the authors'
	// program does. The clock then falls behind the daily cycle by half a second per job, which is a day in 172,800
	// jobs. A long run therefore has no visible cycle.
	WholeSeconds bool `json:"whole_seconds"`
}

// Params is one set of the model's parameters, for one class of jobs.
type Params struct {
	Size    SizeParams    `json:"size"`
	Runtime RuntimeParams `json:"runtime"`
	Arrival ArrivalParams `json:"arrival"`
}

// These are the program's caps: the "TOO_MUCH" constants of lublin99, in ln seconds (about 45 h and 5 days).
const (
	programMaxRuntime      = 12
	programMaxInterarrival = 13
)

// ProgramAll returns the numbers in the authors' program for all jobs together, on a machine of procs processors.
// (The program itself has 128 processors.) Low is 0.8, and Medium is 2.5 below High = log2 procs, as in the paper's
// Table 1. If the machine is so small that Medium would be below Low, there is no lower part. With one processor
// every job is serial.
//
// The program's "power of two" 0.576 is a share of *all* jobs: it compares one random number with p1 and with p1 +
// 0.576. Here it is the paper's p2, the share of parallel jobs: 0.576 / (1 - 0.244) = 0.762.
func ProgramAll(procs int) Params {
	return Params{
		Size: programSize(procs, .244, .576, SizeParams{Low: .8, Prob: .86}, 0, 2.5),
		Runtime: RuntimeParams{
			First: Gamma{4.2, .94}, Second: Gamma{312, .03}, PA: -.0054, PB: .78, MaxLog: programMaxRuntime,
		},
		Arrival: programArrival(Gamma{10.2303, .4871}, 1.0225, Gamma{8.1737, 3.9631}),
	}
}

// ProgramBatch returns the program's numbers for batch jobs; see [ProgramAll]. On 128 processors the program has Medium
// = 5 and High = 7. For other machines both keep their distances from log2 procs, 2 and 0.
func ProgramBatch(procs int) Params {
	return Params{
		Size: programSize(procs, .2927, .6686, SizeParams{Low: 1.2, Prob: .875}, 0, 2),
		Runtime: RuntimeParams{
			First: Gamma{6.57, .823}, Second: Gamma{639.1, .0156}, PA: -.003, PB: .6986, MaxLog: programMaxRuntime,
		},
		Arrival: programArrival(Gamma{6.0415, .8531}, 1.0519, Gamma{6.1271, 5.2740}),
	}
}

// ProgramInteractive returns the program's numbers for interactive jobs; see [ProgramAll]. On 128 processors the
// program has Medium = 3 and High = 5.5. For other machines both keep their distances from log2 procs, 4 and 1.5.
func ProgramInteractive(procs int) Params {
	return Params{
		Size: programSize(procs, .1541, .625, SizeParams{Low: 1, Prob: .705}, 1.5, 2.5),
		Runtime: RuntimeParams{
			First: Gamma{3.8351, .6605}, Second: Gamma{7.073, .6856}, PA: -.0118, PB: .9156, MaxLog: programMaxRuntime,
		},
		Arrival: programArrival(Gamma{6.5510, .6621}, .9797, Gamma{8.9186, 3.6680}),
	}
}

// PaperAll returns the rows "Model" of the paper's Tables 1, 2, 5, 6 and 7, on procs processors. The paper has no
// caps. It numbers its slots by the hour times 2, so that the slot at 05:00 is 10. (The program has 11. A fit of the
// KTH log agrees with Table 7 only with 11.) The paper gives no number for ARAR but "rather close to 1"; it is 1
// here. Without a cap the mean interarrival time is finite only because the scale of Peak is below 1.
func PaperAll(procs int) Params {
	p := ProgramAll(procs)
	if procs > 1 {
		p.Size.Serial, p.Size.PowerOfTwo = .24, .75
	}
	p.Runtime.MaxLog = math.Inf(1)
	p.Arrival = ArrivalParams{
		Peak: Gamma{10.23, .49}, ARAR: 1, Daily: Gamma{8.17, 3.96}, Shift: 10, FirstSlot: 0, MaxLog: math.Inf(1),
	}
	return p
}

// programSize completes s for a machine. High is log2 procs minus below, but at least s.Low or log2 procs, whichever is
// less. Medium is High minus drop; if that is less than s.Low, there is no lower part. power is the share of powers of
// two in all jobs.
func programSize(procs int, serial, power float64, s SizeParams, below, drop float64) SizeParams {
	s.Serial, s.PowerOfTwo = serial, power/(1-serial)
	top := math.Log2(float64(max(procs, 1)))
	s.High = max(top-below, min(s.Low, top))
	s.Low = min(s.Low, s.High)
	s.Medium = s.High - drop
	if s.Medium < s.Low {
		s.Medium, s.Prob = s.Low, 0
	}
	if top == 0 {
		s.Serial, s.PowerOfTwo = 1, 0
	}
	return s
}

// programArrival adds the parameters that are equal in the program's three sets. The program's day begins with slot
// 11 of slots numbered from 1, which is 05:00.
func programArrival(peak Gamma, arar float64, daily Gamma) ArrivalParams {
	return ArrivalParams{
		Peak: peak, ARAR: arar, Daily: daily, Shift: 10, FirstSlot: 1, MaxLog: programMaxInterarrival,
	}
}

// Validate returns an error that names the first invalid number. It returns nil if all are valid.
func (p Params) Validate() error {
	if err := p.Size.validate(); err != nil {
		return fmt.Errorf("size model: %w", err)
	}
	if err := p.Runtime.validate(); err != nil {
		return fmt.Errorf("runtime model: %w", err)
	}
	if err := p.Arrival.validate(); err != nil {
		return fmt.Errorf("arrival model: %w", err)
	}
	return nil
}

func isProb(p float64) bool { return p >= 0 && p <= 1 }

func (s SizeParams) validate() error {
	const most = 30 // log2 of the largest size, which is 2^30 processors
	switch {
	case !isProb(s.Serial) || !isProb(s.PowerOfTwo) || !isProb(s.Prob):
		return fmt.Errorf("serial %v, power of two %v and prob %v must lie in [0, 1]", s.Serial, s.PowerOfTwo, s.Prob)
	case !(0 <= s.Low && s.Low <= s.Medium && s.Medium <= s.High && s.High <= most):
		return fmt.Errorf("need 0 <= low %v <= medium %v <= high %v <= %d", s.Low, s.Medium, s.High, most)
	}
	return nil
}

func (r RuntimeParams) validate() error {
	if err := r.First.check("first"); err != nil {
		return err
	}
	if err := r.Second.check("second"); err != nil {
		return err
	}
	if math.IsNaN(r.PA) || math.IsInf(r.PA, 0) || math.IsNaN(r.PB) || math.IsInf(r.PB, 0) {
		return fmt.Errorf("pa %v and pb %v must be finite", r.PA, r.PB)
	}
	for i, g := range r.Groups {
		switch {
		case g.To < 1 || i > 0 && g.To <= r.Groups[i-1].To:
			return fmt.Errorf("group %d goes to %d processors: must be above the one before", i, g.To)
		case !isProb(g.Short) || !isProb(g.Law.P) || math.IsNaN(g.MaxLog):
			return fmt.Errorf("group %d: short %v and p %v must lie in [0, 1], max_log %v must be a number", i, g.Short,
				g.Law.P, g.MaxLog)
		}
		err := errors.Join(g.Law.First.check("first"), g.Law.Second.check("second"))
		if err == nil {
			err = checkCap(g.MaxLog, g.Law.First, g.Law.Second)
		}
		if err != nil {
			return fmt.Errorf("group %d: %w", i, err)
		}
	}
	return checkCap(r.MaxLog, r.First, r.Second)
}

func (a ArrivalParams) validate() error {
	if err := a.Peak.check("peak"); err != nil {
		return err
	}
	if err := a.Daily.check("daily"); err != nil {
		return err
	}
	switch {
	case !(a.ARAR > 0) || math.IsInf(a.ARAR, 0):
		return fmt.Errorf("ARAR %v must be positive", a.ARAR)
	case a.Shift < 0 || a.Shift >= Slots:
		return fmt.Errorf("shift %d must be 0 to %d half hours", a.Shift, Slots-1)
	case a.FirstSlot != 0 && a.FirstSlot != 1:
		return fmt.Errorf("first slot %d must be 0 or 1", a.FirstSlot)
	}
	if _, total := a.rawWeights(); !(total > 1e-6) {
		return fmt.Errorf("daily law (shape %v, scale %v) lies outside the day", a.Daily.Shape, a.Daily.Scale)
	}
	return checkCap(a.MaxLog, a.interarrival())
}

// checkCap returns an error if the cap cuts off so much of the laws that drawing again would take too long.
func checkCap(maxLog float64, laws ...Gamma) error {
	const least = 1e-3
	for _, l := range laws {
		if !(l.CDF(maxLog) >= least) {
			return fmt.Errorf("cap e^%v leaves less than %v of the law with shape %v and scale %v", maxLog, least,
				l.Shape, l.Scale)
		}
	}
	return nil
}
