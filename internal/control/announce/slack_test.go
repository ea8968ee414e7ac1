package announce

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

const slackTestURL = "https://penstock.example.com"

// textOf returns the text of a message, and checks it as an incoming webhook of Slack does.
func textOf(t *testing.T, body []byte) string {
	t.Helper()
	var fields map[string]json.RawMessage
	var text string
	if err := json.Unmarshal(body, &fields); err != nil || len(fields) != 1 {
		t.Fatalf("the body is %s: %v", body, err)
	}
	if err := json.Unmarshal(fields["text"], &text); err != nil || text == "" || len([]rune(text)) > 40_000 {
		t.Fatalf("the text is %s: %v", fields["text"], err)
	}
	return text
}

func slackText(t *testing.T, m store.MessageRow, names store.MessageNames, now penstock.Time) string {
	t.Helper()
	body, err := slackBody(slackLine(slackTestURL, m, names, now))
	if err != nil {
		t.Fatal(err)
	}
	return textOf(t, body)
}

func TestASlackMessageIsOneLine(t *testing.T) {
	t.Parallel()
	const run = "/api/v1/agent/runs/r"
	all := store.MessageNames{Run: "Fix the login", Automation: "nightly"}
	for want, m := range map[string]struct {
		store.MessageRow
		names store.MessageNames
	}{
		"<https://penstock.example.com/runs/r|Run FAILED>: Fix the login · automation nightly": {
			store.MessageRow{Type: store.EventRunFailed, Path: run}, all,
		},
		"<https://penstock.example.com/runs/r|Run has spent 80% of its budget>: Fix the login": {
			store.MessageRow{
				Type: store.EventRunBudgetThreshold, Path: run, Data: penstock.EndpointData{NotifyAt: 0.8},
			},
			store.MessageNames{Run: "Fix the login"},
		},
		"<https://penstock.example.com/spend|29% of a budget is spent>: daily budget of the team · run Fix the login": {
			store.MessageRow{
				Type: store.EventBudgetThreshold, Path: "/api/v1/budgets/b", Data: penstock.EndpointData{NotifyAt: 0.29},
			},
			store.MessageNames{Run: "Fix the login", Budget: "daily budget of the team"},
		},
		"<https://penstock.example.com/factory/f/automations/a|Automation paused>: nightly · run Fix the login": {
			store.MessageRow{Type: store.EventAutomationPaused, Path: "/api/v1/factory/f/automations/a"}, all,
		},
		"<https://penstock.example.com/schedules|Schedule paused>: backup · run Fix the login": {
			store.MessageRow{Type: store.EventAutomationPaused, Path: "/api/v1/agent/schedules/s"},
			store.MessageNames{Run: "Fix the login", Schedule: "backup"},
		},
		"<https://penstock.example.com/event-endpoints/e|Ping>: pager": {
			store.MessageRow{Type: EventEndpointPing, Path: "/api/v1/event-endpoints/e"},
			store.MessageNames{Endpoint: "pager"},
		},
		"<https://penstock.example.com/runs/r|run.renamed>: Fix the login · automation nightly": { // of a later release
			store.MessageRow{Type: "run.renamed", Path: run}, all,
		},
	} {
		if got := slackText(t, m.MessageRow, m.names, m.HappenedAt); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	m := store.MessageRow{Type: store.EventRunFailed, Path: run, HappenedAt: exampleTime}
	late := slackText(t, m, all, exampleTime.Add(time.Hour))
	if !strings.HasSuffix(late, "nightly · 2026-02-02 09:30 UTC") {
		t.Errorf("of an hour ago: %q", late)
	}
}

// The texts come from people, agents and payloads.
func TestATextInASlackMessageIsNotMarkup(t *testing.T) {
	t.Parallel()
	markup := regexp.MustCompile( // what Slack, Mattermost and Rocket.Chat find in a text
		`[<>]|&(?:$|[^agl])|@[\w.-]|https?://|\w\.\w|\]\(|\]\[|:\w+:|#\w|~\w|` + "`|\n|\r|[\u200e\u202a-\u202e\u2066-\u2069]",
	)
	for _, text := range []string{
		"<!channel>", "<!here|here>", "<!everyone> look", "<@U0123>", "<#C0123|general>", "<!subteam^S0123>",
		"<https://evil.example|Run SUCCEEDED>", "x|<https://evil.example>", "https://evil.example/login", "evil.example",
		"www.evil.example", "mailto:a@evil.example", "[Run SUCCEEDED](https://evil.example)", "![x](//evil.example/x.png)",
		"[x][y]", "@channel", "@all", "@here", "@every.one", "a@b", "&lt;!channel&gt;", "&#64;channel", "&commat;channel",
		":rotating_light:", "~town-square", "#general", "`code`", "```", "a\n[x]: https://evil.example", "a\r\n> quoted",
		"a\u202egpj.exe", "\u2028# Heading", "a\x00b\x1b[31m",
	} {
		m := store.MessageRow{Type: store.EventRunFailed, Path: "/api/v1/agent/runs/r"}
		got := slackText(t, m, store.MessageNames{Run: text, Automation: text}, 0)
		rest, ok := strings.CutPrefix(got, "<https://penstock.example.com/runs/r|Run FAILED>: ")
		if found := markup.FindString(rest); !ok || found != "" {
			t.Errorf("of the title %q the text is %q, with %q in it", text, got, found)
		}
	}
	if got := plainText("a < b &  c > d\tUmlaut ü"); got != "a &lt; b &amp; c &gt; d Umlaut ü" {
		t.Errorf("got %q", got)
	}
	long := plainText(strings.Repeat("&ü ", 10_000))
	if n := strings.Count(long, "ü"); n != 40 || !strings.HasSuffix(long, "…") {
		t.Errorf("a long text has %d of its words: %q", n, long)
	}
}

func TestEachTypeHasAHeadlineAndAPage(t *testing.T) {
	t.Parallel()
	router, err := os.ReadFile("../../../web/src/router.tsx")
	if err != nil {
		t.Fatal(err)
	}
	routes := []string{}
	for _, m := range regexp.MustCompile(`path: '([^']+)'`).FindAllStringSubmatch(string(router), -1) {
		routes = append(routes, regexp.MustCompile(`\$\w+`).ReplaceAllString(m[1], "[^/]+"))
	}
	pages := regexp.MustCompile("^(" + strings.Join(routes, "|") + ")$")
	s := &Endpoints{publicURL: slackTestURL}
	for _, each := range s.EventTypes() {
		path := strings.TrimPrefix(each.Example.Data.URL, slackTestURL)
		m := store.MessageRow{Type: each.Type, Path: path, Data: each.Example.Data}
		got := slackText(t, m, store.MessageNames{}, 0)
		link, headline, ok := strings.Cut(strings.Trim(got, "<>"), "|")
		if !ok || headlines[each.Type] == "" || strings.ContainsAny(headline, "{}<>|") {
			t.Errorf("the text of %s is %q; give the type a headline", each.Type, got)
		}
		at := strings.TrimPrefix(link, slackTestURL)
		if !pages.MatchString(at) || at == "/" {
			t.Errorf("the page of %s is %q", each.Type, at)
		}
	}
}

// answering is a transport that returns one answer, as if from a public address.
type answering struct {
	status int
	body   string
}

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.body = strings.ReplaceAll(a.body, "{path}", r.URL.Path)
	header := http.Header{"Retry-After": {"30"}}
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body)), Header: header}, nil
}

