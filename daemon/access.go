package daemon

import (
	"cmp"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
)

// namesKey is the name of the file in data_dir that holds the key for hashing users' names.
const namesKey = "names-key"

// accessOptions returns the access rules of a configuration. It creates the file with the admin token if it is missing.
// If users' names are hashed, it also creates the file with the key for them if that is missing.
func accessOptions(cfg *config.Config, opts Options) (access.Options, error) {
	token, err := adminToken(cfg.AdminTokenFile, opts.Log)
	if err != nil {
		return access.Options{}, err
	}
	policy, err := policyOf(cfg.Access)
	if err != nil {
		return access.Options{}, err
	}
	proxies, err := trustedProxies(cfg)
	if err != nil {
		return access.Options{}, err
	}
	var names *access.Names
	if policy.Users == access.Hashed {
		if names, err = access.LoadNames(filepath.Join(cfg.DataDir, namesKey)); err != nil {
			return access.Options{}, err
		}
	}
	return access.Options{
		AdminToken: token, TokensFile: cfg.TokensFile, WebConfigFile: cfg.WebConfigFile, Policy: policy, Names: names,
		Log: opts.Log,
		Limits: access.Limits{
			PerSecond: cfg.Limits.RequestsPerSecond, Burst: cfg.Limits.Burst, Proxies: proxies,
			Expensive:        cmp.Or(cfg.Limits.Expensive, runtime.GOMAXPROCS(0)),
			ExpensiveWaiting: cfg.Limits.ExpensiveWaiting,
		},
	}, nil
}

// WhoSeesOthers describes who sees the waiting jobs of other users with a configuration. private is true if the
// scheduler hides jobs from other users.
func WhoSeesOthers(cfg *config.Config, private bool) (string, error) {
	policy, err := policyOf(cfg.Access)
	if err != nil {
		return "", err
	}
	guard, err := access.New(access.Options{TokensFile: cfg.TokensFile, WebConfigFile: cfg.WebConfigFile,
		Policy: policy, Registry: prometheus.NewRegistry()})
	if err != nil {
		return "", err
	}
	switch guard.Others(private) {
	case access.Public:
		return "everybody who reaches the daemon sees all waiting jobs, without names", nil
	case access.User:
		return "users see all waiting jobs, without names; callers without a credential see totals", nil
	}
	return "users see only their own waiting jobs; callers without a credential see totals", nil
}

// trustedProxies returns the addresses of the proxies whose headers about the original caller are trusted.
func trustedProxies(cfg *config.Config) ([]netip.Prefix, error) {
	proxies, err := access.ParseProxies(cfg.Limits.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("limits.trusted_proxies: %w", err)
	}
	return proxies, nil
}

// policyOf returns the rules that define who may see what. An empty value stands for its default, because a Config that
// was not loaded from a file has empty values.
func policyOf(c config.Access) (access.Policy, error) {
	out := access.Default()
	out.AnonymousAuto = c.Anonymous == "" || c.Anonymous == "auto"
	out.OthersAuto = c.Others == "" || c.Others == "auto"
	out.Users = cmp.Or(access.Show(c.Users), out.Users)
	out.Admins, out.Origins, out.Hosts, out.Munge = c.Admins, c.Origins, c.Hosts, c.Munge
	for _, r := range []struct {
		key, text string
		auto      bool
		into      *access.Role
	}{
		{"anonymous", c.Anonymous, out.AnonymousAuto, &out.Anonymous},
		{"others", c.Others, out.OthersAuto, &out.Others},
		{"basic_role", c.BasicRole, c.BasicRole == "", &out.Basic},
		{"certificate_role", c.CertificateRole, c.CertificateRole == "", &out.Certificate},
	} {
		if r.auto {
			continue
		}
		role, err := access.ParseRole(r.text)
		if err != nil {
			return out, fmt.Errorf("access.%s: %w", r.key, err)
		}
		*r.into = role
	}
	return out, nil
}
