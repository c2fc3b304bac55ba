package wire

import "time"

// ImportProgress is the progress of an import.
type ImportProgress struct {
	Stage            string   `json:"stage" doc:"current stage of the import" enum:"reading,sorting,storing,learning"`
	Done             int64    `json:"done" doc:"bytes of the files that were read, or events that were sorted, stored or learnt"`
	Total            int64    `json:"total" doc:"total of done; 0 if unknown"`
	RemainingSeconds *float64 `json:"remaining_seconds,omitempty" doc:"estimated rest of the stage, by its speed so far"`
	Bytes            int64    `json:"bytes" doc:"bytes of the files that were read, as they were sent"`
	Lines            int64    `json:"lines" doc:"lines or records of the files that were read to their end"`
	BadLines         int64    `json:"bad_lines" doc:"lines that could not be used so far"`
}

// BadReason counts the bad lines of an import with one reason.
type BadReason struct {
	Reason string `json:"reason" doc:"as in waitcast_bad_lines_total"`
	Lines  int64  `json:"lines" doc:"number of bad lines with this reason"`
	// First are the messages of the first few bad lines.
	First []string `json:"first" doc:"messages of the first few of these lines"`
}

// ImportFile is one file of an import.
type ImportFile struct {
	Name     string `json:"name" doc:"name of the file, as it was sent"`
	Format   string `json:"format" doc:"format as in the configuration; empty if the file is empty"`
	Lines    int64  `json:"lines" doc:"lines, or records of a document"`
	BadLines int64  `json:"bad_lines" doc:"lines of the file that could not be used"`
	Note     string `json:"note,omitempty" doc:"the first peculiarity of the file, which counts all the same"`
}

// ImportReport has the result for each file of an import, and what the daemon has learnt from the whole history.
type ImportReport struct {
	Cluster       string       `json:"cluster" doc:"the name of the cluster"`
	Files         []ImportFile `json:"files" doc:"the files of the import"`
	Bytes         int64        `json:"bytes" doc:"bytes of the files, as they were sent"`
	Lines         int64        `json:"lines" doc:"lines of all files"`
	BadLines      int64        `json:"bad_lines" doc:"lines that could not be used"`
	Bad           []BadReason  `json:"bad" doc:"the bad lines by reason"`
	Changed       bool         `json:"changed" doc:"false if the history was known already: nothing was stored or learnt again"`
	Mode          string       `json:"mode" enum:"exact,fast" doc:"how the history is replayed"`
	Hash          string       `json:"hash" doc:"SHA-256 of the events of the history"`
	Jobs          int64        `json:"jobs" doc:"submissions in the history, tries and tasks of arrays included"`
	NewJobs       int64        `json:"new_jobs" doc:"number of these that no earlier import had"`
	TooOldJobs    int64        `json:"too_old_jobs" doc:"submissions that were left out since they are older than history_retention"`
	From          time.Time    `json:"from,omitzero" doc:"first event of the history"`
	To            time.Time    `json:"to,omitzero" doc:"last event of the history"`
	Waits         int64        `json:"waits" doc:"waits from which forecasts have learnt, including those of the followed logs; this and the following members are 0 if changed is false"`
	Lifetimes     int64        `json:"lifetimes" doc:"jobs that ran and ended, including those of the followed logs"`
	Replayed      int64        `json:"replayed" doc:"waits of the replay whose 90 % forecast has passed"`
	Covered90     int64        `json:"covered_90" doc:"number of these that ended within it"`
	Forecasts     int64        `json:"forecasts" doc:"forecasts that were compared with a wait"`
	WithinFactor2 int64        `json:"within_factor_2" doc:"number of these whose median was within a factor of 2 of the wait, both with a minute added"`
}

// ImportLine is one line of the answer of POST /v1/import. It has exactly one of the members.
type ImportLine struct {
	Progress *ImportProgress `json:"progress,omitempty" doc:"progress of the import, in all lines except the last"`
	Report   *ImportReport   `json:"report,omitempty" doc:"result of the import, in the last line"`
	Problem  *Problem        `json:"problem,omitempty" doc:"reason why the import failed, in the last line"`
}

// BadLine is a line of a log that could not be used, in the quarantine.
type BadLine struct {
	At      time.Time `json:"at" doc:"when the line was read"`
	Source  string    `json:"source" doc:"cluster/name of the source, cluster/import for an import"`
	Path    string    `json:"path" doc:"path of the file"`
	Line    int64     `json:"line" doc:"number of the line, from 1; 0 if unknown"`
	Reason  string    `json:"reason" doc:"reason, as in waitcast_bad_lines_total"`
	Message string    `json:"message" doc:"what is wrong with the line"`
	Text    string    `json:"text" doc:"the line, cut to 1024 bytes; a backslash is doubled, bytes that are not printable UTF-8 are \\xNN"`
}

// Quarantine is the answer of GET /v1/quarantine.
type Quarantine struct {
	BadLines []BadLine `json:"bad_lines" doc:"newest last"`
	Matching int64     `json:"matching" doc:"kept lines that match the request, not only those within the limit"`
	Kept     int64     `json:"kept" doc:"lines that are kept, at most 10000"`
	Dropped  int64     `json:"dropped" doc:"older lines that were dropped to make room"`
}
