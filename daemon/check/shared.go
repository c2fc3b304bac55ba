package check

import (
	"context"
	"errors"
	"time"

	"github.com/waitcast/waitcast/modelstore/postgres"
)

// sharedLimit is the maximum time for the checks of a shared database. The checks count its rows.
const sharedLimit = 10 * time.Second

// shared checks a shared database with the rights that the daemon would have. It writes nothing.
func (c *checker) shared(ctx context.Context) {
	if c.cfg.DataDir != "" { // the daemon creates the admin token in data_dir
		c.folder(c.cfg.DataDir)
	}
	ctx, cancel := context.WithTimeout(ctx, sharedLimit)
	defer cancel()
	const id, about = "store.database", "store"
	info, err := postgres.Describe(ctx, c.cfg.Store.URL)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		c.add(id, Warning, about, "try: waitcast store info --from the address of store.url",
			"the database of store.url did not answer within %v", sharedLimit)
		return
	case err != nil:
		c.add(id, Failed, about, "see store.url, the password file (PGPASSFILE) and the server's pg_hba.conf", "%v",
			err)
		return
	case info.Schema > info.Known:
		c.add(id, Failed, about, "upgrade this program",
			"%s: its tables are of version %d, this program knows up to %d", info.Place, info.Schema, info.Known)
		return
	case info.Schema == 0 && c.cfg.ServeOnly:
		c.add(id, Failed, about, "start a daemon that collects into it first",
			"%s has no tables of waitcast yet", info.Place)
		return
	case info.Schema == 0:
		c.add(id, OK, about, "", "%s answers; the tables are made at the first start", info.Place)
		return
	case info.Schema < info.Known && c.cfg.ServeOnly:
		c.add(id, Failed, about, "upgrade the daemons that collect into it first",
			"%s: its tables are of version %d, this program wants %d", info.Place, info.Schema, info.Known)
		return
	}
	c.add(id, OK, about, "", "%s answers, with %s", info.Place, plural(len(info.Spaces), "space"))
	for _, s := range info.Spaces {
		if c.cfg.ServeOnly {
			if c.cfg.Store.Space != "" && s.Name != c.cfg.Store.Space {
				continue
			}
			c.served++
		}
		switch mine := s.Name == c.cfg.Store.Space; {
		case s.Holder != "" && mine && !c.cfg.ServeOnly:
			c.add("store.lease", OK, about, "", "space %s is collected into by %s: this daemon would stand by",
				s.Name, s.Holder)
		case s.Holder != "":
			c.add("store.lease", OK, about, "", "space %s is collected into by %s", s.Name, s.Holder)
		case c.cfg.ServeOnly:
			c.add("store.lease", Warning, about, "start the daemon that collects into it",
				"no daemon collects into space %s", s.Name)
		}
	}
}
