package codec_test

import (
	"cmp"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/internal/codec/codectest"
)

// part has a value of every type that a Codec supports.
type part struct {
	Real, Finite, Any, Between float64
	Uint, Hash                 uint64
	Int                        int
	Signed                     int64
	Small                      int8
	Wide                       uint32
	Flag, Other                bool
	Text                       string
	Time                       time.Time
	Blob                       []byte
	Reals                      []float64
	Array                      [3]float64
	Sparse                     [300]float64
	Singles                    []float32
	Single                     float32
	Maybe                      *part
	List                       []part
	Map                        map[string]int
	ByNumber                   map[int32]string
}

const depth = 4

func (p *part) fields(c *codec.Codec) { p.nested(c, depth) }

func (p *part) nested(c *codec.Codec, deep int) {
	c.Real(&p.Real)
	c.Finite(&p.Finite)
	c.Any(&p.Any)
	c.Between(-1, 1, &p.Between)
	c.Uint(&p.Uint)
	c.Hash(&p.Hash)
	c.Int(&p.Int)
	c.Signed(&p.Signed)
	codec.Number(c, &p.Small)
	codec.Number(c, &p.Wide)
	c.Flag(&p.Flag, &p.Other)
	c.Text(&p.Text)
	c.Time(&p.Time)
	c.Blob(&p.Blob)
	c.Reals(&p.Reals)
	c.Array(p.Array[:])
	c.Sparse(p.Sparse[:])
	c.Singles(&p.Singles)
	c.Single(&p.Single)
	inner := func(v *part) {
		if deep == 0 {
			c.Fail()
			return
		}
		c.Part("inner", 3, func(c *codec.Codec) { v.nested(c, deep-1) })
	}
	codec.Optional(c, &p.Maybe, inner)
	codec.List(c, &p.List, inner)
	codec.Map(c, &p.Map, func(n *int) { c.Int(n) })
	number := func(k *int32) { codec.Number(c, k) }
	codec.MapOf(c, &p.ByNumber, cmp.Compare[int32], number, func(s *string) { c.Text(s) })
}

func (p *part) MarshalBinary() ([]byte, error) { return codec.Save("test", 7, 0, p.fields) }

func (p *part) UnmarshalBinary(data []byte) error {
	var fresh part
	if err := codec.Load("test", 7, data, fresh.fields); err != nil {
		return err
	}
	*p = fresh
	return nil
}

// drawSlice returns a slice, nil if it is empty.
func drawSlice[T any](t *rapid.T, of *rapid.Generator[T]) (all []T) {
	for range rapid.IntRange(0, 5).Draw(t, "length") {
		all = append(all, of.Draw(t, "element"))
	}
	return all
}

// draw returns a random part, with parts inside each other down to a depth of deep. Its maps are never nil, as in a
// part that was read.
func draw(t *rapid.T, deep int) part {
	finite := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)
	p := part{
		Real: finite.Draw(t, "real"), Finite: finite.Draw(t, "finite"),
		Any:     rapid.SampledFrom([]float64{0, math.Inf(1), math.Inf(-1), math.Copysign(0, -1)}).Draw(t, "any"),
		Between: rapid.Float64Range(-1, 1).Draw(t, "between"), Uint: rapid.Uint64().Draw(t, "uint"),
		Hash: rapid.Uint64().Draw(t, "hash"), Int: rapid.IntRange(0, 1<<53).Draw(t, "int"),
		Signed: rapid.Int64().Draw(t, "signed"), Small: rapid.Int8().Draw(t, "small"),
		Wide: rapid.Uint32().Draw(t, "wide"), Flag: rapid.Bool().Draw(t, "flag"), Other: rapid.Bool().Draw(t, "other"),
		Text: rapid.String().Draw(t, "text"), Blob: drawSlice(t, rapid.Byte()),
		Reals: drawSlice(t, finite), Singles: drawSlice(t, rapid.Float32()), Single: rapid.Float32().Draw(t, "single"),
		Map:      rapid.MapOfN(rapid.String(), rapid.IntRange(0, 99), 0, 5).Draw(t, "map"),
		ByNumber: rapid.MapOfN(rapid.Int32(), rapid.String(), 0, 5).Draw(t, "by number"),
	}
	p.Time = rapid.SampledFrom([]time.Time{{}, time.Unix(1e9, 5).UTC(), time.Unix(-1e9, 0).UTC()}).Draw(t, "time")
	for i := range p.Array {
		p.Array[i] = finite.Draw(t, "array")
	}
	for range rapid.IntRange(0, 3).Draw(t, "sparse") {
		p.Sparse[rapid.IntRange(0, 299).Draw(t, "at")] = finite.Draw(t, "value")
	}
	if deep == 0 {
		return p
	}
	if rapid.Bool().Draw(t, "there") {
		inner := draw(t, deep-1)
		p.Maybe = &inner
	}
	for range rapid.IntRange(0, 2).Draw(t, "list") {
		p.List = append(p.List, draw(t, deep-1))
	}
	return p
}

