package penstock

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// ForgeSettings are what runs may do on the forges of their repositories. Each value is inherited by itself.
type ForgeSettings struct {
	Push      *PushSettings     `json:"push,omitempty"`
	Outputs   *OutputSettings   `json:"outputs,omitempty"`
	Followups *FollowupSettings `json:"followups,omitempty"`
	// Policy is what Push means for a run, together with everything that the run inherits, and OutputPolicy what
	// Outputs and Followups mean. Only runs have them. They are ignored in requests.
	Policy       *PushPolicy   `json:"policy,omitempty"`
	OutputPolicy *OutputPolicy `json:"output_policy,omitempty"`
}

// PushSettings are what runs may push. What is absent comes from the next layer, and in the end from
// [DefaultPushPolicy].
type PushSettings struct {
	Branches       []string        `json:"branches,omitzero"` // patterns; empty: no branch
	ProtectedPaths *PathProtection `json:"protected_paths,omitempty"`
	Limits         *PushBounds     `json:"limits,omitempty"`
	Secrets        string          `json:"secrets,omitempty"` // refuse or off
}

// PathProtection says which paths a push must not change.
type PathProtection struct {
	Policy string   `json:"policy,omitempty"` // refuse or allow
	Add    []string `json:"add,omitzero"`     // patterns, beside [ProtectedPaths]
	Except []string `json:"except,omitzero"`  // patterns that are not protected
}

// PushBounds are [PushLimits] as they are written. nil: the limit of the next layer.
type PushBounds struct {
	Files  *int `json:"files,omitempty"`
	Bytes  *int `json:"bytes,omitempty"`
	Binary *int `json:"binary,omitempty"`
}

// The values of settings of pushes.
const (
	PushRefuse = "refuse"
	PathsAllow = "allow"
	SecretsOff = "off"
)

// Limits of the settings of pushes.
const (
	MaxPushFiles    = 100_000
	MaxPushBytes    = 1 << 30
	maxPushPatterns = 100 // in one list
	maxPushLists    = 500 // patterns of a policy, without Protected
)

// IsZero reports whether f sets nothing.
func (f *ForgeSettings) IsZero() bool { return len(f.Values()) == 0 }

// Values lists what f sets, such as push/limits/files.
func (f *ForgeSettings) Values() []string {
	if f == nil {
		return nil
	}
	names := valuesOf("outputs", reflect.ValueOf(f.Outputs), valuesOf("push", reflect.ValueOf(f.Push), nil))
	return valuesOf("followups", reflect.ValueOf(f.Followups), names)
}

func valuesOf(name string, v reflect.Value, names []string) []string {
	switch {
	case v.IsZero():
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Struct:
		for field, value := range v.Elem().Fields() {
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names = valuesOf(name+"/"+key, value, names)
		}
	default:
		names = append(names, name)
	}
	return names
}

// Over returns settings with the values of f, and the other values of weaker, each by itself. Either may be
// nil. The result has no policy, and is nil if it sets nothing.
func (f *ForgeSettings) Over(weaker *ForgeSettings) *ForgeSettings {
	if f.IsZero() && weaker.IsZero() {
		return nil
	}
	var merged ForgeSettings
	for _, layer := range []*ForgeSettings{f, weaker} {
		if !layer.IsZero() {
			fill(reflect.ValueOf(&merged.Push).Elem(), reflect.ValueOf(layer.Push))
			fill(reflect.ValueOf(&merged.Outputs).Elem(), reflect.ValueOf(layer.Outputs))
			fill(reflect.ValueOf(&merged.Followups).Elem(), reflect.ValueOf(layer.Followups))
		}
	}
	return &merged
}

// fill sets what is absent in to. It copies the structures that it changes.
func fill(to, from reflect.Value) {
	switch {
	case from.IsZero():
	case from.Kind() != reflect.Pointer || from.Type().Elem().Kind() != reflect.Struct:
		if to.IsZero() {
			to.Set(from)
		}
	default:
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		for i := range from.Elem().NumField() {
			fill(to.Elem().Field(i), from.Elem().Field(i))
		}
	}
}

