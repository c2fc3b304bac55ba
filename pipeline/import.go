package pipeline

// ImportName is the name, after the cluster's, under which the bad lines of imports are stored and counted. In journals
// of earlier versions it is the source of imported jobs. No configured source can have this name.
const ImportName = "import"
