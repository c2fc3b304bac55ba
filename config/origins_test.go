package config_test

import (
	"strings"
	"testing"

	"github.com/waitcast/waitcast/config"
)

// TestOrigins proves that only origins in the form that browsers send are accepted, and that the message names the
// place.
func TestOrigins(t *testing.T) {
	for site, good := range map[string]bool{
		"https://ondemand.example.org": true, "http://localhost:8080": true, "https://[2001:db8::1]:8443": true,
		"https://ondemand.example.org/": false, "https://ondemand.example.org/pun": false,
		"ondemand.example.org":  false,
		"https://*.example.org": false, "*": false, "null": false, "https://OnDemand.example.org": false,
		"https://ondemand.example.org:443": false, "https://user@ondemand.example.org": false,
		"ftp://example.org":                           false,
		"https://a.example.org https://b.example.org": false, "https://a.example.org;": false, "": false,
	} {
		clean(t)
		path := write(t, "access: {origins: [\"https://one.example.org\", \""+site+"\"]}\n"+
			"clusters: [{name: a, sources: [{format: pbs, path: /var/spool/pbs}]}]\n")
		_, err := config.Load(path, nil)
		if good && err != nil {
			t.Errorf("%q: %v", site, err)
		}
		if !good && (err == nil || !strings.Contains(err.Error(), "access.origins[1]")) {
			t.Errorf("%q: the error is %v", site, err)
		}
	}
}
