package testkit

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Gitea is a real Gitea with the users owner, who is its administrator, and bot.
type Gitea struct {
	Address string // HOST:PORT; its certificate is for example.com
	CAFile  string
	URL     string // as its users know it

	tb     testing.TB
	dir    string
	binary string
	client *http.Client
}

// NewGitea starts the Gitea that `make forge` has built. Without one, the test is skipped.
func NewGitea(tb testing.TB) *Gitea {
	tb.Helper()
	binary := os.Getenv("PENSTOCK_TEST_GITEA")
	if binary == "" {
		tb.Skip("PENSTOCK_TEST_GITEA names no Gitea: run make forge")
	}
	dir, err := os.MkdirTemp("", "gitea") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &Gitea{tb: tb, dir: dir, binary: filepath.Join(dir, "gitea"), CAFile: filepath.Join(dir, "ca.pem")}
	g.URL = "https://example.com"
	command(tb, "cp", binary, g.binary)
	command(tb, "cp", "-r", binary+"-static", filepath.Join(dir, "static"))
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g.Address = listener.Addr().String()
	_ = listener.Close()
	g.configure()
	if os.Geteuid() == 0 {
		command(tb, "chown", "-R", "nobody:nogroup", dir)
	}
	g.admin("migrate")
	for _, user := range []string{"owner", "bot"} {
		args := []string{
			"admin", "user", "create", "--username", user, "--password", user + "-password-1", "--email",
			user + "@example.com", "--must-change-password=false",
		}
		if user == "owner" {
			args = append(args, "--admin")
		}
		g.admin(args...)
	}
	web := g.command(context.Background(), "web")
	if err := web.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = web.Process.Kill(); _ = web.Wait() })
	g.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, g.Address)
		},
		TLSClientConfig: &tls.Config{RootCAs: g.roots(), MinVersion: tls.VersionTLS12},
	}}
	Eventually(tb, time.Minute, func() error {
		_, err := g.try("GET", "/api/v1/version", "", nil)
		return err
	})
	return g
}

func command(tb testing.TB, name string, args ...string) {
	tb.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (g *Gitea) configure() {
	g.tb.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer server.Close()
	certificate := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		g.tb.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(g.Address)
	for name, content := range map[string]string{
		"ca.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})),
		"key.pem": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		"app.ini": fmt.Sprintf(`RUN_MODE = prod
WORK_PATH = %[1]s/work
RUN_USER = %[3]s
[server]
PROTOCOL = https
CERT_FILE = %[1]s/ca.pem
KEY_FILE = %[1]s/key.pem
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]s
ROOT_URL = https://example.com/
STATIC_ROOT_PATH = %[1]s/static
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = true
[database]
DB_TYPE = sqlite3
PATH = %[1]s/work/gitea.db
[security]
INSTALL_LOCK = true
PASSWORD_COMPLEXITY = off
[log]
MODE = file
LEVEL = Warn
ROOT_PATH = %[1]s/work/log
[actions]
ENABLED = false
[repository]
ROOT = %[1]s/work/repos
[webhook]
ALLOWED_HOST_LIST = loopback
[mailer]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
`, g.dir, port, g.user()),
	} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(content), 0o644); err != nil {
			g.tb.Fatal(err)
		}
	}
	if err := os.Chmod(g.dir, 0o755); err != nil {
		g.tb.Fatal(err)
	}
}

// roots has the certificate of Gitea.
func (g *Gitea) roots() *x509.CertPool {
	g.tb.Helper()
	text, err := os.ReadFile(g.CAFile)
	if err != nil {
		g.tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// user is who Gitea runs as: it refuses root.
func (g *Gitea) user() string {
	if os.Geteuid() == 0 {
		return "nobody"
	}
	return os.Getenv("USER")
}

func (g *Gitea) command(ctx context.Context, args ...string) *exec.Cmd {
	args = append(args, "-c", filepath.Join(g.dir, "app.ini"))
	name := g.binary
	if os.Geteuid() == 0 {
		args = append([]string{"--reuid", "nobody", "--regid", "nogroup", "--clear-groups", name}, args...)
		name = "setpriv"
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = g.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "USER=" + g.user(), "GITEA_WORK_DIR=" + g.dir + "/work",
	}
	return cmd
}

func (g *Gitea) admin(args ...string) string {
	g.tb.Helper()
	cmd := g.command(g.tb.Context(), args...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		g.tb.Fatalf("gitea %v: %v\n%s%s", args, err, out, errors.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// Token creates an access token of a user with scopes, separated by commas.
func (g *Gitea) Token(user, scopes string) string {
	g.tb.Helper()
	return g.admin("admin", "user", "generate-access-token", "-u", user, "-t", fmt.Sprint(time.Now().UnixNano()),
		"--scopes", scopes, "--raw")
}

// Client sends requests to Gitea by the name of its URL. It is the caller's to change.
func (g *Gitea) Client() *http.Client {
	client := *g.client
	return &client
}

// Do sends a request to the API and returns its answer. A status of 400 or more ends the test.
func (g *Gitea) Do(method, path, token string, body any) []byte {
	g.tb.Helper()
	text, err := g.try(method, path, token, body)
	if err != nil {
		g.tb.Fatal(err)
	}
	return text
}

func (g *Gitea) try(method, path, token string, body any) ([]byte, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(context.Background(), method, g.URL+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 400 {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	}
	return text, err
}
