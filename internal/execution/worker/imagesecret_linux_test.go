package worker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/image"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

func TestTheSecretOfAnImage(t *testing.T) {
	w := newWorld(t)
	w.useImageSecrets(func(o *worker.Options, out *egress.Outbound) {
		inImages(newSandbox(t, sandbox.Bubblewrap), image.Open(t.TempDir(), image.Options{Outbound: out}))(o)
	}, true)
}

func TestTheSecretOfAnImageInDocker(t *testing.T) {
	w := newWorld(t)
	daemon := testkit.SharedDocker(t)
	w.useImageSecrets(func(o *worker.Options, out *egress.Outbound) {
		inDocker(t, daemon, "")(o)
		if images, ok := o.Images.(*image.Daemon); ok {
			images.Outbound = out
		}
	}, false)
}

// logged is a log that a test can read while others write to it.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// useImageSecrets pulls images from registries with the secrets of environments. Without the right
// one, the error names the registry and the secret. final reports whether the worker knows that
// another attempt is of no use.
func (w *world) useImageSecrets(change func(*worker.Options, *egress.Outbound), final bool) {
	basic, tokens := testkit.NewTLSRegistry(w.t), testkit.NewTLSRegistry(w.t)
	outbound, err := egress.NewOutbound(egress.OutboundOptions{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, CA: append(basic.CA, tokens.CA...),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	const right, wrong = "right:of:the:registry", "wrong-but-secret"
	for _, r := range []*testkit.Registry{basic, tokens} {
		r.Username, r.Password = "bot", right
	}
	tokens.Tokens = true
	tools := testkit.HostImage(w.t, "sh", "cat", "env")
	only := basic.Push(w.t, "team/app:1", nil, tools, []testkit.ImageFile{imageText("opt/only-here", "one")})
	tokens.Push(w.t, "team/app:1", nil, tools, []testkit.ImageFile{imageText("opt/only-here", "one")})
	for name, value := range map[string]*string{
		"RIGHT": new("bot:" + right), "WRONG": new("bot:" + wrong), "SHAPELESS": new("bot-" + right), "PENDING": nil,
	} {
		request := access.SecretRequest{Name: name, Value: value, Hosts: []string{basic.Host, tokens.Host}}
		if _, err := w.Secrets.Create(w.t.Context(), w.admin, request); err != nil {
			w.t.Fatal(err)
		}
	}
	log := &logged{}
	w.start(func(o *worker.Options) {
		change(o, outbound)
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	run := func(r *testkit.Registry, secret string) string {
		config := w.environment(penstock.EnvironmentConfig{
			Name: penstock.NewUID(), DockerImage: r.Host + "/team/app:1", DockerImageSecret: secret,
		})
		return w.create(penstock.RunRequest{Config: config}, "demo: run cat /opt/only-here; env; cat /proc/*/environ")
	}
	for _, secret := range []string{"WRONG", "SHAPELESS", "PENDING"} {
		for _, r := range []*testkit.Registry{basic, tokens} {
			id := run(r, secret)
			m := w.becomes(id, penstock.StateFailed).StatusMessage
			if m.ErrorCode != penstock.CodeEnvironmentSetupFailed || !strings.Contains(m.Message, " "+r.Host) ||
				!strings.Contains(m.Message, "the secret "+secret) {
				w.t.Errorf("with the secret %s: got %+v", secret, m)
			}
			if final && m.Retryable {
				w.t.Errorf("with the secret %s, another attempt is said to help: %+v", secret, m)
			}
			w.holdsNone(id, log, right, wrong)
		}
	}
	for _, r := range []*testkit.Registry{basic, tokens} {
		id := run(r, "RIGHT")
		w.becomes(id, penstock.StateSucceeded)
		ready := w.payloads(id, "image_ready")
		if len(ready) != 1 || ready[0]["digest"] != only {
			w.t.Errorf("image_ready: %v", ready)
		}
		if got := strings.Join(w.outputs(id, "run_command"), "\n"); !strings.Contains(got, "one") {
			w.t.Errorf("the run prints %s", got)
		}
		w.holdsNone(id, log, right, wrong)
	}
}

// holdsNone fails if a text occurs in what the server and the worker have recorded of a run.
func (w *world) holdsNone(id string, log fmt.Stringer, texts ...string) {
	w.t.Helper()
	timeline, err := w.Runs.Timeline(w.t.Context(), w.admin, id)
	if err != nil {
		w.t.Fatal(err)
	}
	records, err := json.Marshal([]any{w.get(id), w.events(id), timeline})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, text := range texts {
		if bytes.Contains(records, []byte(text)) {
			w.t.Errorf("the records of run %s hold %s: %s", id, text, records)
		}
		if strings.Contains(log.String(), text) {
			w.t.Errorf("the log holds %s: %s", text, log)
		}
	}
}
