// Package memsize parses amounts of memory in the forms in which users write them for batch schedulers: 4000M, 64G,
// 1.5T, 64gb, 8GiB.
//
// K, M, G, T and P are powers of 1024, as in Slurm, PBS and Grid Engine. "b", "B" or "iB" may follow and change
// nothing. Parse refuses a number alone, because schedulers interpret it differently: "64" is megabytes for sbatch
// and bytes for qsub.
package memsize

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Allowed describes in one line the texts that Parse accepts, for error messages.
const Allowed = "a number with K, M, G, T or P (powers of 1024), such as 64G"

// Parse returns the number of bytes that a text means. It is at least 0. An error describes the allowed texts.
func Parse(text string) (int64, error) {
	s := strings.ToUpper(strings.TrimSpace(text))
	digits := strings.TrimRight(s, "KMGTPIB")
	power := strings.IndexByte("KMGTP", firstByte(s[len(digits):])) + 1
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	unit := strings.TrimLeft(s[len(digits):min(len(s), len(digits)+1)], "KMGTP") + s[min(len(s), len(digits)+1):]
	bytes := n * math.Pow(1024, float64(power))
	switch {
	case err != nil, power < 1, unit != "" && unit != "B" && unit != "IB", !(n >= 0),
		strings.ContainsAny(digits, "X_EN"), bytes >= math.MaxInt64:
		return 0, fmt.Errorf("%q is not an amount of memory: %s", clip(text), Allowed)
	}
	return int64(bytes), nil
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// Value is an amount of memory in bytes, for a flag of a command.
type Value int64

// Set implements pflag.Value.
func (v *Value) Set(text string) error {
	n, err := Parse(text)
	if err != nil {
		return err
	}
	*v = Value(n)
	return nil
}

// String implements pflag.Value. It returns the amount in the largest unit up to P in which it is at least 1, with at
// most 6 digits, and "" for 0.
func (v *Value) String() string {
	if *v == 0 {
		return ""
	}
	n, unit := float64(*v), 0
	for n >= 1024 && unit < 5 {
		n /= 1024
		unit++
	}
	return strconv.FormatFloat(n, 'g', 6, 64) + [...]string{"B", "K", "M", "G", "T", "P"}[unit]
}

// Exact writes the amount so that Parse returns exactly the same number of bytes, up to 2^53.
func (v *Value) Exact() string { return strconv.FormatFloat(float64(*v)/1024, 'f', -1, 64) + "K" }

// Type implements pflag.Value.
func (v *Value) Type() string { return "MEMORY" }
