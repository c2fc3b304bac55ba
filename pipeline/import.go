package pipeline

// ImportName is the name, after the cluster's, under which the bad lines of imports are kept and counted. Journals of
// earlier builds have it as the source of the jobs that were imported. No configured source can have it.
const ImportName = "import"
