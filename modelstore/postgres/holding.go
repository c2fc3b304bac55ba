package postgres

import (
	"context"
	"time"
)

// Holding reports who may write a space.
type Holding struct {
	// Holder is the name that the lease was acquired by; "" if nobody has it.
	Holder string
	// Left is how long it lasts unless it is renewed, by the database's clock: 0 or less if it has run out and can be
	// acquired.
	Left time.Duration
}

// Held reports whether somebody has the lease, and it has not run out.
func (h Holding) Held() bool { return h.Holder != "" && h.Left > 0 }

// Holding reports who has the lease on the store's space.
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
