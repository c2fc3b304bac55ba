package wire

import "time"

// ImportProgress reports how far an import is.
type ImportProgress struct {
	Stage            string   `json:"stage" enum:"reading,sorting,storing,learning"`
	Done             int64    `json:"done" doc:"bytes of the files that were read, or events that were sorted, stored or learnt"`
	Total            int64    `json:"total" doc:"how many there are; 0 if that is not known"`
	RemainingSeconds *float64 `json:"remaining_seconds,omitempty" doc:"about how long the stage takes still, by what it took so far"`
	Bytes            int64    `json:"bytes" doc:"bytes of the files that were read, as they were sent"`
	Lines            int64    `json:"lines" doc:"lines or records of the files that were read to their end"`
	BadLines         int64    `json:"bad_lines"`
}

// BadReason counts the lines of an import that could not be used for one reason.
type BadReason struct {
	Reason string `json:"reason" doc:"as in waitcast_bad_lines_total"`
	Lines  int64  `json:"lines"`
	// First are the messages of the first few.
	First []string `json:"first"`
}

// ImportFile is one file of an import.
type ImportFile struct {
	Name     string `json:"name"`
	Format   string `json:"format" doc:"as the configuration names it; empty if the file is empty"`
	Lines    int64  `json:"lines" doc:"lines, or records of a document"`
	BadLines int64  `json:"bad_lines"`
	Note     string `json:"note,omitempty" doc:"what is odd about the file first, though it counts"`
}

// ImportReport reports what became of the files of an import, and what the daemon has learnt of the whole history.
type ImportReport struct {
	Cluster       string       `json:"cluster"`
	Files         []ImportFile `json:"files"`
	Bytes         int64        `json:"bytes" doc:"of the files, as they were sent"`
	Lines         int64        `json:"lines"`
	BadLines      int64        `json:"bad_lines"`
	Bad           []BadReason  `json:"bad"`
	Changed       bool         `json:"changed" doc:"false if the history was known already: nothing was stored or learnt again"`
	Mode          string       `json:"mode" enum:"exact,fast" doc:"how the history is replayed"`
	Hash          string       `json:"hash" doc:"of the events of the history, SHA-256"`
	Jobs          int64        `json:"jobs" doc:"submissions in the history, tries and tasks of arrays included"`
	NewJobs       int64        `json:"new_jobs" doc:"those of them that no earlier import had"`
	TooOldJobs    int64        `json:"too_old_jobs" doc:"submissions that were left out since they are older than history_retention"`
	From          time.Time    `json:"from,omitzero" doc:"first event of the history"`
	To            time.Time    `json:"to,omitzero" doc:"last event of the history"`
	Waits         int64        `json:"waits" doc:"waits that forecasts have learnt from, those of the followed logs included; this and what follows is 0 unless changed"`
	Lifetimes     int64        `json:"lifetimes" doc:"jobs that ran and ended, those of the followed logs included"`
	Replayed      int64        `json:"replayed" doc:"waits of the replay whose 90 % forecast has passed"`
	Covered90     int64        `json:"covered_90" doc:"those of them that ended by it"`
	Forecasts     int64        `json:"forecasts" doc:"forecasts that were compared with a wait"`
	WithinFactor2 int64        `json:"within_factor_2" doc:"those of them whose median was within a factor of 2, both with a minute added"`
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
