// Package codectest proves for a type that it fulfils the guarantees of package codec.
package codectest

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/waitcast/waitcast/internal/codec"
)

// Split divides a result of codec.Save into the kind, the version, and the bytes of the fields.
func Split(t testing.TB, data []byte) (kind string, version uint64, fields []byte) {
	t.Helper()
	kind, version, r, err := codec.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return kind, version, r.Rest
}

// Seal returns saved state with the given fields and a correct checksum.
func Seal(t testing.TB, kind string, version uint64, fields []byte) []byte {
	t.Helper()
	data, err := codec.Save(kind, version, len(fields), func(c *codec.Codec) { c.Writer = append(c.Writer, fields...) })
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Edit returns saved state with changed fields and a correct checksum.
func Edit(t testing.TB, data []byte, change func(fields []byte) []byte) []byte {
	t.Helper()
	kind, version, fields := Split(t, data)
	return Seal(t, kind, version, change(slices.Clone(fields)))
}

// Fields returns the bytes that a function writes.
func Fields(write func(*codec.Codec)) []byte {
	var c codec.Codec
	write(&c)
	return c.Writer
}

// SetNumber returns saved state in which the number at a place is replaced by the output of write. The fields before
// that place must be numbers and flags, no texts or hashes.
func SetNumber(t testing.TB, data []byte, place int, write func(*codec.Codec)) []byte {
	t.Helper()
	return Edit(t, data, func(fields []byte) []byte {
		before := codec.Reader{Rest: fields}
		for range place {
			before.Uint()
		}
		after := before
		if after.Uint(); after.Bad {
			t.Fatalf("the fields have no number %d", place)
		}
		return slices.Concat(fields[:len(fields)-len(before.Rest)], Fields(write), after.Rest)
	})
}

// Real returns a function that writes a number with Codec.Any.
func Real(v float64) func(*codec.Codec) { return func(c *codec.Codec) { c.Any(&v) } }

// Signed returns a function that writes a number with Codec.Signed.
func Signed(v int64) func(*codec.Codec) { return func(c *codec.Codec) { c.Signed(&v) } }

// EditJSON changes the JSON in saved state that has no other field. It returns the state with a correct checksum.
func EditJSON(t testing.TB, data []byte, change func(text []byte) []byte) []byte {
	t.Helper()
	return Edit(t, data, func(fields []byte) []byte {
		r := codec.Reader{Rest: fields}
		text := change(slices.Clone(r.Bytes()))
		return Fields(func(c *codec.Codec) { c.Blob(&text) })
	})
}

// Text returns the JSON in saved state that has no other field.
func Text(t testing.TB, data []byte) (text []byte) {
	EditJSON(t, data, func(found []byte) []byte { text = found; return found })
	return text
}

// TB has the methods of a test that Transfer needs. Tests of package testing and of rapid have them.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Transfer restores in one value the saved state of another. It proves that saving both then gives equal bytes.
func Transfer(t TB, from, to codec.Savable) {
	t.Helper()
	data, err := from.MarshalBinary()
	if err != nil {
		t.Fatalf("it cannot be saved: %v", err)
	}
	if err := to.UnmarshalBinary(data); err != nil {
		t.Fatalf("it cannot be restored: %v", err)
	}
	if again, err := to.MarshalBinary(); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("restored and saved again it has %d other bytes, before it had %d: %v", len(again), len(data), err)
	}
}

// Check proves five properties of saved state that a value from fresh can restore. Saving the restored value gives the
// same bytes. State that is damaged, or of another version or kind, is refused. So is the state of a program without
// this codec. The error has the right type. After an error the value is unchanged.
func Check(t *testing.T, data []byte, fresh func() codec.Savable) {
	t.Helper()
	v := fresh()
	if err := v.UnmarshalBinary(data); err != nil {
		t.Fatalf("it cannot be restored: %v", err)
	}
	if again := save(t, v); !bytes.Equal(again, data) {
		t.Fatalf("restored and saved again it has %d other bytes; before it had %d", len(again), len(data))
	}
	kind, version, fields := Split(t, data)
	v = fresh()
	before := save(t, v)
	refuse := func(what string, bad []byte, reason error) {
		t.Helper()
		err := v.UnmarshalBinary(bad)
		var typed *codec.Error
		if !errors.As(err, &typed) || !errors.Is(err, reason) || typed.Kind == "" || typed.Size != len(bad) {
			t.Errorf("%s: %v; want a codec.Error: %v", what, err, reason)
		}
	}
	for i := 0; i < len(data); i += 1 + len(data)/61 {
		refuse("cut off", data[:i], codec.ErrDamaged)
		flipped := slices.Clone(data)
		flipped[i] ^= 1 << (i % 8)
		refuse("with a bit flipped", flipped, codec.ErrDamaged)
	}
	refuse("with a byte more", append(slices.Clone(data), 0), codec.ErrDamaged)
	refuse("with a field more", Seal(t, kind, version, append(slices.Clone(fields), 0)), codec.ErrDamaged)
	if len(fields) > 0 {
		refuse("with a byte less", Seal(t, kind, version, fields[:len(fields)-1]), codec.ErrDamaged)
	}
	refuse("of another kind", Seal(t, kind+"2", version, fields), codec.ErrDamaged)
	refuse("of another version", Seal(t, kind, version+1, fields), codec.ErrVersion)
	refuse("of an old program", []byte(`{"version":1,"name":"c"}`), codec.ErrVersion)
	if after := save(t, v); !bytes.Equal(before, after) {
		t.Error("what it refused has changed it")
	}
}

// Fuzz overwrites parts of saved state and corrects the checksum. A value from fresh must then refuse the state with a
// *codec.Error, or accept it. use, unless nil, tries a value that accepted it. Reading may allocate 16 MiB, and 4096
// bytes more for each byte of the state.
func Fuzz(f *testing.F, data []byte, fresh func() codec.Savable, use func(*testing.T, codec.Savable)) {
	f.Helper()
	kind, version, good := Split(f, data)
	f.Add(uint32(0), []byte{}, uint16(0))
	f.Add(uint32(len(good)/2), []byte{0xfe, 1, 2}, uint16(3))
	f.Add(uint32(len(good)/3), []byte{0xff, 0xff, 0xff, 0xff, 0x7f}, uint16(1))
	for at := 0; at < len(good); at += 1 + len(good)/50 {
		f.Add(uint32(at), []byte{0xff, 0xff, 0xff, 0x3f}, uint16(1))
		f.Add(uint32(at), []byte{1}, uint16(1))
	}
	f.Fuzz(func(t *testing.T, at uint32, with []byte, instead uint16) {
		from := int(at) % (len(good) + 1)
		to := min(from+int(instead), len(good))
		bad := Seal(t, kind, version, slices.Concat(good[:from], with, good[to:]))
		v := fresh()
		var err error
		if took := allocated(func() { err = v.UnmarshalBinary(bad) }); took > allocates(len(bad)) {
			t.Fatalf("%d bytes were allocated to read %d", took, len(bad))
		}
		var typed *codec.Error
		if err != nil && !errors.As(err, &typed) {
			t.Fatalf("%v is no codec.Error", err)
		}
		if err == nil && use != nil {
			use(t, v)
		}
	})
}

// allocates returns the maximum number of bytes that reading an input of the given size may allocate. The constant
// part allows tables of some KB for a small input.
func allocates(size int) uint64 { return 16<<20 + 4096*uint64(size) }

func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func save(t testing.TB, v codec.Savable) []byte {
	t.Helper()
	data, err := v.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
