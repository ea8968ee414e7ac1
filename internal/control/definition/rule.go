package definition

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// A rule limits the values of a scalar. The tag `rule` of a field names it, for the scalar itself
// or for those in its list or mapping. The parser and the JSON Schemas use the same rules.
type rule struct {
	enum        []string          // all values; of an open rule, the known ones
	aliases     map[string]string // other values, each with its canonical value in enum
	open        bool              // also allows other values that match pattern
	pattern     string            // RE2, and the same in ECMA 262
	description string            // pattern in words
	max         int               // characters
	bytes       int               // of UTF-8
	low         float64
	high        float64
	above       bool // excludes low itself
	bounded     bool // low and high apply
	code        Code // of an invalid value; default InvalidValue

	zero    bool              // also allows the number 0, which is read as its text
	trimmed bool              // ignores white space around a value
	valid   func(string) bool // the full rule, if pattern is only a part of it
}

// Limits of the API, which also apply to files.
const (
	maxName        = 100       // bytes
	maxDescription = 4 << 10   // bytes
	maxPrompt      = 256 << 10 // bytes
)

func wordsOf[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return words
}

// periodPattern matches a [penstock.Period].
const periodPattern = `^(0|[0-9]+d|([0-9]+d)?([0-9]+(\.[0-9]+)?(h|m|s|ms))+)$`

var rules = map[string]rule{
	"version": {enum: []string{SchemaVersion}, code: UnsupportedVersion},
	"text":    {pattern: `\S`, description: "not be empty: remove the key or set a value"},
	"name": {
		pattern:     `^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$`,
		description: "be one non-empty line without control characters", bytes: maxName,
	},
	"title": {
		pattern:     `^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$`,
		description: "be one non-empty line, with at most 10 placeholders such as {{data.order}}",
		max:         penstock.MaxTitleTemplate,
		valid:       func(title string) bool { _, err := penstock.ParseTitle(title); return err == nil },
	},
	"about": {pattern: `\S`, description: "not be empty: remove the key or set a value", bytes: maxDescription},
	"alias": { // not all JSON Schema validators support a class of letters
		pattern:     `^\s*` + aliasEdge + `(` + aliasInner + `{0,58}` + aliasEdge + `)?\s*$`,
		description: "be 1 to 60 letters and digits of any script, spaces, . _ and -", trimmed: true,
		valid: ValidAlias,
	},
	"owner": {
		pattern: `^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`, description: "be the owner of a repository, such as acme",
	},
	"repository": {
		pattern: `^[A-Za-z0-9._-]{1,100}$`, description: "be the name of a repository, such as payments-service",
	},
	"secret": {
		pattern:     `^[A-Za-z_][A-Za-z0-9_]{0,127}$`,
		description: "be the name of a managed secret: letters, digits and _, no digit first",
	},
	"strategy": {enum: []string{"EXECUTOR", "CREATOR"}},
	"catchUp":  {enum: wordsOf(CatchUps())},
	"overlap":  {enum: wordsOf(Overlaps())},
	"agentType": {
		enum:    []string{"FOREMAN", "TRIAGE", "SPEC", "IMPLEMENT", "REVIEW", "VERIFY", "CUSTOM"},
		aliases: map[string]string{"MAIN": "FOREMAN"},
	},
	"harness": {
		enum:    Harnesses(),
		aliases: map[string]string{"oz": penstock.HarnessBuiltin, "claude-code": "claude"},
		open:    true, pattern: `^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`,
		description: "be the name of a harness, such as builtin or claude",
	},
	"credential": {enum: []string{
		penstock.CredentialBasic, penstock.CredentialBearer, penstock.CredentialHeader,
	}},
	"glob": {
		pattern: `\S`, description: "be a pattern, such as penstock/**", bytes: penstock.MaxPushPattern,
	},
	"pathPolicy":  {enum: []string{penstock.PushRefuse, penstock.PathsAllow}},
	"pushSecrets": {enum: []string{penstock.PushRefuse, penstock.SecretsOff}},
	"pushFiles":   {bounded: true, low: 1, high: penstock.MaxPushFiles},
	"pushBytes":   {bounded: true, low: 1, high: penstock.MaxPushBytes},
	"pushBinary":  {bounded: true, high: penstock.MaxPushBytes},
	"approval":    {enum: penstock.Approvals()},
	"status":      {enum: penstock.Statuses()},
	"openLimit":   {bounded: true, high: penstock.MaxOpenLimit},
	"checks":      {bounded: true, high: penstock.MaxChecks},
	"outputs":     {bounded: true, high: penstock.MaxOutputs},
	"label": {
		pattern: `^\S(.*\S)?$`, description: "be the name of a label, in one line of at most 50 characters",
		max: penstock.MaxLabel, valid: penstock.ValidLabel,
	},
	"reviewer":      {pattern: penstock.ReviewerForm, description: "be a login without @, or owner/team"},
	"port":          {bounded: true, low: 1, high: 65535},
	"size":          {bounded: true, high: 1 << 53},
	"authSource":    {enum: []string{AuthManagedSecret, AuthWorkerEnvironment}},
	"integration":   {enum: []string{"slack", "linear", "jira"}},
	"projectNumber": {pattern: `^[0-9]{1,20}$`, description: "be digits in quotes"},
	"roleARN": {
		pattern:     `^arn:[a-z-]+:iam::[0-9]{12}:role/[^\s]+$`,
		description: "be the ARN of a role, such as arn:aws:iam::123456789012:role/factory",
	},
	"provider":   {enum: penstock.Providers(), code: InvalidTrigger},
	"os":         {enum: []string{"linux", "macos"}},
	"arch":       {enum: []string{"x86_64", "aarch64"}},
	"macVersion": {enum: []string{"14", "15", "26", "27"}},
	"authMode": {
		enum: []string{string(penstock.AuthToken), string(penstock.AuthURLToken), string(penstock.AuthSignature)},
	},
	"scheme":  {enum: schemeNames()},
	"refresh": {enum: []string{string(penstock.RefreshApply), string(penstock.RefreshImmediate)}},
	"window": {
		pattern: `^(0|([0-9]+(\.[0-9]+)?(h|m|s|ms))+)$`, zero: true, max: 32,
		description: "be a time such as 20h or 90m, up to 8784h; 0 turns the comparison of bodies off",
		valid:       func(text string) bool { return penstock.DedupWindow(text).Valid() },
	},
	"subject": {
		pattern:     `^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$`,
		description: "be auto, or one line with at least one placeholder such as {{pull_request.number}}",
		max:         penstock.MaxTitleTemplate,
		valid:       func(subject string) bool { _, err := penstock.ParseSubject(subject); return err == nil },
	},
	"subjectScope": {enum: wordsOf(penstock.SubjectScopes())},
	"whenBusy":     {enum: wordsOf(penstock.WhensBusy())},
	"onHollow":     {enum: wordsOf(OnHollows())},
	"period": {
		pattern: periodPattern, zero: true, max: 32,
		description: "be a time such as 30s, 5m or 14d, up to 366d",
		valid:       func(text string) bool { return penstock.Period(text).Valid() },
	},
	"expected": {
		pattern: periodPattern, zero: true, max: 32,
		description: "be a time such as 30m, 26h or 7d, from 1m to 366d, or 0",
		valid: func(text string) bool {
			return penstock.HealthRules{ExpectEvery: penstock.Period(text)}.ValidExpectEvery()
		},
	},
	"failures":  {bounded: true, high: MostFailures},
	"followups": {bounded: true, low: 1, high: MostFollowups},
	"output":    {enum: []string{"classification"}},
	"share":     {bounded: true, high: 1},
	"percent":   {bounded: true, high: 100},
	"count":     {bounded: true, low: 1, high: 1024},
	"gigabytes": {bounded: true, above: true, high: 16384},
	"repoRef": {
		pattern:     `^(github|gitlab)\.com:[A-Za-z0-9][A-Za-z0-9._/-]*/[A-Za-z0-9._-]+@[0-9a-f]{40}$`,
		description: "be github.com:OWNER/REPO@COMMIT or gitlab.com:OWNER/REPO@COMMIT with the 40 hex digits of a commit",
	},
}

