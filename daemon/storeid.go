package daemon

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/wholefile"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Every database has a random id. Backups and copies of a database have the same id. The daemon also stores the id in
// data_dir, and so notices when it starts with an empty or another database.

const (
	// storeIDKey is the key of the id in the database.
	storeIDKey = "store_id"
	// storeIDName is the name of a file in data_dir. The file has the id of the database that the last start used.
	storeIDName = "store-id"
)

// storeMarker is the content of the file storeIDName, as JSON.
type storeMarker struct {
	ID string `json:"id"`
	// Place is the file or the address of the database. If the configuration names another place, the marker is
	// ignored.
	Place string `json:"place"`
	// Since is the time at which the daemon first used the database.
	Since time.Time `json:"since"`
}

// compareStore compares the id of the database with the marker in data_dir, and then makes them equal. If the database
// is another one, compareStore records a condition. Without data_dir it does nothing.
func (c *collectingCore) compareStore(ctx context.Context, store modelstore.Store) error {
	if c.cfg.DataDir == "" {
		return nil
	}
	path := filepath.Join(c.cfg.DataDir, storeIDName)
	marker := readMarker(path, c.opts.Log)
	id, err := store.Meta(ctx, storeIDKey)
	if err != nil {
		return err
	}
	last, err := store.LastSeq(ctx)
	if err != nil {
		return err
	}
	known := marker.ID != "" && marker.Place == storePlace(c.cfg)
	if known && id != marker.ID && (last == 0 || id != "") {
		c.noticeStore(c.exchanged(marker, last == 0, setAside(store)))
	}
	next := storeMarker{ID: id, Place: storePlace(c.cfg), Since: c.opts.Now().UTC()}
	switch {
	case known && id == marker.ID:
		return nil
	case known && id == "" && last > 0: // the database is a backup from a version in which databases had no ids
		next = marker
	case id == "":
		next.ID = rand.Text()
	}
	if id == "" {
		if err := store.SetMeta(ctx, storeIDKey, next.ID); err != nil {
			return err
		}
	}
	if err := writeMarker(path, next); err != nil {
		c.opts.Log.Warn("cannot note which database is used: a later start would not notice that it is empty",
			zap.String("file", path), zap.Error(err))
	}
	return nil
}

// setAside returns the name of the damaged file that the store set aside when it was opened. It returns "" if there
// is none.
func setAside(store modelstore.Store) string {
	if file, ok := store.(*sqlite.Store); ok && file.Recovered() != nil {
		return file.Recovered().Path
	}
	return ""
}

// exchanged returns the condition for a database that is not the one in the marker.
func (c *collectingCore) exchanged(marker storeMarker, empty bool, aside string) readmodel.Condition {
	since := marker.Since.Format(time.DateOnly)
	out := readmodel.Condition{
		Name: readmodel.StoreExchanged, File: databaseName(c.cfg), Since: c.opts.Now(),
		Reason: fmt.Sprintf("it is another database than the one that was here since %s: if that is right, "+
			"restart the daemon, else stop it and restore the right one", since),
	}
	if !empty {
		return out
	}
	out.Name = readmodel.StoreEmptied
	out.Reason = fmt.Sprintf("the database is empty, though there was one since %s: "+
		"look for the old one or restore a backup; if it is right, restart the daemon", since)
	if aside != "" {
		out.Reason = fmt.Sprintf("the database is empty: the damaged one, in use since %s, is now %s; "+
			"what the logs do not have any more is in it or in a backup; restart the daemon once you have looked",
			since, aside)
	}
	return out
}

// noticeStore logs a condition and keeps it until the process ends.
func (c *collectingCore) noticeStore(found readmodel.Condition) {
	c.opts.Log.Warn("the database is not the one that was here before; "+
		"it is used, and the logs are read as far as it does not have them",
		zap.String("condition", string(found.Name)), zap.String("database", found.File),
		zap.String("reason", found.Reason))
	c.opts.noticed.Store(&found)
}

// noticed returns the conditions of the database that were found since the process started. A reload with another
// database clears them.
func (c *collectingCore) noticed() []readmodel.Condition {
	if found := c.opts.noticed.Load(); found != nil && found.File == databaseName(c.cfg) {
		return []readmodel.Condition{*found}
	}
	return nil
}

// storePlace returns the location of the database as the configuration states it, without a password.
func storePlace(cfg *config.Config) string {
	if cfg.Store.URL == "" {
		return cfg.Store.Path
	}
	place := cfg.Store.Space
	if address, err := url.Parse(cfg.Store.URL); err == nil {
		place = address.Host + address.Path + " " + place
	}
	return "PostgreSQL " + place
}

// readMarker returns the marker. It returns the zero value if there is none or it cannot be read.
func readMarker(path string, log *zap.Logger) storeMarker {
	var marker storeMarker
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return marker
	}
	if err == nil {
		err = json.Unmarshal(content, &marker)
	}
	if err != nil {
		log.Warn("cannot read which database was used last: that it was exchanged would not be noticed",
			zap.String("file", path), zap.Error(err))
		return storeMarker{}
	}
	return marker
}

// writeMarker writes the marker. After a crash the file has either its old or its new content.
func writeMarker(path string, marker storeMarker) error {
	content, err := json.Marshal(marker)
	if err != nil {
		return err
	}
	return wholefile.WriteBytes(path, 0o600, append(content, '\n'))
}
