package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

var shared pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mustOpen opens a store and closes it when the test ends.
func mustOpen(t testing.TB, url string, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), url, opts)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// writer opens a store and takes its lease.
func writer(t testing.TB, url string, opts Options) *Store {
	t.Helper()
	s := mustOpen(t, url, opts)
	_, err := s.Acquire(context.Background(), "test", time.Hour)
	must(t, err)
	return s
}

type place struct {
	server *pgtest.Server
	url    string
}

func newPlace(t testing.TB) storetest.Place {
	server := shared.Server(t)
	return place{server, server.NewDatabase(t)}
}

func (p place) Open(t testing.TB) modelstore.Store {
	t.Helper()
	return writer(t, p.url, Options{BadLines: storetest.BadLineLimit, Space: "odd.name_-1"})
}

func (p place) database() string {
	u, err := url.Parse(p.url)
	if err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(u.Path, "/")
}

func (p place) DamageSnapshot(t testing.TB, seq int64) {
	t.Helper()
	p.server.Exec(t, p.database(), fmt.Sprintf(
		`UPDATE waitcast.snapshot_part SET data = '\x00'::bytea || substr(data, 2) || '\x01'::bytea WHERE name = `+
			`'state' AND seq = %d`, seq))
}

func (p place) DamageHistory(t testing.TB, c modelstore.HistoryChunk) {
	t.Helper()
	p.server.Exec(t, p.database(), fmt.Sprintf(
		`UPDATE waitcast.history SET data = '\xff'::bytea || substr(data, 2) `+
			`WHERE cluster = '%s' AND id = '%s' AND part = '%s' AND n = %d`, c.Cluster, c.ID, c.Part, c.N))
}

// TestConformance runs the suite that every store passes.
func TestConformance(t *testing.T) { storetest.Run(t, newPlace) }
