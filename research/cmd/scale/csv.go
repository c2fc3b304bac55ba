package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// put inserts a row in order. It replaces a row of the same point.
func put(rows []row, r row) []row {
	order := func(a, b row) int {
		place := func(r row) int {
			return slices.IndexFunc(dimensions(), func(d dimension) bool { return d.name == r.grown })
		}
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.size, b.size))
	}
	i, found := slices.BinarySearchFunc(rows, r, order)
	if found {
		rows[i] = r
		return rows
	}
	return slices.Insert(rows, i, r)
}

func writeCSV(path string, rows []row) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := csv.NewWriter(f)
	if err := w.Write(header()); err != nil {
		return err
	}
	for i := range rows {
		if err := w.Write(rows[i].fields()); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// readCSV reads the file of writeCSV; none if there is no file.
func readCSV(path string) ([]row, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var rows []row
	for n, line := range lines[min(1, len(lines)):] {
		r, err := parseRow(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+2, err)
		}
		rows = put(rows, r)
	}
	return rows, nil
}

func parseRow(line []string) (row, error) {
	if len(line) != len(header()) {
		return row{}, fmt.Errorf("%d columns, want %d: remove the file and measure all anew", len(line), len(header()))
	}
	v := make([]float64, len(line))
	for i, text := range line[1:] {
		var err error
		if v[i+1], err = strconv.ParseFloat(text, 64); err != nil {
			return row{}, fmt.Errorf("column %s: %w", header()[i+1], err)
		}
	}
	span := func(i int, unit time.Duration) time.Duration { return time.Duration(v[i] * float64(unit)) }
	return row{
		point: point{grown: line[0], nodes: int(v[2]), running: int(v[3]), queued: int(v[4]), users: int(v[5]),
			historical: int(v[6])},
		size: int(v[1]), cost: cost{
			load: span(7, time.Microsecond), event: span(8, time.Microsecond), view: span(9, time.Microsecond),
			forecast: span(10, time.Microsecond),
			first:    span(11, time.Microsecond), refresh: span(12, time.Second), train: span(13, time.Second),
			save: span(14, time.Millisecond), snapshot: int(v[15]), journal: int(v[16]), heap: uint64(v[17]),
		},
	}, nil
}
