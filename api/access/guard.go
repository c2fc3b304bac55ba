package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access/fairqueue"
	"github.com/waitcast/waitcast/api/wire"
)

// Limits bound the requests of clients. 0 means no limit, except in Burst, where it counts as 1, and in
// ExpensiveWaiting.
type Limits struct {
	// PerSecond and Burst bound the rate and the bursts of requests of one client. Clients on this host without a
	// credential are not limited. A client that a trusted proxy names is not on this host, even if the proxy is.
	PerSecond float64
	Burst     int
	// Expensive is the maximum number of expensive requests (with many candidates) that are computed at a time.
	// ExpensiveWaiting is the maximum number of expensive requests of one client that wait; 0 means maxWaiting.
	Expensive, ExpensiveWaiting int
	// Proxies are trusted to name their clients (X-Forwarded-For).
	Proxies []netip.Prefix
}

// Options configure a guard.
type Options struct {
	// AdminToken is the content of the admin token's file; empty for none.
	AdminToken string
	// TokensFile and WebConfigFile may be empty.
	TokensFile, WebConfigFile string
	Policy                    Policy
	Limits                    Limits
	// Names hashes users' names; needed if the policy shows hashes.
	Names *Names
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
	Log *zap.Logger
	// Registry may be nil.
	Registry prometheus.Registerer
}

// Guard checks the requests to a server. It is safe for concurrent use.
type Guard struct {
	now       func() time.Time
	log       *zap.Logger
	metrics   *metrics
	passwords *passwords
	failures  *limiter // limits checks of passwords and failures of munge credentials
	expensive *fairqueue.Queue
	locals    *localUsers
	munge     *munge
	rules     atomic.Pointer[rules]
}

const (
	// failuresPerSecond and failuresBurst bound the rate and the bursts of one client's passwords that are not
	// remembered as correct, and of its wrong munge credentials. Each such password costs the time of a bcrypt hash,
	// and each credential a process.
	failuresPerSecond, failuresBurst = 1, 20
)

// New returns a guard. Unusable files are errors here. If a file becomes unusable later, its old content stays in
// force.
func New(o Options) (*Guard, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	expensive, err := fairqueue.New(o.Limits.expensive())
	if err != nil {
		return nil, err
	}
	g := &Guard{
		now: o.Now, log: o.Log, metrics: newMetrics(o.Registry, expensive), passwords: newPasswords(),
		failures: newLimiter(failuresPerSecond, failuresBurst, o.Now), expensive: expensive,
		locals: newLocalUsers(o.Now), munge: newMunge(),
	}
	apply, err := g.Prepare(o)
	if err != nil {
		return nil, err
	}
	apply()
	return g, nil
}

// alive is the only path that needs no role.
const alive = "/healthz"

// Wrap returns a handler that passes on allowed requests, with the caller in the request's context, and sets the
// headers of all answers. Requests for /healthz always pass, without a caller.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer answered(r)
		web := g.webConfig()
		setHeaders(w.Header(), r, web.headers)
		reserved := onReserve(r.Context())
		if reserved {
			w.Header().Set("Connection", "close")
		}
		if r.URL.Path == alive {
			next.ServeHTTP(w, r)
			return
		}
		now := g.rules.Load()
		if p := now.hosts.checkHost(r, now.limits.Proxies); p != nil {
			g.refuse(w, reasonHost, p)
			return
		}
		sites := now.origins
		if sites.answer(w, r) {
			return
		}
		// Browsers send passwords and certificates automatically, for any page that makes a request.
		if err := sites.cross.Check(r); err != nil {
			g.refuse(w, reasonOrigin, &wire.Problem{
				Status: http.StatusForbidden, Detail: "a page of another site may not ask this: " + err.Error(),
				Hint: "ask from a page of this server, or not from a browser; access.origins allows sites",
			})
			return
		}
		if web.limiter != nil && !web.limiter.Allow() {
			g.slow(w, time.Second)
			return
		}
		caller, p := g.identify(w, r, web)
		if p != nil {
			return
		}
		if reserved && caller.Role != Admin {
			w.Header().Set("Retry-After", "1")
			g.refuse(w, reasonConnections, &wire.Problem{
				Status: http.StatusServiceUnavailable, Detail: "as many connections are open as may, and all are busy",
				Hint: "ask again after the time of Retry-After; limits.connections bounds them",
			})
			return
		}
		if ok, retry := g.within(r.URL.Path, &caller, g.count(r, &caller)); !ok {
			g.slow(w, retry)
			return
		}
		if p := g.Need(caller, Public); p != nil {
			g.Refuse(w, p)
			return
		}
		next.ServeHTTP(w, r.WithContext(With(r.Context(), caller)))
	})
}

