package bundle

import (
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/internal/duration"
)

// configuration returns every key of a configuration with its value. It masks values that can identify a person or
// place. It also masks the values of keys that it does not know, so that a new key cannot leak.
func (m *masker) configuration(cfg *config.Config) map[string]any {
	return m.group("", reflect.ValueOf(*cfg))
}

func (m *masker) group(prefix string, v reflect.Value) map[string]any {
	out := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := field.Tag.Get("key")
		if name == "" || name == "-" {
			continue
		}
		out[name] = m.setting(prefix+name, field.Tag.Get("enum") != "", v.Field(i))
	}
	return out
}

func (m *masker) setting(key string, words bool, v reflect.Value) any {
	switch value := v.Interface().(type) {
	case time.Duration:
		return duration.String(value)
	case string:
		return m.configured(key, words, value)
	}
	switch v.Kind() {
	case reflect.Struct:
		return m.group(key+".", v)
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, m.setting(key+"[]", words, v.Index(i)))
		}
		return out
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return m.setting(key, words, v.Elem())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint64, reflect.Float64:
		return v.Interface()
	}
	return masked
}

// configured returns the masked text of a key's value. If words is true, the key has only values of a fixed list, which
// need no mask.
func (m *masker) configured(key string, words bool, text string) string {
	if text == "" || words {
		return text
	}
	switch key {
	case "listen":
		return m.address(text)
	case "data_dir", "admin_token_file", "store.path", "clusters[].sources[].path", "clusters[].sources[].pattern",
		"clusters[].sources[].rotated[]", "clusters[].sources[].socket",
		"clusters[].sources[].token_file":
		return m.path(text)
	case "clusters[].sources[].url":
		scheme, rest, _ := strings.Cut(text, "://")
		return scheme + "://" + m.address(strings.TrimSuffix(rest, "/"))
	case "clusters[].name":
		return m.name("cluster", text)
	case "clusters[].queues[].name", "clusters[].pools[].queues[]", "clusters[].pools[].name":
		return m.name("queue", text)
	case "clusters[].sources[].name":
		return m.sourceName(text)
	case "clusters[].sources[].command[]":
		if strings.Contains(text, "/") {
			return m.path(text)
		}
		if wellKnown.MatchString(text) {
			return text
		}
		return m.name("argument", text)
	case "clusters[].time_zone", "clusters[].pools[].memory":
		return text
	}
	return masked
}

// address returns an address with its port. It keeps a host name that every machine has, and masks other hosts.
func (m *masker) address(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return masked
	}
	if ip := net.ParseIP(host); host != "" && host != "localhost" &&
		(ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()) {
		host = m.name("host", host)
	}
	return net.JoinHostPort(host, port)
}
