package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// fingerprintVersion changes when the text that Fingerprint hashes is built in another way.
const fingerprintVersion = "waitcast-config-1"

// Fingerprint returns a hash of all keys on which the folded state or the models depend (EffectRebuild). The store
// keeps the hash. If it changes, state and models are rebuilt.
//
// The order of clusters and queues does not matter. Equal durations are equal however they are written. Of a source
// only the format matters, because records are identified by cluster and job, not by file. The order of sources
// matters, because it may decide between contradicting records. The zone Local is represented by its offsets, so that
// a move of the machine to another zone is noticed.
func (c *Config) Fingerprint() string {
	var lines []string
	lines = appendShape(lines, "", reflect.ValueOf(*c))
	sum := sha256.Sum256([]byte(fingerprintVersion + "\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// appendShape appends a line for each key below prefix on which the state depends.
func appendShape(lines []string, prefix string, v reflect.Value) []string {
	for _, f := range fieldsOf(v.Type()) {
		key, value := prefix+f.name, v.FieldByIndex(f.Index)
		switch {
		case f.isGroup():
			lines = appendShape(lines, key+".", value)
		case f.isList():
			lines = append(lines, elements(key, value)...)
		case f.shapesState():
			lines = append(lines, fmt.Sprintf("%s=%q", key, shapeText(f.name, value)))
		}
	}
	return lines
}

// elements returns one line for each element of a list. It sorts the lines, unless the list is a list of sources.
func elements(key string, list reflect.Value) []string {
	var lines []string
	for i := range list.Len() {
		lines = append(lines, fmt.Sprintf("%s[]=%q", key, appendShape(nil, "", list.Index(i))))
	}
	if list.Type() != reflect.TypeFor[[]Source]() {
		slices.Sort(lines)
	}
	return lines
}

// shapeText returns the text of a value for the fingerprint.
func shapeText(name string, v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return fmt.Sprint(int64(value))
	case string:
		if name == "time_zone" && value == time.Local.String() {
			return offsets(time.Local)
		}
	}
	return fmt.Sprint(v.Interface())
}

// offsets describes a zone by its offsets from UTC at the beginning of each quarter of the years 2000 to 2024,
// because the meaning of a log's times does not depend on the name of the zone. All these years are past, so that a
// new zone database does not change the offsets.
func offsets(loc *time.Location) string {
	var b strings.Builder
	for quarter := range 25 * 4 {
		at := time.Date(2000, time.Month(1+3*quarter), 1, 0, 0, 0, 0, time.UTC)
		_, seconds := at.In(loc).Zone()
		fmt.Fprintf(&b, "%d ", seconds)
	}
	return b.String()
}
