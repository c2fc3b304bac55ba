// Package liveload measures forecasts on a real Slurm: it draws a load that outgrows the cluster, starts a cluster of
// its own (scripts/slurm-cluster) and a daemon that knows nothing, asks both the daemon and `sbatch --test-only` right
// before each submission, and compares the answers with what became of the jobs.
//
// A run of one seed is a folder: run.json (what was run), asked.jsonl (a Record per job), truth.jsonl (a Fate per job,
// as sacct has it), waitcast.db (the daemon's database with the journal and the ledger), the logs of both, and done,
// which is written last. research/docs/liveload.md describes runs, replays and scores.
//
// DayOne lets one daemon follow some loads, and two more from the last of them on, one of which imports the history
// that sacct has of those before. A folder of a seed then has that of a run for each daemon (followed, taught, fresh)
// and the dump, history.psv. research/docs/dayone.md describes it.
package liveload
