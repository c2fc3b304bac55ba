// Package config reads the daemon's configuration into one struct. Values come from defaults, a YAML file, WAITCAST_*
// environment variables and flags. Of several values for a key the last in this order counts. Every unknown key,
// wrong type and impossible value is reported as an error, with its place and the allowed values.
//
// The tags of the struct's fields describe each key. The defaults, the names of environment variables and flags, the
// checks of types, Reference and Fingerprint are derived from these tags:
//
//	key      the key's name in the file; "-" for a field that is not a key
//	default  the default, written as in the file; a key without one is empty by default. default-FORMAT is the
//	         default for a source with this format
//	enum     the allowed values of a string
//	allowed  a description of the allowed values, if the type does not tell them
//	flag     the flag that sets the key
//	reload   the effect of a change at a reload (Effect); "rebuild" if the state or the models depend on the key
//	doc      an explanation of the key
package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
)

// Config is the whole configuration. Load sets every default. The doc tags explain each key.
type Config struct {
	// File is the file that was read; empty if there was none.
	File string `key:"-"`

	Listen         string        `key:"listen" default:"127.0.0.1:9817" allowed:"host:port, port 0 to 65535" flag:"listen" reload:"listener" doc:"address of the HTTP interface; an empty host means every interface"`
	Socket         string        `key:"socket" allowed:"a path" flag:"socket" reload:"start" doc:"Unix socket on which callers are identified by their user, see docs/security.md; the command waitcast finds /run/waitcast/api.sock by itself; empty: none"`
	SocketMode     string        `key:"socket_mode" default:"0666" allowed:"an octal mode from 0600 to 0777" reload:"start" doc:"who may connect to the socket, as the mode of a file: 0660 for the daemon's group only"`
	DataDir        string        `key:"data_dir" allowed:"a folder" flag:"data-dir" reload:"restore" doc:"folder of the database; default $STATE_DIRECTORY (set by systemd), else $XDG_STATE_HOME/waitcast, else ~/.local/state/waitcast"`
	AdminTokenFile string        `key:"admin_token_file" allowed:"a file" reload:"access" doc:"file of the token that administrators send (import, quarantine); created with a random token and mode 0600 if it is missing; default admin-token in data_dir"`
	ServeOnly      bool          `key:"serve_only" default:"false" flag:"serve-only" reload:"restore" doc:"read no logs, and answer from the data that collecting daemons write into the database of store.url. The settings of clusters and models come from that database too"`
	TokensFile     string        `key:"tokens_file" allowed:"a file" reload:"access" doc:"list of tokens with roles, see docs/security.md; read again when it changes; empty: only the admin token"`
	WebConfigFile  string        `key:"web_config_file" allowed:"a file" reload:"listener" doc:"TLS, client certificates and users with passwords, in the format of Prometheus' exporters, see docs/security.md; read again when it changes; empty: plain HTTP"`
	StaleAfter     time.Duration `key:"stale_after" default:"5m" allowed:"more than 0" reload:"access" doc:"how long the logs may be silent or unreadable before answers are marked stale"`
	// HistoryRetention applies to the histories of all clusters.
	HistoryRetention time.Duration `key:"history_retention" default:"400d" allowed:"1d or more" reload:"restore" doc:"maximum age of the events of a cluster's history, relative to the newest event: an import leaves out older events; the running daemon counts from the newest event of the followed log, and deletes older events once a day"`
	Access           Access        `key:"access"`
	Limits           Limits        `key:"limits"`
	Log              Log           `key:"log"`
	Clusters         []Cluster     `key:"clusters"`
	Models           Models        `key:"models"`
	Accuracy         Accuracy      `key:"accuracy"`
	Store            Store         `key:"store"`
}

// Log configures the daemon's log on standard error.
type Log struct {
	Level  string `key:"level" default:"info" enum:"debug,info,warn,error" flag:"log-level" reload:"log-level" doc:"minimum severity that is logged"`
	Format string `key:"format" default:"console" enum:"console,json" flag:"log-format" reload:"start" doc:"lines for people or JSON for machines"`
}

