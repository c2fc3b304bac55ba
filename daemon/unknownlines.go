package daemon

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
)

// unknownLines counts the lines of Slurm's logs that no parser recognizes, by the version of Slurm. A new release of
// Slurm may write new messages.
type unknownLines struct {
	lines *prometheus.CounterVec
	// version returns the version that the scheduler itself reports. It returns "" if the scheduler reports none.
	version func(cluster string) string

	mu       sync.Mutex
	versions map[string]bool
}

// count counts the unknown lines of a delivery.
func (u *unknownLines) count(d *source.Delivery) {
	if !strings.HasPrefix(d.Source.Format.Name, "slurm-") {
		return
	}
	for _, b := range d.Bad {
		if b.Reason != collector.ReasonUnknown {
			continue
		}
		name, version := d.Source.Options.Cluster, ""
		var unknown *slurm.UnknownError
		if errors.As(b.Err, &unknown) {
			version = unknown.Version
		}
		u.lines.WithLabelValues(name, u.label(cmp.Or(version, u.version(name)))).Inc()
	}
}

// release matches the part of a Slurm version that the label has.
var release = regexp.MustCompile(`^[0-9]{2}\.[0-9]{2}(\.[0-9]{1,3})?`)

// maxVersions is the maximum number of values of the label.
const maxVersions = 20

// label returns the value of the label "version", for example "22.05.8", or "unknown" if version is empty. It returns
// "other" for a text that is no version, and for new versions when there are maxVersions values already.
func (u *unknownLines) label(version string) string {
	if version == "" {
		return "unknown"
	}
	version = release.FindString(version)
	u.mu.Lock()
	defer u.mu.Unlock()
	if version == "" || !u.versions[version] && len(u.versions) >= maxVersions {
		return "other"
	}
	u.versions[version] = true
	return version
}