func TestARefusalOfSlackIsExplained(t *testing.T) {
	t.Parallel()
	v := sealed{URL: "https://hooks.slack.com/services/T0CK3T/B00000000/xxxxS3CRETxxxx"}
	for answer, want := range map[answering]string{
		{200, "ok"}:                       "",
		{404, "no_service"}:               "disabled or removed",
		{404, "no_team"}:                  "workspace",
		{403, "action_prohibited\n"}:      "An admin",
		{403, "invalid_token"}:            "URL",
		{404, "channel_not_found"}:        "does not exist",
		{410, "channel_is_archived"}:      "archived",
		{429, "rate_limited"}:             "",
		{500, "rollup_error"}:             "",
		{400, "invalid_payload"}:          "",
		{404, "nothing is here: {path}"}:  "",
		{503, "<html>no_service</html>"}:  "",
		{302, "https://slack.com/{path}"}: "",
	} {
		s := &Endpoints{sender: &sender{now: time.Now, client: &http.Client{
			Transport:     answer,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}}}
		for _, format := range []penstock.EndpointFormat{FormatStandard, FormatSlack} {
			m, want := outgoing{message: store.MessageRow{ID: "msg_1"}, body: []byte("{}")}, want
			got := s.attemptSigned(t.Context(), v, m, format)
			if format == FormatStandard {
				want = ""
			}
			if got.Status != answer.status || (got.Error == "") != (want == "") || !strings.Contains(got.Error, want) {
				t.Errorf("%s: %d %q is explained with %q, want %q", format, answer.status, answer.body, got.Error, want)
			}
			if got.Succeeded == (got.NextAt != 0) || got.Gone != (answer.status == http.StatusGone) {
				t.Errorf("%s: after %d, the attempt is %+v", format, answer.status, got)
			}
			if strings.Contains(got.Answer+got.Error, "S3CRET") {
				t.Errorf("the log has the path of the webhook: %q", got.Answer)
			}
		}
	}
}
