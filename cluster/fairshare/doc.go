// Package fairshare computes the fair-share factors of a Slurm scheduler. They are the part of a job's priority that
// depends on the recent usage of its user and accounts. A [Tree] holds the associations of users with accounts. A
// [Usage] holds their usage, which grows with running jobs and decays. A [Calculator] computes the factors from both
// by the configured algorithm.
//
// The sources of the algorithms are https://slurm.schedmd.com/fair_tree.html and
// https://slurm.schedmd.com/classic_fair_share.html. The source of the decay is
// https://slurm.schedmd.com/priority_multifactor.html. If these pages are silent or differ from the program, the
// source of Slurm 19.05 to 26.05 counts (src/plugins/priority/multifactor). Tests compare the results with a real
// Slurm.
//
// Four things are not modelled: the classic algorithms' use of the accounts' usage of the previous computation;
// associations with one partition; usage that is reset at intervals (PriorityUsageResetPeriod); and
// TRESBillingWeights (a job's usage is counted in processors).
package fairshare
