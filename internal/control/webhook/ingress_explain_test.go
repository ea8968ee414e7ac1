package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Systems that log why an event was dropped keep values of customers for longer than the event.
func TestTheLogShowsNoValueOfARemovedPayload(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", eventSecret, nil)
		filter := fmt.Sprintf(`{"webhook_ids": [%q], "payload": {"sender": {"login": ["ada"]}}}`, w.UID)
		absent := fmt.Sprintf(`{"webhook_ids": [%q], "payload": {"nothing": ["x", "y"]}}`, w.UID)
		s.waits("filter", [3]string{"webhook", "received", filter})
		s.waits("absent", [3]string{"webhook", "received", absent})
		s.waits("authors", [3]string{"github", "pull_request_opened", `{"authors": ["ada"]}`})
		s.waits("closed", [3]string{"github", "pull_request_closed", ""})

		d := s.fromGitHub(w, "pull_request", s.event("github/pull_request.opened"))
		want := map[string]string{
			"filter":  "/sender/login `sender.login` is `Codertocat`; expects `ada`",
			"absent":  "/nothing `nothing` is absent; expects one of `x` or `y`",
			"authors": "/authors `authors` is `codertocat`; expects `ada`",
			"closed":  "action `opened` starts nothing; this automation waits for closed",
		}
		if diff := cmp.Diff(want, matchSummaries(d)); diff != "" {
			t.Errorf("with the payload (-want +got):\n%s", diff)
		}

		testkit.Exec(t, s.url, "UPDATE deliveries SET body = NULL, raw = NULL")
		want = map[string]string{
			"filter":  "/sender/login `sender.login` does not match; expects `ada`",
			"absent":  "/nothing `nothing` is absent; expects one of `x` or `y`",
			"authors": "/authors `authors` does not match; expects `ada`",
			"closed":  "the event starts nothing; this automation waits for closed",
		}
		for name, d := range map[string]store.Delivery{"read": s.logged(w, d.ID), "listed": s.entries(w)[0]} {
			if diff := cmp.Diff(want, matchSummaries(d)); diff != "" {
				t.Errorf("%s without the payload (-want +got):\n%s", name, diff)
			}
			text, err := json.Marshal(d.Matches)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range []string{"odertocat", "opened", `"words"`} {
				if strings.Contains(string(text), value) {
					t.Errorf("%s without the payload: %s has %s", name, text, value)
				}
			}
			for _, m := range d.Matches {
				if m.Operator == "" || len(m.Expected) == 0 {
					t.Errorf("%s: %+v does not say what was expected", name, m)
				}
			}
		}
	})
}

func TestTheLogIsSafeToShow(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		name := func(n string) func(*factory.AutomationRequest) {
			return func(r *factory.AutomationRequest) { r.Name = &n }
		}
		s.automation(w, `{"token": ["tok-of-the-filter"]}`, name("secret"))
		s.automation(w, `{"text": ["x"]}`, name("terminal"))
		s.automation(w, `{"list": ["`+strings.Repeat("y", 500)+`", "z"]}`, name("long"))
		long := strings.Repeat("é", 30_000)
		body := `{"token": "tok-of-the-sender", "text": "\u001b]0;owned\u0007\u202e\u009b2J", "list": ["` + long + `", "` +
			long + `"]}`
		got := s.post(path(w), bearer(w), []byte(body))
		got.want(t, "deliver", http.StatusAccepted)
		d := s.logged(w, got.id())
		text, err := json.Marshal(d.Matches)
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{"tok-of", `"words"`} {
			if strings.Contains(string(text), hidden) {
				t.Errorf("%s is in %s", hidden, text)
			}
		}
		summaries := matchSummaries(d)
		want := map[string]string{
			"secret":   "/token `token` has a value that is not shown; expects another value, which is not shown either",
			"terminal": "/text `text` is the text \"\\x1b]0;owned\\a\\u202e\\u009b2J\"; expects the text \"x\"",
			"long":     summaries["long"],
		}
		if diff := cmp.Diff(want, summaries); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, m := range d.Matches {
			all := m.Reason + strings.Join(m.Actual, "") + strings.Join(m.Expected, "")
			if n := len([]rune(all)); n > 1000 {
				t.Errorf("%s has %d characters", m.Automation, n)
			}
			if strings.ContainsFunc(all, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%s has control characters: %q", m.Automation, all)
			}
		}
	})
}
