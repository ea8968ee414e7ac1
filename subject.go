package penstock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// SubjectRules say what the events of an automation are about, and how they reach the run that works on
// that subject. The zero value has no subject: each event starts a run of its own.
type SubjectRules struct {
	// Subject is a [SubjectTemplate], or [SubjectAuto].
	Subject string `json:"subject,omitempty"`
	// SubjectScope says with which automations its subjects are shared.
	SubjectScope SubjectScope `json:"subject_scope,omitempty"` // automation when absent
	WhenBusy     WhenBusy     `json:"when_busy,omitempty"`     // coalesce when absent
	// Quiet is how long no event of the subject must come before what waits starts. If it is absent, the
	// first event starts at once, and later ones wait for 30 seconds.
	Quiet       Period `json:"quiet,omitempty"`
	LongestWait Period `json:"longest_wait,omitempty"` // the most that an event waits for that
	Keep        Period `json:"keep,omitempty"`         // how long events continue a run that has succeeded
	// MaxFollowups is how often events may continue a run before a person has to answer.
	MaxFollowups *int `json:"max_followups,omitempty"`
	// FollowupPrompt is the automation's prompt for later events; absent: its prompt.
	FollowupPrompt string `json:"followup_prompt,omitempty"`
	// ContinueOn lists events that reach the run which works on their subject, and never start one.
	ContinueOn []Trigger `json:"continue_on,omitzero"`
	// Closes lists events that end their subject: events that wait are dropped, and nothing starts until a
	// newer event of the automation's triggers opens it again. ClosesRun also cancels the run.
	Closes    []Trigger `json:"closes,omitzero"`
	ClosesRun bool      `json:"closes_run,omitempty"`
}

// defaultMaxFollowups is the default of [SubjectRules].
const defaultMaxFollowups = 20

// SubjectAuto is the subject that the provider of the events names, such as github:acme/shop#7.
const SubjectAuto = "auto"

// Followups returns MaxFollowups or its default.
func (r SubjectRules) Followups() int {
	if r.MaxFollowups == nil {
		return defaultMaxFollowups
	}
	return *r.MaxFollowups
}

// SubjectScope says which automations work on a subject in one run.
type SubjectScope string

// SubjectScopeAutomation gives each automation subjects of its own. It is the default.
const (
	SubjectScopeAutomation SubjectScope = "automation"
	// SubjectScopeFactory shares them with all automations of the factory that have it. These need the same agent,
	// secrets and network.
	SubjectScopeFactory SubjectScope = "factory"
)

// SubjectScopes lists the values of SubjectScope.
func SubjectScopes() []SubjectScope {
	return []SubjectScope{SubjectScopeAutomation, SubjectScopeFactory}
}

// Valid reports whether s is "" or one of [SubjectScopes].
func (s SubjectScope) Valid() bool { return s == "" || slices.Contains(SubjectScopes(), s) }

// WhenBusy is what an event does while a run works on its subject.
type WhenBusy string

// WhenBusyCoalesce gathers events for one follow-up after the turn. It is the default.
const (
	WhenBusyCoalesce WhenBusy = "coalesce"
	WhenBusyQueue    WhenBusy = "queue"    // one follow-up for each, in order
	WhenBusyReplace  WhenBusy = "replace"  // interrupts the turn; only the newest event follows
	WhenBusyParallel WhenBusy = "parallel" // starts a run of its own
)

// WhensBusy lists the values of WhenBusy.
func WhensBusy() []WhenBusy {
	return []WhenBusy{WhenBusyCoalesce, WhenBusyQueue, WhenBusyReplace, WhenBusyParallel}
}

// Valid reports whether w is "" or one of [WhensBusy].
func (w WhenBusy) Valid() bool { return w == "" || slices.Contains(WhensBusy(), w) }

// Period is a time such as 30s, 5m or 14d. "" stands for its default.
type Period string

// maxPeriod is the longest Period.
const maxPeriod = 366 * 24 * time.Hour

// UnmarshalJSON also reads a number, of seconds.
func (p *Period) UnmarshalJSON(b []byte) error {
	text := string(b)
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 {
		*p = Period(text + "s")
		return nil
	}
	text, err := strconv.Unquote(text)
	if err != nil {
		return Invalid("", "must be a time such as 30s, 5m or 14d, or 0")
	}
	*p = Period(strings.TrimSpace(text))
	return nil
}

func (p Period) parse() (time.Duration, error) {
	text := string(p)
	var days time.Duration
	if number, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("read the days of %q: %w", text, err)
		}
		if days = time.Duration(n) * 24 * time.Hour; rest == "" {
			return days, nil
		}
		text = rest
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", text, err)
	}
	return days + d, nil
}

// Valid reports whether p is "", 0, or a time up to [maxPeriod].
func (p Period) Valid() bool {
	d, err := p.parse()
	return p == "" || err == nil && d >= 0 && d <= maxPeriod
}

// Or returns the time of p, or another one for "".
func (p Period) Or(absent time.Duration) time.Duration {
	if p == "" {
		return absent
	}
	d, _ := p.parse() // was checked
	return d
}

// MaxSubject is the longest subject, in bytes. What comes after that is not shown.
const MaxSubject = 512

// SubjectTemplate names what an event is about, such as {{repository.full_name}}#{{pull_request.number}}.
// It has the placeholders of a [TitleTemplate].
type SubjectTemplate struct{ TitleTemplate }

// ParseSubject reads a template, which needs a placeholder: otherwise all events would be about the same.
// The error says what is wrong with it, for a field's error.
func ParseSubject(template string) (SubjectTemplate, error) {
	if strings.TrimSpace(template) == SubjectAuto {
		return SubjectTemplate{}, nil
	}
	t, err := ParseTitle(template)
	if err != nil {
		return SubjectTemplate{}, err
	}
	for _, p := range t.parts {
		if p.path != nil {
			return SubjectTemplate{t}, nil
		}
	}
	if strings.TrimSpace(template) == "" {
		return SubjectTemplate{}, nil
	}
	return SubjectTemplate{}, fmt.Errorf(
		"must name a value of the payload, such as {{pull_request.number}}, or be auto",
	)
}

// Expand returns the subject as people read it, and the values of its placeholders. Without one of
// them, both are empty: the event has no subject.
func (t SubjectTemplate) Expand(value func(path []string) string) (subject string, values []string) {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.path == nil {
			continue
		}
		v := value(p.path)
		if v == "" {
			return "", nil
		}
		b.WriteString(v)
		values = append(values, v)
	}
	return ShownSubject(b.String()), values
}

// ShownSubject returns a subject as one line of at most [MaxSubject] bytes.
func ShownSubject(subject string) string {
	subject = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return withoutBidi(r)
	}, subject)
	if len(subject) > MaxSubject {
		subject = subject[:MaxSubject]
		for !utf8.ValidString(subject) {
			subject = subject[:len(subject)-1]
		}
	}
	return subject
}
