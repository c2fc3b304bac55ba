package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os/exec"
)

// The kinds of files with rules, as in metrics and the log.
const (
	tokensKind    = "tokens"
	webConfigKind = "web_config"
)

// rules is the part of a guard that depends on its options. It is immutable once it is in force; Guard.Prepare makes a
// new one.
type rules struct {
	options  Options
	policy   Policy
	limits   Limits
	names    *Names
	admin    tokens
	tokens   *reloaded[tokens]     // nil without a file of tokens
	web      *reloaded[*webConfig] // nil without a web-config file
	noWeb    *webConfig            // used if there is no web-config file
	origins  *origins
	hosts    hosts
	requests *limiter // limits by client
	scrapes  *limiter // limits of scrapes, which do not count towards the other limits
}

// Prepare reads the files of new options and returns a function that puts the options into force, for the next
// requests. After an error the present rules stay in force. Parts with unchanged options keep their counts, so that a
// client gets no second burst. Now, Log and Registry remain those of New.
func (g *Guard) Prepare(o Options) (apply func(), err error) {
	if o.Policy.Users == Hashed && o.Names == nil {
		return nil, errors.New("names cannot be hashed without a key")
	}
	if o.Policy.Munge {
		if _, err := exec.LookPath("unmunge"); err != nil {
			return nil, fmt.Errorf("access.munge: %w; install munge, and run munged as on the cluster's nodes", err)
		}
	}
	sites, err := newOrigins(o.Policy.Origins)
	if err != nil {
		return nil, fmt.Errorf("access.origins: %w", err)
	}
	old := g.rules.Load()
	if old == nil {
		old = &rules{}
	}
	r := &rules{
		options: o, policy: o.Policy, origins: sites, hosts: newHosts(o.Policy.Hosts), limits: o.Limits,
		names: o.Names, admin: tokens{},
		noWeb: &webConfig{http2: true}, requests: old.requests, scrapes: old.scrapes,
	}
	if o.AdminToken != "" {
		r.admin[sha256.Sum256([]byte(o.AdminToken))] = Caller{Role: Admin, Credential: "admin token"}
	}
	if o.Limits.PerSecond != old.limits.PerSecond || o.Limits.Burst != old.limits.Burst {
		r.requests = newLimiter(o.Limits.PerSecond, o.Limits.Burst, g.now)
		r.scrapes = newLimiter(o.Limits.PerSecond, o.Limits.Burst, g.now)
	}
	if err := g.openFiles(r, old); err != nil {
		return nil, err
	}
	return func() {
		g.rules.Store(r)
		_ = g.expensive.Configure(r.limits.expensive()) // cannot fail: the limits are valid
		g.noteFiles(r, old)
	}, nil
}

// openFiles reads the files of new rules. A file that the old rules also use is not read now: its content is kept, and
// it is read again when it changes.
func (g *Guard) openFiles(r, old *rules) error {
	switch path := r.options.TokensFile; path {
	case "":
	case old.options.TokensFile:
		r.tokens = old.tokens
	default:
		r.tokens = &reloaded[tokens]{kind: tokensKind, now: g.now, log: g.log, metrics: g.metrics,
			make: readTokensOf(path)}
		if err := r.tokens.load(); err != nil {
			return fmt.Errorf("tokens_file: %w", err)
		}
	}
	switch path := r.options.WebConfigFile; path {
	case "":
	case old.options.WebConfigFile:
		r.web = old.web
	default:
		r.web = &reloaded[*webConfig]{kind: webConfigKind, now: g.now, log: g.log, metrics: g.metrics,
			make: makeWebConfig(path)}
		if err := r.web.load(); err != nil {
			return fmt.Errorf("web_config_file: %w", err)
		}
	}
	return nil
}

// readTokensOf returns a function that reads a file of tokens, and returns the tokens and the name of the file.
func readTokensOf(path string) func() (tokens, []string, error) {
	return func() (tokens, []string, error) {
		t, err := readTokens(path)
		return t, []string{path}, err
	}
}

// noteFiles updates the metrics of files for rules that have just come into force.
func (g *Guard) noteFiles(r, old *rules) {
	switch {
	case r.tokens == nil:
		g.metrics.noFile(tokensKind)
	case r.tokens != old.tokens:
		g.metrics.file(tokensKind, true)
	}
	switch {
	case r.web == nil:
		g.metrics.noFile(webConfigKind)
	case r.web != old.web:
		g.metrics.file(webConfigKind, true)
	}
}

// webConfig returns the newest web-config in force.
func (r *rules) webConfig() *webConfig {
	if r.web == nil {
		return r.noWeb
	}
	return *r.web.get()
}
