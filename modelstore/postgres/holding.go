package postgres

import (
	"context"
	"time"
)

// Holding describes the lease on a space.
type Holding struct {
	// Holder is the name of the holder of the lease; "" if there is none.
	Holder string
	// Left is the time by the database's clock until the lease ends, unless it is renewed. At 0 or less, the lease can
	// be acquired.
	Left time.Duration
}

// Held reports whether the lease has a holder and has not run out.
func (h Holding) Held() bool { return h.Holder != "" && h.Left > 0 }

// Holding returns the state of the lease on the store's space.
func (s *Store) Holding(ctx context.Context) (h Holding, err error) {
	err = s.read(ctx, "look at the lease", func(ctx context.Context) error {
		var holder *string
		var left *time.Duration
		err := s.pool.QueryRow(ctx, "SELECT holder, expires - clock_timestamp() FROM waitcast.space WHERE id = $1",
			s.space).Scan(&holder, &left)
		if err == nil && holder != nil && left != nil {
			h = Holding{Holder: fromText(*holder), Left: *left}
		}
		return err
	})
	return h, err
}