// Characters of an alias in ASCII. Spaces may only be inside.
const (
	aliasEdge  = `[^\x00-,/:-@\[-\^\x60{-\x7f]`
	aliasInner = `[^\x00-\x1f!-,/:-@\[-\^\x60{-\x7f]`
)

// patterns stores the compiled patterns of the rules. They are compiled when the first file is
// read: most processes read none.
var patterns = sync.OnceValue(func() map[string]*regexp.Regexp {
	compiled := map[string]*regexp.Regexp{}
	for name, r := range rules {
		if r.pattern != "" {
			compiled[name] = regexp.MustCompile(r.pattern)
		}
	}
	return compiled
})

func schemeNames() []string {
	var names []string
	for _, preset := range signature.Presets() {
		names = append(names, string(preset.Scheme))
	}
	return names
}

// checkText checks a text against a rule, and returns its canonical form.
func (d *document) checkText(at *yaml.Node, name, value string) string {
	r, ok := rules[name]
	if !ok {
		return value
	}
	code := cmp.Or(r.code, InvalidValue)
	if canonical, ok := r.aliases[value]; ok {
		return canonical
	}
	if r.trimmed {
		value = strings.Trim(value, " \t\n\f\r") // the characters of \s in a pattern
	}
	switch {
	case slices.Contains(r.enum, value):
	case r.enum != nil && !r.open:
		d.mustf(at, code, nearest(value, r.spellings()), "be %s, not %s", alternatives(r.enum), quote(value))
	case r.pattern != "" && !patterns()[name].MatchString(value), r.valid != nil && !r.valid(value):
		if strings.TrimSpace(value) != "" {
			d.mustf(at, code, "", "%s, not %s", r.description, quote(value))
			break
		}
		d.mustf(at, code, "", "%s", r.description)
	case r.max > 0 && utf8.RuneCountInString(value) > r.max:
		d.mustf(at, code, "", "be at most %d characters, not %d", r.max, utf8.RuneCountInString(value))
	case r.bytes > 0 && len(value) > r.bytes:
		d.mustf(at, code, "", "be at most %d bytes, not %d", r.bytes, len(value))
	}
	return value
}

// spellings returns all values of an enumeration.
func (r rule) spellings() []string {
	return slices.Concat(r.enum, slices.Sorted(maps.Keys(r.aliases)))
}

// checkNumber checks a number against a rule.
func (d *document) checkNumber(at *yaml.Node, name string, value float64) {
	r, ok := rules[name]
	if !ok || !r.bounded {
		return
	}
	if r.above && value <= r.low || value > r.high || value < r.low {
		d.mustf(at, InvalidValue, "", "be %s, not %s", r.bounds(), at.Value)
	}
}

func (r rule) bounds() string {
	if r.above {
		return fmt.Sprintf("more than %v and at most %v", r.low, r.high)
	}
	return fmt.Sprintf("from %v to %v", r.low, r.high)
}

// alternatives lists values in a sentence.
func alternatives(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}
