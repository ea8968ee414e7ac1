package factory

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/store"
)

func TestADeliveryIsSummarized(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		headers map[string]string
		head    string
		event   string
		summary string
	}{
		{"a type in the payload", nil, `{"type": "order.refunded", "id": 7}`, "order.refunded", "id: 7"},
		{
			"a header with an action",
			map[string]string{"x-github-event": "pull_request"},
			`{"action": "opened", "number": 12, "pull_request": {"title": "Round half up", "user": {"login": "eva"}}}`,
			"pull_request.opened", "action: opened, number: 12, pull_request.title: Round half up",
		},
		{
			"a payload that is cut off", nil, `{"event": "deploy", "list": [1, {"a": 2}], "status": "failed", "lo`, "deploy",
			"status: failed",
		},
		{"many values", nil, `{"a":1,"b":null,"c":true,"d":"x","e":5}`, "", "a: 1, b: null, c: true, d: x"},
		{"no object", nil, `[{"type": "x"}]`, "", ""},
		{"nothing", nil, ``, "", ""},
		{"hostile text", nil, `{"type": "a\u0000\u202eb\n\nc", "k\n": "\ud800"}`, "a b c", ""},
		{
			"long text", nil, `{"type": "` + strings.Repeat("ü", 99) + `"}`, strings.Repeat("ü", summaryLength) + "…", "",
		},
	} {
		d := store.Delivery{Headers: tt.headers, Head: []byte(tt.head)}
		describe(&d)
		if d.EventType != tt.event || strings.TrimSpace(d.Summary) != strings.TrimSpace(tt.summary) {
			t.Errorf("%s: got %q and %q, want %q and %q", tt.name, d.EventType, d.Summary, tt.event, tt.summary)
		}
	}
}
