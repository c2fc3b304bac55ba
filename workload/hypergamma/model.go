package hypergamma

import (
	"encoding/json"
	"fmt"
	"math"
)

// Jobs are the columns that [FitModel] reads, with one element for each job.
type Jobs struct {
	Procs   []int
	Seconds []float64 // runtimes; jobs that never ran must be left out
	Local   []float64 // submit times in any order, see [LocalSeconds]
}

// ModelFit is the whole model, fitted to a log.
type ModelFit struct {
	Size    SizeFit    `json:"size"`
	Runtime RuntimeFit `json:"runtime"`
	Arrival ArrivalFit `json:"arrival"`
	Work    Fit        `json:"work"` // law of ln(processors times runtime) (Table 3); not part of Params
}

// Params returns the parameters with which [New] draws jobs like those of the log. Sizes have the log's share of powers
// of two ([SizeFit].Rounded).
func (f *ModelFit) Params() Params {
	p := Params{Size: f.Size.Params, Runtime: f.Runtime.Params(), Arrival: f.Arrival.Params()}
	p.Size.PowerOfTwo = f.Size.Rounded
	return p
}

// FitModel fits sizes, runtimes, arrivals and total work ([FitSizes], [FitRuntimeModel], [FitArrivals], [FitWork]).
// machine is the number of processors; 0 means as many as the largest job. The error joins the errors of the parts.
// Each part without an error is set.
func FitModel(j Jobs, machine int, o ArrivalOptions) (ModelFit, error) {
	if len(j.Procs) != len(j.Seconds) || len(j.Procs) != len(j.Local) {
		return ModelFit{}, fmt.Errorf("hypergamma: %d sizes, %d runtimes, %d submit times: %w", len(j.Procs),
			len(j.Seconds), len(j.Local), ErrValue)
	}
	var f ModelFit
	var failed error
	part := func(name string, err error) {
		switch {
		case err == nil:
		case failed == nil:
			failed = fmt.Errorf("%s: %w", name, err)
		default:
			failed = fmt.Errorf("%w; %s: %w", failed, name, err)
		}
	}
	var err error
	f.Size, err = FitSizes(j.Procs, machine)
	part("sizes", err)
	f.Runtime, err = FitRuntimeModel(j.Procs, j.Seconds)
	part("runtimes", err)
	f.Arrival, err = FitArrivals(j.Local, o)
	part("arrivals", err)
	procs := make([]float64, len(j.Procs))
	for i, p := range j.Procs {
		procs[i] = float64(p)
	}
	f.Work, err = FitWork(procs, j.Seconds)
	part("work", err)
	return f, failed
}

// uncapped is the JSON form of a cap. It is null for an infinite cap, because JSON has no infinity.
type uncapped struct {
	MaxLog *float64 `json:"max_log"`
}

func capJSON(x float64) uncapped {
	if math.IsInf(x, 1) {
		return uncapped{}
	}
	return uncapped{&x}
}

func (u uncapped) value() float64 {
	if u.MaxLog == nil {
		return math.Inf(1)
	}
	return *u.MaxLog
}

type plainRuntime RuntimeParams

// MarshalJSON writes "max_log": null if there is no cap.
func (r RuntimeParams) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainRuntime
		uncapped
	}{plainRuntime(r), capJSON(r.MaxLog)})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (r *RuntimeParams) UnmarshalJSON(data []byte) error {
	var in struct {
		plainRuntime
		uncapped
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = RuntimeParams(in.plainRuntime)
	r.MaxLog = in.value()
	return nil
}

type plainArrival ArrivalParams

// MarshalJSON writes "max_log": null if there is no cap.
func (a ArrivalParams) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainArrival
		uncapped
	}{plainArrival(a), capJSON(a.MaxLog)})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (a *ArrivalParams) UnmarshalJSON(data []byte) error {
	var in struct {
		plainArrival
		uncapped
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*a = ArrivalParams(in.plainArrival)
	a.MaxLog = in.value()
	return nil
}
