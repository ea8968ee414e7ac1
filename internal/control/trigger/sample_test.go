package trigger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// A sample of each event fires a trigger on it, and two samples are never the same bytes.
func TestTheSampleOfEachEventReportsIt(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{penstock.ProviderGitHub, penstock.ProviderLinear} {
		for _, event := range penstock.TriggerEvents(provider) {
			name, body := trigger.Sample(provider, event, "test-1", time.Now())
			all, why := trigger.Events(provider, name, parse(t, string(body)))
			if !slices.Contains(names(all), event) {
				t.Errorf("%s %s: %q reports %v %s", provider, event, name, names(all), why)
			}
			if _, again := trigger.Sample(provider, event, "test-2", time.Now()); string(again) == string(body) {
				t.Errorf("%s %s: two samples are equal", provider, event)
			}
		}
	}
	for _, unknown := range [][2]string{{"github", "ping"}, {"webhook", "received"}, {"jira", "issue_created"}} {
		if _, body := trigger.Sample(unknown[0], unknown[1], "", time.Now()); body != nil {
			t.Errorf("%v: %s", unknown, body)
		}
	}
}
