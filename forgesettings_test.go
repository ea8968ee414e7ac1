package penstock_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func pushes(s penstock.PushSettings) *penstock.ForgeSettings {
	return &penstock.ForgeSettings{Push: &s}
}

func paths(policy string, add, except []string) *penstock.PathProtection {
	return &penstock.PathProtection{Policy: policy, Add: add, Except: except}
}

func TestEachValueOfAForgeIsInheritedByItself(t *testing.T) {
	t.Parallel()
	weak := pushes(penstock.PushSettings{
		Branches: []string{"a/**"}, Secrets: "off", ProtectedPaths: paths("allow", []string{"x"}, []string{"y"}),
		Limits: &penstock.PushBounds{Files: new(1), Bytes: new(2), Binary: new(0)},
	})
	strong := pushes(penstock.PushSettings{
		Branches: []string{}, ProtectedPaths: paths("refuse", nil, []string{}), Limits: &penstock.PushBounds{Bytes: new(3)},
	})
	want := pushes(penstock.PushSettings{
		Branches: []string{}, Secrets: "off", ProtectedPaths: paths("refuse", []string{"x"}, []string{}),
		Limits: &penstock.PushBounds{Files: new(1), Bytes: new(3), Binary: new(0)},
	})
	if diff := cmp.Diff(want, strong.Over(weak)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"push/branches", "push/protected_paths/policy", "push/protected_paths/except",
		"push/limits/bytes",
	}, strong.Values()); diff != "" {
		t.Errorf("the layer changed (-want +got):\n%s", diff)
	}
	empty := &penstock.ForgeSettings{Push: &penstock.PushSettings{Limits: &penstock.PushBounds{}}}
	if empty.Over(nil) != nil || !empty.IsZero() || strong.IsZero() {
		t.Error("settings without a value set something, or others do not")
	}
	merged := empty.Over(weak)
	*merged.Push.Limits = penstock.PushBounds{}
	if weak.Push.Limits.Files == nil {
		t.Error("the result shares its structures with a layer")
	}
}

func TestARequestOnlyNarrowsAPushPolicy(t *testing.T) {
	t.Parallel()
	layers := pushes(penstock.PushSettings{
		Branches: []string{"penstock/**", "bot/**"}, ProtectedPaths: paths("", []string{"infra/**"}, []string{"README.md"}),
	})
	policy := layers.PushPolicy()
	open := pushes(penstock.PushSettings{ProtectedPaths: paths("allow", []string{"infra/**"}, nil), Secrets: "off"})
	for _, test := range []struct {
		about  string
		layers *penstock.ForgeSettings
		req    penstock.PushSettings
		errs   []string
		change func(*penstock.PushPolicy)
	}{
		{"nothing", layers, penstock.PushSettings{}, nil, func(*penstock.PushPolicy) {}},
		{
			"another list of branches", layers,
			penstock.PushSettings{Branches: []string{"*/fix"}},
			nil,
			func(p *penstock.PushPolicy) { p.Branches = append(p.Branches, []string{"*/fix"}) },
		},
		{
			"no branch", layers,
			penstock.PushSettings{Branches: []string{}},
			nil,
			func(p *penstock.PushPolicy) { p.Branches = append(p.Branches, []string{}) },
		},
		{
			"the same list", layers,
			penstock.PushSettings{Branches: []string{"penstock/**", "bot/**"}},
			nil,
			func(*penstock.PushPolicy) {},
		},
		{
			"more protected paths", layers,
			penstock.PushSettings{ProtectedPaths: paths("refuse", []string{"README.md"}, nil)},
			nil, func(p *penstock.PushPolicy) { p.Always = []string{"README.md"} },
		},
		{
			"no exception", layers,
			penstock.PushSettings{ProtectedPaths: paths("", nil, []string{})},
			nil,
			func(p *penstock.PushPolicy) { p.Except = []string{} },
		},
		{
			"more exceptions", layers,
			penstock.PushSettings{ProtectedPaths: paths("", nil, []string{"README.md", "a", "**"})},
			[]string{"/push/protected_paths/except/1", "/push/protected_paths/except/2"},
			nil,
		},
		{
			"no protection", layers,
			penstock.PushSettings{ProtectedPaths: paths("allow", nil, nil)},
			[]string{"/push/protected_paths/policy"},
			nil,
		},
		{
			"lower limits", layers,
			penstock.PushSettings{Limits: &penstock.PushBounds{Files: new(300), Bytes: new(1), Binary: new(0)}},
			nil,
			func(p *penstock.PushPolicy) { p.Limits = penstock.PushLimits{Files: 300, Bytes: 1} },
		},
		{
			"higher limits", layers,
			penstock.PushSettings{Limits: &penstock.PushBounds{Files: new(301), Bytes: new(11 << 20), Binary: new(2 << 20)}},
			[]string{"/push/limits/files", "/push/limits/bytes", "/push/limits/binary"},
			nil,
		},
		{"secrets", layers, penstock.PushSettings{Secrets: "off"}, []string{"/push/secrets"}, nil},
		{
			"no secrets again", open,
			penstock.PushSettings{Secrets: "refuse", ProtectedPaths: paths("allow", nil, nil)},
			nil,
			func(p *penstock.PushPolicy) { p.AllowSecrets = false },
		},
		{
			"what the layers have", open,
			penstock.PushSettings{Secrets: "off", ProtectedPaths: paths("allow", nil, nil)},
			nil,
			func(*penstock.PushPolicy) {},
		},
		{
			"protection again", open,
			penstock.PushSettings{ProtectedPaths: paths("refuse", nil, []string{"**/AGENTS.md"})},
			nil,
			func(p *penstock.PushPolicy) {
				p.Protected, p.Except = append(penstock.ProtectedPaths(), "infra/**"), []string{"**/AGENTS.md"}
			},
		},
		{
			"only paths of its own", open,
			penstock.PushSettings{ProtectedPaths: paths("", []string{"a"}, nil)},
			nil,
			func(p *penstock.PushPolicy) { p.Always = []string{"a"} },
		},
	} {
		before := test.layers.PushPolicy()
		got, errs := before.Narrow(pushes(test.req), test.layers, "")
		var pointers []string
		for _, e := range errs {
			pointers = append(pointers, e.Pointer)
		}
		if diff := cmp.Diff(test.errs, pointers); diff != "" {
			t.Errorf("%s: errors (-want +got):\n%s", test.about, diff)
		}
		if test.change == nil {
			continue
		}
		want := test.layers.PushPolicy()
		if test.change(&want); cmp.Diff(want, got) != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, cmp.Diff(want, got))
		}
	}
	if diff := cmp.Diff(layers.PushPolicy(), policy); diff != "" {
		t.Errorf("the policy of the layers changed (-want +got):\n%s", diff)
	}
}

