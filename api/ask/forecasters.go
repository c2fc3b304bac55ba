package ask

import (
	"sync"

	"github.com/waitcast/waitcast/predictor"
)

// keptForecasters is the number of forecasters that survive garbage collection with their scratch memory.
const keptForecasters = 2

// forecasterPool lends forecasters, each to one goroutine at a time. A forecaster has up to a few MB of scratch memory.
// A sync.Pool is emptied by every second garbage collection, so a few forecasters are kept permanently, and consecutive
// requests need not allocate the memory again.
type forecasterPool struct {
	kept  chan *predictor.Forecaster
	spare sync.Pool // further forecasters, while many requests are served concurrently
}

func newForecasterPool() *forecasterPool {
	return &forecasterPool{
		kept:  make(chan *predictor.Forecaster, keptForecasters),
		spare: sync.Pool{New: func() any { return predictor.NewForecaster() }},
	}
}

func (p *forecasterPool) get() *predictor.Forecaster {
	select {
	case f := <-p.kept:
		return f
	default:
		return p.spare.Get().(*predictor.Forecaster)
	}
}

// put returns a forecaster to the pool.
func (p *forecasterPool) put(f *predictor.Forecaster) {
	select {
	case p.kept <- f:
	default:
		p.spare.Put(f)
	}
}