// errAnswered means that a request has been answered already.
var errAnswered = errors.New("answered")

// identify determines the caller of a request. If it does not accept a credential, it answers the request and returns
// errAnswered. It ignores a kind of credential that is not configured, because the credential may be meant for a proxy.
func (g *Guard) identify(w http.ResponseWriter, r *http.Request, web *webConfig) (Caller, error) {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch token := strings.TrimSpace(rest); {
	case strings.EqualFold(scheme, "Bearer") && token != "":
		if c, ok := g.ofToken(token); ok {
			return c, nil
		}
		g.refuse(w, reasonCredential,
			&wire.Problem{Status: http.StatusUnauthorized, Detail: "the token is not one of this daemon",
				Hint: tokenHint})
		return Caller{}, errAnswered
	case strings.EqualFold(scheme, "Basic") && len(web.users) > 0:
		return g.ofPassword(w, r, web)
	case strings.EqualFold(scheme, wire.MungeScheme) && g.rules.Load().policy.Munge:
		return g.ofMunge(w, r, token)
	}
	if c, ok := g.ofCertificate(r.TLS); ok {
		return c, nil
	}
	if c, ok := g.ofSocket(r.Context()); ok {
		return c, nil
	}
	policy := &g.rules.Load().policy
	c := Caller{Role: policy.Anonymous}
	if policy.AnonymousAuto && len(web.users) > 0 {
		c.Role = None
	}
	return c, nil
}

// tokenHint describes how to send a token, and where the administrator's token is stored.
const tokenHint = "send \"Authorization: Bearer TOKEN\" with a token of the daemon's tokens_file, or the content of " +
	"its admin_token_file (admin-token in its data_dir); " +
	"the command waitcast takes it from --token-file, WAITCAST_TOKEN_FILE or WAITCAST_TOKEN"

// ofToken returns the caller to whom a token belongs. The token comes only from the Authorization header (RFC 6750,
// section 2.1), which browsers, unlike cookies, do not send automatically.
func (g *Guard) ofToken(token string) (Caller, bool) {
	hash, r := sha256.Sum256([]byte(token)), g.rules.Load()
	if c, ok := r.admin[hash]; ok {
		return c, true
	}
	if r.tokens == nil {
		return Caller{}, false
	}
	c, ok := (*r.tokens.get())[hash]
	return c, ok
}

// ofPassword returns the caller with the name and password of a request (RFC 7617). If it does not accept them, it
// answers the request and returns errAnswered.
func (g *Guard) ofPassword(w http.ResponseWriter, r *http.Request, web *webConfig) (Caller, error) {
	name, password, ok := r.BasicAuth()
	if ok && !g.passwords.known(web.users[name], name, password) {
		client := clientName(clientOf(r, g.rules.Load().limits.Proxies))
		if ok, retry := g.failures.allow(client); !ok {
			g.slow(w, retry)
			return Caller{}, errAnswered
		}
		ok = g.passwords.right(r.Context(), web.users, name, password)
	}
	if !ok {
		g.refuse(w, reasonCredential,
			&wire.Problem{Status: http.StatusUnauthorized, Detail: "no such user, or another password",
				Hint: "users are those of the web-config file"})
		return Caller{}, errAnswered
	}
	return g.named("user", name, g.rules.Load().policy.Basic), nil
}

