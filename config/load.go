package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// These are the names of files in the data folder.
const (
	// DatabaseName is the name of the database.
	DatabaseName = "waitcast.db"
	// TokenName is the name of the file with the administrators' token.
	TokenName = "admin-token"
)

// oneSource has the settings of a cluster with one source. They need no configuration file, but only flags and
// environment variables: --path, WAITCAST_PATH and so on.
type oneSource struct {
	Format  string `key:"format" flag:"format" doc:"format of the one log to read, with --path: pbs, swf, slurm-jobcomp, slurm-log, slurm-sacct, sge-accounting, sge-reporting, lsf-events, lsf-acct"`
	Path    string `key:"path" flag:"path" doc:"the one log to read, a file or a folder (instead of clusters in a file)"`
	Cluster string `key:"cluster" default:"main" flag:"cluster" doc:"name of the cluster of the one log of --path"`
	Procs   int    `key:"procs" default:"0" flag:"procs" doc:"processors of the cluster of --path; 0 means the highest use seen so far"`
}

// oneSourceTarget returns the key of the file that a setting of oneSource stands for.
func oneSourceTarget(name string) string {
	return map[string]string{
		"format":  "clusters[0].sources[0].format",
		"path":    "clusters[0].sources[0].path",
		"cluster": "clusters[0].name",
		"procs":   "clusters[0].procs",
	}[name]
}

// AddFlags defines the flags that Load reads.
func AddFlags(flags *pflag.FlagSet) {
	flags.String("config", "",
		"configuration file, YAML (WAITCAST_CONFIG); that of the packages is /etc/waitcast/waitcastd.yaml")
	for _, t := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[Log](), reflect.TypeFor[oneSource]()} {
		for _, f := range fieldsOf(t) {
			name := f.Tag.Get("flag")
			switch {
			case name == "":
			case f.Type.Kind() == reflect.Int:
				flags.Int(name, 0, f.Tag.Get("doc"))
			case f.Type.Kind() == reflect.Bool:
				flags.Bool(name, false, f.Tag.Get("doc"))
			default:
				flags.String(name, f.Tag.Get("default"), f.Tag.Get("doc"))
			}
		}
	}
}