// Cluster is one machine with one scheduler.
type Cluster struct {
	Name     string   `key:"name" allowed:"letters, digits, '.', '_' and '-', starting with a letter or digit, at most 64" reload:"rebuild" doc:"name in answers and metrics; default main if there is only one cluster"`
	Procs    int      `key:"procs" default:"0" allowed:"0 to 100000000" reload:"rebuild" doc:"processors of the machine; 0 means the highest use seen so far"`
	Policy   string   `key:"policy" default:"auto" enum:"auto,fcfs,easy,priority" reload:"rebuild" doc:"scheduling policy, for forecasts: fcfs (strictly in order), easy (backfilling), priority (backfilling in order of the jobs' priorities, or of queues if those are unknown); auto learns it from the starts"`
	TimeZone string   `key:"time_zone" default:"Local" allowed:"Local, UTC or an IANA name such as Europe/Berlin" reload:"rebuild" doc:"zone of the times in the logs that have no offset"`
	Queues   []Queue  `key:"queues"`
	Pools    []Pool   `key:"pools"`
	History  History  `key:"history"`
	Sources  []Source `key:"sources"`
}

// History configures recorded logs. At the start of the daemon a cluster learns from them before the daemon follows
// the sources.
type History struct {
	Files  []string `key:"files" allowed:"a list of files, with * ? [...]" reload:"restore" doc:"logs of the past that are imported at the start, before the first record of the followed logs, and again when one has changed. Plain, gzip or zstd, in any order; jobs that are also in the followed logs count once"`
	Format string   `key:"format" default:"auto" enum:"auto,pbs,swf,slurm-jobcomp,slurm-log,slurm-sacct,slurm-sacct-json,sge-accounting,sge-reporting,lsf-events,lsf-acct" reload:"restore" doc:"format of the files of the history; auto recognizes it for each file by its content"`
	Mode   string   `key:"mode" default:"auto" enum:"auto,exact,fast" reload:"restore" doc:"how the history is replayed: exact forecasts every job as if it had been followed live, fast only a sample; auto is fast above 100,000 jobs"`
}

// Queue is a configured queue. It is known before its first job.
type Queue struct {
	Name string `key:"name" allowed:"not empty, each once" reload:"rebuild" doc:"a queue that is known before its first job"`
}

// These are the formats of polled sources. Such a source has a command, a socket or a URL, but no path.
const (
	FormatSqueue          = "slurm-squeue"
	FormatFacts           = "slurm-facts"
	FormatPBSFacts        = "pbs-facts"
	FormatGridEngineFacts = "gridengine-facts"
	FormatQstat           = "gridengine-qstat"
)

// FormatLog is the format of slurmctld's own log, which may be in systemd's journal.
const FormatLog = "slurm-log"

// Rest reports whether the source polls slurmrestd.
func (s Source) Rest() bool { return s.Socket != "" || s.URL != "" }

// IsPolled reports whether the source is polled, not read.
func (s Source) IsPolled() bool {
	return s.Format == FormatSqueue || s.Format == FormatQstat || s.IsPolledForFacts()
}

// IsPolledForFacts reports whether the source is polled for facts about the machine.
func (s Source) IsPolledForFacts() bool {
	return s.Format == FormatFacts || s.Format == FormatPBSFacts || s.Format == FormatGridEngineFacts
}

// Pool is a set of nodes. Only the jobs of some queues compete for these nodes.
type Pool struct {
	Name   string   `key:"name" allowed:"as a cluster's name, each once in its cluster" reload:"rebuild" doc:"name of a set of nodes that only the jobs of some queues compete for; if no pool is configured, slurm-facts reports the pools, else the cluster is one pool"`
	Queues []string `key:"queues" allowed:"a list of queues, each in one pool" reload:"rebuild" doc:"the queues whose jobs compete for the pool; jobs of queues without a pool use the first pool"`
	Procs  int      `key:"procs" default:"0" allowed:"0 to 100000000" reload:"rebuild" doc:"processors of the pool; 0 means the highest use seen so far"`
	Nodes  int      `key:"nodes" default:"0" allowed:"0 to 100000000" reload:"rebuild" doc:"nodes of the pool; 0 means the highest use seen so far"`
	GPUs   int      `key:"gpus" default:"0" allowed:"0 to 100000000" reload:"rebuild" doc:"GPUs of the pool; 0 means the highest use seen so far"`
	Memory string   `key:"memory" allowed:"a number with K, M, G, T or P (powers of 1024), such as 64G" reload:"rebuild" doc:"memory of all nodes of the pool; empty means the highest use seen so far"`
	Policy string   `key:"policy" default:"auto" enum:"auto,fcfs,easy,priority" reload:"rebuild" doc:"scheduling policy of the pool; auto means the policy of the cluster"`
	Binds  string   `key:"binds" default:"auto" enum:"auto,procs,nodes,gpus,memory" reload:"rebuild" doc:"the resource that jobs of the pool run short of first; auto chooses among procs, gpus and memory, as far as they are given"`
}

