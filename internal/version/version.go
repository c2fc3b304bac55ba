// Package version has the version of this program. It is the version that the build of the packages set, or else the
// version that the Go toolchain recorded.
package version

import "runtime/debug"

// stamped is the version that -ldflags "-X github.com/waitcast/waitcast/internal/version.stamped=1.2.3" sets.
var stamped string //nolint:gochecknoglobals // only the linker writes it

// String returns the version that the build set, or else the one that the Go toolchain recorded, such as 1.2.3 or
// 1.2.3+4.g5aee8af. If there is none, it returns (devel).
func String() string {
	if stamped != "" {
		return stamped
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
