package main_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

const someKey = "psk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"

func TestSecretsAreNoArguments(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"key in a flag of its own":    {"run", "list", "--api-key=" + someKey},
		"key in a prompt":             {"run", "create", "use " + someKey + " for it"},
		"provider's key in --env":     {"run", "create", "x", "--env", "K=sk-ant-api03-0123456789abcdefghij"},
		"token in --metadata":         {"run", "create", "x", "--metadata", "t=ghp_0123456789abcdefghij0123"},
		"password in the database":    {"serve", "--database", "postgres://me:hunter2@localhost/penstock"},
		"password in a repository":    {"environment", "create", "--repo", "https://me:hunter2@git.example/x.git"},
		"private key":                 {"agent", "create", "--prompt", "-----BEGIN RSA PRIVATE KEY-----"},
		"flag that would hold one":    {"run", "list", "--api-key", "short"},
		"flag that would hold one, =": {"key", "list", "--token=short"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, args...)
			got.want(t, 64)
			for _, secret := range []string{someKey, "hunter2", "0123456789abcdefghij", "PRIVATE"} {
				if strings.Contains(got.err, secret) {
					t.Errorf("the refusal repeats the secret: %s", got.err)
				}
			}
		})
	}
	call(t, nil, "run", "list", "--api-key", "short").want(t, 64, "PENSTOCK_API_KEY")
	call(t, nil, "serve", "--database", "postgres://me:hunter2@localhost/x").want(t, 64, "--config")
}

// The server holds a request, so that the test can see the process like another user.
func TestKeyIsNotInTheProcessList(t *testing.T) {
	t.Parallel()
	arrived, response := make(chan string), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("Authorization")
		<-response
		fmt.Fprint(w, `{"keys":[]}`)
	}))
	t.Cleanup(server.Close)
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte(someKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"PENSTOCK_BASE_URL=" + server.URL, "PENSTOCK_KEY_FILE=" + keyFile}, "key", "list")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got, want := <-arrived, "Bearer "+someKey; got != want {
		t.Errorf("got the credential %q, want %q", got, want)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(line, []byte("psk_")) {
		t.Errorf("the process list shows the key: %q", line)
	}
	close(response)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Without a key, the command asks for one at the terminal and does not echo it.
func TestKeyIsAskedForWithoutEcho(t *testing.T) {
	t.Parallel()
	credentials := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		credentials <- r.Header.Get("Authorization")
		fmt.Fprint(w, `{"keys":[]}`)
	}))
	t.Cleanup(server.Close)
	terminal := newTerminal(t)
	cmd := command(t, []string{"PENSTOCK_BASE_URL=" + server.URL}, "key", "list")
	terminal.attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return terminal.shows("API key: ") })
	terminal.write(someKey + "\n")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, terminal.screen())
	}
	if got, want := <-credentials, "Bearer "+someKey; got != want {
		t.Errorf("got the credential %q, want %q", got, want)
	}
	if strings.Contains(terminal.screen(), "psk_") {
		t.Errorf("the terminal shows the key: %q", terminal.screen())
	}
}
