package config

import (
	"reflect"
	"strings"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
)

// envPrefix is the beginning of the name of every environment variable that is read.
const envPrefix = "WAITCAST_"

// delimiter separates the parts of a key inside viper. Viper's default "." may be part of a name.
const delimiter = "::"

// Key describes one key of the configuration. docs/configure.md has a table of all keys.
type Key struct {
	// Key is the name of the key, with [] for a list: clusters[].sources[].path.
	Key string
	// Type describes the key's type in words.
	Type string
	// Default is the default, written as in the file. Empty means that there is none, or that Doc describes it.
	Default string
	// Allowed describes the allowed values.
	Allowed string
	// Env and Flag are the environment variable and the flag that set the key. They are empty inside lists, and if
	// there is none.
	Env, Flag string
	// Doc describes the key.
	Doc string
	// Effect is the work of a reload after the key has changed. Keys with EffectRebuild are part of Fingerprint.
	Effect Effect
}

// Reference returns all keys, in the order of the file.
func Reference() []Key {
	return appendKeys(nil, "", reflect.TypeFor[Config]())
}

func appendKeys(keys []Key, prefix string, t reflect.Type) []Key {
	for _, f := range fieldsOf(t) {
		key := prefix + f.name
		switch {
		case f.isGroup():
			keys = appendKeys(keys, key+".", f.Type)
		case f.isList():
			keys = appendKeys(keys, key+"[].", f.Type.Elem())
		default:
			k := Key{
				Key: key, Type: f.typeName(), Default: f.Tag.Get("default"), Allowed: f.allowed(),
				Flag: f.Tag.Get("flag"), Doc: f.Tag.Get("doc"), Effect: f.effect(),
			}
			if !strings.Contains(key, "[]") && f.Type.Kind() != reflect.Slice {
				k.Env = envName(key)
			}
			keys = append(keys, k)
		}
	}
	return keys
}

// envName returns the environment variable of a key outside of lists: WAITCAST_STORE_PATH for store.path.
func envName(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// viperKey returns the key in viper's notation.
func viperKey(key string) string { return strings.ReplaceAll(key, ".", delimiter) }

// field is a field of the configuration's structs that is a key.
type field struct {
	reflect.StructField
	name string
}

// fieldsOf returns the keys of a struct, in order.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if name := f.Tag.Get("key"); name != "" && name != "-" {
			fields = append(fields, field{f, name})
		}
	}
	return fields
}

// isGroup reports whether a key is a struct of keys. isList reports whether a key is a list of such structs. Any other
// key has a value.
func (f field) isGroup() bool { return f.Type.Kind() == reflect.Struct }

func (f field) isList() bool {
	return f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct
}

func (f field) effect() Effect { return Effect(f.Tag.Get("reload")) }

// shapesState reports whether the folded state or the models depend on the key.
func (f field) shapesState() bool { return f.effect() == EffectRebuild }

// allowed returns a description of the allowed values of the key: the text of its tag, or else a text for its type.
func (f field) allowed() string {
	if enum := f.Tag.Get("enum"); enum != "" {
		return strings.ReplaceAll(enum, ",", ", ")
	}
	if words := f.Tag.Get("allowed"); words != "" {
		return words
	}
	return typeAllows(f.Type)
}

// typeAllows describes how a value of the type is written.
func typeAllows(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return duration.Allowed
	case t.Kind() == reflect.Int:
		return "a whole number"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Bool:
		return "true or on, false or off"
	}
	return "text"
}

func (f field) typeName() string {
	switch {
	case f.Type == reflect.TypeFor[time.Duration]():
		return "duration"
	case f.Type.Kind() == reflect.Int:
		return "whole number"
	case f.Type.Kind() == reflect.Float64:
		return "number"
	case f.Type.Kind() == reflect.Bool:
		return "on or off"
	case f.Type.Kind() == reflect.Slice:
		return "list of text"
	}
	return "text"
}