// Check returns the errors that f alone shows, with JSON pointers below at. It removes the policies, which only
// the server sets.
func (f *ForgeSettings) Check(at string) []FieldError {
	if f == nil {
		return nil
	}
	f.Policy, f.OutputPolicy = nil, nil
	errs := append(f.Push.check(at+"/push"), f.Outputs.check(at+"/outputs")...)
	return append(errs, f.Followups.check(at+"/followups")...)
}

func (p *PushSettings) check(at string) []FieldError {
	if p == nil {
		return nil
	}
	c := settingsCheck{at: at}
	c.patterns("/branches", p.Branches)
	c.word("/secrets", p.Secrets, PushRefuse, SecretsOff)
	if paths := p.ProtectedPaths; paths != nil {
		c.word("/protected_paths/policy", paths.Policy, PushRefuse, PathsAllow)
		c.patterns("/protected_paths/add", paths.Add)
		c.patterns("/protected_paths/except", paths.Except)
	}
	if limits := p.Limits; limits != nil {
		c.limit("/limits/files", limits.Files, 1, MaxPushFiles)
		c.limit("/limits/bytes", limits.Bytes, 1, MaxPushBytes)
		c.limit("/limits/binary", limits.Binary, 0, MaxPushBytes)
	}
	return c.errs
}

type settingsCheck struct {
	at   string
	errs []FieldError
}

func (c *settingsCheck) badf(pointer, format string, args ...any) {
	c.errs = append(c.errs, FieldError{c.at + pointer, fmt.Sprintf(format, args...)})
}

func (c *settingsCheck) patterns(pointer string, list []string) {
	if len(list) > maxPushPatterns {
		c.badf(pointer, "has %d patterns; at most %d are allowed", len(list), maxPushPatterns)
		return
	}
	for i, pattern := range list {
		if wrong := CheckPattern(pattern); wrong != "" {
			c.badf(fmt.Sprintf("%s/%d", pointer, i), "%s", wrong)
		}
	}
}

func (c *settingsCheck) word(pointer, value string, allowed ...string) {
	if value != "" && !slices.Contains(allowed, value) {
		c.badf(pointer, "must be %s, not %q", strings.Join(allowed, " or "), value)
	}
}

func (c *settingsCheck) limit(pointer string, value *int, low, high int) {
	if value != nil && (*value < low || *value > high) {
		c.badf(pointer, "must be from %d to %d", low, high)
	}
}

// PushPolicy returns what the settings of all layers mean, without a request.
func (f *ForgeSettings) PushPolicy() PushPolicy {
	p := DefaultPushPolicy()
	if f == nil || f.Push == nil {
		return p
	}
	s := f.Push
	if s.Branches != nil {
		p.Branches = [][]string{s.Branches}
	}
	if paths := s.ProtectedPaths; paths != nil {
		p.Protected, p.Except = append(p.Protected, paths.Add...), paths.Except
		if paths.Policy == PathsAllow {
			p.Protected, p.Except = nil, nil
		}
	}
	if limits := s.Limits; limits != nil {
		for to, from := range map[*int64]*int{
			&p.Limits.Files: limits.Files, &p.Limits.Bytes: limits.Bytes, &p.Limits.Binary: limits.Binary,
		} {
			if from != nil {
				*to = int64(*from)
			}
		}
	}
	p.AllowSecrets = s.Secrets == SecretsOff
	return p
}

// narrowRule is the rule that a request breaks which asks for more.
const narrowRule = "a run request can only narrow what its layers allow"