func TestAPushPolicyWithinAnother(t *testing.T) {
	t.Parallel()
	a := penstock.PushPolicy{
		Branches: [][]string{{"a/**"}}, Protected: []string{"x", "y"}, Except: []string{"y", "z"}, Always: []string{"q"},
		Limits: penstock.PushLimits{Files: 1, Bytes: 9, Binary: 5}, AllowSecrets: true,
	}
	b := penstock.PushPolicy{
		Branches: [][]string{{"b/**"}, {"a/**"}}, Protected: []string{"w", "x"}, Except: []string{"z", "w"},
		Limits: penstock.PushLimits{Files: 2, Bytes: 8, Binary: 6},
	}
	want := penstock.PushPolicy{
		Branches: [][]string{{"a/**"}, {"b/**"}}, Protected: []string{"x", "y", "w"}, Except: []string{"z"},
		Always: []string{"q"}, Limits: penstock.PushLimits{Files: 1, Bytes: 8, Binary: 5},
	}
	if diff := cmp.Diff(want, a.Within(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := a.Within(a); cmp.Diff(a, got) != "" {
		t.Errorf("a policy within itself (-want +got):\n%s", cmp.Diff(a, got))
	}
	open := penstock.PushPolicy{Except: []string{"x"}}
	if got := open.Within(a); cmp.Diff(a.Except, got.Except) != "" || got.Protects("x") == "" {
		t.Errorf("without protection, within another: %+v", got)
	}
	if got := a.Within(open); cmp.Diff(a.Except, got.Except) != "" || got.Protects("x") == "" {
		t.Errorf("within one without protection: %+v", got)
	}
}

func TestSettingsOfPushesAreChecked(t *testing.T) {
	t.Parallel()
	many := make([]string, 101)
	for i := range many {
		many[i] = strings.Repeat("a", i+1)
	}
	settings := pushes(penstock.PushSettings{
		Branches: many, Secrets: "review", ProtectedPaths: paths("review", []string{"ok", "/a"}, []string{"a\\b", ""}),
		Limits: &penstock.PushBounds{Files: new(0), Bytes: new(1<<30 + 1), Binary: new(-1)},
	})
	settings.Policy = &penstock.PushPolicy{}
	got := map[string]string{}
	for _, e := range settings.Check("/forge") {
		got[strings.TrimPrefix(e.Pointer, "/forge/push")] = e.Detail
	}
	want := map[string]string{
		"/branches": "has 101 patterns; at most 100 are allowed", "/secrets": `must be refuse or off, not "review"`,
		"/protected_paths/policy":   `must be refuse or allow, not "review"`,
		"/protected_paths/add/1":    "begins with /: patterns begin at the root of the repository anyway",
		"/protected_paths/except/0": "has a backslash: separate segments with /; there are no escapes",
		"/protected_paths/except/1": "is empty",
		"/limits/files":             "must be from 1 to 100000", "/limits/bytes": "must be from 1 to 1073741824",
		"/limits/binary": "must be from 0 to 1073741824",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if settings.Policy != nil {
		t.Error("a request can set the policy")
	}
	wide := penstock.PushPolicy{Branches: [][]string{many, many, many, many, many}}
	if errs := wide.Check("/x"); len(errs) != 1 || errs[0].Pointer != "/x" {
		t.Errorf("a policy of 505 patterns: %v", errs)
	}
}
