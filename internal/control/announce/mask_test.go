package announce

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// Receivers repeat what they got: a debug page, an echo, an error with the request in it. Its log has nothing with
// which one could send to the receiver, or sign.
func TestAnswersAreMasked(t *testing.T) {
	t.Parallel()
	v := sealed{
		URL:     "https://user:p4ssw0rd@hooks.example.com/services/T0CK3T/b%2Fx?key=t0ken%21",
		Secrets: []penstock.EndpointSecret{{Secret: signature.NewSecret()}, {Secret: signature.NewSecret()}},
	}
	header := sign(v.Secrets, "msg_1", "1770024600", []byte("{}"))
	parsed, err := url.Parse(v.URL)
	if err != nil {
		t.Fatal(err)
	}
	hidden := []string{"p4ssw0rd", "T0CK3T", "t0ken"}
	for _, s := range v.Secrets {
		hidden = append(hidden, s.Secret, strings.TrimPrefix(s.Secret, "whsec_"))
	}
	for part := range strings.FieldsSeq(header) {
		hidden = append(hidden, strings.TrimPrefix(part, "v1,"))
	}
	quoted, err := json.Marshal(map[string]string{"url": v.URL, "signature": header, "secret": v.Secrets[1].Secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]string{
		"the header":           "no match: " + header,
		"JSON":                 string(quoted),
		"a form":               url.Values{"url": {v.URL}, "signature": {header}, "secret": {v.Secrets[0].Secret}}.Encode(),
		"the request line":     "POST " + parsed.RequestURI() + " HTTP/1.1",
		"the path alone":       "no route " + parsed.Path + " or " + parsed.EscapedPath(),
		"the query":            "?" + parsed.RawQuery,
		"a value of the query": "the key t0ken! is wrong",
		"both secrets":         fmt.Sprintf("%s %s", v.Secrets[0].Secret, strings.TrimPrefix(v.Secrets[1].Secret, "whsec_")),
		"a secret at the cut":  strings.Repeat("x", maxAnswer-20) + v.Secrets[0].Secret,
		"control characters":   header[:20] + "\x00" + header[20:],
	} {
		got := shown([]byte(answer), masker(v, header))
		for _, text := range hidden {
			if strings.Contains(got, text) || len(text) > 30 && strings.Contains(got, text[:20]) {
				t.Errorf("%s: %q is in %q", name, text, got)
			}
		}
		if len(got) > maxAnswer || got == "" {
			t.Errorf("%s: got %d bytes", name, len(got))
		}
	}
	if got := shown([]byte("Unknown team.\r\nAsk an admin."), masker(v, header)); got != "Unknown team.\nAsk an admin." {
		t.Errorf("an answer without secrets is %q", got)
	}
}
