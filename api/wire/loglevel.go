package wire

import "time"

// LogLevel is the answer of GET and PUT /v1/log-level.
type LogLevel struct {
	Level      string `json:"level" enum:"debug,info,warn,error" doc:"minimum severity that is logged now"`
	Configured string `json:"configured" enum:"debug,info,warn,error" doc:"level of the configuration, to which the daemon returns"`
	// Until is the time at which the level is reset.
	Until *time.Time `json:"until" doc:"when the daemon returns to the configured level; null if it does not"`
}

// SetLogLevel is the request of PUT /v1/log-level.
type SetLogLevel struct {
	Level      string  `json:"level" enum:"debug,info,warn,error" doc:"minimum severity to log"`
	ForSeconds float64 `json:"for_seconds,omitempty" minimum:"0" maximum:"604800" doc:"time after which the daemon returns to the configured level; 0: at the next change or restart"`
}
