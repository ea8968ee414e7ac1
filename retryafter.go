package penstock

import (
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns how long a response asks to wait: its header Retry-After (RFC 9110, section
// 10.2.3), a number of seconds or a date. date is its header Date, which may differ from our clock. It
// returns 0 for a value that is missing, malformed or in the past.
func RetryAfter(value, date string, now time.Time) time.Duration {
	const most = 365 * 24 * time.Hour // a larger value must not overflow
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) {
			return 0
		}
		return time.Duration(min(seconds, most.Seconds()) * float64(time.Second))
	}
	until, ok := httpDate(value)
	if !ok {
		return 0
	}
	if server, ok := httpDate(date); ok {
		now = server
	}
	return min(max(0, until.Sub(now)), most)
}

// httpDate reads a date of HTTP (RFC 9110, section 5.6.7), also in the form of ISO 8601 that some
// servers send.
func httpDate(value string) (time.Time, bool) {
	for _, layout := range []string{
		"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC1123Z, time.RFC850, time.ANSIC, time.RFC3339,
	} {
		if t, err := time.Parse(layout, strings.TrimSpace(value)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
