package pipeline

// ImportName is the name under which the bad lines of imports are stored and counted, preceded by the cluster's name.
// In journals of earlier versions it is also the source of imported jobs. No configured source can have this name.
const ImportName = "import"
