package compare

// Workload has the columns of a workload, with one element for each job, in the order of submission. A column that
// the log does not have is nil. All others have the same length.
type Workload struct {
	Submit  []float64 // seconds
	Runtime []float64 // seconds
	Procs   []float64
	Limit   []float64 // time limits in seconds
	User    []int64
	// ends of the jobs in seconds; if nil, a job counts as ending at Submit + Runtime in the computation of sessions
	End []float64
	// beginning of the log in seconds; arrivals are counted from here on for the Hurst parameter
	Start        float64
	MondayOffset float64 // seconds from a Monday's midnight in local time to time 0
}

// Measures are the results for one workload. A measure that cannot be computed is missing, and Missing has the reason.
type Measures struct {
	Jobs            int      `json:"jobs"`
	SquashedArea    *float64 `json:"squashed_area,omitempty"`           // processor seconds
	Correlation     *float64 `json:"correlation,omitempty"`             // correlation of sizes and runtimes
	ProcsAutocorr   *float64 `json:"procs_autocorrelation,omitempty"`   // autocorrelation of sizes at lag 1
	RuntimeAutocorr *float64 `json:"runtime_autocorrelation,omitempty"` // autocorrelation of runtimes at lag 1
	// locality of the columns "runtime", "limit" and "procs" (Zakay, Table VI)
	StackDepth map[string]Locality `json:"stack_depth,omitempty"`
	// by the same columns: mean over days of the share of the bin with the most jobs, of 16 bins
	Concentration map[string]float64 `json:"concentration,omitempty"`
	Hurst         *HurstFit          `json:"hurst,omitempty"` // for arrivals in bins of [HurstBin]
	// share of submissions in each hour of the week
	Weekly  []float64         `json:"weekly,omitempty"`
	Users   *UserStats        `json:"users,omitempty"`
	Missing map[string]string `json:"missing,omitempty"`
}

// Report compares a workload with another one, the original.
type Report struct {
	Original Measures `json:"original"`
	Other    Measures `json:"other"`
	// KS distances of the columns "procs", "runtime", "interarrival", and of the columns by user "user_jobs",
	// "user_sessions", "user_work", "user_active"
	KS map[string]float64 `json:"ks"`
	// WaitsCount is true if users' sessions and times are computed from the ends of the jobs, which include waits. If
	// it is false, every job of both workloads counts as ending at its submission plus its runtime.
	WaitsCount bool `json:"waits_count"`
	// AreaDifference is (other - original) / original of the squashed areas per job (Song, eq. 13, where both
	// workloads have the same number of jobs).
	AreaDifference *float64          `json:"area_difference,omitempty"`
	WeeklyDistance *float64          `json:"weekly_distance,omitempty"` // see [ProfileDistance]
	Missing        map[string]string `json:"missing,omitempty"`
}

// minDayJobs is the minimum number of jobs of a day that counts in the mean concentration. It equals the number of
// bins, so that an even distribution is possible.
const minDayJobs = ConcentrationBins

// missing maps names of missing measures to the reasons.
type missing map[string]string

// keep returns a pointer to a copy of v. If err is set, it records the error as the reason why the measure is missing,
// and returns nil.
func keep[T any](m missing, name string, v T, err error) *T {
	if err != nil {
		m[name] = err.Error()
		return nil
	}
	return &v
}

