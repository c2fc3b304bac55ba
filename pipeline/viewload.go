package pipeline

// Outlook returns the newest forecast of the cluster's load, nil if there is none yet. It may be older or newer than the view by some minutes of event time.
func (v *View) Outlook() *Outlook {
	if v.load == nil {
		return nil
	}
	return v.load.newest.Load()
}

// ForecastsLoad reports whether the load is forecast at all.
func (v *View) ForecastsLoad() bool { return v.load != nil }

// LoadForecasts returns how many forecasts of the load were made since the start of the process, and how many attempts to observe or forecast it failed.
func (v *View) LoadForecasts() (made, failures int64) {
	if v.load == nil {
		return 0, 0
	}
	return v.load.counts.made.Load(), v.load.counts.failures.Load()
}
