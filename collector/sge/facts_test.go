package sge_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/job"
)

// quotas returns the facts and the notes from a text in which no line is bad.
func quotas(t *testing.T, text string) (*job.Facts, []string) {
	t.Helper()
	r := sge.ReadFacts([]byte(text))
	if r.Err != nil || len(r.Bad) > 0 {
		t.Fatalf("%+v", r)
	}
	var notes []string
	for _, n := range r.Notes {
		notes = append(notes, n.Error())
	}
	return r.Facts, notes
}

// TestFactsOfQuotas checks the facts from the output of a real Grid Engine 8.1.9 with quotas made by qconf -Arqs.
func TestFactsOfQuotas(t *testing.T) {
	text, err := os.ReadFile("testdata/facts/qconf-srqs.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, notes := quotas(t, string(text))
	const max, others, wide = "resource quota max_slots", "resource quota others", "resource quota wide"
	var sixty []string // in lines that qconf has wrapped
	for i := range 60 {
		sixty = append(sixty, fmt.Sprintf("user%d", i))
	}
	want := &job.Facts{Enforced: job.Enforced{Limits: true}, Limits: []job.Limit{
		{Procs: 3, Scope: &job.Scope{Where: wide, Set: wide, Users: sixty, EachUser: true}},
		{Procs: 8, Scope: &job.Scope{Where: max, Set: max, Users: []string{"ann", "!bob"}}},
		{Procs: 4, Scope: &job.Scope{Where: max, Set: max, EachUser: true}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"resource quota by_queue: a rule is for an access list; it and the rules after it are not simulated",
		others + ": a rule is for some pes; it and the rules after it are not simulated",
	}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestFactsOfRules checks rules by sge_resource_quota(5): filters with any spacing, expanded lists, disabled sets, and
// rules that are not simulated.
func TestFactsOfRules(t *testing.T) {
	set := func(rules ...string) string {
		return "{\n   name         q\n   description  NONE\n   enabled      TRUE\n   limit        " +
			strings.Join(rules, "\n   limit        ") + "\n}\n"
	}
	const q = "resource quota q"
	of := func(procs int, s job.Scope) job.Limit {
		s.Where, s.Set = q, q
		return job.Limit{Procs: procs, Scope: &s}
	}
	for text, want := range map[string][]job.Limit{
		set("to slots=100"):                       {of(100, job.Scope{})},
		set("users * to slots=0"):                 {of(job.NoneAllowed, job.Scope{})},
		set("name users users {a, b} to slots=2"): {of(2, job.Scope{Users: []string{"a", "b"}, EachUser: true})},
		set("projects * to slots=2", "projects !* to s=3"): {of(2, job.Scope{Accounts: []string{"*"}}),
			of(3, job.Scope{Accounts: []string{"!*"}})},
		set("users {*} projects {p} queues {long.q,short.q} hosts * to slots=6"): {of(6, job.Scope{EachUser: true,
			Accounts: []string{"p"}, EachAccount: true, Queues: []string{"long.q", "short.q"}, EachQueue: true})},
		set("users {a, \\\n   b} to slots=2"): {of(2, job.Scope{Users: []string{"a", "b"},
			EachUser: true})},
		set("queues !long.q to slots=7,h_vmem=32G"): {of(7, job.Scope{Queues: []string{"!long.q"}})},
		set("users a to h_vmem=32G", "to slots=1"): {of(0, job.Scope{Users: []string{"a"}}),
			of(1, job.Scope{})},
		set("hosts {*} to slots=1", "to slots=1"):              nil,
		set("to slots=$num_proc*2", "to slots=1"):              nil,
		strings.Replace(set("to slots=1"), "TRUE", "FALSE", 1): nil,
		"": nil,
	} {
		got, _ := quotas(t, text)
		if diff := cmp.Diff(want, got.Limits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, rule := range []string{"slots=4", "users a", "to slots=many", "to slots=-1"} {
		r := sge.ReadFacts([]byte(set(rule, "to slots=1")))
		if len(r.Bad) != 1 || len(r.Facts.Limits) != 0 {
			t.Errorf("%s: %+v", rule, r)
		}
	}
	if r := sge.ReadFacts([]byte("error: commlib error\n")); len(r.Bad) != 1 {
		t.Errorf("%+v", r)
	}
}