// Narrow returns p with what a request asks for, and an error for each value that would allow more, with
// JSON pointers below at. layers are the settings that p comes from.
func (p PushPolicy) Narrow(req, layers *ForgeSettings, at string) (PushPolicy, []FieldError) {
	if req == nil || req.Push == nil {
		return p, nil
	}
	c, s := settingsCheck{at: at + "/push"}, req.Push
	if s.Branches != nil {
		p.Branches = withList(p.Branches, s.Branches)
	}
	if paths := s.ProtectedPaths; paths != nil {
		p = p.narrowPaths(&c, paths, layers)
	}
	if limits := s.Limits; limits != nil {
		c.lower("/limits/files", &p.Limits.Files, limits.Files)
		c.lower("/limits/bytes", &p.Limits.Bytes, limits.Bytes)
		c.lower("/limits/binary", &p.Limits.Binary, limits.Binary)
	}
	switch {
	case s.Secrets == SecretsOff && !p.AllowSecrets:
		c.badf("/secrets", "must not be off: %s, which is refuse", narrowRule)
	case s.Secrets == PushRefuse:
		p.AllowSecrets = false
	}
	return p, c.errs
}

// lower sets a limit that a request may only lower.
func (c *settingsCheck) lower(pointer string, to *int64, value *int) {
	switch {
	case value == nil:
	case int64(*value) > *to:
		c.badf(pointer, "must be at most %d: %s", *to, narrowRule)
	default:
		*to = int64(*value)
	}
}

// Check returns an error at pointer if the policy has too many patterns, which many narrowings may add.
func (p PushPolicy) Check(pointer string) []FieldError {
	n := len(p.Always) + len(p.Except)
	for _, list := range p.Branches {
		n += len(list)
	}
	if n <= maxPushLists {
		return nil
	}
	return []FieldError{{pointer, fmt.Sprintf(
		"has %d patterns, with those that the run inherits; at most %d are allowed", n, maxPushLists)}}
}

func (p PushPolicy) narrowPaths(c *settingsCheck, paths *PathProtection, layers *ForgeSettings) PushPolicy {
	open := len(p.Protected) == 0
	switch {
	case paths.Policy == PathsAllow && !open:
		c.badf("/protected_paths/policy", "must not be allow: %s, which is refuse", narrowRule)
	case paths.Policy == PushRefuse && open:
		strict := (&ForgeSettings{Push: &PushSettings{ProtectedPaths: &PathProtection{Policy: PushRefuse}}}).Over(layers)
		own := strict.PushPolicy()
		p.Protected, p.Except = own.Protected, own.Except
	}
	if paths.Except != nil {
		for i, pattern := range paths.Except {
			if !open && !slices.Contains(p.Except, pattern) {
				c.badf(fmt.Sprintf("/protected_paths/except/%d", i), "must be an exception of the agent or factory: %s", narrowRule)
			}
		}
		p.Except = paths.Except
	}
	p.Always = union(p.Always, paths.Add)
	return p
}

// Within returns a policy that allows what both allow. It may allow less than that: an exception counts only if
// both have it.
func (p PushPolicy) Within(q PushPolicy) PushPolicy {
	for _, list := range q.Branches {
		p.Branches = withList(p.Branches, list)
	}
	switch {
	case len(q.Protected) == 0:
	case len(p.Protected) == 0:
		p.Except = q.Except
	default:
		p.Except = slices.DeleteFunc(slices.Clone(p.Except), func(s string) bool { return !slices.Contains(q.Except, s) })
	}
	p.Protected, p.Always = union(p.Protected, q.Protected), union(p.Always, q.Always)
	p.Limits = PushLimits{
		Files: min(p.Limits.Files, q.Limits.Files), Bytes: min(p.Limits.Bytes, q.Limits.Bytes),
		Binary: min(p.Limits.Binary, q.Limits.Binary),
	}
	p.AllowSecrets = p.AllowSecrets && q.AllowSecrets
	return p
}

// withList returns lists with one more, unless they have it.
func withList(lists [][]string, list []string) [][]string {
	if slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, list) }) {
		return lists
	}
	return append(slices.Clip(lists), list)
}

func union(a, b []string) []string {
	a = slices.Clip(a)
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