// TestRoundTrip proves that every type of field is read back unchanged, and is then written as the same bytes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t, 2)
		var got part
		if codectest.Transfer(t, &want, &got); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v comes back as %+v", want, got)
		}
	})
}

func example() *part {
	return &part{
		Text: "text", Reals: []float64{1, math.NaN()}, Map: map[string]int{"a": 1, "b": 2, "c": 3},
		ByNumber: map[int32]string{-1: "x", 5: "y"}, List: []part{{Text: "one"}, {Text: "two"}},
		Time: time.Unix(1e9, 0), Maybe: &part{Wide: 1 << 31}, Singles: []float32{1, 2},
	}
}

// TestSaveTo proves that SaveTo passes the bytes of Save in pieces, for fields of any size. After an error of put it
// passes nothing more, and returns that error.
func TestSaveTo(t *testing.T) {
	large := func(n int) *part {
		p := example()
		p.Text = strings.Repeat("x", n)
		for i := range 40 {
			p.List = append(p.List, part{Blob: make([]byte, n), Int: i})
		}
		return p
	}
	for _, p := range []*part{example(), large(10_000), large(300_000)} {
		fields := func(c *codec.Codec) {
			p.fields(c)
			c.Pieces([][]byte{[]byte(p.Text), {1, 2}, []byte(p.Text)})
			c.JSON(p.Text)
		}
		want, err := codec.Save("test", 7, 0, fields)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		longest, pieces := 0, 0
		n, err := codec.SaveTo(func(piece []byte) error {
			got = append(got, piece...)
			longest, pieces = max(longest, len(piece)), pieces+1
			return nil
		}, "test", 7, fields)
		if err != nil || n != len(want) || string(got) != string(want) {
			t.Errorf("%d bytes in %d pieces (%v), want the %d bytes of Save", n, pieces, err, len(want))
		}
		if longest > 1<<20 {
			t.Errorf("a piece of %d bytes of %d", longest, len(want))
		}
		full, calls := errors.New("full"), 0
		fails := func([]byte) error { calls++; return full }
		if _, err := codec.SaveTo(fails, "test", 7, fields); !errors.Is(err, full) || calls != 1 {
			t.Errorf("after an error of put: %v after %d calls", err, calls)
		}
	}
	refused := func(c *codec.Codec) { c.Fail() }
	var problem *codec.Error
	if _, err := codec.SaveTo(func([]byte) error { return nil }, "test", 7, refused); !errors.As(err, &problem) {
		t.Errorf("what Save refuses, SaveTo gives %v", err)
	}
}

func TestEnvelope(t *testing.T) {
	data, err := example().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	codectest.Check(t, data, func() codec.Savable { return new(part) })
}

// TestMapsHaveOneForm proves that the bytes do not depend on the order in which Go visits a map.
func TestMapsHaveOneForm(t *testing.T) {
	first, err := example().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if again, err := example().MarshalBinary(); err != nil || string(again) != string(first) {
			t.Fatal("the same value has other bytes", err)
		}
	}
}