// count sets the caller's identity for limits and shares. It returns the address of a caller without a credential, and
// the zero Addr for others.
func (g *Guard) count(r *http.Request, c *Caller) netip.Addr {
	c.Client = c.Credential
	if c.Client != "" {
		return netip.Addr{}
	}
	at := clientOf(r, g.rules.Load().limits.Proxies)
	if at.IsValid() {
		c.Client = clientName(at)
	}
	return at
}

// within reports whether a client may send a request now, and if not, after which time. Clients without a credential
// always may if they are on this host or have no address. The paths /metrics and /readyz have limits of their own.
func (g *Guard) within(path string, c *Caller, at netip.Addr) (bool, time.Duration) {
	if c.Credential == "" && (!at.IsValid() || at.IsLoopback()) {
		return true, 0
	}
	switch path {
	case "/metrics", "/readyz":
		return g.rules.Load().scrapes.allow(c.Client)
	}
	return g.rules.Load().requests.allow(c.Client)
}

// Others returns the minimum role that sees other users' jobs. private is true if the scheduler hides these.
func (g *Guard) Others(private bool) Role {
	switch r := g.rules.Load(); {
	case !r.policy.OthersAuto:
		return r.policy.Others
	case private || r.tokens != nil || len(r.webConfig().users) > 0:
		return Admin
	}
	return Public
}

// SeesOthers reports whether a caller sees other users' jobs, and may ask in their names. private is true if the
// scheduler hides the jobs of a user from other users.
func (g *Guard) SeesOthers(c Caller, private bool) bool {
	return c.Role == Admin || c.Role >= g.Others(private) && c.Role > None
}

// MayAskAs returns the reason why a caller may not ask in the name of a user or an account, nil if it may. Users' names
// are restricted because a forecast in the name of a user reveals what the user did. Accounts are not restricted by
// name, because many people share one.
func (g *Guard) MayAskAs(c Caller, private bool, user, account string) *wire.Problem {
	if user == "" && account == "" || g.SeesOthers(c, private) {
		return nil
	}
	if p := g.Need(c, User); p != nil {
		return p
	}
	if user != "" && user != c.User {
		return &wire.Problem{
			Status: http.StatusForbidden,
			Detail: "this credential may ask in the name of its own user alone; in others' names needs the role " +
				g.Others(private).String(),
			Hint: "leave user out, or name your own",
		}
	}
	return nil
}

// Own reports whether the caller is the given user and has at least the role User.
func (c Caller) Own(user string) bool { return c.Role >= User && c.User != "" && c.User == user }

// NameFor returns a user's name in the form that the caller may see; empty if the caller may not see it.
func (g *Guard) NameFor(c Caller, user string) string {
	switch r := g.rules.Load(); {
	case user == "":
		return ""
	case c.Role == Admin, c.Own(user), r.policy.Users == Shown:
		return user
	case r.policy.Users == Hashed:
		return r.names.Hash(user)
	}
	return ""
}

// Need returns the problem to answer with if the caller lacks the given role, else nil.
func (g *Guard) Need(c Caller, role Role) *wire.Problem {
	switch {
	case c.Role >= role:
		return nil
	case c.Credential == "":
		detail := "this needs a credential of the role " + role.String()
		if role == Admin {
			detail = "this needs the daemon's admin token, or another credential of the role admin"
		}
		return &wire.Problem{Status: http.StatusUnauthorized, Detail: detail, Hint: tokenHint}
	}
	return &wire.Problem{
		Status: http.StatusForbidden, Detail: fmt.Sprintf("this needs the role %s, this credential has the role %s",
			role, c.Role), Hint: "use another credential",
	}
}
