package main_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// channel is a channel of Slack: it accepts every message of a bot.
type channel struct {
	*httptest.Server

	mu  sync.Mutex
	got []string
}

func newChannel(t *testing.T) *channel {
	t.Helper()
	c := &channel{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.URL.Path == "/api/chat.postMessage" && r.Header.Get("Authorization") == "Bearer xoxb-s3cret-t0ken" {
			c.got = append(c.got, string(body))
			fmt.Fprintf(w, `{"ok":true,"channel":"C1","ts":"1.%d"}`, len(c.got))
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// button returns the value of a button in the channel, once it is there.
func (c *channel) button(t *testing.T, action string) (value string) {
	t.Helper()
	pattern := regexp.MustCompile(`"action_id":"` + action + `"[^}]*\}[^}]*"value":"([^"]+)"`)
	testkit.Eventually(t, timeout, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if m := pattern.FindStringSubmatch(strings.Join(c.got, "\n")); m != nil {
			value = m[1]
			return nil
		}
		return fmt.Errorf("the channel has %q", c.got)
	})
	return value
}

func TestARunIsAnsweredByAClickInSlack(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		s := serveEvents(t, database)
		env, slack := client(s), newChannel(t)
		token, secret := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "secret")
		for file, text := range map[string]string{token: "xoxb-s3cret-t0ken\n", secret: "s3cret-of-signing\n"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made := call(
			t, env, "endpoint", "create", slack.URL+"/api", "--format", "slack_app", "--channel", "C1", "--bot-token-file",
			token, "--signing-secret-file", secret, "--may-answer", "U1,U2", "-o", "json",
		)
		var e penstock.EventEndpoint
		fromJSON(t, made.out, &e)
		if e.InteractivityURL != s.URL+"/webhooks/e/"+e.UID || len(e.MayAnswer) != 2 {
			t.Errorf("got %+v", e)
		}
		shown := call(t, env, "endpoint", "get", e.UID)
		shown.want(t, 0, "slack_app", "C1", "U1 U2", e.InteractivityURL)
		id := startRun(t, env, "demo: ask Which branch?\\ndemo: say done")
		answer := url.Values{"payload": {`{"type":"block_actions","user":{"id":"U2"},"actions":[{"action_id":` +
			`"penstock_answer","value":"` + slack.button(t, "penstock_answer") + `"}],"state":{"values":{"penstock_input":` +
			`{"penstock_text":{"value":"main"}}}}}`}}.Encode()
		click(t, s.URL+"/webhooks/e/"+e.UID, answer, "an0ther", http.StatusUnauthorized)
		click(t, s.URL+"/webhooks/e/"+e.UID, answer, "s3cret-of-signing", http.StatusOK)
		call(t, env, "run", "watch", id).want(t, 0)
		var run struct {
			State string `json:"state"`
		}
		fromJSON(t, call(t, env, "run", "get", id, "-o", "json").out, &run)
		if run.State != "SUCCEEDED" {
			t.Errorf("the run is %s", run.State)
		}
		call(t, env, "endpoint", "set", e.UID, "--nobody-may-answer", "-o", "json").want(t, 0)
		click(t, s.URL+"/webhooks/e/"+e.UID, answer, "s3cret-of-signing", http.StatusOK)
		if got := call(t, env, "endpoint", "get", e.UID); strings.Contains(got.out, "U1") {
			t.Errorf("got %s", got.out)
		}
		for _, text := range []string{made.out, shown.out, s.Logs(), call(t, env, "endpoint", "attempts", e.UID).out} {
			if strings.Contains(text, "s3cret") {
				t.Errorf("a secret is in %s", text)
			}
		}
	})
}

// click sends a signed form, as Slack does.
func click(t *testing.T, to, body, secret string, want int) {
	t.Helper()
	now := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + now + ":" + body))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-Slack-Request-Timestamp", now)
	req.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want || want == http.StatusOK && len(text) > 0 {
		t.Errorf("the click gets %d %s: %v", resp.StatusCode, text, err)
	}
}

func TestCommandsOfASlackApp(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	create := func(stdin string, args ...string) called {
		t.Helper()
		return callWith(t, stdin, env, append([]string{"endpoint", "create", "--format", "slack_app"}, args...)...)
	}
	create("").want(t, 65, "--channel: must be", "--bot-token-file: is required")
	create("xoxb-1 2", "--channel", "C1", "--bot-token-file", "-").want(t, 65, "--bot-token-file: must have")
	create("x", "--channel", "C1", "--bot-token-file", "-", "--signing-secret-file", "-").want(t, 64, "only one of")
	create("xoxb-1", "--channel", "C1", "--bot-token-file", "-", "--may-answer", "U1").want(
		t, 65, "--signing-secret-file: is required",
	)
	call(t, env, "endpoint", "create").want(t, 65, "<url>: is required")
	made := create("xoxb-1", "--channel", "C1", "--bot-token-file", "-", "-o", "json")
	var e penstock.EventEndpoint
	fromJSON(t, made.out, &e)
	if e.URL != "https://slack.com/api" || len(e.MayAnswer) != 0 {
		t.Errorf("got %+v", e)
	}
	call(t, env, "endpoint", "rotate", e.UID).want(t, 65, "has no secret")
	call(t, env, "endpoint", "set", e.UID).want(t, 64, "nothing to change")
	call(t, env, "endpoint", "set", e.UID, "--may-answer", "U1", "--nobody-may-answer").want(t, 64, "either")
	callWith(
		t, "signing", env, "endpoint", "set", e.UID, "--signing-secret-file", "-", "--may-answer", "U1", "--may-answer", "W2",
	).want(t, 0, "U1 W2", "slack.com")
	var one map[string]json.RawMessage
	fromJSON(t, call(t, env, "endpoint", "get", e.UID, "-o", "json").out, &one)
	for name := range one {
		if strings.Contains(name, "token") || strings.Contains(name, "signing") {
			t.Errorf("the endpoint shows %s", name)
		}
	}
}
