package webhook_test

import (
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// asSlack signs a body as Slack does.
func asSlack(body string) map[string]string {
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	return map[string]string{
		"X-Slack-Request-Timestamp": stamp, "Content-Type": "application/x-www-form-urlencoded",
		"X-Slack-Signature": "v0=" + hexMAC("s3cret-of-sixteen", "v0:"+stamp+":"+body),
	}
}

// asGitHub signs a body as GitHub does, with the content type of its default form.
func asGitHub(body string) map[string]string {
	header := github("s3cret-of-sixteen", []byte(body))
	header["X-GitHub-Event"], header["Content-Type"] = "issues", "application/x-www-form-urlencoded"
	return header
}

// A body whose meaning is clear is accepted, whatever its headers say about it.
func TestOddButClearBodiesAreRead(t *testing.T) {
	sites(t, func(s *site) {
		token := s.hook(penstock.AuthToken, nil)
		s.automation(token, `{"type": ["order"]}`, nil)
		body, form := `{"type": "order"}`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		for name, test := range map[string]struct {
			header map[string]string
			body   string
		}{
			"the encoding utf-8":           {map[string]string{"Content-Encoding": "UTF-8"}, body},
			"the encoding identity":        {map[string]string{"Content-Encoding": "identity, utf8"}, body},
			"an empty encoding":            {map[string]string{"Content-Encoding": ""}, body},
			"the encoding aws-chunked":     {map[string]string{"Content-Encoding": "aws-chunked"}, body},
			"a byte order mark":            {nil, "\ufeff" + body},
			"a line break at the end":      {nil, body + "\r\n"},
			"the content type of SNS":      {map[string]string{"Content-Type": "text/plain; charset=UTF-8"}, body},
			"the content type of curl -d":  {form, body},
			"that with a list":             {form, "[" + body + "]"},
			"a content type that is wrong": {map[string]string{"Content-Type": "json;;="}, body},
			"CloudEvents":                  {map[string]string{"Content-Type": "application/cloudevents+json"}, body},
			"multipart, but JSON":          {map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, body},
		} {
			header := bearer(token)
			maps.Copy(header, test.header)
			header["X-Penstock-Delivery-Id"] = strings.ReplaceAll(name, " ", "-")
			got := s.post(path(token), header, []byte(test.body))
			got.want(t, name, http.StatusAccepted)
			if d := s.logged(token, got.id()); len(d.Runs) != 1 || d.Size != int64(len(test.body)) {
				t.Errorf("%s: runs %v, size %d, %v", name, d.Runs, d.Size, matchSummaries(d))
			}
		}
	}, noRate)
}

// A body that is no JSON is rejected with a sentence that says why, and the log keeps it.
func TestTheRowSaysWhyABodyWasRejected(t *testing.T) {
	sites(t, func(s *site) {
		token, hub := s.hook(penstock.AuthToken, nil), s.signed("github", "s3cret-of-sixteen", nil)
		slack := s.signed(signature.Slack, "s3cret-of-sixteen", nil)
		form := "application/x-www-form-urlencoded"
		for name, test := range map[string]struct {
			hook         penstock.Webhook
			header       map[string]string
			body         string
			reason, want string
		}{
			"gzip": {token, map[string]string{"Content-Encoding": "gzip"}, `{}`, "content_encoding", "compressed with gzip"},
			"two encodings": {
				token, map[string]string{"Content-Encoding": "utf-8, BR"}, `{}`, "content_encoding", "compressed with br",
			},
			"gzip without a header": {token, nil, "\x1f\x8b\x08\x00\x00", "content_encoding", "compressed with gzip"},
			"not JSON":              {token, nil, `{"secret-of-the-body": x`, "invalid_json", "not valid JSON"},
			"no body":               {token, nil, "", "invalid_json", "empty"},
			"no body of a form":     {token, map[string]string{"Content-Type": form}, "", "invalid_json", "empty"},
			"two marks":             {token, nil, "\ufeff\ufeff{}", "invalid_json", "not valid JSON"},
			"UTF-16":                {token, nil, "\xff\xfe{\x00}\x00", "invalid_json", "UTF-8"},
			"a form": {
				token,
				map[string]string{"Content-Type": form + "; charset=utf-8"},
				"secret-of-the-body=1&b=2", "form",
				"posts a form (application/x-www-form-urlencoded)",
			},
			"a form with a payload, not of GitHub": {
				token, map[string]string{"Content-Type": strings.ToUpper(form)}, "payload=%7B%7D", "form", "posts a form",
			},
			"a multipart form": {
				token,
				map[string]string{"Content-Type": "multipart/form-data; boundary=x"},
				"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n", "form", "multipart/form-data",
			},
			"GitHub's form without its field": {hub, asGitHub("data=%7B%7D"), "data=%7B%7D", "form", "no field payload"},
			"GitHub's form with two": {
				hub, asGitHub("payload=%7B%7D&payload=1"), "payload=%7B%7D&payload=1", "form", "more than once",
			},
			"GitHub's form with bad JSON": {hub, asGitHub("payload=%7B"), "payload=%7B", "invalid_json", "not valid JSON"},
			"a form that is cut off":      {hub, asGitHub("payload=%7"), "payload=%7", "form", "not encoded correctly"},
			"a form in Latin-1":           {slack, asSlack("text=%FF"), "text=%FF", "form", "not UTF-8"},
		} {
			header := map[string]string{}
			if test.hook.AuthMode == penstock.AuthToken {
				header = bearer(test.hook)
			}
			maps.Copy(header, test.header)
			got := s.post(path(test.hook), header, []byte(test.body))
			got.want(t, name, http.StatusBadRequest)
			log := s.entries(test.hook)
			d := log[len(log)-1]
			if d.Reason != test.reason || !strings.Contains(d.Detail, test.want) || strings.Contains(d.Detail, "secret") {
				t.Errorf("%s: %q %q, want %q %q", name, d.Reason, d.Detail, test.reason, test.want)
			}
			if !strings.Contains(got.body, strings.ReplaceAll(d.Detail, `"`, `\"`)) {
				t.Errorf("%s: the sender got %s, the row has %q", name, got.body, d.Detail)
			}
			if d.Headers["content-type"] != test.header["Content-Type"] {
				t.Errorf("%s: headers %v", name, d.Headers)
			}
		}
	}, noRate)
}

// Filters and event-payload.json see the JSON of a form; the bytes as they were sent are
// event-payload.raw, and what the API returns.
func TestFormsOfGitHubAndSlackBecomeJSON(t *testing.T) {
	sites(t, func(s *site) {
		hub, slack := s.signed("github", "s3cret-of-sixteen", nil), s.signed(signature.Slack, "s3cret-of-sixteen", nil)
		token := s.hook(penstock.AuthToken, nil)
		s.waits("labeled", [3]string{"github", "issue_labeled", `{"labels": ["bug"]}`})
		s.automation(slack, `{"command": ["/deploy"], "text": ["a=b & <c>"]}`, nil)
		s.automation(slack, `{"type": ["block_actions"]}`, nil)
		s.automation(token, "", nil)
		issue := `{"action": "labeled", "issue": {"number": 1}, "label": {"name": "bug"}}`
		command := url.Values{"command": {"/deploy"}, "text": {"a=b & <c>"}, "user_id": {"U1"}}.Encode()
		for name, test := range map[string]struct {
			hook       penstock.Webhook
			header     map[string]string
			sent, want string
			status     int
			reply      string
		}{
			"GitHub's default form": {
				hub, asGitHub("payload=" + url.QueryEscape(issue)), "payload=" + url.QueryEscape(issue), issue, 202, "delivery_id",
			},
			"a slash command": {
				slack, asSlack(command), command, `{"command":"/deploy","text":"a=b & <c>","user_id":"U1"}`, 200, "",
			},
			"a button": {
				slack, asSlack("payload=%7B%22type%22%3A%22block_actions%22%7D"), "payload=%7B%22type%22%3A%22block_actions%22%7D",
				`{"type":"block_actions"}`, 200, "",
			},
			"a byte order mark": {token, bearer(token), "\ufeff{\"a\": 1}\n", "{\"a\": 1}\n", 202, "delivery_id"},
		} {
			got := s.post(path(test.hook), test.header, []byte(test.sent))
			got.want(t, name, test.status)
			if !strings.Contains(got.body, test.reply) || test.reply == "" && got.body != "" {
				t.Errorf("%s: the sender got %q", name, got.body)
			}
			log := s.entries(test.hook)
			d := log[len(log)-1]
			if len(d.Runs) != 1 || d.HTTPStatus != test.status || d.Size != int64(len(test.sent)) {
				t.Errorf("%s: %d %s %q, runs %v, %v", name, d.HTTPStatus, d.Label, d.Detail, d.Runs, matchSummaries(d))
				continue
			}
			if raw, err := s.Deliveries.Payload(t.Context(), s.admin, s.factory, test.hook.UID, d.ID); string(raw) != test.sent {
				t.Errorf("%s: the payload is %q (%v)", name, raw, err)
			}
			a := s.claim()
			files := map[string]string{}
			for _, f := range a.Files {
				content, err := s.Executions.Control().Open(t.Context(), a.Lease, f)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(content)
				if files[f.Path] = string(text); err != nil || f.Size != int64(len(text)) {
					t.Errorf("%s: %s has %d bytes, announced %d (%v)", name, f.Path, len(text), f.Size, err)
				}
				_ = content.Close()
			}
			if files["event-payload.json"] != test.want || files["event-payload.raw"] != test.sent || len(files) != 2 {
				t.Errorf("%s: files %q", name, files)
			}
			again, err := s.Deliveries.Replay(t.Context(), s.admin, s.factory, test.hook.UID, d.ID)
			if err != nil || len(again.Runs) != 1 || again.PayloadSHA256 != d.PayloadSHA256 {
				t.Errorf("%s: a replay started %v (%v)", name, again.Runs, err)
			}
			s.claim()
			s.post(path(test.hook), test.header, []byte(test.sent)).want(t, name+" again", test.status)
			if log := s.entries(test.hook); log[len(log)-1].Outcome != penstock.OutcomeDuplicate {
				t.Errorf("%s again: %s", name, log[len(log)-1].Label)
			}
		}
	}, noRate)
}

func hexMAC(secret, text string) string {
	return hex.EncodeToString(mac("sha256", []byte(secret), text))
}
