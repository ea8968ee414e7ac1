package egress

import (
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// need skips a test if a program is missing, and fails it in CI.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("%s is missing", program)
	}
	if err != nil {
		t.Skipf("%s is missing", program)
	}
	return path
}

// run starts a program as the sandbox would: with the proxy's variables, PATH, an empty home and
// nothing else.
func (w *world) run(t *testing.T, dir string, program ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program[0], program[1:]...)
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	for name, value := range w.Environment(w.bundle) {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestCurlAndNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{
		{Host: "api.example.test", Methods: []string{"GET"}}, {Host: "free.wild.test"},
	}})
	fetch := `fetch(process.argv[1]).then(r => r.text()).then(t => process.stdout.write(t))`
	urllib := `import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())`
	for name, program := range map[string][]string{
		"curl": {"curl", "-sS"}, "python3": {"python3", "-c", urllib}, "node": {"node", "-e", fetch},
	} {
		need(t, program[0])
		for _, host := range []string{"api.example.test", "free.wild.test"} {
			if out, err := w.run(t, t.TempDir(), append(program, w.url(host, "/x"))...); err != nil || out != "GET /x" {
				// Node before 24 ignores NODE_USE_ENV_PROXY and then reaches nothing.
				if name == "node" && strings.Contains(out, "ENOTFOUND") {
					t.Log("this Node does not use the proxy variables")
					continue
				}
				t.Errorf("%s of %s: %v %s", name, host, err, out)
			}
		}
	}
	out, _ := w.run(t, t.TempDir(), "curl", "-sS", "-X", "PUT", w.url("api.example.test", "/x"))
	if !strings.Contains(out, "PUT is not among its methods") {
		t.Errorf("a refused request of curl shows %q", out)
	}
}

// TestGit clones and pushes with a credential that the sandbox does not have, also through an SSH
// remote.
func TestGit(t *testing.T) {
	t.Parallel()
	git := need(t, "git")
	root, home := t.TempDir(), t.TempDir()
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{
			Host: "git.example.test", Credential: &penstock.NetworkCredential{Secret: "TOKEN", As: "basic"},
		}},
		hosts: map[string][]string{"TOKEN": {"git.example.test"}},
		serve: func(rw http.ResponseWriter, r *http.Request) {
			if _, password, ok := r.BasicAuth(); !ok || password != secretValue {
				rw.Header().Set("WWW-Authenticate", "Basic")
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			backend := cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{
				"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x",
			}}
			backend.ServeHTTP(rw, r)
		},
	})
	script := `set -e
git init -q --bare "$1/r.git" && git -C "$1/r.git" config http.receivepack true
git clone -q "$2/r.git" work && cd work
git -c user.name=a -c user.email=a@example.test commit -q --allow-empty -m first
git push -q origin HEAD:refs/heads/main
cd .. && git clone -q "$2/r.git" again && git -C again log --format=%s origin/main
git config --list; cat work/.git/config; env`
	out, err := w.run(t, home, "sh", "-c", script, "sh", root, w.url("git.example.test", ""))
	if err != nil || !strings.Contains(out, "first\n") {
		t.Fatalf("%v %s", err, out)
	}
	if strings.Contains(out, secretValue) {
		t.Error("the secret is in the sandbox")
	}
	out, err = w.run(t, home, "git", "ls-remote", "git@unknown.example.test:o/r.git")
	if err == nil || !strings.Contains(out, "ssh does not work in this sandbox") {
		t.Errorf("ssh: %v %s", err, out)
	}
	out, _ = w.run(t, home, "git", "ls-remote", "--get-url", "git@github.com:o/r.git")
	if out != "https://github.com/o/r.git\n" {
		t.Errorf("an ssh remote of GitHub is %q", out)
	}
}

// TestGitHubCLI has gh call a GitHub Enterprise server with a credential that the sandbox does not
// have. `make toolchains` installs gh.
func TestGitHubCLI(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gh"); err != nil {
		t.Skip("gh is missing")
	}
	w := newWorld(t, setup{
		rules: []penstock.NetworkRule{{
			Host: "git.example.test", Credential: &penstock.NetworkCredential{Secret: "TOKEN", As: "bearer"},
		}},
		hosts: map[string][]string{"TOKEN": {"git.example.test"}},
		serve: func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+secretValue || r.URL.Path != "/api/v3/user" {
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			rw.Header().Set("Content-Type", "application/json")
			_, _ = rw.Write([]byte(`{"login": "octocat"}`))
		},
	})
	host := strings.TrimPrefix(w.url("git.example.test", ""), "https://")
	out, err := w.run(t, t.TempDir(), "sh", "-c", `GH_HOST=$1 GH_ENTERPRISE_TOKEN=$2 gh api user --jq .login; env`,
		"sh", host, Placeholder)
	if err != nil || !strings.HasPrefix(out, "octocat\n") || strings.Contains(out, secretValue) {
		t.Errorf("%v %s", err, out)
	}
}

func TestJavaTrustStore(t *testing.T) {
	t.Parallel()
	keytool := need(t, "keytool")
	w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test", Methods: []string{"GET"}}}})
	store := filepath.Join(w.bundle, bundleJava)
	out, err := w.run(t, t.TempDir(), keytool, "-list", "-storepass", trustPassword, "-keystore", store)
	if want := len(w.roots.certificates) + 1; err != nil || strings.Count(out, "trustedCertEntry") < want-5 {
		t.Errorf("%v: %d trusted certificates, want about %d: %.500s", err, strings.Count(out, "trustedCertEntry"), want, out)
	}
}

func TestOwned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{{Preset: "github"}}})
	env := w.Environment(w.bundle)
	for name := range env {
		if name != "GH_TOKEN" && !Owns(name) {
			t.Errorf("%s is set, but not owned", name)
		}
	}
	if env["GH_TOKEN"] != Placeholder || !Owns("https_proxy") || !Owns("Git_Config_Key_0") || Owns("PATH") {
		t.Error("wrong owner")
	}
}
