// Package liveload measures forecasts on a real Slurm. It starts a cluster (scripts/slurm-cluster) and a daemon without
// history, and submits a generated load that at times exceeds the cluster. Just before each submission it requests
// forecasts from the daemon and from `sbatch --test-only`. It compares the answers with the outcomes.
//
// The run of one seed is a folder with these files: run.json (the settings), asked.jsonl (a Record per job),
// truth.jsonl (a Fate per job, from sacct), waitcast.db (the daemon's database with the journal and the ledger), the
// logs of daemon and Slurm, and the file done, which is written last. research/docs/liveload.md describes runs, replays
// and scores.
//
// DayOne lets one daemon follow several loads, and two more daemons only the last load. One of these two imports
// sacct's history of the earlier loads. The folder of a seed then has one folder for each daemon (followed, taught,
// fresh) and the dump of sacct, history.psv. research/docs/dayone.md describes DayOne.
package liveload
