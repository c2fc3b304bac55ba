package config

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// shapeVersion is the version of the result of MarshalShape.
const shapeVersion = 1

// shape has the parts of a configuration on which the folded state and the models depend.
type shape struct {
	Version  int
	Clusters []Cluster
	Models   Models
}

// MarshalShape encodes only the keys on which the state depends, without sources and private data. The journal and
// this encoding together determine the state.
func (c *Config) MarshalShape() ([]byte, error) {
	s := shape{Version: shapeVersion, Models: c.Models}
	for _, cluster := range c.Clusters {
		cluster.Sources, cluster.History = nil, History{}
		if cluster.TimeZone == time.Local.String() {
			cluster.TimeZone = localName(cluster.TimeZone)
		}
		s.Clusters = append(s.Clusters, cluster)
	}
	return json.Marshal(s)
}

// WithShape returns the configuration with the clusters and models that MarshalShape encoded.
func (c *Config) WithShape(data []byte) (*Config, error) {
	var s shape
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("the configuration that the collecting daemon left: %w", err)
	}
	if s.Version != shapeVersion {
		return nil, fmt.Errorf("the collecting daemon left its configuration as version %d, this one knows %d: run "+
			"the same release of both", s.Version, shapeVersion)
	}
	shaped := *c
	shaped.Clusters, shaped.Models = s.Clusters, s.Models
	return &shaped, nil
}

// ChangedShape returns the keys with EffectRebuild whose values differ from those that MarshalShape once encoded, in
// the form of ReloadPlan.Keys. It does not compare the sources, which data does not have.
func (c *Config) ChangedShape(data []byte) ([]string, error) {
	old, err := c.WithShape(data)
	if err != nil {
		return nil, err
	}
	present, err := c.MarshalShape()
	if err != nil {
		return nil, err
	}
	next, err := c.WithShape(present)
	if err != nil {
		return nil, err
	}
	all := Reference()
	return slices.DeleteFunc(PlanReload(old, next).Keys, func(key string) bool {
		i := slices.IndexFunc(all, func(k Key) bool { return k.Key == key })
		return i >= 0 && all[i].Effect != EffectRebuild // a list that has become longer or shorter is no key
	}), nil
}

// localName returns the name of the machine's zone in the zone database, for use on another machine. If that name is
// unknown, it returns here, the name of the zone on this machine.
func localName(here string) string {
	name := os.Getenv("TZ")
	if name == "" {
		target, err := os.Readlink("/etc/localtime")
		_, after, found := strings.Cut(target, "/zoneinfo/")
		if err != nil || !found {
			return here
		}
		name = after
	}
	if _, err := time.LoadLocation(name); err != nil {
		return here
	}
	return name
}