// Source is an origin of events: a file, the files of a folder, systemd's journal, a command that is polled, or
// slurmrestd.
type Source struct {
	Name    string        `key:"name" allowed:"as a cluster's name, each once in its cluster" reload:"sources" doc:"name in metrics, messages and checkpoints; default the format. After renaming the files are read again, but records still count once"`
	Format  string        `key:"format" enum:"pbs,pbs-facts,swf,slurm-jobcomp,slurm-log,slurm-sacct,slurm-squeue,slurm-facts,sge-accounting,sge-reporting,gridengine-facts,gridengine-qstat,lsf-events,lsf-acct" reload:"rebuild" doc:"format of the log, see docs/formats"`
	Path    string        `key:"path" allowed:"a file or a folder; nothing for slurm-squeue and facts" reload:"sources" doc:"the log file, or the folder of date-named log files; with journal a file or a folder of journals, by default that of this host"`
	Journal []string      `key:"journal" allowed:"a list of matches of journalctl such as SYSLOG_IDENTIFIER=slurmctld; for slurm-log" reload:"sources" doc:"the log is in systemd's journal: the entries that match are read by journalctl"`
	Pattern string        `key:"pattern" default:"*" allowed:"a file name with * ? [...]" reload:"sources" doc:"which files of the folder are logs"`
	Rotated []string      `key:"rotated" allowed:"a list of file names with * ? [...]" reload:"sources" doc:"names of rotated predecessors of a log file, gzip allowed; read first, oldest first"`
	Start   string        `key:"start" default:"beginning" enum:"beginning,end" reload:"sources" doc:"where to begin in files without a saved position"`
	Poll    time.Duration `key:"poll" default:"1s" allowed:"10ms to 1h" reload:"sources" doc:"how often the files are examined, in addition to inotify"`
	Command []string      `key:"command" allowed:"a list: a program and its arguments; for slurm-squeue, gridengine-qstat and facts" reload:"sources" doc:"slurm-squeue: the command to run instead of squeue; squeue's options are appended. slurm-facts: the command in front of sinfo, scontrol, sacctmgr and sshare, such as [ssh, head]; pbs-facts: in front of qmgr; gridengine-facts: in front of qconf; gridengine-qstat: in front of qstat"`
	Socket  string        `key:"socket" allowed:"a Unix socket, instead of command; for slurm-squeue and slurm-facts" reload:"sources" doc:"socket of slurmrestd, which is used instead of Slurm's commands"`
	URL     string        `key:"url" allowed:"http://HOST:PORT or https://HOST:PORT, instead of command and socket; for slurm-squeue and slurm-facts" reload:"sources" doc:"address of slurmrestd, if not a Unix socket"`
	User    string        `key:"user" allowed:"a user of Slurm; with token_file" reload:"sources" doc:"user of the requests to slurmrestd; empty means the user of the token"`
	// TokenFile is the path of a file with the token. So the token is not in the configuration and can be renewed.
	TokenFile string        `key:"token_file" allowed:"a file; needed with url" reload:"sources" doc:"file with the JSON web token for slurmrestd, as scontrol token writes it; read at each call, so that a new one is used at once"`
	Interval  time.Duration `key:"interval" default:"15s" default-slurm-facts:"60s" default-pbs-facts:"60s" default-gridengine-facts:"60s" allowed:"1s to 1h" reload:"sources" doc:"how often the scheduler is polled, plus or minus a tenth; less often after failures. The default of slurm-facts, pbs-facts and gridengine-facts is 60s"`
	Timeout   time.Duration `key:"timeout" default:"10s" allowed:"100ms to 10m" reload:"sources" doc:"maximum time for an answer of the scheduler, after which a command is killed"`
	Inotify   bool          `key:"inotify" default:"true" reload:"sources" doc:"wake up when a file changes, before the next poll; off helps where inotify watches are scarce"`
	// ClockOffset is text because durations in the configuration have no sign.
	ClockOffset string `key:"clock_offset" default:"auto" allowed:"auto, or a duration with or without a minus of at most 366 days, such as 0s, 1h or -30m" reload:"sources" doc:"by how much the clock of the log is ahead of this host's; times are corrected by it when they are read. auto measures it while the log is followed and corrects offsets above 5 minutes, see docs/tailing.md. Not for slurm-squeue and facts"`
}

