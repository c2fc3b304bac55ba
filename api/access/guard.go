package access

import (
	"context"
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

	"github.com/waitcast/waitcast/api/wire"
)

// Limits are how much may be asked. A zero number does not limit.
type Limits struct {
	// PerSecond and Burst bound the requests of one client: so many on average, so many at once. Clients on this host
	// are not limited, unless a proxy there names its client.
	PerSecond float64
	Burst     int
	// Expensive bounds the questions of many candidates that are computed at a time.
	Expensive int
	// Proxies are trusted to name their clients (X-Forwarded-For).
	Proxies []netip.Prefix
}

// Options are what a guard is made of.
type Options struct {
	// AdminToken is the content of the admin token's file; empty for none.
	AdminToken string
	// TokensFile and WebConfigFile may be empty.
	TokensFile, WebConfigFile string
	Policy                    Policy
	Limits                    Limits
	// Names hashes users' names; needed where the policy shows hashes.
	Names *Names
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
	Log *zap.Logger
	// Registry may be nil.
	Registry prometheus.Registerer
}

// Guard stands before a server. It is safe for concurrent use.
type Guard struct {
	now       func() time.Time
	log       *zap.Logger
	metrics   *metrics
	passwords *passwords
	failures  *limiter // of passwords
	rules     atomic.Pointer[rules]
}

const (
	// failuresPerSecond and failuresBurst bound the wrong passwords of one client: each costs the time of a bcrypt
	// hash.
	failuresPerSecond, failuresBurst = 1, 20
	// acquirePatience is how long an expensive question waits for a free slot.
	acquirePatience = 5 * time.Second
)

// New returns a guard. Files that cannot be used are errors here; later, their old contents stay in force.
func New(o Options) (*Guard, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	g := &Guard{
		now: o.Now, log: o.Log, metrics: newMetrics(o.Registry), passwords: newPasswords(),
		failures: newLimiter(failuresPerSecond, failuresBurst, o.Now),
	}
	apply, err := g.Prepare(o)
	if err != nil {
		return nil, err
	}
	apply()
	return g, nil
}

// alive is the one path that needs no role.
const alive = "/healthz"

// Wrap returns a handler that lets through what may be asked, with the caller in the request's context, and sets the
// headers of all answers.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web := g.webConfig()
		setHeaders(w.Header(), r, web.headers)
		if r.URL.Path == alive {
			next.ServeHTTP(w, r)
			return
		}
		// browsers send passwords and certificates by themselves, for any page that makes a request
		if err := cross.Check(r); err != nil {
			g.refuse(w, reasonOrigin, &wire.Problem{
				Status: http.StatusForbidden, Detail: "a page of another site may not ask this: " + err.Error(),
				Hint: "ask from a page of this server, or not from a browser",
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
		if ok, retry := g.within(r, &caller); !ok {
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

// errAnswered reports that a request has had its answer.
var errAnswered = errors.New("answered")

// identify finds out who sent a request. A credential of a kind that is not configured is ignored: a proxy in front may
// have asked for it.
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
	}
	if c, ok := g.ofCertificate(r.TLS); ok {
		return c, nil
	}
	policy := &g.rules.Load().policy
	c := Caller{Role: policy.Anonymous}
	if policy.AnonymousAuto && len(web.users) > 0 {
		c.Role = None
	}
	return c, nil
}

// tokenHint returns where the token of an administrator is.
const tokenHint = "send \"Authorization: Bearer TOKEN\" with a token of the daemon's tokens_file, or the content of " +
	"its admin_token_file (admin-token in its data_dir); " +
	"the command waitcast takes it from --token-file, WAITCAST_TOKEN_FILE or WAITCAST_TOKEN"

// ofToken returns whose token this is. The Authorization header (RFC 6750, section 2.1) is the one place where it is
// looked for: a browser does not send it by itself, as it does with cookies.
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

// ofPassword returns whose name and password this is (RFC 7617).
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

// within reports whether a client may ask now, and if not after how long.
func (g *Guard) within(r *http.Request, c *Caller) (bool, time.Duration) {
	client := c.Credential
	if client == "" {
		at := clientOf(r, g.rules.Load().limits.Proxies)
		if !at.IsValid() || at.IsLoopback() {
			return true, 0
		}
		client = clientName(at)
	}
	switch r.URL.Path {
	case "/metrics", "/readyz":
		return g.rules.Load().scrapes.allow(client)
	}
	return g.rules.Load().requests.allow(client)
}

// others returns the least role that sees what is other users'.
func (g *Guard) others() Role {
	switch r := g.rules.Load(); {
	case !r.policy.OthersAuto:
		return r.policy.Others
	case r.tokens != nil || len(r.webConfig().users) > 0:
		return Admin
	}
	return Public
}

// SeesOthers reports whether a caller sees other users' jobs, and may ask in their names.
func (g *Guard) SeesOthers(c Caller) bool {
	return c.Role == Admin || c.Role >= g.others() && c.Role > None
}

// MayAskAs returns why a caller may not ask in the name of a user or an account, nil if that is allowed: a forecast
// follows from what that user did. An account is many people's: a user may name any.
func (g *Guard) MayAskAs(c Caller, user, account string) *wire.Problem {
	if user == "" && account == "" || g.SeesOthers(c) {
		return nil
	}
	if p := g.Need(c, User); p != nil {
		return p
	}
	if user != "" && user != c.User {
		return &wire.Problem{
			Status: http.StatusForbidden,
			Detail: "this credential may ask in the name of its own user alone; in others' names needs the role " +
				g.others().String(),
			Hint: "leave user out, or name your own",
		}
	}
	return nil
}

// Own reports whether something of a user's is the caller's own.
func (c Caller) Own(user string) bool { return c.Role >= User && c.User != "" && c.User == user }

// NameFor returns a user's name as the caller may see it; empty if not at all.
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

// Need returns why a caller has not the role that is needed, nil if it has.
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

// Acquire waits for a slot in which an expensive question may be computed. The function that it returns frees the slot.
func (g *Guard) Acquire(ctx context.Context) (done func(), p *wire.Problem) {
	expensive := g.rules.Load().expensive
	if expensive == nil {
		return func() {}, nil
	}
	done = func() { <-expensive }
	select {
	case expensive <- struct{}{}: // a free place is taken even if the context has ended
		return done, nil
	default:
	}
	patience := time.NewTimer(acquirePatience)
	defer patience.Stop()
	select {
	case expensive <- struct{}{}:
		return done, nil
	case <-ctx.Done():
	case <-patience.C:
	}
	g.metrics.refused.WithLabelValues(reasonBusy).Inc()
	detail := fmt.Sprintf("%d such questions are being computed already", cap(expensive))
	return nil, &wire.Problem{Status: http.StatusServiceUnavailable, Detail: detail, Hint: "ask again later"}
}
