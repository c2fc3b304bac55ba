package pipeline

import "github.com/waitcast/waitcast/pipeline/loadforecast"

// Outlook returns the newest forecast of the cluster's load, nil if there is none yet. It may be older or newer than
// the view by some minutes of event time.
func (v *View) Outlook() *loadforecast.Outlook {
	if v.load == nil {
		return nil
	}
	return v.load.Newest()
}

// ForecastsLoad reports whether the load is forecast at all.
func (v *View) ForecastsLoad() bool { return v.load != nil }

// LoadForecasts returns the number of forecasts of the load since the start of the process, and of failed attempts to
// observe or forecast it.
func (v *View) LoadForecasts() (made, failures int64) {
	if v.load == nil {
		return 0, 0
	}
	return v.load.Counts()
}
