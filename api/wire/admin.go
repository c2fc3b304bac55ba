package wire

import "time"

// ImportProgress reports how far an import is.
type ImportProgress struct {
	Bytes    int64 `json:"bytes" doc:"bytes of the log that were read, as they were sent"`
	Lines    int64 `json:"lines"`
	Jobs     int64 `json:"jobs" doc:"jobs that were taken in or known, and are stored"`
	BadLines int64 `json:"bad_lines"`
}

// BadReason counts the lines of an import that could not be used for one reason.
type BadReason struct {
	Reason string `json:"reason" doc:"as in waitcast_bad_lines_total"`
	Lines  int64  `json:"lines"`
	// First are the messages of the first few.
	First []string `json:"first"`
}

// ImportReport reports what became of a log. Jobs, KnownJobs, FollowedJobs and TooOldJobs add up to the finished jobs
// in it.
type ImportReport struct {
	Cluster      string      `json:"cluster"`
	Format       string      `json:"format"`
	Name         string      `json:"name"`
	Bytes        int64       `json:"bytes"`
	Lines        int64       `json:"lines"`
	Jobs         int64       `json:"jobs" doc:"jobs taken in"`
	NeverRanJobs int64       `json:"never_ran_jobs" doc:"those of them that left the queue without a start"`
	KnownJobs    int64       `json:"known_jobs" doc:"jobs that were known already"`
	FollowedJobs int64       `json:"followed_jobs" doc:"jobs that live, or ended just now: the sources that are followed tell them"`
	TooOldJobs   int64       `json:"too_old_jobs" doc:"jobs older than store.journal_retention"`
	BadLines     int64       `json:"bad_lines"`
	Bad          []BadReason `json:"bad"`
}

// ImportLine is one line of the answer of POST /v1/import; it has one of the members.
type ImportLine struct {
	Progress *ImportProgress `json:"progress,omitempty"`
	Report   *ImportReport   `json:"report,omitempty"`
	Problem  *Problem        `json:"problem,omitempty"`
}

// BadLine is a line of a log that could not be used.
type BadLine struct {
	At      time.Time `json:"at" doc:"when it was read"`
	Source  string    `json:"source" doc:"cluster/name of the source, cluster/import for an import"`
	Path    string    `json:"path"`
	Line    int64     `json:"line" doc:"number of the line, from 1; 0 if unknown"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Text    string    `json:"text" doc:"the line, cut to 1024 bytes; a backslash is doubled, what is not printable UTF-8 is \\xNN"`
}

// Quarantine is the answer of GET /v1/quarantine.
type Quarantine struct {
	BadLines []BadLine `json:"bad_lines" doc:"newest last"`
	Matching int64     `json:"matching" doc:"kept lines that match, before the limit"`
	Kept     int64     `json:"kept" doc:"lines that are kept, at most 10000"`
	Dropped  int64     `json:"dropped" doc:"older lines that had to make room"`
}
