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
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// Every database has a random id, which its backups and copies have too. The daemon keeps the id in data_dir as well, so that a
// start with an empty database, or with another one, is noticed.

const (
	// storeIDKey is where the database has its id.
	storeIDKey = "store_id"
	// storeIDName is the file in data_dir that has the id of the database of the last start.
	storeIDName = "store-id"
)

// storeMarker is the content of the file, as JSON.
type storeMarker struct {
	ID string `json:"id"`
	// Place is the database's file or address. Of another place the marker says nothing: the configuration was changed.
	Place string `json:"place"`
	// Since is when the daemon saw the database first.
	Since time.Time `json:"since"`
}

// compareStore compares the database's id with the marker in data_dir and makes both agree. It notes a condition where
// there had been another database.
func (d *core) compareStore(ctx context.Context, store modelstore.Store) error {
	if d.cfg.DataDir == "" {
		return nil
	}
	path := filepath.Join(d.cfg.DataDir, storeIDName)
	marker := readMarker(path, d.opts.Log)
	id, err := store.Meta(ctx, storeIDKey)
	if err != nil {
		return err
	}
	last, err := store.LastSeq(ctx)
	if err != nil {
		return err
	}
	known := marker.ID != "" && marker.Place == storePlace(d.cfg)
	if known && id != marker.ID && (last == 0 || id != "") {
		d.noticeStore(d.exchanged(marker, last == 0, setAside(store)))
	}
	next := storeMarker{ID: id, Place: storePlace(d.cfg), Since: d.opts.Now().UTC()}
	switch {
	case known && id == marker.ID:
		return nil
	case known && id == "" && last > 0: // a backup from before databases had ids
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
		d.opts.Log.Warn("cannot note which database is used: a later start would not notice that it is empty",
			zap.String("file", path), zap.Error(err))
	}
	return nil
}

// setAside returns the name of the damaged file that was set aside as the store was opened, "" if none was.
func setAside(store modelstore.Store) string {
	if file, ok := store.(*sqlite.Store); ok && file.Recovered() != nil {
		return file.Recovered().Path
	}
	return ""
}

// exchanged returns the condition of a database that is not the one of the marker.
func (d *core) exchanged(marker storeMarker, empty bool, aside string) readmodel.Condition {
	since := marker.Since.Format(time.DateOnly)
	c := readmodel.Condition{
		Name: readmodel.StoreExchanged, File: databaseName(d.cfg), Since: d.opts.Now(),
		Reason: fmt.Sprintf("it is another database than the one that was here since %s: if that is right, restart the daemon, "+
			"else stop it and restore the right one", since),
	}
	if !empty {
		return c
	}
	c.Name = readmodel.StoreEmptied
	c.Reason = fmt.Sprintf("the database is empty, though there was one since %s: look for the old one or restore a backup; "+
		"if it is right, restart the daemon", since)
	if aside != "" {
		c.Reason = fmt.Sprintf("the database is empty: the damaged one, in use since %s, is now %s; what the logs do not have any more is in it "+
			"or in a backup; restart the daemon once you have looked", since, aside)
	}
	return c
}

// noticeStore logs a condition, and keeps it for the life of the process.
func (d *core) noticeStore(c readmodel.Condition) {
	d.opts.Log.Warn("the database is not the one that was here before; it is used, and the logs are read as far as it does not have them",
		zap.String("condition", string(c.Name)), zap.String("database", c.File), zap.String("reason", c.Reason))
	d.opts.noticed.Store(&c)
}

// noticed returns what was noticed of the database since the process began; a reload with another database forgets it.
func (d *core) noticed() []readmodel.Condition {
	if c := d.opts.noticed.Load(); c != nil && c.File == databaseName(d.cfg) {
		return []readmodel.Condition{*c}
	}
	return nil
}

// storePlace names the database as exactly as the configuration does, without a password.
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

// readMarker returns the marker, the zero value if there is none.
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
		log.Warn("cannot read which database was used last: that it was exchanged would not be noticed", zap.String("file", path), zap.Error(err))
		return storeMarker{}
	}
	return marker
}

// writeMarker writes the marker, whole or not at all.
func writeMarker(path string, marker storeMarker) error {
	content, err := json.Marshal(marker)
	if err != nil {
		return err
	}
	return writeWhole(path, string(content)+"\n")
}