// Load reads the configuration: the defaults, then the file, then environment variables, and then the flags that
// AddFlags defined and the user set. If file is empty, the file is that of --config, otherwise that of WAITCAST_CONFIG,
// otherwise none. flags may be nil. An empty environment variable counts as not set.
//
// The returned configuration is valid and complete. The error joins an *Error for each mistake.
func Load(file string, flags *pflag.FlagSet) (*Config, error) {
	p := newProblems()
	c := &Config{File: configFile(file, flags)}
	v := viper.NewWithOptions(viper.KeyDelimiter(delimiter))
	if c.File != "" {
		if err := v.MergeConfigMap(readFile(c.File, p)); err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		if p.bad[""] {
			return nil, p.err() // the file is unreadable, and errors that follow from that would only confuse
		}
	}
	bind(v, flags, "", reflect.TypeFor[Config](), p)
	clusters, _ := v.Get("clusters").([]any)
	one, err := fromOneSource(flags, len(clusters) > 0, p)
	if err != nil {
		return nil, errors.Join(p.err(), fmt.Errorf("configuration: %w", err))
	}
	if one != nil {
		clusters = []any{one}
	}
	for _, cluster := range clusters {
		fillDefaults(cluster, reflect.TypeFor[Cluster]())
	}
	v.Set("clusters", clusters)
	if err := v.UnmarshalExact(c, decoding); err != nil {
		return nil, errors.Join(p.err(), fmt.Errorf("configuration: %w", err))
	}
	c.fillComputed()
	c.check(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// decoding makes viper's decoder strict: types must be right, and only text is converted.
func decoding(d *mapstructure.DecoderConfig) {
	d.TagName = "key"
	d.WeaklyTypedInput = false
	d.DecodeHook = func(_, to reflect.Type, value any) (any, error) {
		text, ok := value.(string)
		if !ok {
			return value, nil
		}
		parsed, err := parseText(to, text)
		if errors.Is(err, errNotText) {
			return value, nil
		}
		return parsed, err
	}
}

func configFile(file string, flags *pflag.FlagSet) string {
	if file == "" && flags != nil {
		if f := flags.Lookup("config"); f != nil {
			file = f.Value.String()
		}
	}
	if file == "" {
		file = os.Getenv(envPrefix + "CONFIG")
	}
	return file
}

// bind passes the default, the environment variable and the flag of every key below prefix to viper, except for keys
// in lists.
func bind(v *viper.Viper, flags *pflag.FlagSet, prefix string, t reflect.Type, p *problems) {
	for _, f := range fieldsOf(t) {
		key := prefix + f.name
		switch {
		case f.isGroup():
			bind(v, flags, key+".", f.Type, p)
		case !f.isList() && f.Type.Kind() != reflect.Slice: // lists can be only in the file
			bindValue(v, flags, key, key, f, p)
		}
	}
}

// bindValue binds one key. It reports a wrong value and does not bind it. target is the key under which errors are
// reported.
func bindValue(v *viper.Viper, flags *pflag.FlagSet, key, target string, f field, p *problems) {
	if text, ok := f.Tag.Lookup("default"); ok {
		v.SetDefault(viperKey(key), text)
	}
	env := envName(key)
	if text := os.Getenv(env); text != "" {
		from := "environment variable " + env
		p.places[target] = place{file: from}
		if _, err := parseText(f.Type, text); err != nil {
			p.add(&Error{File: from, Key: target, Problem: textProblem(text, f.Type), Allowed: f.allowed(), Err: err})
		} else {
			_ = v.BindEnv(viperKey(key), env) // fails only without arguments
		}
	}
	if flags == nil {
		return
	}
	if flag := flags.Lookup(f.Tag.Get("flag")); flag != nil && flag.Changed {
		p.places[target] = place{file: "flag --" + flag.Name}
		_ = v.BindPFlag(viperKey(key), flag) // fails only for a nil flag
	}
}

// fromOneSource returns the cluster that the flags or environment variables for one source describe. It returns nil if
// none of them is set. If the file has clusters too, it reports an error to p and returns nil.
func fromOneSource(flags *pflag.FlagSet, inFile bool, p *problems) (map[string]any, error) {
	found := newProblems()
	v := viper.NewWithOptions(viper.KeyDelimiter(delimiter))
	fields := fieldsOf(reflect.TypeFor[oneSource]())
	for _, f := range fields {
		bindValue(v, flags, f.name, oneSourceTarget(f.name), f, found)
	}
	if len(found.places) == 0 {
		return nil, nil
	}
	p.list = append(p.list, found.list...)
	if inFile {
		for _, f := range fields {
			if at, set := found.places[oneSourceTarget(f.name)]; set {
				p.list = append(p.list,
					&Error{File: at.file, Problem: "describes a cluster, but the file has clusters already",
						Allowed: "clusters in the file, or --path with --format, --cluster and --procs"})
			}
		}
		return nil, nil
	}
	maps.Copy(p.places, found.places)
	maps.Copy(p.bad, found.bad)
	var one oneSource
	if err := v.UnmarshalExact(&one, decoding); err != nil {
		return nil, err
	}
	return map[string]any{
		"name": one.Cluster, "procs": one.Procs,
		"sources": []any{map[string]any{"path": one.Path, "format": one.Format}},
	}, nil
}

// fillDefaults sets missing fields of list elements to their defaults. It is needed because viper's defaults do not
// apply inside lists.
func fillDefaults(element any, t reflect.Type) {
	settings, ok := element.(map[string]any)
	if !ok {
		return
	}
	for _, f := range fieldsOf(t) {
		value, set := settings[f.name]
		if text, ok := f.Tag.Lookup("default"); ok && !set {
			settings[f.name] = cmp.Or(f.Tag.Get(fmt.Sprintf("default-%v", settings["format"])), text)
		}
		if f.isGroup() {
			if value == nil {
				value = map[string]any{}
				settings[f.name] = value
			}
			fillDefaults(value, f.Type)
		}
		if items, ok := value.([]any); ok && f.isList() {
			for _, item := range items {
				fillDefaults(item, f.Type.Elem())
			}
		}
	}
}

// fillComputed sets the defaults that depend on other values.
func (c *Config) fillComputed() {
	if c.DataDir == "" {
		c.DataDir = defaultDataDir()
	}
	if c.Store.Path == "" && c.DataDir != "" {
		c.Store.Path = filepath.Join(c.DataDir, DatabaseName)
	}
	if c.AdminTokenFile == "" && c.DataDir != "" {
		c.AdminTokenFile = filepath.Join(c.DataDir, TokenName)
	}
	if len(c.Clusters) == 1 && c.Clusters[0].Name == "" {
		c.Clusters[0].Name = "main"
	}
	if c.Store.URL != "" && c.Store.Space == "" && !c.ServeOnly && len(c.Clusters) > 0 {
		c.Store.Space = strings.ToLower(c.Clusters[0].Name)
	}
	for i := range c.Clusters {
		for j := range c.Clusters[i].Sources {
			if s := &c.Clusters[i].Sources[j]; s.Name == "" {
				s.Name = s.Format
			}
		}
	}
}

// defaultDataDir returns the folder for the state: the first folder that systemd made for StateDirectory=
// (systemd.exec(5)), otherwise the folder of the XDG base directory specification. It is "" if neither is known.
func defaultDataDir() string {
	first, _, _ := strings.Cut(os.Getenv("STATE_DIRECTORY"), ":")
	if first != "" {
		return first
	}
	// The specification says that a relative path must be ignored.
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "waitcast")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "waitcast")
}
