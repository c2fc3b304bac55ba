package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/predictor/outlook"
)

// What is learnt of the load is saved beside the snapshots, not in them: it has up to some 35 MB, and snapshots are made every minute. It is lost with a kill for a while, and
// needs not be of the same instant: after a restore it is made to agree with the picture. It takes the place of a checkpoint, in a transaction of its own: where there is no room
// for it, all else goes on.

const (
	// saveEvery is the least time between two savings, and saveRate how many bytes may be saved a second in the mean; both by the machine's clock.
	saveEvery = 5 * time.Minute
	saveRate  = 16 << 10
	// mostSaved bounds what is unpacked.
	mostSaved = 1 << 30
	// loadVersion is that of what is saved.
	loadVersion = 1
)

// loadKey is where a cluster's is kept; no source can have that name.
func loadKey(cluster string) string { return cluster + "/.load" }

// savedLoad is what is saved.
type savedLoad struct {
	Version    int
	Names      map[uint64]uint64
	Forecaster []byte
}

// keep saves what is learnt if it is time, or at once.
func (l *loadLearner) keep(atOnce bool) {
	if !atOnce && !l.savedAt.IsZero() && time.Since(l.savedAt) < max(saveEvery, time.Duration(l.size)*time.Second/saveRate) {
		return
	}
	data, err := l.marshal()
	if err != nil {
		l.log.Warn("what is learnt of the load cannot be saved; it goes on, but would be lost with the process", zap.Error(err))
		return
	}
	l.savedAt, l.size = time.Now(), len(data)
	l.mu.Lock()
	l.fresh = data
	l.mu.Unlock()
}

func (l *loadLearner) marshal() ([]byte, error) {
	f, err := l.f.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(gob.NewEncoder(packer).Encode(savedLoad{loadVersion, l.names, f}), packer.Close()); err != nil {
		return nil, fmt.Errorf("saving the load: %w", err)
	}
	return out.Bytes(), nil
}

// load takes over what was saved. If it cannot be used all is learnt afresh.
func (l *loadLearner) load(data []byte) {
	f, names, err := l.unmarshal(data)
	if err != nil {
		l.log.Warn("what was learnt of the load cannot be used: it is learnt afresh", zap.Error(err))
		return
	}
	l.f, l.names, l.size = f, names, len(data)
	l.savedAt = time.Now()
}

func (l *loadLearner) unmarshal(data []byte) (*outlook.Forecaster, map[uint64]uint64, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	var in savedLoad
	if err := gob.NewDecoder(io.LimitReader(unpacked, mostSaved)).Decode(&in); err != nil {
		return nil, nil, err
	}
	if in.Version != loadVersion {
		return nil, nil, errors.New("it is of another version")
	}
	f, err := outlook.Load(l.options, in.Forecaster)
	if err != nil {
		return nil, nil, err
	}
	names := map[uint64]uint64{}
	for id, name := range in.Names {
		if f.Knows(name) {
			names[id] = name
		}
	}
	return f, names, nil
}

// take returns what was saved since the last call, nil if nothing was.
func (l *loadLearner) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	data := l.fresh
	l.fresh = nil
	return data
}

// finish saves at an orderly end: what is in work is given up, and of the queue all but the samples is taken in.
func (l *loadLearner) finish() {
	l.pause()
	l.mu.Lock()
	rest := l.queue
	l.queue = nil
	l.mu.Unlock()
	for i := range rest {
		if k := rest[i].sample; k == nil {
			l.do(context.Background(), &rest[i])
		} else {
			if k.agree {
				l.agree(k.view)
			}
			l.mu.Lock()
			l.done(k)
			l.mu.Unlock()
		}
	}
	if l.notified {
		l.keep(true)
	}
}
