package daemon

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/config"
)

// namesKey is the file of the key that users' names are hashed with, in data_dir.
const namesKey = "names-key"

// newGuard returns what decides who may ask for what. Files that are missing (the admin token, the key of hashed names) are made.
func newGuard(cfg *config.Config, opts Options, reg prometheus.Registerer) (*access.Guard, error) {
	token, err := adminToken(cfg.AdminTokenFile, opts.Log)
	if err != nil {
		return nil, err
	}
	policy, err := policyOf(cfg.Access)
	if err != nil {
		return nil, err
	}
	proxies, err := access.ParseProxies(cfg.Limits.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("limits.trusted_proxies: %w", err)
	}
	var names *access.Names
	if policy.Users == access.Hashed {
		if names, err = access.LoadNames(filepath.Join(cfg.DataDir, namesKey)); err != nil {
			return nil, err
		}
	}
	return access.New(access.Options{
		AdminToken: token, TokensFile: cfg.TokensFile, WebConfigFile: cfg.WebConfigFile, Policy: policy, Names: names, Log: opts.Log, Registry: reg,
		Limits: access.Limits{PerSecond: cfg.Limits.RequestsPerSecond, Burst: cfg.Limits.Burst, Expensive: cfg.Limits.Expensive, Proxies: proxies},
	})
}

// policyOf reads who may see what; a Config that was not loaded has no texts, which stand for the defaults.
func policyOf(c config.Access) (access.Policy, error) {
	out := access.Default()
	out.AnonymousAuto, out.OthersAuto = c.Anonymous == "" || c.Anonymous == "auto", c.Others == "" || c.Others == "auto"
	out.Users = cmp.Or(access.Show(c.Users), out.Users)
	out.Admins = c.Admins
	for _, r := range []struct {
		key, text string
		auto      bool
		into      *access.Role
	}{
		{"anonymous", c.Anonymous, out.AnonymousAuto, &out.Anonymous}, {"others", c.Others, out.OthersAuto, &out.Others},
		{"basic_role", c.BasicRole, c.BasicRole == "", &out.Basic}, {"certificate_role", c.CertificateRole, c.CertificateRole == "", &out.Certificate},
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

// warnOpen says in the log when more can reach the daemon than this host, and nothing keeps it from hearing everything but names.
func warnOpen(at net.Addr, cfg *config.Config, guard *access.Guard, log *zap.Logger) {
	host, _, err := net.SplitHostPort(at.String())
	if err != nil {
		return
	}
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsLoopback() {
		return
	}
	if guard.TLS() == nil {
		log.Warn("other hosts can reach this daemon without TLS: tokens and passwords can be read on the way; see web_config_file, or put a proxy with TLS in front")
	}
	if guard.SeesOthers(access.Caller{Role: access.Public}) && cfg.Access.Others != access.Public.String() {
		log.Warn("other hosts can reach this daemon, and everybody sees all waiting jobs (without names) and may ask in anybody's name; see tokens_file and access.others")
	}
}
