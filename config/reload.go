package config

import (
	"reflect"
	"slices"
)

// Effect is the work of a reload when a key has changed: the value of the key's tag reload.
type Effect string

// The effects, from the cheapest to the most expensive.
const (
	// EffectNextStart: the running process keeps the old value.
	EffectNextStart Effect = "start"
	// EffectLogLevel: the log's level changes at once.
	EffectLogLevel Effect = "log-level"
	// EffectAccess: rules, limits and texts of answers change at once. Connections and streams stay open.
	EffectAccess Effect = "access"
	// EffectListener: the HTTP server is replaced. Clients connect again; state and sources stay.
	EffectListener Effect = "listener"
	// EffectSources: the sources are closed and reopened at their checkpoints. The state stays in memory.
	EffectSources Effect = "sources"
	// EffectRestore: the state is saved, the database closed, opened again and the state restored from it.
	EffectRestore Effect = "restore"
	// EffectRebuild: state and models are built again from the journal, since they depend on the key (Fingerprint).
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
	// Keys are the keys that have changed, as Key.Key, in the order of the file and each once. A list that has become
	// longer or shorter is one key, without the keys of its elements: clusters[].sources.
	Keys []string
	// Effects are the effects of these keys, each once, from the cheapest to the most expensive. A list that has become
	// longer or shorter has the effects of all keys of its elements.
	Effects []Effect
}

// Has reports whether the plan has any of some effects.
func (p ReloadPlan) Has(any ...Effect) bool {
	return slices.ContainsFunc(any, func(e Effect) bool { return slices.Contains(p.Effects, e) })
}

// PlanReload compares two configurations key by key. The path of the file is not compared. A reordered list counts as
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

// compareKeys marks the keys below prefix whose values differ. changed maps each of them to the name by which it is
// reported: the key itself, or the list around it that has become longer or shorter.
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

// sameValue compares two values of one key. An empty list equals a missing one.
func sameValue(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
