package acp

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPermissionsPendingAtACancelGetCancelled(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	asked := make(chan struct{})
	client, agent := raw(t, ClientHandler{
		Permission: func(ctx context.Context, r PermissionRequest) (PermissionOutcome, error) {
			close(asked)
			<-ctx.Done()
			return Allow(r.Options), nil
		},
	})
	ended := make(chan error, 1)
	go func() {
		_, err := client.Prompt(ctx, "s", Text("go"))
		ended <- err
	}()
	prompt := agent.expect("session/prompt")
	const ask = `{"jsonrpc":"2.0","id":"%s","method":"session/request_permission","params":{"sessionId":"s",` +
		`"toolCall":{"toolCallId":"t"},"options":[{"optionId":"x","name":"Yes","kind":"allow_once"}]}}`
	agent.write(fmt.Sprintf(ask, "before"))
	<-asked
	if err := client.Cancel(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	responses := map[string]string{}
	for range 2 { // the notification and the response, in either order
		m := agent.read()
		responses[string(m.ID)+m.Method] = string(m.Result)
	}
	agent.write(fmt.Sprintf(ask, "after"))
	m := agent.read()
	responses[string(m.ID)] = string(m.Result)
	cancelled := `{"outcome":{"outcome":"cancelled"}}`
	want := map[string]string{`"before"`: cancelled, `"after"`: cancelled, "session/cancel": ""}
	if diff := cmp.Diff(want, responses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	agent.respond(prompt, `{"stopReason":"cancelled"}`)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPermissionsAreAnsweredByKind(t *testing.T) {
	t.Parallel()
	option := func(id string, kind PermissionKind) PermissionOption {
		return PermissionOption{ID: id, Name: "Allow", Kind: kind}
	}
	tests := []struct {
		name    string
		options []PermissionOption
		want    string
	}{
		{"names and positions that lie", []PermissionOption{option("allow", RejectOnce), option("deny", AllowOnce)}, "deny"},
		{"always, where once is not offered", []PermissionOption{option("n", RejectOnce), option("a", AllowAlways)}, "a"},
		{"nothing that allows", []PermissionOption{option("n", RejectAlways)}, "n"},
		{"unknown kinds only", []PermissionOption{option("x", "allow_for_ever")}, ""},
		{"no options", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Allow(tt.options).OptionID; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSetModelFollowsWhatTheAgentOffers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, session string
		want          string // method and params; empty for ErrNotOffered
	}{
		{
			"a config option of that category",
			`{"sessionId":"s","configOptions":[{"id":"x","name":"X","category":"model","type":"select","currentValue":"a"}]}`,
			`session/set_config_option {"sessionId":"s","configId":"x","value":"m"}`,
		},
		{
			"a config option of that name",
			`{"sessionId":"s","configOptions":[{"id":"model","name":"X","type":"select","currentValue":"a"}]}`,
			`session/set_config_option {"sessionId":"s","configId":"model","value":"m"}`,
		},
		{
			"the older list of models",
			`{"sessionId":"s","models":{"currentModelId":"a","availableModels":[]}}`,
			`session/set_model {"sessionId":"s","modelId":"m"}`,
		},
		{
			"a boolean option is no choice of models",
			`{"sessionId":"s","configOptions":[{"id":"model","type":"boolean","currentValue":true}]}`, "",
		},
		{"nothing", `{"sessionId":"s"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			client, agent := raw(t, ClientHandler{})
			go func() { agent.respond(agent.expect("session/new"), tt.session) }()
			if _, err := client.NewSession(ctx, NewSessionRequest{Cwd: "/"}); err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if err := client.SetModel(ctx, "s", "m"); !errors.Is(err, ErrNotOffered) {
					t.Errorf("got %v, want ErrNotOffered", err)
				}
				return
			}
			set := make(chan error, 1)
			go func() { set <- client.SetModel(ctx, "s", "m") }()
			m := agent.read()
			if got := m.Method + " " + string(m.Params); got != tt.want {
				t.Errorf("sent %s, want %s", got, tt.want)
			}
			agent.respond(string(m.ID), `{"configOptions":[]}`)
			if err := <-set; err != nil {
				t.Error(err)
			}
		})
	}
}
