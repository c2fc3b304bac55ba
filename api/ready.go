package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// healthz reports that the process answers requests.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok\n")
}

const healthPath = "/v1/health"

type healthOutput struct{ Body wire.Health }

func (s *Server) registerHealth(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "get-health", Method: http.MethodGet, Path: healthPath,
		Summary: "Problems that keep the daemon from doing all of its work",
	}, func(context.Context, *struct{}) (*healthOutput, error) { return &healthOutput{s.health()}, nil })
}

// readyz reports whether the daemon is ready, and the conditions that prevent part of its work. The status is 503 until
// one cluster is usable (see nothingReadAnywhere) while no source is still being read for the first time. From then on
// it is 200 despite failures, because a daemon that still answers must not be taken out of service. With strict=true it
// is 503 as long as there is a condition.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	strict := false
	if text := r.URL.Query().Get("strict"); text != "" {
		var err error
		if strict, err = strconv.ParseBool(text); err != nil {
			writeText(w, http.StatusBadRequest, fmt.Sprintf("strict: %q is not true or false\n", text))
			return
		}
	}
	health := s.health()
	status := http.StatusOK
	if health.Status == wire.NotReady || strict && health.Status != wire.Ready {
		status = http.StatusServiceUnavailable
	}
	lines := []string{health.Status}
	for _, c := range health.Conditions {
		lines = append(lines, c.Text)
	}
	w.Header().Set("Cache-Control", "no-store")
	writeText(w, status, strings.Join(lines, "\n")+"\n")
}

// health returns the status of the daemon with all conditions. It also sets Options.WasReady when the daemon is ready
// for the first time.
func (s *Server) health() wire.Health {
	conditions := s.views.Conditions()
	reading := slices.ContainsFunc(conditions, func(c readmodel.Condition) bool {
		return c.Name == readmodel.SourceReading
	})
	restoring := s.opts.Restoring() != nil
	switch nothing := nothingReadAnywhere(s.views.Views()); {
	case restoring:
	case nothing != nil:
		conditions = append(conditions, *nothing)
	case !reading:
		s.opts.WasReady.Store(true)
	}
	out := wire.Health{Status: wire.Ready, Conditions: []wire.Condition{}, Stale: []wire.StaleCluster{},
		Version: s.opts.Version, Clusters: []wire.ClusterStatus{}, Sources: []wire.SourceStatus{},
		SimulatedSpeed: s.opts.SimulatedSpeed}
	switch {
	case !s.opts.WasReady.Load():
		out.Status = wire.NotReady
	case slices.ContainsFunc(conditions, func(c readmodel.Condition) bool { return !c.Harmless() }):
		out.Status = wire.Degraded
	}
	for _, c := range conditions {
		out.Conditions = append(out.Conditions, wire.Condition{
			Name: string(c.Name), Cluster: c.Cluster, Source: c.Source, File: c.File, Reason: c.Reason, Since: c.Since,
			Text: c.String(),
		})
	}
	for _, v := range s.views.Views() {
		s.addCluster(&out, v)
	}
	return out
}

// addCluster adds the freshness of a cluster and of its sources.
func (s *Server) addCluster(out *wire.Health, v *readmodel.View) {
	_, age, stale := s.ask.AsOf(v)
	if stale {
		out.Stale = append(out.Stale, wire.StaleCluster{Cluster: v.Cluster, Reason: s.ask.WhyStale(v)})
	}
	out.Clusters = append(out.Clusters, wire.ClusterStatus{
		Cluster: v.Cluster, AsOf: s.ask.AsOfInstant(v), AgeSeconds: age, Stale: stale,
	})
	for i := range v.Sources {
		src := &v.Sources[i]
		status := wire.SourceStatus{
			Source: src.Name, Cluster: v.Cluster, CaughtUp: src.CaughtUp, LastLine: src.LastLine,
			LagBytes: src.LagBytes, ClockOffsetSeconds: src.ClockOffset.Seconds(), SetAside: src.SetAside,
		}
		if !src.LastLine.IsZero() {
			status.LineAgeSeconds = math.Max(0, s.opts.Now().Sub(src.LastLine).Seconds())
		}
		out.Sources = append(out.Sources, status)
	}
}

// nothingReadAnywhere returns the condition of a daemon without any usable cluster, nil if there is a usable one. A
// cluster is usable if a record of it was read, or if all its sources were read to their end and are empty.
func nothingReadAnywhere(views []*readmodel.View) *readmodel.Condition {
	c := readmodel.Condition{Name: readmodel.NothingRead, Reason: "no record of any cluster has been read yet"}
	if len(views) == 0 {
		c.Reason = "no daemon has collected anything into the database yet"
	}
	for _, v := range views {
		unknown := func(src readmodel.SourceStatus) bool { return !src.CaughtUp || src.Unreadable() != nil }
		if !v.At.IsZero() || len(v.Sources) > 0 && !slices.ContainsFunc(v.Sources, unknown) {
			return nil
		}
	}
	return &c
}
