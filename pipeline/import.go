package pipeline

// ImportName is the name, after the cluster's name and a slash, of the source under which the bad lines of imports are
// stored and counted. In journals of earlier versions, imported jobs have this source too. No configured source can
// have this name.
const ImportName = "import"
