package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/config"
)

const sharedSite = `
data_dir: /var/lib/waitcast
store: {url: "postgres://waitcast@db/waitcast"}
clusters:
  - name: Big
    time_zone: Europe/Berlin
    pools: [{name: gpu, queues: [gpu], gpus: 8}]
    queues: [{name: gpu}]
    sources: [{format: pbs, path: /secret/place}]
models: {window_age: 30d}
`

func loadText(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "waitcastd.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(file, nil)
}

// TestShapeRoundTrip proves that other daemons receive the settings on which the state depends unchanged. The
// fingerprint is the same, except for the part of the sources, and the settings have no paths of logs.
func TestShapeRoundTrip(t *testing.T) {
	c, err := loadText(t, sharedSite)
	if err != nil {
		t.Fatal(err)
	}
	if c.Store.Space != "big" {
		t.Errorf("the space is %q", c.Store.Space)
	}
	data, err := c.MarshalShape()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "/secret/place") {
		t.Errorf("the shape tells where logs are: %s", data)
	}
	server, err := loadText(t, `{data_dir: /tmp, serve_only: true, store: {url: "postgres://db/waitcast"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if server.Store.Space != "" {
		t.Errorf("a daemon that only serves has the space %q", server.Store.Space)
	}
	got, err := server.WithShape(data)
	if err != nil {
		t.Fatal(err)
	}
	want := c.Clusters[0]
	want.Sources, want.History = nil, config.History{}
	if d := cmp.Diff([]config.Cluster{want}, got.Clusters) + cmp.Diff(c.Models, got.Models); d != "" {
		t.Error(d)
	}
	if _, err := server.WithShape([]byte(`{"Version": 99}`)); err == nil ||
		!strings.Contains(err.Error(), "same release") {
		t.Errorf("a shape of another version: %v", err)
	}
}

func TestSharedStoreKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{data_dir: /tmp, serve_only: true}`: "store.url is not " +
			"set",
		strings.Replace(sharedSite, `{url: "postgres://waitcast@db/waitcast"}`, `{space: x}`, 1): "store.space",
		strings.Replace(sharedSite, `waitcast"}`, `waitcast", space: "A b"}`, 1):                 `"A b" is not a name`,
		strings.Replace(sharedSite, `waitcast"}`, `waitcast", lease: 10ms}`, 1):                  "store.lease",
		`{data_dir: /tmp, store: {url: "postgres://db/waitcast"}}`: "no cluster is " +
			"configured",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, not %q", text, err, want)
		}
	}
}
