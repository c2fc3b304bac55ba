package wire

import "time"

// Rules are the known rules by which the jobs of a queue start, with the evidence.
type Rules struct {
	Words []string   `json:"words" doc:"the rules in sentences, the order of starts first"`
	Order StartOrder `json:"order" doc:"the order in which jobs start"`
	Times StartTimes `json:"times" doc:"the times of the week at which jobs start"`
}

// StartOrder is the order in which the jobs of a queue's pool start.
type StartOrder struct {
	Source        string        `json:"source" enum:"configured,priorities,fitted,policy" doc:"the order that forecasts use: the configured policy, the priorities that the scheduler reports, a priority fitted to the waits, or the learnt or assumed policy of the queue"`
	Waits         int           `json:"waits" doc:"waits behind the newest fit; before the first fit, those known so far (every third submission is in the sample)"`
	WaitsNeeded   int           `json:"waits_needed" doc:"waits that the first fit needs"`
	FittedAt      *time.Time    `json:"fitted_at,omitempty" doc:"submission of the newest of these waits; before the first fit it is left out, like losses and weights"`
	Loss          *float64      `json:"loss,omitempty" doc:"mean loss at 0.5 of the forecasts of these waits by the fitted priority"`
	FirstComeLoss *float64      `json:"first_come_loss,omitempty" doc:"the same of first come, first served with backfilling"`
	Effects       []StartEffect `json:"effects" doc:"attributes that let a younger job go first, the strongest first, at most three; empty if the fitted priority is not clearly better than first come, first served, or if policy or priorities are known"`
	Weights       *OrderWeights `json:"weights,omitempty" doc:"the fitted priority"`
}

// StartEffect is an attribute by which a younger job goes ahead of an older one that is equal otherwise.
type StartEffect struct {
	Attribute string  `json:"attribute" doc:"the attribute in which the two jobs differ" enum:"time_limit,size,expected_runtime,own_jobs_ahead,queue_wait,usage"`
	First     string  `json:"first" enum:"less,more" doc:"whether the job with less or with more of the attribute goes first"`
	Share     float64 `json:"share" doc:"share of the pairs in which this job goes first"`
	Pairs     int     `json:"pairs" doc:"pairs of jobs that waited together and whose attributes differ by at least a factor of two"`
}

// OrderWeights are the weights of a fitted priority. Jobs start in order of decreasing sums. A positive weight of a
// limit, a size, an expected runtime, jobs ahead, a wait or usage lowers the priority.
type OrderWeights struct {
	LogAge             float64 `json:"log_age" doc:"weight of ln(60 s + time since the submission)"`
	AgeDays            float64 `json:"age_days" doc:"weight of this time in days"`
	LogTimeLimit       float64 `json:"log_time_limit" doc:"weight of ln(60 s + time limit)"`
	LogSize            float64 `json:"log_size" doc:"weight of ln processors"`
	LogExpectedRuntime float64 `json:"log_expected_runtime" doc:"weight of ln(60 s + expected runtime)"`
	LogOwnJobsAhead    float64 `json:"log_own_jobs_ahead" doc:"weight of ln(1 + jobs of the same user ahead)"`
	QueueWait          float64 `json:"queue_wait" doc:"weight of the mean of ln(60 s + wait) of the queue's newest jobs"`
	LogUsage           float64 `json:"log_usage" doc:"weight of ln(10,000 s + recent processor seconds of the user)"`
	RuntimeFactor      float64 `json:"runtime_factor" doc:"factor of all expected runtimes"`
	DelaySeconds       float64 `json:"delay_seconds" doc:"delay of all starts that are not at once"`
	CapacityFactor     float64 `json:"capacity_factor" doc:"factor of the processors"`
	Strict             bool    `json:"strict" doc:"true if no job may overtake the first one"`
}

// StartTimes are the times of the week at which jobs of some time limits start, in all pools together.
type StartTimes struct {
	Starts       int          `json:"starts" doc:"starts seen at the newest search for such times; before the first search, those seen so far"`
	StartsNeeded int          `json:"starts_needed" doc:"starts that the first search needs"`
	WaitedHours  float64      `json:"waited_hours" doc:"sum of the times that jobs waited although they fitted into the free processors; times from a quarter of a year ago count half"`
	Found        []LimitTimes `json:"found" doc:"times at which the jobs of some time limits hardly ever start, by rising limits; empty if there are none, or if the evidence is not clear"`
}

// LimitTimes are the times at which jobs of some time limits start, and at which they hardly ever start.
type LimitTimes struct {
	OverSeconds float64    `json:"over_seconds" doc:"the time limits concerned are longer than this"`
	UpToSeconds *float64   `json:"up_to_seconds" doc:"the time limits concerned are at most this; null: all longer limits, and jobs without a limit"`
	Open        []WeekTime `json:"open" doc:"times at which these jobs start"`
	Shut        []WeekTime `json:"shut" doc:"times at which they hardly ever start"`
	OpenStarts  float64    `json:"open_starts" doc:"starts in the open times; starts from a quarter of a year ago count half"`
	OpenHours   float64    `json:"open_hours" doc:"sum of the times that such jobs waited in the open times although they fitted"`
	ShutStarts  float64    `json:"shut_starts" doc:"starts in the shut times, counted like open_starts"`
	ShutHours   float64    `json:"shut_hours" doc:"the same sum for the shut times"`
}

// WeekTime is a time of day on some days of the week, in the cluster's time zone.
type WeekTime struct {
	Days []string `json:"days" doc:"days of the week" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday"`
	From string   `json:"from" doc:"hours and minutes"`
	To   string   `json:"to" doc:"hours and minutes; 24:00 is the next midnight"`
}