// TestErrorsSayWhatIsWrong proves that an error has the part, the place and the reason.
func TestErrorsSayWhatIsWrong(t *testing.T) {
	load := func(write, read func(*codec.Codec)) *codec.Error {
		data, err := codec.Save("outer", 1, 0, write)
		if err != nil {
			t.Fatal(err)
		}
		var typed *codec.Error
		if err := codec.Load("outer", 1, data, read); !errors.As(err, &typed) {
			t.Fatalf("%v is no *codec.Error", err)
		}
		return typed
	}
	inner := func(version uint64, fields func(*codec.Codec)) func(*codec.Codec) {
		return func(c *codec.Codec) { c.Part("inner", version, fields) }
	}
	five := 5
	number := func(c *codec.Codec) { c.Int(&five) }
	for name, c := range map[string]struct {
		write, read func(*codec.Codec)
		reason      error
		kind, text  string
	}{
		"version of a part": {inner(1, number), inner(2, number), codec.ErrVersion, "outer/inner",
			"version 1, this program reads version 2"},
		"impossible value": {inner(1, number), inner(1, func(c *codec.Codec) { c.Failf("no jobs") }), codec.ErrDamaged,
			"outer/inner", "no jobs"},
		"other configuration": {number, func(c *codec.Codec) { number(c); c.Differs("five") }, codec.ErrConfig, "outer",
			"five"},
		"the first of two": {number, func(c *codec.Codec) { c.Failf("one"); c.Failf("two") }, codec.ErrDamaged, "outer",
			"one"},
		"bytes left": {number, func(*codec.Codec) {}, codec.ErrDamaged, "outer", "1 bytes too many"},
		"other part": {inner(1, number), func(c *codec.Codec) { c.Part("else", 1, number) }, codec.ErrDamaged,
			"outer/else", `"inner"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := load(c.write, c.read)
			if !errors.Is(err, c.reason) || err.Kind != c.kind || !strings.Contains(err.Error(), c.text) ||
				err.At <= 0 || err.At > err.Size {
				t.Errorf("%+v: %v", err, err)
			}
		})
	}
	if _, err := codec.Save("outer", 1, 0, func(c *codec.Codec) { c.Failf("not now") }); err == nil ||
		!strings.Contains(err.Error(), "not now") {
		t.Errorf("saving fails with %v", err)
	}
}

// TestCounts proves that a count that exceeds the remaining bytes is refused.
func TestCounts(t *testing.T) {
	huge := codectest.Fields(func(c *codec.Codec) {
		n := uint64(1) << 40
		c.Uint(&n)
	})
	data := codectest.Seal(t, "test", 1, huge)
	for name, read := range map[string]func(*codec.Codec){
		"reals":   func(c *codec.Codec) { c.Reals(new([]float64)) },
		"singles": func(c *codec.Codec) { c.Singles(new([]float32)) },
		"text":    func(c *codec.Codec) { c.Text(new(string)) },
		"blob":    func(c *codec.Codec) { c.Blob(new([]byte)) },
		"list":    func(c *codec.Codec) { codec.List(c, new([]int), func(n *int) { c.Int(n) }) },
		"map":     func(c *codec.Codec) { codec.Map(c, new(map[string]int), func(n *int) { c.Int(n) }) },
	} {
		if err := codec.Load("test", 1, data, read); !errors.Is(err, codec.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCopy proves that a copy has its own fields, except those that copies share.
func TestCopy(t *testing.T) {
	type pair struct{ own, shared int }
	fields := func(p *pair) func(*codec.Codec) {
		return func(c *codec.Codec) {
			if c.Int(&p.own); !c.WithoutShared {
				c.Int(&p.shared)
			}
		}
	}
	from, to := pair{1, 2}, pair{}
	if err := codec.Copy(fields(&from), fields(&to)); err != nil || to != (pair{own: 1}) {
		t.Errorf("%+v, %v", to, err)
	}
	if err := codec.Copy(fields(&from), func(*codec.Codec) {}); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("a copy that leaves bytes: %v", err)
	}
	hand := func(v *[]int) func(*codec.Codec) {
		return func(c *codec.Codec) {
			if codec.Hand(c, v) != c.WithoutShared {
				t.Error("Hand does not report what it did")
			}
		}
	}
	large, small := []int{1, 2}, []int(nil)
	if err := codec.Copy(hand(&large), hand(&small)); err != nil || &large[0] != &small[0] {
		t.Errorf("%v was handed over as %v, %v", large, small, err)
	}
	if err := codec.Copy(hand(&large), func(*codec.Codec) {}); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("a copy that leaves a value: %v", err)
	}
	other := func(c *codec.Codec) { codec.Hand(c, new(string)) }
	if err := codec.Copy(hand(&large), other); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("a copy that takes a value of another type: %v", err)
	}
	if err := codec.Copy(func(*codec.Codec) {}, other); !errors.Is(err, codec.ErrDamaged) {
		t.Errorf("a copy that takes a value which nobody handed over: %v", err)
	}
	saved, err := codec.Save("test", 1, 0, hand(&large))
	if err != nil || codec.Load("test", 1, saved, hand(&small)) != nil {
		t.Error("Hand saves something: ", err)
	}
}

// FuzzCodec reads changed fields behind a valid header and checksum. Reading must neither panic nor allocate more than
// a multiple of their size, see codectest.Fuzz. If the fields are accepted, the value can be saved and restored.
func FuzzCodec(f *testing.F) {
	data, err := example().MarshalBinary()
	if err != nil {
		f.Fatal(err)
	}
	codectest.Fuzz(f, data, func() codec.Savable { return new(part) }, func(t *testing.T, v codec.Savable) {
		codectest.Transfer(t, v, new(part))
	})
}
