package check

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/waitcast/waitcast/config"
)

// These estimate the memory of a daemon from the data that it keeps. docs/operate.md documents the values.
const (
	// forCluster is the memory of a daemon with one cluster, in bytes. While 20,000 jobs of KTH-SP2-1996-2.1 were
	// forecast, including the training of trees, the daemon used at most 244 MiB, afterwards 183 MiB.
	forCluster   = 256 << 20
	perHistory   = 40 // bytes per job of models.history_jobs, as its documentation says
	perLifetime  = 24 // bytes per job of models.window_jobs: for the lifetime, the start and the index
	queueClasses = 2  // for sequential and for parallel jobs
	unknownQueue = 4  // number of queues that is assumed if no queue is known
)

// These are the numbers of inotify instances and watches that must remain for other programs. The values are a free
// choice.
const (
	fewInstances = 16
	fewWatches   = 1024
)

// machine checks the clock, the watches and the memory of the host.
func (c *checker) machine() {
	c.clock()
	c.inotify()
	need, bound := Memory(c.cfg, c.Sources), "about"
	if c.cfg.ServeOnly {
		// Only the collector's configuration says what a space contains. The estimate assumes one cluster with models
		// of the default size for each space.
		each := *c.cfg
		each.Clusters = make([]config.Cluster, max(1, c.served))
		need, bound = Memory(&each, nil), "at least"
	}
	free := memory("MemAvailable")
	status, hint := OK, ""
	if free > 0 && free < need {
		status, hint = Warning, "lower models.history_jobs and models.window_jobs, or give the machine more"
	}
	c.add("machine.memory", status, "machine", hint, "%s %s of memory needed once the models are full, %s available",
		bound, size(need), size(free))
}

// Memory estimates the bytes that a daemon needs once its models are full.
func Memory(cfg *config.Config, sources []Source) int64 {
	queues := 0
	for _, c := range cfg.Clusters {
		met := map[string]bool{}
		for _, q := range c.Queues {
			met[q.Name] = true
		}
		for i := range sources {
			if sources[i].Cluster == c.Name {
				for _, q := range sources[i].Queues {
					met[q] = true
				}
			}
		}
		if n := len(met); n > 0 {
			queues += n
		} else {
			queues += unknownQueue
		}
	}
	return int64(len(cfg.Clusters))*(forCluster+int64(cfg.Models.HistoryJobs)*perHistory) +
		int64(queues)*queueClasses*int64(cfg.Models.WindowJobs)*perLifetime
}

// clock reports whether the kernel's clock is synchronized, by the flag STA_UNSYNC of adjtimex(2).
func (c *checker) clock() {
	const unsynchronized = 0x40
	var t syscall.Timex
	_, err := syscall.Adjtimex(&t)
	at := c.now.Format("2006-01-02 15:04:05 -07:00")
	switch {
	case err != nil:
		c.add("machine.clock", OK, "machine", "", "it is %s; whether the clock is synchronized is unknown: %v", at, err)
	case t.Status&unsynchronized != 0:
		c.add("machine.clock", Warning, "machine",
			"run chrony or systemd-timesyncd; in a container the host may do this",
			"it is %s, and nothing synchronizes the clock", at)
	default:
		c.add("machine.clock", OK, "machine", "", "it is %s, and the clock is synchronized", at)
	}
}

// inotify reports whether a user may have enough inotify instances and watches. Without them the daemon polls the
// files.
func (c *checker) inotify() {
	need := 0
	for i := range c.cfg.Clusters {
		for _, s := range c.cfg.Clusters[i].Sources {
			if s.Inotify && !s.IsPolled() {
				need++
			}
		}
	}
	if need == 0 {
		return
	}
	instances, err := limit("max_user_instances")
	watches, err2 := limit("max_user_watches")
	if err != nil || err2 != nil {
		return // not Linux
	}
	status, hint := OK, ""
	if instances < need+fewInstances || watches < 2*need+fewWatches {
		status, hint = Warning, "raise fs.inotify.max_user_instances and max_user_watches by sysctl, or set inotify "+
			"of the sources to false: they are polled then"
	}
	c.add("machine.inotify", status, "machine", hint, "%s to watch by inotify; a user may have %s and %s watches",
		plural(need, "log"), plural(instances, "instance"), thousands(int64(watches)))
}

func limit(name string) (int, error) {
	data, err := os.ReadFile("/proc/sys/fs/inotify/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(data)))
}

// memory returns the value of a line of /proc/meminfo in bytes. It returns 0 if the line is missing.
func memory(name string) int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == name+":" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64) // kib is 0 if the text is no number
			return kib << 10
		}
	}
	return 0
}

// size formats a number of bytes as text with a unit.
func size(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/(1<<10), 0
	for value >= 1<<10 && unit < len(units)-1 {
		value, unit = value/(1<<10), unit+1
	}
	format := "%.0f %ciB"
	if value < 10 {
		format = "%.1f %ciB"
	}
	return fmt.Sprintf(format, value, units[unit])
}

// spell formats a duration as text in its two largest units.
func spell(d time.Duration) string {
	d = d.Round(time.Second)
	switch days := int64(d / (24 * time.Hour)); {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, int64(d%(24*time.Hour)/time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", int64(d/time.Hour), int64(d%time.Hour/time.Minute))
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", int64(d/time.Minute), int64(d%time.Minute/time.Second))
	}
	return fmt.Sprintf("%d s", int64(d/time.Second))
}
