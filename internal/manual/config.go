package manual

import (
	"fmt"
	"strings"
)

// Key is one key of a configuration file.
type Key struct{ Name, Doc, Allowed, Default, Env, Flag string }

// Keys returns a list of the keys of a configuration.
func Keys(keys []Key) []Item {
	var list []Item
	for _, k := range keys {
		text := []string{sentence(k.Doc)}
		for _, part := range []struct{ what, value string }{
			{"Allowed: ", k.Allowed}, {"Default: ", k.Default}, {"Environment: ", k.Env}, {"Flag: ", flag(k.Flag)},
		} {
			if part.value != "" {
				text = append(text, fmt.Sprintf("%s%s.", part.what, part.value))
			}
		}
		list = append(list, Item{k.Name, strings.Join(text, " ")})
	}
	return list
}

func flag(name string) string {
	if name == "" {
		return ""
	}
	return "--" + name
}
