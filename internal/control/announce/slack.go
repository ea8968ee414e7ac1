package announce

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// headlines say in a few words what happened. {share} is the share of a budget.
var headlines = map[penstock.EndpointEvent]string{
	store.EventRunCreated:         "Run created",
	store.EventRunStarted:         "Run started",
	store.EventRunBlocked:         "Run is BLOCKED",
	store.EventRunStalled:         "Run has stalled",
	store.EventRunHollow:          "Run SUCCEEDED, but did nothing",
	store.EventRunSucceeded:       "Run SUCCEEDED",
	store.EventRunFailed:          "Run FAILED",
	store.EventRunErrored:         "Run ended in ERROR",
	store.EventRunCancelled:       "Run was CANCELLED",
	store.EventRunBudgetThreshold: "Run has spent {share} of its budget",
	store.EventBudgetThreshold:    "{share} of a budget is spent",
	store.EventBudgetExceeded:     "A budget has no room",
	store.EventAutomationPaused:   "Automation paused",
	store.EventAutomationSilent:   "Automation is silent",
	store.EventAutomationBack:     "Automation is no longer silent",
	store.EventAutomationDegraded: "Automation is degraded",
	store.EventDefinitionApplied:  "Factory has new files",
	store.EventDefinitionRejected: "Commit of a factory rejected",
	store.EventScheduleMissed:     "Automation missed times",
	store.EventWorkerLost:         "Worker of a run lost",
	store.EventWebhookFailing:     "Webhook is failing",
	store.EventEndpointDisabled:   "Event endpoint disabled",
	EventEndpointPing:             "Ping",
}

// slackLine returns a message for Slack: one line that begins with a link to the dashboard. For an incoming webhook,
// it is all, because Mattermost ignores blocks, and Slack would not show the text beside them.
func slackLine(publicURL string, m store.MessageRow, names store.MessageNames, now penstock.Time) string {
	share := fmt.Sprintf("%d%%", int(math.Round(m.Data.NotifyAt*100)))
	headline := strings.ReplaceAll(cmp.Or(headlines[m.Type], string(m.Type)), "{share}", share)
	if names.Schedule != "" {
		headline = strings.Replace(headline, "Automation", "Schedule", 1)
	}
	list := []named{
		{"schedule", names.Schedule},
		{"budget", names.Budget},
		{"endpoint", names.Endpoint},
		{"run", names.Run},
		{"automation", names.Automation},
		{"webhook", names.Webhook},
		{"factory", names.Factory},
	}
	if strings.Contains(m.Path, "/automations/") {
		slices.Reverse(list)
	}
	about := inWords(list)
	if now.Sub(m.HappenedAt) > late {
		about = append(about, m.HappenedAt.Std().UTC().Format("2006-01-02 15:04 MST"))
	}
	text := "<" + publicURL + page(m.Path) + "|" + headline + ">"
	if len(about) > 0 {
		text += ": " + strings.Join(about, " · ")
	}
	return text
}

// slackBody returns a line as an incoming webhook of Slack takes it.
func slackBody(line string) ([]byte, error) { return json.Marshal(map[string]string{"text": line}) }

// named is something with its name, which is "" if there is nothing to show.
type named struct{ noun, name string }

// inWords lists what has a name. The first needs no noun: the headline has it.
func inWords(list []named) (words []string) {
	for _, v := range list {
		switch {
		case v.name == "":
		case words == nil:
			words = append(words, plainText(v.name))
		default:
			words = append(words, v.noun+" "+plainText(v.name))
		}
	}
	return words
}

// late is when a message says when it happened. Before, the receiver shows nearly the same time.
const late = 5 * time.Minute

// page returns the path of the dashboard's page about what has this path in the API.
func page(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	switch {
	case parts[0] == "budgets":
		return "/spend"
	case len(parts) > 2 && parts[0] == "agent" && parts[1] == "runs":
		return "/runs/" + parts[2]
	case len(parts) > 1 && parts[0] == "agent" && parts[1] == "schedules":
		return "/schedules"
	case len(parts) > 1 && parts[0] == "event-endpoints":
		return "/event-endpoints/" + parts[1]
	case len(parts) > 3 && parts[0] == "factory" && (parts[2] == "automations" || parts[2] == "webhooks"):
		return "/" + strings.Join(parts[:4], "/")
	case len(parts) > 1 && parts[0] == "factory":
		return "/factory/" + parts[1]
	}
	return "/"
}

// maxName is how many characters of a name are shown.
const maxName = 120

// escapes are what receivers could read as markup, and what is written instead. Slack documents three. A zero-width
// space in the others keeps what Mattermost and Slack find in plain text from being found: mentions, links, emoji.
var escapes = map[rune]string{
	'&': "&amp;", '<': "&lt;", '>': "&gt;", '`': "'", '@': "@\u200b", '.': ".\u200b", ':': ":\u200b", ']': "]\u200b",
	'#': "#\u200b", '~': "~\u200b",
}

// plainText returns the beginning of a text as one line that cannot mention anybody or be a link.
func plainText(text string) string {
	var b strings.Builder
	n := 0
	for word := range strings.FieldsSeq(text) {
		if b.Len() > 0 {
			b.WriteByte(' ')
			n++
		}
		for _, r := range word {
			if !unicode.IsPrint(r) {
				continue
			}
			if n++; n > maxName {
				return b.String() + "…"
			}
			if escaped, ok := escapes[r]; ok {
				b.WriteString(escaped)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// refusals explain what an incoming webhook of Slack answers.
var refusals = map[string]string{
	"no_service":        "Slack does not know the webhook: it was disabled or removed. Set the URL of another one.",
	"no_active_hooks":   "Slack does not know the webhook: it was disabled or removed. Set the URL of another one.",
	"no_team":           "Slack does not know the workspace of the webhook. Check the URL.",
	"invalid_token":     "The URL of the webhook is not valid, or no longer. Set the URL that Slack shows.",
	"action_prohibited": "An admin of the Slack workspace does not let this webhook post here.",
	"posting_to_general_channel_denied": "An admin of the Slack workspace does not let this webhook post to the general " +
		"channel.",
	"channel_not_found":   "The channel of the webhook does not exist any more.",
	"channel_is_archived": "The channel of the webhook is archived.",
	"user_not_found":      "The user to whom the webhook posts does not exist.",
}
