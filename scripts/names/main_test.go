package main

import (
	"slices"
	"strings"
	"testing"
)

// TestCheck proves that banned names are found as types, functions, methods, fields, values and methods of interfaces,
// but only in the folders of the ban.
func TestCheck(t *testing.T) {
	p, err := readPolicy([]byte(`
banned:
  - {word: crowd, part: true, instead: jobIndex, reason: an index}
  - {word: open, folders: [room], kind: type, instead: openForecast, reason: a verb}
  - {word: rest, folders: [room], except: [room/wire], instead: drain, reason: a verb}
`))
	if err != nil {
		t.Fatal(err)
	}
	const source = `package x
type crowdSize struct { inner struct { Crowd int }; crowded, restless bool; rest int; f func(crowd int) }
type open int
type asker interface { newCrowd() }
func open2() { crowd := 1; _ = crowd }
func (o *open) open() {}
func (o open) theCrowd() {}
const HTTPCrowd, accrowd = 1, 2
var Rest int
`
	for folder, want := range map[string][]string{
		"room/sub": {"crowdSize", "crowdSize.rest", "crowdSize.Crowd", "open", "asker.newCrowd", "open.theCrowd",
			"HTTPCrowd", "Rest"},
		"room/wire": {"crowdSize", "crowdSize.Crowd", "open", "asker.newCrowd", "open.theCrowd", "HTTPCrowd"},
		"folders":   {"crowdSize", "crowdSize.Crowd", "asker.newCrowd", "open.theCrowd", "HTTPCrowd"},
	} {
		names, err := fileDeclarations("x.go", folder, source)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range names {
			if p.ban(n) != nil {
				got = append(got, strings.TrimPrefix(n.key(), folder+": "))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
}

// TestAllowed proves that an allowed name passes, and that an entry that allows no existing name fails.
func TestAllowed(t *testing.T) {
	p, err := readPolicy([]byte(`
banned: [{word: crowd, part: true, instead: jobIndex, reason: an index}]
allowed: {"x: crowd": soon}
`))
	if err != nil {
		t.Fatal(err)
	}
	names, err := fileDeclarations("x.go", "x", "package x\nvar crowd int\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.check(names); err != nil {
		t.Errorf("an allowed name: %v", err)
	}
	if err := p.check(nil); err == nil || !strings.Contains(err.Error(), "x: crowd") {
		t.Errorf("an entry without its name: %v", err)
	}
	p.Allowed = nil
	if err := p.check(names); err == nil ||
		!strings.Contains(err.Error(), "x.go:2:5: the name x: crowd is banned (an index): write jobIndex") {
		t.Errorf("a banned name: %v", err)
	}
}

// TestPolicy proves that the shipped list can be read, and that incomplete or misspelt entries are refused.
func TestPolicy(t *testing.T) {
	if _, err := readPolicy(list); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"banned: [{word: x}]", "banned: [{wrd: x}]", "banned: [{word: x, instead: y, reason: z, kind: func}]",
	} {
		if _, err := readPolicy([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"crowdSize": "crowd size", "HTTPCrowd": "http crowd", "theQOS": "the qos", "x2Bell": "x bell", "URL": "url",
		"A": "a", "lookAtIt": "look at it",
	} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