// Measure computes all measures of a workload.
func Measure(w Workload) Measures {
	m := missing{}
	out := Measures{Jobs: max(len(w.Submit), len(w.Procs), len(w.Runtime)), StackDepth: map[string]Locality{},
		Concentration: map[string]float64{}, Missing: m}
	area, err := SquashedArea(w.Procs, w.Runtime)
	out.SquashedArea = keep(m, "squashed_area", area, err)
	r, err := Correlation(w.Procs, w.Runtime)
	out.Correlation = keep(m, "correlation", r, err)
	r, err = Autocorrelation(w.Procs, 1)
	out.ProcsAutocorr = keep(m, "procs_autocorrelation", r, err)
	r, err = Autocorrelation(w.Runtime, 1)
	out.RuntimeAutocorr = keep(m, "runtime_autocorrelation", r, err)
	days := DayOf(w.Submit, w.MondayOffset)
	for name, c := range map[string]struct {
		values    []float64
		tolerance float64
	}{"runtime": {w.Runtime, DefaultTolerance}, "limit": {w.Limit, DefaultTolerance}, "procs": {w.Procs, 0}} {
		l, err := StackDepth(c.values, c.tolerance)
		if p := keep(m, "stack_depth "+name, l, err); p != nil {
			out.StackDepth[name] = *p
		}
		mean, err := meanConcentration(days, c.values)
		if p := keep(m, "concentration "+name, mean, err); p != nil {
			out.Concentration[name] = *p
		}
	}
	out.Hurst = hurstOf(m, w.Submit, w.Start)
	if out.Weekly, err = WeeklyProfile(w.Submit, w.MondayOffset, 7*24); err != nil {
		m["weekly"] = err.Error()
	}
	end := w.End
	if end == nil && len(w.Runtime) == len(w.Submit) {
		end = make([]float64, len(w.Submit))
		for i, t := range w.Submit {
			end[i] = t + w.Runtime[i]
		}
	}
	u, err := Users(UserJobs{User: w.User, Submit: w.Submit, End: end, Procs: w.Procs, Runtime: w.Runtime}, 0)
	out.Users = keep(m, "users", u, err)
	return out
}

func hurstOf(m missing, submits []float64, start float64) *HurstFit {
	counts, err := Counts(submits, start, HurstBin)
	if err != nil {
		m["hurst"] = err.Error()
		return nil
	}
	f, err := Hurst(counts, HurstOptions{})
	return keep(m, "hurst", f, err)
}

func meanConcentration(days []int64, values []float64) (float64, error) {
	out, err := DailyConcentration(days, values, minDayJobs)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, d := range out {
		sum += d.Max
	}
	if len(out) == 0 {
		return 0, ErrTooFew
	}
	return sum / float64(len(out)), nil
}

// Compare computes the measures of both workloads and the distances between them. Sessions are computed in the same
// way for both: with End only if both have it.
func Compare(original, other Workload) Report {
	m := missing{}
	waits := original.End != nil && other.End != nil
	if !waits {
		original.End, other.End = nil, nil
	}
	r := Report{WaitsCount: waits, Original: Measure(original), Other: Measure(other),
		KS: map[string]float64{}, Missing: m}
	columns := map[string][2][]float64{
		"procs": {original.Procs, other.Procs}, "runtime": {original.Runtime, other.Runtime},
		"interarrival": {Interarrivals(original.Submit), Interarrivals(other.Submit)},
	}
	if a, b := r.Original.Users, r.Other.Users; a != nil && b != nil {
		columns["user_jobs"], columns["user_sessions"] = [2][]float64{a.Jobs, b.Jobs},
			[2][]float64{a.Sessions, b.Sessions}
		columns["user_work"], columns["user_active"] = [2][]float64{a.Work, b.Work}, [2][]float64{a.Active, b.Active}
	}
	for name, c := range columns {
		d, err := KS(c[0], c[1])
		if p := keep(m, "ks "+name, d, err); p != nil {
			r.KS[name] = *p
		}
	}
	if a, b := r.Original.SquashedArea, r.Other.SquashedArea; a != nil && b != nil && r.Original.Jobs > 0 &&
		r.Other.Jobs > 0 {
		d, err := AreaDifference(*b/float64(r.Other.Jobs), *a/float64(r.Original.Jobs))
		r.AreaDifference = keep(m, "area_difference", d, err)
	}
	if r.Original.Weekly != nil && r.Other.Weekly != nil {
		d, err := ProfileDistance(r.Original.Weekly, r.Other.Weekly)
		r.WeeklyDistance = keep(m, "weekly_distance", d, err)
	}
	return r
}
