package webhook

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/signature"
)

func TestParseTimestamp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		unit signature.TimestampUnit
		want int64 // milliseconds; -1: none
	}{
		"seconds":                        {"1700000000", signature.UnitSeconds, 1700000000000},
		"seconds of 13 digits":           {"9999999999999", signature.UnitSeconds, 9999999999999000},
		"milliseconds":                   {"1700000000123", signature.UnitMilliseconds, 1700000000123},
		"one digit":                      {"7", signature.UnitSeconds, 7000},
		"zero":                           {"0", signature.UnitSeconds, -1},
		"leading zero":                   {"01700000000", signature.UnitSeconds, -1},
		"plus":                           {"+1700000000", signature.UnitSeconds, -1},
		"minus":                          {"-1700000000", signature.UnitSeconds, -1},
		"space before":                   {" 1700000000", signature.UnitSeconds, -1},
		"space behind":                   {"1700000000 ", signature.UnitSeconds, -1},
		"underscore":                     {"1_700_000_000", signature.UnitSeconds, -1},
		"exponent":                       {"17e8", signature.UnitSeconds, -1},
		"other digits":                   {"１７００００００００", signature.UnitSeconds, -1},
		"14 digits":                      {"17000000000000", signature.UnitMilliseconds, -1},
		"nothing":                        {"", signature.UnitSeconds, -1},
		"RFC 3339 for seconds":           {"2023-11-14T22:13:20Z", signature.UnitSeconds, -1},
		"RFC 3339":                       {"2023-11-14T22:13:20Z", signature.UnitRFC3339, 1700000000000},
		"RFC 3339 with a zone":           {"2023-11-15T00:13:20+02:00", signature.UnitRFC3339, 1700000000000},
		"RFC 3339 with a fraction":       {"2023-11-14T22:13:20.123Z", signature.UnitRFC3339, 1700000000123},
		"RFC 3339 with a long fraction":  {"2023-11-14T22:13:20.1234567890123456789Z", signature.UnitRFC3339, -1},
		"RFC 3339 without a zone":        {"2023-11-14T22:13:20", signature.UnitRFC3339, -1},
		"RFC 3339 of no day":             {"2023-02-30T22:13:20Z", signature.UnitRFC3339, -1},
		"digits for RFC 3339":            {"1700000000", signature.UnitRFC3339, -1},
		"seconds where any will do":      {"1700000000", signature.UnitAny, 1700000000000},
		"milliseconds where any will do": {"1700000000123", signature.UnitAny, 1700000000123},
		"RFC 3339 where any will do":     {"2023-11-14T22:13:20Z", signature.UnitAny, 1700000000000},
	} {
		got, ok := parseTimestamp(test.text, test.unit)
		if !ok {
			got = -1
		}
		if got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}

func FuzzParseTimestamp(f *testing.F) {
	f.Add("1700000000", "s")
	f.Add("0170", "ms")
	f.Add("2023-11-14T22:13:20Z", "any")
	f.Fuzz(func(t *testing.T, text, unit string) {
		got, ok := parseTimestamp(text, signature.TimestampUnit(unit))
		if !ok {
			return
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			if canonical := strconv.FormatInt(n, 10); canonical != text || n <= 0 || got != n && got != n*1000 {
				t.Fatalf("%q is %d", text, got)
			}
			return
		}
		if want, err := time.Parse(time.RFC3339, text); err != nil || want.UnixMilli() != got {
			t.Fatalf("%q is %d, want %v, %v", text, got, want, err)
		}
	})
}

// FuzzMembers compares with encoding/json, which takes the last of equal keys.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"id":"a","x":{"id":1},"id2":[]}`))
	f.Add([]byte(`{"id":1,"id":2}`))
	f.Add([]byte(`{"\u0069d":1} `))
	f.Add([]byte(`{"id":1}{}`))
	f.Add([]byte(`{"\ud800":"\udc00","id":"a"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		values := members(body, []string{"id", "type"})
		var want map[string]json.RawMessage
		err := json.Unmarshal(body, &want)
		for i, name := range []string{"id", "type"} {
			if values[i] == nil {
				continue
			}
			if err != nil {
				t.Fatalf("%q has %s = %s, but is %v", body, name, values[i], err)
			}
			if string(want[name]) != string(values[i]) {
				t.Fatalf("%q has %s = %s, want %s", body, name, values[i], want[name])
			}
		}
	})
}
