package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// look is a program that reports what a run can see in its sandbox.
const look = `
echo "interfaces: $(grep -c : /proc/net/dev)"
env | grep -c 'psk_\|sk-canary' | sed 's/^/keys: /'
echo "own: $(curl -s -o /dev/null -w '%{http_code}' "$PENSTOCK_BASE_URL/api/v1/agent/runs/$PENSTOCK_RUN_ID")"
echo "others: $(curl -s -o /dev/null -w '%{http_code}' "$PENSTOCK_BASE_URL/api/v1/agent/runs")"
echo "named: $(curl -s "$PROVIDER" -m 5 --noproxy '*' || echo no way)"
curl -s -m 20 http://unknown.example.com/
echo "model: $(curl -s -m 20 "$GATEWAY/chat/completions" -H 'Content-Type: application/json' \
  -d '{"model":"test","messages":[{"role":"user","content":"hi"}]}')"
`

func sealedConfig(t *testing.T, provider string) string {
	t.Helper()
	script, err := json.Marshal(look)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "penstock.yaml", fmt.Sprintf(`
providers:
  local: {api: openai, base_url: %[1]s/v1, key: sk-canary-of-the-provider, models: [test]}
harnesses:
  look:
    protocol: command
    command: [sh, -c, %[2]s]
    env: {PROVIDER: "%[1]s", GATEWAY: "{gateway}/model/local/v1"}
`, provider, script))
}

// A run in bubblewrap reaches its model through the gateway and the API for its own operations, and
// nothing else. It has no key.
func TestARunIsSealed(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 100)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"1","object":"chat.completion","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}`)
	}))
	t.Cleanup(provider.Close)
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{
			Database: database, Args: []string{"--config", sealedConfig(t, provider.URL)},
		})
		env := client(s)
		id := startRun(t, env, "Look around.", "--harness", "look", "--wait")
		said := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
		for _, want := range []string{
			"interfaces: 1", "keys: 0", "own: 200", "others: 403", "named: no way", "unknown.example.com",
			"chat.completion",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("the run did not say %q:\n%s", want, said)
			}
		}
		if got := <-keys; got != "Bearer sk-canary-of-the-provider" {
			t.Errorf("the provider got %q as key", got)
		}
		var network run.RunNetwork
		if err := json.Unmarshal(send(t, s, http.MethodGet, "/agent/runs/"+id+"/network", "").body, &network); err != nil {
			t.Fatal(err)
		}
		if network.Sealed == nil || !*network.Sealed {
			t.Errorf("the run does not say that it is sealed: %+v", network)
		}
		modes := map[string]string{}
		for _, h := range network.Hosts {
			modes[h.Host] = h.Mode
		}
		if modes["unknown.example.com"] != penstock.TrafficRefused || modes["127.0.0.1"] != penstock.TrafficModel {
			t.Errorf("got the traffic %+v", network.Hosts)
		}
		timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
		for _, want := range []string{penstock.TimelineSandboxVerified, penstock.TimelineNetworkDenied} {
			if strings.Count(timeline, want) != 1 {
				t.Errorf("the timeline has %q %d times:\n%s", want, strings.Count(timeline, want), timeline)
			}
		}
	})
}

// A run with an open network says so, and reaches what its machine reaches. It has no provider key,
// either.
func TestARunWithAnOpenNetworkSaysSo(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"process", "bubblewrap"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					fmt.Fprint(w, "directly")
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"id":"1","object":"chat.completion","choices":[]}`)
			}))
			t.Cleanup(provider.Close)
			s := testkit.Serve(t, testkit.ServeOptions{
				Args: []string{"--config", sealedConfig(t, provider.URL), "--sandbox", kind, "--allow-open-network"},
			})
			env := client(s)
			id := startRun(t, env, "Look around.", "--harness", "look", "--wait")
			said := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
			for _, want := range []string{"keys: 0", "own: 200", "named: directly", "chat.completion"} {
				if !strings.Contains(said, want) {
					t.Errorf("the run did not say %q:\n%s", want, said)
				}
			}
			var network run.RunNetwork
			if err := json.Unmarshal(send(t, s, http.MethodGet, "/agent/runs/"+id+"/network", "").body, &network); err != nil {
				t.Fatal(err)
			}
			if network.Sealed == nil || *network.Sealed {
				t.Errorf("the run does not say that it is not sealed: %+v", network)
			}
			call(t, env, "run", "network", id).want(t, 0, "no: it reaches everything that its worker reaches")
		})
	}
}

// A harness key that a run brings stays with the worker. The program gets a placeholder, and the
// provider gets the key.
func TestAHarnessKeyStaysWithTheGateway(t *testing.T) {
	t.Parallel()
	keys := make(chan string, 100)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"1","object":"chat.completion","choices":[]}`)
	}))
	t.Cleanup(provider.Close)
	config := writeFile(t, "penstock.yaml", `
harnesses:
  ask:
    protocol: command
    command:
      - sh
      - -c
      - |
        echo "key: $OPENAI_API_KEY"
        curl -s -m 20 "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" \
          -H 'Content-Type: application/json' -d '{"model":"test","messages":[{"role":"user","content":"hi"}]}'
`)
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{"--config", config}, Env: []string{"OPENAI_BASE_URL=" + provider.URL + "/v1"},
	})
	const key = "sk-canary-of-the-run"
	got := send(t, s, http.MethodPost, "/secrets", `{"name": "OPENAI_API_KEY", "value": "`+key+`"}`)
	if got.status != http.StatusCreated {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	created := send(t, s, http.MethodPost, "/agent/runs", `{"prompt": "Ask.", "config": {"harness": {"type": "ask"},
		"harness_auth_secrets": {"ask_auth_secret_name": "OPENAI_API_KEY"}}}`)
	var run run.Created
	if err := json.Unmarshal(created.body, &run); err != nil || created.status != http.StatusOK {
		t.Fatalf("got %d %s", created.status, created.body)
	}
	testkit.Eventually(t, timeout, func() error { return inState(t, client(s), run.ID, penstock.StateSucceeded) })
	said := string(send(t, s, http.MethodGet, "/agent/runs/"+run.ID+"/conversation", "").body)
	if !strings.Contains(said, "key: penstock-placeholder") || !strings.Contains(said, "chat.completion") {
		t.Errorf("the program says %s", said)
	}
	// The server itself requests the list of models, without a key.
	for got := <-keys; got != "Bearer "+key; got = <-keys {
		if got != "" {
			t.Errorf("the provider got %q as key", got)
		}
	}
}

