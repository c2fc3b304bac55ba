package config

import (
	"net"
	"net/netip"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
)

// Access defines who may see what; docs/security.md has the roles.
type Access struct {
	Anonymous       string   `key:"anonymous" default:"auto" enum:"auto,none,public" reload:"access" doc:"role of callers without a credential: public sees aggregates, none nothing but /healthz; auto is none where web_config_file has users, else public"`
	Others          string   `key:"others" default:"auto" enum:"auto,public,user,admin" reload:"access" doc:"least role that sees the waiting jobs of others (without names), and may ask in the name of another user; auto is admin where there are tokens_file or users in web_config_file, else public"`
	Users           string   `key:"users" default:"hidden" enum:"hidden,hashed,shown" reload:"access" doc:"how users' names are shown with jobs to callers that are neither the user nor an administrator"`
	BasicRole       string   `key:"basic_role" default:"user" enum:"public,user,admin" reload:"access" doc:"role of the users in web_config_file; their own jobs are those of the user of the same name"`
	CertificateRole string   `key:"certificate_role" default:"public" enum:"public,user,admin" reload:"access" doc:"role of callers that show a client certificate which web_config_file has verified; its common name is the user"`
	Admins          []string `key:"admins" allowed:"a list of names" reload:"access" doc:"users of web_config_file, and common names of client certificates, that are administrators"`
}

// Limits defines how much clients may ask. The defaults are far above what a scrape, or a thousand watchers behind one
// address, need.
type Limits struct {
	RequestsPerSecond    float64       `key:"requests_per_second" default:"200" allowed:"0 to 1000000; 0 is no limit" reload:"access" doc:"requests that one client may send on average: a credential, else an address (of IPv6 its first 64 bits). Clients on this host without a credential are not limited. /metrics and /readyz are counted apart"`
	Burst                int           `key:"burst" default:"4000" allowed:"1 to 1000000" reload:"access" doc:"requests that one client may send at once"`
	Body                 int           `key:"body" default:"1048576" allowed:"1024 to 1073741824, bytes" reload:"access" doc:"size of a question's body; imports have no limit"`
	Expensive            int           `key:"expensive" default:"16" allowed:"1 to 100000" reload:"access" doc:"POST /v1/wait and POST /v1/size that are computed at a time; others wait up to 5 s for their turn"`
	Connections          int           `key:"connections" default:"8192" allowed:"16 to 1000000" reload:"access" doc:"open connections; those beyond are closed at once. It needs as many open files"`
	ConnectionsPerClient int           `key:"connections_per_client" default:"4096" allowed:"1 to 1000000" reload:"access" doc:"open connections of one address, but for this host and trusted_proxies"`
	WriteTimeout         time.Duration `key:"write_timeout" default:"1m" allowed:"1s to 1h" reload:"access" doc:"how long an answer may take, computing and sending; streams (watch, workload, import) have deadlines of their own for each piece"`
	TrustedProxies       []string      `key:"trusted_proxies" allowed:"a list of addresses and networks, such as 10.0.0.7 or 10.1.0.0/16" reload:"access" doc:"proxies whose X-Forwarded-For is believed"`
}

// most is the largest number of requests or connections that a limit may have: no limit in practice.
const most = 1_000_000

// limits checks the limits.
func (k checker) limits(l Limits) {
	k.that("limits.requests_per_second", l.RequestsPerSecond >= 0 && l.RequestsPerSecond <= most, "%v is out of range",
		l.RequestsPerSecond)
	k.between("limits.burst", l.Burst, 1, most)
	k.between("limits.body", l.Body, 1<<10, 1<<30)
	k.between("limits.expensive", l.Expensive, 1, 100_000)
	k.between("limits.connections", l.Connections, 16, most)
	k.between("limits.connections_per_client", l.ConnectionsPerClient, 1, most)
	k.that("limits.write_timeout", l.WriteTimeout >= time.Second && l.WriteTimeout <= time.Hour, "%s is out of range",
		duration.String(l.WriteTimeout))
	for _, text := range l.TrustedProxies {
		_, err := netip.ParsePrefix(text)
		k.that("limits.trusted_proxies", err == nil || net.ParseIP(text) != nil,
			"%q is neither an address nor a network", text)
	}
}
