package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
)

// Access defines the rights of callers; docs/security.md describes the roles.
type Access struct {
	Anonymous       string   `key:"anonymous" default:"auto" enum:"auto,none,public" reload:"access" doc:"role of callers without a credential: public sees aggregates, none only /healthz; auto is none if web_config_file has users, else public"`
	Others          string   `key:"others" default:"auto" enum:"auto,public,user,admin" reload:"access" doc:"minimum role that sees the waiting jobs of others (without names), and may ask in the name of another user; auto is admin if there is a tokens_file, if web_config_file has users, or in clusters whose Slurm has PrivateData=jobs or is polled and has not said so, else public"`
	Users           string   `key:"users" default:"hidden" enum:"hidden,hashed,shown" reload:"access" doc:"how users' names are shown with jobs to callers that are neither the user nor an administrator"`
	BasicRole       string   `key:"basic_role" default:"user" enum:"public,user,admin" reload:"access" doc:"role of the users in web_config_file; a user owns the jobs of the scheduler's user with the same name"`
	CertificateRole string   `key:"certificate_role" default:"public" enum:"public,user,admin" reload:"access" doc:"role of callers that show a client certificate which web_config_file has verified; its common name is the user"`
	Origins         []string `key:"origins" allowed:"a list of origins, such as https://ondemand.example.org" reload:"access" doc:"sites whose pages may send requests from a browser (CORS), and show the daemon's page in a frame; browsers send no stored passwords or certificates with these requests"`
	Hosts           []string `key:"hosts" allowed:"a list of names, such as head.example.org" reload:"access" doc:"names, besides localhost and those of this host, that requests over loopback may have in the header Host; others get 421, because a page of another site may have sent them (DNS rebinding). Trusted proxies may send any name"`
	Munge           bool     `key:"munge" default:"false" reload:"access" doc:"accept credentials of munge in place of a token, over TLS or on loopback: the user who made the credential has the role user. Needs the program unmunge and a running munged with the cluster's key"`
	Admins          []string `key:"admins" allowed:"a list of names" reload:"access" doc:"users of web_config_file, of munge and of the socket, and common names of client certificates, that are administrators"`
}

// Limits limits the requests of clients. The defaults are far above what a scrape of the metrics, or a thousand
// watchers behind one address, need.
type Limits struct {
	RequestsPerSecond    float64       `key:"requests_per_second" default:"200" allowed:"0 to 1000000; 0 is no limit" reload:"access" doc:"requests that one client may send on average. A client is a credential, else an address (of IPv6 its first 64 bits). Clients on this host without a credential are not limited. /metrics and /readyz are counted separately"`
	Burst                int           `key:"burst" default:"4000" allowed:"1 to 1000000" reload:"access" doc:"requests that one client may send at once"`
	Body                 int           `key:"body" default:"1048576" allowed:"1024 to 1073741824, bytes" reload:"access" doc:"maximum size of a request's body; imports have no limit"`
	Expensive            int           `key:"expensive" default:"0" allowed:"0 to 100000; 0 is the number of processors that the daemon may use" reload:"access" doc:"maximum number of requests of POST /v1/wait and POST /v1/size, and of first answers of GET /v1/watch, that are computed at the same time; others wait up to 5 s. Clients share these slots fairly, see docs/security.md"`
	ExpensiveWaiting     int           `key:"expensive_waiting" default:"128" allowed:"1 to 2048" reload:"access" doc:"number of requests of one client that may wait for a slot of limits.expensive; further ones get 429"`
	Connections          int           `key:"connections" default:"8192" allowed:"16 to 1000000" reload:"access" doc:"open connections; at the limit the longest idle one is closed for a new one, see docs/security.md. The daemon needs this number of open files plus 32"`
	ConnectionsPerClient int           `key:"connections_per_client" default:"4096" allowed:"1 to 1000000" reload:"access" doc:"open connections per address; this host and trusted_proxies have no such limit"`
	WriteTimeout         time.Duration `key:"write_timeout" default:"1m" allowed:"1s to 1h" reload:"access" doc:"maximum time to compute and send an answer; streams (watch, workload, import) have deadlines of their own for each piece"`
	TrustedProxies       []string      `key:"trusted_proxies" allowed:"a list of addresses and networks, such as 10.0.0.7 or 10.1.0.0/16" reload:"access" doc:"proxies whose X-Forwarded-For is trusted"`
}

// most is the maximum value of a limit on requests or connections. It has the same effect as no limit.
const most = 1_000_000

// access checks the access rules.
func (k checker) access(a Access) {
	for i, site := range a.Origins {
		if err := checkOrigin(site); err != nil {
			k.require(fmt.Sprintf("access.origins[%d]", i), false, "%v", err)
		}
	}
}

// limits checks the limits.
func (k checker) limits(l Limits) {
	k.require("limits.requests_per_second", l.RequestsPerSecond >= 0 && l.RequestsPerSecond <= most,
		"%v is out of range", l.RequestsPerSecond)
	k.between("limits.burst", l.Burst, 1, most)
	k.between("limits.body", l.Body, 1<<10, 1<<30)
	k.between("limits.expensive", l.Expensive, 0, 100_000)
	k.between("limits.expensive_waiting", l.ExpensiveWaiting, 1, 2048)
	k.between("limits.connections", l.Connections, 16, most)
	k.between("limits.connections_per_client", l.ConnectionsPerClient, 1, most)
	k.require("limits.write_timeout", l.WriteTimeout >= time.Second && l.WriteTimeout <= time.Hour,
		"%s is out of range", duration.String(l.WriteTimeout))
	for _, text := range l.TrustedProxies {
		_, err := netip.ParsePrefix(text)
		k.require("limits.trusted_proxies", err == nil || net.ParseIP(text) != nil,
			"%q is neither an address nor a network", text)
	}
}

// checkOrigin returns an error if a text is not the origin of a site in the form that browsers send (RFC 6454,
// section 6.1). The form is http or https, a host in lower case, and a port unless it is the default of the scheme.
func checkOrigin(site string) error {
	u, err := url.Parse(site)
	if err != nil {
		return fmt.Errorf("%q is no origin: %w", site, err)
	}
	port := u.Port()
	usual := u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80"
	plain := site == u.Scheme+"://"+u.Host && site == strings.ToLower(site) && !strings.ContainsAny(site, "*; ,")
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || usual || !plain {
		return fmt.Errorf("%q is no origin as browsers send it, such as https://ondemand.example.org", site)
	}
	return nil
}