// A follow-up may refer to a response that its own run received. Another run may not.
func TestAFollowUpKnowsTheIDsOfItsRun(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"resp_of_the_first","object":"response","status":"completed","output":[]}`)
	}))
	t.Cleanup(provider.Close)
	config := writeFile(t, "penstock.yaml", fmt.Sprintf(`
providers:
  local: {api: openai, base_url: %s/v1, models: [test]}
harnesses:
  ask:
    protocol: command
    env: {GATEWAY: "{gateway}/model/local/v1"}
    command:
      - sh
      - -c
      - |
        curl -s -m 20 "$GATEWAY/responses" -H 'Content-Type: application/json' -d "$(tail -n 1 "$PENSTOCK_PROMPT_FILE")"
`, provider.URL))
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--config", config}})
	env := client(s)
	said := func(id string) string {
		return string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
	}
	const response = `\"object\":\"response\"`
	const refers = `{"model":"test","input":"more","previous_response_id":"resp_of_the_first"}`
	id := startRun(t, env, `{"model":"test","input":"hi"}`, "--harness", "ask", "--wait")
	call(t, env, "run", "follow-up", id, refers).want(t, 0)
	testkit.Eventually(t, timeout, func() error {
		if n := strings.Count(said(id), response); n < 2 {
			return fmt.Errorf("%d responses: %s", n, said(id))
		}
		return nil
	})
	called := call(t, env, "run", "create", refers, "--harness", "ask", "--wait")
	called.want(t, 1, "previous_response_id")
	other, _, _ := strings.Cut(called.out, "\n")
	if text := said(other); !strings.Contains(text, "previous_response_id") || strings.Contains(text, response) {
		t.Errorf("another run gets %s", text)
	}
}

// The server reports the traffic of a cancelled run up to its end, including calls that were in
// flight.
func TestTheTrafficOfACancelledRunIsReported(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		called := make(chan struct{})
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			close(called)
			<-r.Context().Done() // the gateway hangs up
		}))
		t.Cleanup(provider.Close)
		config := writeFile(t, "penstock.yaml", fmt.Sprintf(`
providers:
  local: {api: openai, base_url: %s/v1, models: [test]}
harnesses:
  ask:
    protocol: command
    env: {GATEWAY: "{gateway}/model/local/v1"}
    command:
      - sh
      - -c
      - |
        curl -s http://unknown.example.com/
        curl -sN "$GATEWAY/chat/completions" -H 'Content-Type: application/json' \
          -d '{"model":"test","stream":true,"messages":[{"role":"user","content":"hi"}]}'
`, provider.URL))
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--config", config}})
		env := client(s)
		id := startRun(t, env, "Ask.", "--harness", "ask")
		waitFor(t, called, "the model is asked")
		call(t, env, "run", "cancel", id).want(t, 0)
		testkit.Eventually(t, timeout, func() error {
			var network run.RunNetwork
			if err := json.Unmarshal(send(t, s, http.MethodGet, "/agent/runs/"+id+"/network", "").body, &network); err != nil {
				t.Fatal(err)
			}
			for _, h := range network.Hosts {
				if h.Mode == penstock.TrafficModel && h.Requests == 1 && h.BytesOut > 0 && h.BytesIn > 0 {
					return nil
				}
			}
			return fmt.Errorf("got the traffic %+v", network.Hosts)
		})
	})
}
