package wire

import "time"

// Rules is what is known of the rules by which the jobs of a queue start, with the evidence.
type Rules struct {
	Words []string   `json:"words" doc:"the rules in sentences, the order of starts first"`
	Order StartOrder `json:"order"`
	Times StartTimes `json:"times"`
}

// StartOrder is the order in which the jobs of a queue's pool start.
type StartOrder struct {
	Source        string        `json:"source" enum:"configured,priorities,fitted,policy" doc:"what the forecasts use: the configured policy, the priorities that the jobs are reported with, a priority fitted to the waits, or the queue's policy, learnt or assumed"`
	Waits         int           `json:"waits" doc:"waits that the newest fit was made of; before the first, how many are known so far: every third submission is in the sample"`
	WaitsNeeded   int           `json:"waits_needed" doc:"how many the first fit needs"`
	FittedAt      *time.Time    `json:"fitted_at,omitempty" doc:"submission of the newest of these waits; left out before the first fit, as are the losses and weights"`
	Loss          *float64      `json:"loss,omitempty" doc:"mean loss at 0.5 of the forecasts of these waits that follow from the fitted priority"`
	FirstComeLoss *float64      `json:"first_come_loss,omitempty" doc:"the same of first come, first served with backfilling"`
	Effects       []StartEffect `json:"effects" doc:"what lets a younger job go first, the strongest first, at most three; empty if the fitted priority is not clearly better than first come, first served, or not used because the policy or the priorities are known"`
	Weights       *OrderWeights `json:"weights,omitempty" doc:"the fitted priority"`
}

// StartEffect is an attribute that lets a younger job go ahead of an older one that is the same but for it.
type StartEffect struct {
	Attribute string  `json:"attribute" enum:"time_limit,size,expected_runtime,own_jobs_ahead,queue_wait,usage"`
	First     string  `json:"first" enum:"less,more" doc:"whether the job with less or with more of it goes first"`
	Share     float64 `json:"share" doc:"in which part of the pairs it does"`
	Pairs     int     `json:"pairs" doc:"pairs of jobs that waited together and differ in it by a factor of two at least"`
}

// OrderWeights are the weights of a fitted priority: jobs start by falling sums. Those of a limit, a size, an expected
// runtime, jobs ahead, a wait and usage count against a job.
type OrderWeights struct {
	LogAge             float64 `json:"log_age" doc:"of ln(60 s + time since the submission)"`
	AgeDays            float64 `json:"age_days" doc:"of this time in days"`
	LogTimeLimit       float64 `json:"log_time_limit" doc:"of ln(60 s + time limit)"`
	LogSize            float64 `json:"log_size" doc:"of ln processors"`
	LogExpectedRuntime float64 `json:"log_expected_runtime" doc:"of ln(60 s + expected runtime)"`
	LogOwnJobsAhead    float64 `json:"log_own_jobs_ahead" doc:"of ln(1 + jobs of the same user ahead)"`
	QueueWait          float64 `json:"queue_wait" doc:"of the mean of ln(60 s + wait) of the queue's newest jobs"`
	LogUsage           float64 `json:"log_usage" doc:"of ln(10,000 s + recent processor seconds of the user)"`
	RuntimeFactor      float64 `json:"runtime_factor" doc:"by which expected runtimes are multiplied"`
	DelaySeconds       float64 `json:"delay_seconds" doc:"by which starts that are not at once come later"`
	CapacityFactor     float64 `json:"capacity_factor" doc:"by which the processors are multiplied"`
	Strict             bool    `json:"strict" doc:"whether nobody overtakes the first"`
}

// StartTimes are the times of the week at which jobs of some time limits start, in all pools together.
type StartTimes struct {
	Starts       int          `json:"starts" doc:"starts seen when such times were last searched for; before that, so far"`
	StartsNeeded int          `json:"starts_needed" doc:"how many the first search needs"`
	WaitedHours  float64      `json:"waited_hours" doc:"sum of the times that jobs waited although they fitted into what was free; those of a quarter of a year ago count half"`
	Found        []LimitTimes `json:"found" doc:"when the jobs of some time limits hardly ever start, by rising limits; empty if there are no such times, or the evidence is not clear"`
}

// LimitTimes are when the jobs of some time limits start, and when hardly ever.
type LimitTimes struct {
	OverSeconds float64    `json:"over_seconds" doc:"the time limits are longer than this"`
	UpToSeconds *float64   `json:"up_to_seconds" doc:"and at most this; null: all longer ones, and jobs without a limit"`
	Open        []WeekTime `json:"open" doc:"when they start"`
	Shut        []WeekTime `json:"shut" doc:"when they hardly ever start"`
	OpenStarts  float64    `json:"open_starts" doc:"starts in the open times; those of a quarter of a year ago count half"`
	OpenHours   float64    `json:"open_hours" doc:"sum of the times that such jobs waited in the open times although they fitted"`
	ShutStarts  float64    `json:"shut_starts" doc:"the same of the times that are shut"`
	ShutHours   float64    `json:"shut_hours"`
}

// WeekTime is a time of day on some days of the week, in the cluster's time zone.
type WeekTime struct {
	Days []string `json:"days" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday"`
	From string   `json:"from" doc:"hours and minutes"`
	To   string   `json:"to" doc:"hours and minutes; 24:00 is the next midnight"`
}
