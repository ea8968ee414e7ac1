package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestTheTimesOfASchedule(t *testing.T) {
	t.Parallel()
	w := start(t)
	times := func(cron, zone string) response {
		return w.do("GET", "/api/v1/schedule-times?"+url.Values{"cron": {cron}, "timezone": {zone}}.Encode(), nil)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Upcoming []time.Time }
	times("0 7 * * 1-5", "Europe/Berlin").into(t, &got)
	if len(got.Upcoming) != 5 {
		t.Fatalf("got %v, want five times", got.Upcoming)
	}
	before := time.Now()
	for _, at := range got.Upcoming {
		local := at.In(berlin)
		if !at.After(before) || local.Hour() != 7 || local.Minute() != 0 || local.Weekday() == time.Saturday ||
			local.Weekday() == time.Sunday {
			t.Errorf("got %s after %s, want the next weekday at seven", local, before)
		}
		before = at
	}
	for _, tt := range []struct{ cron, zone, want string }{
		{"whenever", "UTC", `cron: \"whenever\" is not valid: it has 1 instead of five fields; use five fields`},
		{"0 0 31 2 *", "UTC", "cron: never matches a date"},
		{"TZ=UTC 0 7 * * *", "UTC", "cron: must not name a time zone"},
		{"0 7 * * *", "Mars/Base", "timezone: must be an IANA time zone"},
		{"", "UTC", "query parameter cron: must not be empty"},
	} {
		if a := times(tt.cron, tt.zone); a.status != http.StatusBadRequest || !strings.Contains(a.body, tt.want) {
			t.Errorf("%q in %s: got %d %s, want 400 with %q", tt.cron, tt.zone, a.status, a.body, tt.want)
		}
	}
	for query, want := range map[string]string{
		"time_zone=Mars/X":                       "query parameter time_zone: must be an IANA",
		"time_zone=Asia/Tokyo&timezone=UTC":      "query parameter time_zone: differs from timezone",
		"time_zone=Asia/Tokyo&timezone=Mars/X":   "query parameter time_zone: differs from timezone",
		"time_zone=Asia/Tokyo&timezone=":         "query parameter timezone: must not be empty",
		"time_zone=Asia/Tokyo&time_zone=Mars/X":  "query parameter time_zone",
		"time_zone=Mars/X&timezone=Mars/X&cron=": "query parameter",
	} {
		a := w.do("GET", "/api/v1/schedule-times?cron=@daily&"+query, nil)
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, want) {
			t.Errorf("%s: got %d %s, want 400 with %q", query, a.status, a.body, want)
		}
	}
	w.must(http.StatusOK, "GET", "/api/v1/schedule-times?cron=@daily&time_zone=Asia/Tokyo&timezone=Asia/Tokyo", nil)
	w.must(http.StatusBadRequest, "GET", "/api/v1/schedule-times", nil)
}
