package wire

import "time"

// LogLevel is the answer of GET and PUT /v1/log-level.
type LogLevel struct {
	Level      string `json:"level" enum:"debug,info,warn,error" doc:"least severity that is logged now"`
	Configured string `json:"configured" enum:"debug,info,warn,error" doc:"that of the configuration, to which it falls back"`
	// Until is when it falls back by itself.
	Until *time.Time `json:"until" doc:"when it falls back to the configured one by itself; null if it does not"`
}

// SetLogLevel is the question of PUT /v1/log-level.
type SetLogLevel struct {
	Level      string  `json:"level" enum:"debug,info,warn,error" doc:"least severity that is to be logged"`
	ForSeconds float64 `json:"for_seconds,omitempty" minimum:"0" maximum:"604800" doc:"after so long it falls back to the configured one; 0: at the next change or restart"`
}
