package check_test

import (
	"errors"
	"testing"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/check"
	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore/postgres"
)

// TestShared proves that there is a finding about a shared database in each case: it cannot be reached, it is new, no
// daemon collects into it, or one does. For a file of SQLite there is none.
func TestShared(t *testing.T) {
	url := pgtest.New(t, pgtest.Options{}).NewDatabase(t)
	look := func(cfg config.Config) *check.Report {
		cfg.DataDir, cfg.Listen = t.TempDir(), "127.0.0.1:0"
		r := check.Run(t.Context(), &cfg, check.Options{})
		for _, f := range r.Findings {
			if f.ID == "store.space" {
				t.Errorf("the room of a file: %+v", f)
			}
		}
		return r
	}
	collects := config.Config{Store: config.Store{URL: url, Space: "kth"}}
	serves := config.Config{Store: config.Store{URL: url}, ServeOnly: true}
	want(t, look(config.Config{Store: config.Store{URL: "postgres://nobody@127.0.0.1:1/none"}}), "store.database",
		check.Failed, "127.0.0.1")
	want(t, look(collects), "store.database", check.OK, "first start")
	want(t, look(serves), "store.database", check.Failed, "no tables")

	s, err := postgres.Open(t.Context(), url, postgres.Options{Space: "kth"})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), "a test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want(t, look(collects), "store.lease", check.OK, "would stand by")
	want(t, look(serves), "store.lease", check.OK, "is collected into by")
	want(t, look(serves), "machine.memory", check.OK, "at least 256 MiB of memory")
	want(t, look(serves), "config.valid", check.OK, "serve_only")
	if err := errors.Join(lease.Release(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	want(t, look(serves), "store.lease", check.Warning, "no daemon collects")
}
