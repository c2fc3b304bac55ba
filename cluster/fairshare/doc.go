// Package fairshare computes the fair-share factors of a Slurm scheduler: the part of a job's priority that depends on
// the recent usage of its user and accounts. A [Tree] holds the associations of users with accounts. A [Usage] holds
// their usage, which grows with running jobs and decays. A [Calculator] computes the factors from both by the
// configured algorithm.
//
// Sources: https://slurm.schedmd.com/fair_tree.html and https://slurm.schedmd.com/classic_fair_share.html for the
// algorithms, https://slurm.schedmd.com/priority_multifactor.html for the decay; where these say nothing or differ from
// the program, the source of Slurm 19.05 to 26.05 (src/plugins/priority/multifactor). Tests compare with a real Slurm.
//
// Not modelled: the classic algorithms use the accounts' usage of the previous computation; associations with one
// partition; usage that is reset at intervals (PriorityUsageResetPeriod); TRESBillingWeights (a job's usage is counted
// in processors).
package fairshare
