package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/workload/lifetime"
)

// curveSteps is into how many equal parts the probabilities from 0 to 1 are cut: a quantile for each percent draws a smooth curve.
const curveSteps = 100

type curvesOutput struct {
	ETag string `header:"ETag" doc:"weak validator: the same as long as the answer tells the same, age_seconds aside"`
	Body wire.LifetimeCurves
}

func (s *Server) registerCurves(a huma.API) {
	huma.Register(a, huma.Operation{
		OperationID: "get-lifetimes", Method: http.MethodGet, Path: "/v1/models/{queue}/lifetimes",
		Summary: "The lifetimes of a queue's jobs as they were observed, beside the laws fitted on them",
		Errors:  []int{http.StatusNotFound},
	}, s.getCurves)
}

func (s *Server) getCurves(ctx context.Context, in *modelInput) (*curvesOutput, error) {
	v, err := s.view(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := findQueue(v, &in.Queue); err != nil {
		return nil, err
	}
	tag := s.tag(ctx, false, v)
	if err := unchanged(in.IfNoneMatch, tag); err != nil {
		return nil, err
	}
	out := &curvesOutput{ETag: tag, Body: wire.LifetimeCurves{Cluster: v.Cluster, Queue: in.Queue, Curves: []wire.LifetimeCurve{}, AsOf: s.asOfInstant(v)}}
	_, out.Body.AgeSeconds, out.Body.Stale = s.asOf(v)
	for i := range curveSteps + 1 {
		out.Body.Levels = append(out.Body.Levels, float64(i)/curveSteps)
	}
	if models := v.Models.Queue(in.Queue); models != nil {
		for class := range models.Lifetimes {
			out.Body.Curves = append(out.Body.Curves, curve(&models.Lifetimes[class], in.Queue, class, out.Body.Levels))
		}
	}
	return out, nil
}

// curve describes the lifetimes of one class.
func curve(l *pipeline.LifetimeView, queue string, class int, levels []float64) wire.LifetimeCurve {
	out := wire.LifetimeCurve{Observed: []float64{}, Law: []*float64{}, Fit: lifetimes(l, queue, class, true)}
	law := l.Selection.Law
	if law == nil && l.Err == nil { // as in GET /v1/models/{queue}
		law = lifetime.UniformLog{Model: l.Law.Model}
	}
	for _, p := range levels {
		if l.Sample.N() > 0 {
			out.Observed = append(out.Observed, l.Sample.Quantile(p))
		}
		if law != nil {
			out.Law = append(out.Law, number(law.Quantile(p)))
		}
	}
	return out
}
