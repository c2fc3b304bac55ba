package slurm

import (
	"strconv"
	"strings"
)

// atLeast reports whether a version such as "26.05.5" is that of a release, such as 26.05, or of a later one. An
// unknown version ("") is not.
func atLeast(version string, year, month int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	y, errYear := strconv.Atoi(first)
	m, errMonth := strconv.Atoi(second)
	return errYear == nil && errMonth == nil && (y > year || y == year && m >= month)
}
