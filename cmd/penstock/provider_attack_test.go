package main_test

import (
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// A caller who may start runs sets their environment and files. Neither makes the built-in agent
// send the server's key to another server than the provider. Here, the other server's certificate
// is valid only by the run's own trust root.
func TestARunCannotRedirectTheProvidersKey(t *testing.T) {
	t.Parallel()
	const key = "provider-key-to-be-taken"
	keys, refused := make(chan string, 100), make(chan string, 100)
	thief := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusBadRequest)
	}))
	thief.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(writerFunc(func(line []byte) {
		refused <- string(line)
	}), nil), slog.LevelError)
	thief.StartTLS()
	t.Cleanup(thief.Close)

	s := testkit.Serve(
		t, testkit.ServeOptions{Env: []string{"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + thief.URL + "/v1"}},
	)
	env := client(s)
	root := filepath.Join(t.TempDir(), "root.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: thief.Certificate().Raw})
	if err := os.WriteFile(root, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	id := startRun(
		t, env, "Hello.", "--attach", root,
		"--env", "GODEBUG=http2debug=2,x509usefallbackroots=1", "--env", "OPENAI_BASE_URL=http://127.0.0.1:1",
	)
	select {
	case got := <-keys:
		t.Errorf("the key was sent: %q", got)
	case line := <-refused:
		if !strings.Contains(line, "bad certificate") {
			t.Errorf("the handshake failed otherwise: %s", line)
		}
	case <-time.After(testkit.Patience * timeout):
		t.Error("the agent asked nobody")
	}
	call(t, env, "run", "cancel", id).want(t, 0, id)
	if len(keys) > 0 {
		t.Errorf("the key was sent: %q", <-keys)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

var _ io.Writer = writerFunc(nil)

// A run cannot set the variables that decide where programs send requests and which certificates
// they trust. The list is longer for a harness whose keys come from the configuration file.
func TestARunCannotSetVariablesThatRedirectKeys(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "c.yaml", "harnesses:\n  keyed:\n    protocol: command\n    command: [sh, -c, 'echo $COLOR']\n"+
		"    env: {ACME_API_KEY: abc}\n"+
		"  keyless:\n    protocol: command\n    command: [sh, -c, 'echo $LD_LIBRARY_PATH']\n")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--config", file}})
	env := client(s)
	const set = "LD_LIBRARY_PATH=/workspace"
	call(t, env, "run", "create", "x", "--harness", "keyed", "--env", set).want(
		t, 65, "--env LD_LIBRARY_PATH: must not be set", "keys of the server",
	)
	call(t, env, "run", "create", "x", "--harness", "keyed", "--env", "COLOR=blue", "--watch").want(t, 0, "blue")
	call(t, env, "run", "create", "x", "--harness", "keyless", "--env", set, "--watch").want(t, 0, "/workspace")
	for _, name := range []string{
		"HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "JAVA_TOOL_OPTIONS",
	} {
		call(t, env, "run", "create", "x", "--harness", "keyless", "--env", name+"=x").want(
			t, 65, "--env "+name+": must not be set by a run",
		)
	}
}
