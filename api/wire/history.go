package wire

import "time"

// History is the answer of GET /v1/history: the waits of the jobs that started, by queue and day.
type History struct {
	Cluster    string       `json:"cluster" doc:"the name of the cluster"`
	Since      time.Time    `json:"since" doc:"jobs that started at or after this"`
	Until      *time.Time   `json:"until" doc:"jobs that started before this; null: no bound"`
	TimeZone   string       `json:"time_zone" doc:"time zone of the cluster, in which days begin at midnight"`
	Days       []HistoryDay `json:"days" doc:"the newest day first; within a day the queues by name"`
	Total      int          `json:"total" doc:"number of entries, on all pages together"`
	NextOffset *int         `json:"next_offset" doc:"offset of the next page; null: this is the last one"`
	AsOf       time.Time    `json:"as_of" doc:"event time of the newest record behind the answer; 0001-01-01T00:00:00Z if nothing has been read yet"`
	AgeSeconds float64      `json:"age_seconds" doc:"age of as_of by the daemon's clock, in seconds"`
	Stale      bool         `json:"stale" doc:"true if the newest record is older than stale_after, or if the log cannot be read"`
}

// HistoryDay has the waits of one queue on one day.
type HistoryDay struct {
	Day     string  `json:"day" format:"date" doc:"the day of the starts: 2026-03-02"`
	Queue   string  `json:"queue" doc:"the name of the queue"`
	Started int     `json:"started" doc:"jobs that started on this day"`
	Median  float64 `json:"median_seconds" doc:"median wait of these jobs"`
	P90     float64 `json:"p90_seconds" doc:"90 % quantile of their waits"`
}