// Models configures the data of the lifetime models.
type Models struct {
	WindowJobs   int           `key:"window_jobs" default:"20000" allowed:"10 to 10000000" reload:"rebuild" doc:"number of newest jobs, by start, to which a model is fitted, per queue and class"`
	WindowAge    time.Duration `key:"window_age" default:"90d" allowed:"1h or more" reload:"rebuild" doc:"maximum age, by start, of the jobs to which a model is fitted"`
	MinSamples   int           `key:"min_samples" default:"30" allowed:"2 to models.window_jobs" reload:"rebuild" doc:"minimum number of lifetimes of a model; with fewer, the model of all queues together is used"`
	MarkovForget float64       `key:"markov_forget" default:"0.0005" allowed:"0 up to, not including, 1" reload:"rebuild" doc:"share of its weight that a job loses with each new job in the Markov chains, in the model of Lublin and Feitelson and in the scores of the competing laws of lifetimes"`
	MaxQueues    int           `key:"max_queues" default:"512" allowed:"1 to 10000" reload:"rebuild" doc:"maximum number of queues of a cluster with models, metrics and rows of their own: configured ones first, then in order of their first jobs; the jobs of all further queues share the queue other"`
	MaxUsers     int           `key:"max_users" default:"8192" allowed:"64 to 1000000" reload:"rebuild" doc:"maximum number of users of a cluster that are remembered; of those without a waiting or running job, the least recently seen are forgotten"`
	ForgetAfter  time.Duration `key:"forget_after" default:"400d" allowed:"1d or more" reload:"rebuild" doc:"time, in event time, after which a user without jobs is forgotten; the same time holds for the runs of a user in a queue, and for the runs of a time limit"`
	HistoryJobs  int           `key:"history_jobs" default:"100000" allowed:"0 to 10000000" reload:"rebuild" doc:"number of newest jobs that left, per cluster; used to draw future arrivals from past users, to find flurries and to look up runs of programs; 40 bytes of memory each; 0 keeps none"`
}

// Accuracy defines how long the scores of forecasts are kept.
type Accuracy struct {
	Retention time.Duration `key:"retention" default:"400d" allowed:"1d or more" reload:"restore" doc:"how long the ledger keeps a forecast with its outcome, in event time since the start or cancellation; with 90 days or more, whole months (UTC) are deleted at once"`
}

// Store configures where state is stored.
type Store struct {
	Path             string        `key:"path" allowed:"a file" reload:"restore" doc:"database file; default waitcast.db in data_dir. Not used with store.url"`
	URL              string        `key:"url" allowed:"postgres://USER@HOST:PORT/DATABASE, or libpq's key=value" reload:"restore" doc:"PostgreSQL database that daemons share, instead of store.path; a password is better kept in the file that PGPASSFILE names, see docs/store.md"`
	Space            string        `key:"space" allowed:"1 to 64 of a-z, 0-9, '.', '_' and '-'" reload:"restore" doc:"with store.url: the name of this daemon's part of the database; collecting daemons with the same space replace each other. Default the name of the first cluster, in lower case; with serve_only all spaces"`
	Lease            time.Duration `key:"lease" default:"15s" allowed:"1s to 10m" reload:"restore" doc:"with store.url: how long the right to collect lasts without renewal; after that time another daemon takes over"`
	SnapshotEvents   int           `key:"snapshot_events" default:"20000" allowed:"1 or more" reload:"restore" doc:"number of events after which state and models are saved"`
	SnapshotInterval time.Duration `key:"snapshot_interval" default:"60s" allowed:"1s or more" reload:"restore" doc:"time after which state and models are saved too, if there was an event"`
	JournalRetention time.Duration `key:"journal_retention" default:"400d" allowed:"models.window_age or more" reload:"restore" doc:"how long the normalized events are kept, in event time: a rebuild uses no older events"`
}

// Auto is the value of keys that are determined automatically.
const Auto = "auto"

// clockAuto is the value of clock_offset that makes the daemon measure the offset.
const clockAuto = Auto

// maxClockOffset is the maximum absolute value of clock_offset.
const maxClockOffset = 366 * 24 * time.Hour

// Offset returns the clock_offset of the source. It returns nil if the offset is measured.
func (s Source) Offset() (*time.Duration, error) {
	if s.ClockOffset == clockAuto || s.ClockOffset == "" {
		return nil, nil //nolint:nilnil // documented
	}
	text, minus := strings.CutPrefix(s.ClockOffset, "-")
	d, err := duration.Parse(text)
	if err != nil {
		return nil, err
	}
	if d > maxClockOffset {
		return nil, fmt.Errorf("%s is more than 366 days", s.ClockOffset)
	}
	if minus {
		d = -d
	}
	return &d, nil
}

// Location returns the time zone of the times in the cluster's logs.
func (c Cluster) Location() (*time.Location, error) {
	loc, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: time_zone: %w", c.Name, err)
	}
	return loc, nil
}
