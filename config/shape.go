package config

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// shapeVersion is that of what MarshalShape writes.
const shapeVersion = 1

// shape is what of a configuration shapes the folded state and the models.
type shape struct {
	Version  int
	Clusters []Cluster
	Models   Models
}

// MarshalShape writes what shapes the state, and no more: neither sources nor anything private. Who has the journal and
// this comes to the same state.
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

// WithShape returns the configuration with clusters and models as MarshalShape wrote them.
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

// localName returns the name of the machine's zone, so that another machine knows it; else what it is called here.
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
