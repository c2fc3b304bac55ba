package access

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// The kinds of files that rules are read from, as metrics and the log name them.
const (
	tokensKind    = "tokens"
	webConfigKind = "web_config"
)

// rules is the part of a guard that its options decide. It is not changed once it is in force: Guard.Prepare makes
// another one.
type rules struct {
	options   Options
	policy    Policy
	limits    Limits
	names     *Names
	admin     tokens
	tokens    *reloaded[tokens]     // nil without a file of tokens
	web       *reloaded[*webConfig] // nil without a web-config file
	noWeb     *webConfig            // stands for it where there is none
	requests  *limiter              // by client
	scrapes   *limiter              // of machines, which do not use up what people may ask
	expensive chan struct{}         // a place for each expensive question; nil for any number
}

// Prepare reads the files of other options and returns a function that puts them into force, for the next requests.
// On error the rules in force stay as they are. Parts whose options are the same stay, with what they have counted: a
// client gets no second burst. Now, Log and Registry remain those of New.
func (g *Guard) Prepare(o Options) (apply func(), err error) {
	if o.Policy.Users == Hashed && o.Names == nil {
		return nil, errors.New("names cannot be hashed without a key")
	}
	old := g.rules.Load()
	if old == nil {
		old = &rules{}
	}
	r := &rules{
		options: o, policy: o.Policy, limits: o.Limits, names: o.Names, admin: tokens{}, noWeb: &webConfig{http2: true},
		requests: old.requests, scrapes: old.scrapes, expensive: old.expensive,
	}
	if o.AdminToken != "" {
		r.admin[sha256.Sum256([]byte(o.AdminToken))] = Caller{Role: Admin, Credential: "admin token"}
	}
	if o.Limits.PerSecond != old.limits.PerSecond || o.Limits.Burst != old.limits.Burst {
		r.requests = newLimiter(o.Limits.PerSecond, o.Limits.Burst, g.now)
		r.scrapes = newLimiter(o.Limits.PerSecond, o.Limits.Burst, g.now)
	}
	if o.Limits.Expensive != old.limits.Expensive {
		r.expensive = nil
		if o.Limits.Expensive > 0 {
			r.expensive = make(chan struct{}, o.Limits.Expensive)
		}
	}
	if err := g.openFiles(r, old); err != nil {
		return nil, err
	}
	return func() {
		g.rules.Store(r)
		g.noteFiles(r, old)
	}, nil
}

// openFiles reads the files of new rules. A file that the old rules have too keeps its content: it is
// read again when it changes.
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

// readTokensOf returns a function that reads a file of tokens, and names the file.
func readTokensOf(path string) func() (tokens, []string, error) {
	return func() (tokens, []string, error) {
		t, err := readTokens(path)
		return t, []string{path}, err
	}
}

// noteFiles makes the metrics of files agree with rules that have just come into force.
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

// webConfig returns the newest web-config that there is.
func (r *rules) webConfig() *webConfig {
	if r.web == nil {
		return r.noWeb
	}
	return *r.web.get()
}
