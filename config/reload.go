package config

import (
	"reflect"
	"slices"
)

// Effect is the work of a reload after a key has changed. It is the value of the key's tag reload.
type Effect string

// These are the effects, from the cheapest to the most expensive.
const (
	// EffectNextStart means that the running process keeps the old value.
	EffectNextStart Effect = "start"
	// EffectLogLevel means that the level of the log changes at once.
	EffectLogLevel Effect = "log-level"
	// EffectAccess means that rules, limits and texts of answers change at once. Connections and streams stay open.
	EffectAccess Effect = "access"
	// EffectListener means that the HTTP server is replaced. Clients connect again. State and sources stay.
	EffectListener Effect = "listener"
	// EffectSources means that the sources are closed and reopened at their checkpoints. The state stays in memory.
	EffectSources Effect = "sources"
	// EffectRestore means that the state is saved and the database is closed. Then the database is opened again, and
	// the state is restored from it.
	EffectRestore Effect = "restore"
	// EffectRebuild means that state and models are rebuilt from the journal, because they depend on the key
	// (Fingerprint).
	EffectRebuild Effect = "rebuild"
)

// Effects returns all effects, from the cheapest to the most expensive.
func Effects() []Effect {
	return []Effect{
		EffectNextStart, EffectLogLevel, EffectAccess, EffectListener, EffectSources, EffectRestore, EffectRebuild,
	}
}

// ReloadPlan is the work of a reload. The zero value is a reload that changes nothing.
type ReloadPlan struct {
	// Keys are the keys that have changed, in the form of Key.Key and in the order of the file, each once. If a list
	// has become longer or shorter, Keys has only the list (clusters[].sources), not the keys of its elements.
	Keys []string
	// Effects are the effects of these keys, each once, from the cheapest to the most expensive. If a list has become
	// longer or shorter, Effects has the effects of all keys of its elements.
	Effects []Effect
}

// Has reports whether the plan has at least one of the given effects.
func (p ReloadPlan) Has(any ...Effect) bool {
	return slices.ContainsFunc(any, func(e Effect) bool { return slices.Contains(p.Effects, e) })
}

// PlanReload compares two configurations key by key, but not the paths of their files. A reordered list counts as
// changed, although Fingerprint may be the same.
func PlanReload(old, next *Config) ReloadPlan {
	changed := map[string]string{}
	compareKeys("", reflect.ValueOf(*old), reflect.ValueOf(*next), changed)
	var plan ReloadPlan
	for _, k := range Reference() {
		if name := changed[k.Key]; name != "" && !slices.Contains(plan.Keys, name) {
			plan.Keys = append(plan.Keys, name)
		}
	}
	for _, e := range Effects() {
		has := func(k Key) bool { return changed[k.Key] != "" && k.Effect == e }
		if slices.ContainsFunc(Reference(), has) {
			plan.Effects = append(plan.Effects, e)
		}
	}
	return plan
}

// compareKeys adds to changed the keys below prefix whose values differ. changed maps each such key to the name by
// which it is reported: the key itself, or the list around it if the list has become longer or shorter.
func compareKeys(prefix string, old, next reflect.Value, changed map[string]string) {
	for _, f := range fieldsOf(old.Type()) {
		key, was, is := prefix+f.name, old.FieldByIndex(f.Index), next.FieldByIndex(f.Index)
		switch {
		case f.isGroup():
			compareKeys(key+".", was, is, changed)
		case f.isList() && was.Len() != is.Len():
			for _, k := range appendKeys(nil, key+"[].", f.Type.Elem()) {
				changed[k.Key] = key
			}
		case f.isList():
			for i := range was.Len() {
				compareKeys(key+"[].", was.Index(i), is.Index(i), changed)
			}
		case !sameValue(was, is):
			changed[key] = key
		}
	}
}

// sameValue compares two values of one key. An empty list equals a missing list.
func sameValue(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
