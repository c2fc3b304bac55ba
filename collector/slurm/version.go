package slurm

import (
	"strconv"
	"strings"
)

// LogsNoBackfill reports whether slurmctld of this version logs starts by backfill only with DebugFlags=HetJob.
func LogsNoBackfill(version string) bool { return atLeast(version, 26, 5) }

// Newer reports whether a version is newer than all those that were tried.
func Newer(version string) bool { return atLeast(version, 26, 6) }

// atLeast reports whether a version such as "26.05.5" is that of a release, such as 26.05, or of a later one. An
// unknown version ("") is not.
func atLeast(version string, year, month int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	y, errYear := strconv.Atoi(first)
	m, errMonth := strconv.Atoi(second)
	return errYear == nil && errMonth == nil && (y > year || y == year && m >= month)
}
