package git

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
)

// alone reports whether a file has only one name.
func alone(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 1
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://github.com/owner/repo", "https://github.com/owner/repo.git", "https://user:pass@host.example:8443/a/b.git",
		"https://10.0.0.1/r", "https://[::1]/r", "ssh://git@host/owner/repo.git", "ssh://host:2222/~/repo",
		"git@github.com:owner/repo.git", "host:repo", "me@[::1]:repo",
		"https://host/an org/_git/my app", "https://host/an%20org/c%2B%2B.git", "git@host:my app.git",
		"https://host/größe/日本",
		"ssh://ann%40example.com@host/repo", "https://host/org/.github", "https://host/org/-rf",
	} {
		if err := CheckURL(raw, false); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"file:///srv/repo", "http://127.0.0.1:1/r", "http://localhost/r", "http://[::1]:80/r"} {
		if err := CheckURL(raw, true); err != nil {
			t.Errorf("%s, local: %v", raw, err)
		}
		if err := CheckURL(raw, false); err == nil ||
			!strings.Contains(err.Error(), "use https or ssh") && !strings.Contains(err.Error(), "--git-allow-file") {
			t.Errorf("%s: got %v", raw, err)
		}
	}
	for raw, want := range map[string]string{
		"": "empty",
		"https://h/" + strings.Repeat("a", maxURL): "more than 2048",
		"--upload-pack=touch x":                    "begins with a dash",
		"-u:x":                                     "begins with a dash",
		"ext::sh -c touch% x":                      "neither https",
		"ext::sh":                                  "neither https",
		"ext::https://host/r":                      "names no repository",
		"fd::17/foo":                               "neither https",
		"git://host/repo":                          "use https or ssh",
		"ftp://host/repo":                          "use https or ssh",
		"/srv/repo":                                "neither https",
		"../repo":                                  "neither https",
		"repo":                                     "neither https",
		"https://":                                 "names no repository",
		"https://host":                             "names no repository",
		"https:///repo":                            "no valid host name",
		"https://-host/repo":                       "no valid host name",
		"https://ho st/repo":                       "cannot be parsed",
		" https://host/repo":                       "begins or ends with a space",
		"https://host/repo ":                       "begins or ends with a space",
		"https://host/repo?x=y":                    "query",
		"https://host/repo#x":                      "fragment",
		"https://host/a\nb":                        "control",
		`https://host\@evil/repo`:                  "backslash",
		"https://host:port/repo":                   "cannot be parsed",
		"ssh://-oProxyCommand=touch/repo":          "no valid host name",
		"ssh://-oProxyCommand/repo":                "no valid host name",
		"ssh://-l@host/repo":                       "no valid user name",
		"ssh://git:secret@host/repo":               "must not have a password",
		"-oProxyCommand@host:repo":                 "begins with a dash",
		"host:":                                    "neither https",
		"host::repo":                               "neither https",
		"https://secret-token:x@host:y/repo":       "cannot be parsed",
	} {
		err := CheckURL(raw, true)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want %q", raw, err, want)
		}
	}
	if err := CheckURL("http://192.0.2.1/repo", true); err == nil || !strings.Contains(err.Error(), "only for this") {
		t.Errorf("got %v", err)
	}
	if err := CheckURL("file://host/repo", true); err == nil {
		t.Error("file URL with a host: got no error")
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		".github": ".github", "c++": "c++", "a\t b": "a b", "größe": "größe", "a%2e%2e": "a%2e%2e", "-rf": "_-rf", "~": "~",
		"": "repository", ".": "repository", "..": "repository", "...": "repository", ".git": "repository",
		".GIT": "repository",
		"a/b":  "a_b", `a\b`: "a_b", "a\x00b": "a b", "a\u202eb": "a_b", "\xff": "_",
		strings.Repeat("é", 150): strings.Repeat("é", 100),
	} {
		if got := Folder(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{
		"", "main", "feature/x-1", "v1.0", "refs/pull/1/head", "ä", strings.Repeat("a", 40), "a@b",
	} {
		if err := CheckRef(ref); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for _, ref := range []string{
		"--upload-pack=touch x", "-b", "a/-b", "a..b", "a b", "a\n", "a~1", "a^", "a:b", "a?", "a*", "a[", `a\b`, "/a", "a/",
		"a//b",
		".a", "a/.b", "a.lock", "a.lock/b", "a@{1}", "@", "HEAD", "a.", strings.Repeat("a", 256), "a\x7f",
	} {
		if err := CheckRef(ref); err == nil {
			t.Errorf("%q: got no error", ref)
		}
	}
}

func TestBranchWithInvalidUTF8InItsNameIsSkipped(t *testing.T) {
	t.Parallel()
	c, from := open(t, Options{}), origin(t)
	git(t, from, "branch", "fix\xfc/x")
	for range 2 { // the second fetch uses the mirror of the first
		if _, err := c.Checkout(t.Context(), Source{URL: "file://" + from}, filepath.Join(t.TempDir(), "copy")); err != nil {
			t.Error(err)
		}
	}
}

// canary is a file that a command of a hostile repository would create.
func canary(t *testing.T) (path string, check func()) {
	path = filepath.Join(t.TempDir(), "canary")
	return path, func() {
		t.Helper()
		if _, err := os.Lstat(path); err == nil {
			t.Error("a command of the repository was run")
		}
	}
}

func TestHostileRepositoryRunsNothing(t *testing.T) {
	// Not parallel: the test changes the environment of this process.
	file, check := canary(t)
	script := filepath.Join(t.TempDir(), "script")
	template, home := t.TempDir(), t.TempDir()
	program(t, script, "#!/bin/sh\ntouch "+file+"\ncat\n")
	err := errors.Join(
		os.Mkdir(filepath.Join(template, "hooks"), 0o755),
		os.Symlink(script, filepath.Join(template, "hooks", "post-checkout")),
		os.Symlink(script, filepath.Join(template, "hooks", "reference-transaction")),
		os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\nhooksPath = "+template+"/hooks\nfsmonitor = "+script+
			"\nsshCommand = "+script+"\n[filter \"lfs\"]\nsmudge = "+script+"\nprocess = "+script+
			"\nrequired\n[protocol]\nallow = always\n"+
			"[submodule]\nrecurse = true\n[credential]\nhelper = !"+script+"\n"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"HOME": home, "GIT_TEMPLATE_DIR": template, "GIT_ASKPASS": script, "SSH_ASKPASS": script, "GIT_SSH": script,
		"GIT_EXTERNAL_DIFF": script, "GIT_PROXY_COMMAND": script, "GIT_DIR": home, "GIT_EXEC_PATH": template,
	} {
		t.Setenv(key, value)
	}
	from := origin(t)
	outside := t.TempDir()
	commit(t, from, ".gitattributes", "* filter=lfs diff=lfs merge=lfs\n")
	commit(
		t, from, ".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c "+script+"\n\tupdate = !"+script+"\n",
	)
	git(t, from, "reset", "-q", "--hard", "HEAD^") // the object check refuses the attack itself
	commit(t, from, ".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh\n")
	git(t, from, "update-index", "--add", "--cacheinfo", "160000,"+git(t, from, "rev-parse", "HEAD")+",x")
	git(t, from, "commit", "-q", "-m", "submodule")
	if err := os.Symlink(outside, filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	commit(t, from, "z/file", "content\n")
	git(t, from, "update-ref", "refs/heads/--upload-pack=touch", "HEAD")

	c := open(t, Options{})
	dir := filepath.Join(t.TempDir(), "repo")
	if _, err := c.Checkout(t.Context(), Source{URL: fileURL(from)}, dir); err != nil {
		t.Fatal(err)
	}
	check()
	if got := left(t, filepath.Join(dir, "x")); len(got) > 0 {
		t.Errorf("the submodule was fetched: %v", got)
	}
	if got := left(t, outside); len(got) > 0 {
		t.Errorf("written through a link: %v", got)
	}
	if target, err := os.Readlink(filepath.Join(dir, "link")); err != nil || target != outside {
		t.Errorf("got link %q, %v", target, err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "z/file")); err != nil || string(content) != "content\n" {
		t.Errorf("got %q, %v", content, err)
	}
}

// Trees that git itself never creates.
func TestHostileObjectsAreRefused(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]string{
		"the repository's own folder": ".git",
		"the same on other systems":   ".GIT",
		"the same on Windows":         "git~1",
		"the folder above":            "..",
		"a slash in a name":           "a/b",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := origin(t)
			blob := git(t, from, "rev-parse", "HEAD:README.md")
			id := make([]byte, 20)
			for i := range id {
				id[i] = unhex(blob[2*i])<<4 | unhex(blob[2*i+1])
			}
			file := filepath.Join(t.TempDir(), "tree")
			if err := os.WriteFile(file, append([]byte("100644 "+entry+"\x00"), id...), 0o600); err != nil {
				t.Fatal(err)
			}
			tree := git(t, from, "hash-object", "-t", "tree", "--literally", "-w", file)
			git(t, from, "update-ref", "refs/heads/main", git(t, from, "commit-tree", "-m", "evil", tree))
			dir := filepath.Join(t.TempDir(), "repo")
			if _, err := open(t, Options{}).Checkout(t.Context(), Source{URL: fileURL(from), Ref: "main"}, dir); err == nil {
				t.Error("got no error")
			}
			if got := left(t, dir); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
		})
	}
}

func unhex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

func TestOldMalformedCommitsAreAccepted(t *testing.T) {
	t.Parallel()
	from := origin(t)
	tree := git(t, from, "rev-parse", "HEAD^{tree}")
	file := filepath.Join(t.TempDir(), "commit")
	text := "tree " + tree + "\nauthor A<a@example.com> 1 +051800\ncommitter A <a@example.com> 01 +0000\n\nold\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := git(t, from, "hash-object", "-t", "commit", "--literally", "-w", file)
	git(t, from, "update-ref", "refs/heads/main", want)
	got, err := open(t, Options{}).Checkout(t.Context(), Source{URL: fileURL(from)}, filepath.Join(t.TempDir(), "repo"))
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestHostileDefaultBranch(t *testing.T) {
	t.Parallel()
	from := origin(t)
	git(t, from, "update-ref", "refs/heads/--upload-pack=touch", "HEAD")
	if err := os.WriteFile(
		filepath.Join(from, ".git", "HEAD"), []byte("ref: refs/heads/--upload-pack=touch\n"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, Options{}).Checkout(t.Context(), Source{URL: fileURL(from)}, filepath.Join(t.TempDir(), "repo"))
	if err == nil || !strings.Contains(err.Error(), "which is not allowed") {
		t.Errorf("got %v", err)
	}
}

func TestProtocolsThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	from := origin(t)
	c, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Checkout(t.Context(), Source{URL: fileURL(from)}, filepath.Join(t.TempDir(), "repo")); err == nil {
		t.Error("a file URL without the option: got no error")
	}
	// If one of our checks fails, git's own check still holds.
	_, err = c.run(t.Context(), command{args: []string{"ls-remote", "--", fileURL(from)}})
	if err == nil || !strings.Contains(err.Error(), "transport 'file' not allowed") {
		t.Errorf("got %v", err)
	}
	_, err = c.run(t.Context(), command{args: []string{"ls-remote", "--", "ext::sh -c true"}})
	if err == nil || !strings.Contains(err.Error(), "transport 'ext' not allowed") {
		t.Errorf("got %v", err)
	}
}

const password = "s3cret/pass word%"

func needsPassword(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, got, _ := r.BasicAuth(); got != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you, "+got+"?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	from := origin(t)
	var seen []string
	s := serve(t, filepath.Dir(from), func(next http.Handler) http.Handler {
		return needsPassword(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, running(password)...)
			seen = append(seen, running(base64.StdEncoding.EncodeToString([]byte("x-access-token:"+password)))...)
			next.ServeHTTP(w, r)
		}))
	})
	plain := s.URL + "/" + filepath.Base(from)
	inURL := strings.Replace(plain, "http://", "http://"+url.UserPassword("bot", password).String()+"@", 1)
	c := open(t, Options{})
	for _, src := range []Source{
		{URL: plain, Password: password}, {URL: plain, Username: "bot", Password: password}, {URL: inURL},
	} {
		dir := filepath.Join(t.TempDir(), "repo")
		if _, err := c.Checkout(t.Context(), src, dir); err != nil {
			t.Error(err)
			continue
		}
		if got := git(t, dir, "config", "remote.origin.url"); got != plain {
			t.Errorf("got origin %s, want %s", got, plain)
		}
	}
	if len(seen) > 0 {
		t.Errorf("the password is on the command line of %v", seen)
	}
	for _, dir := range []string{c.dir} {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if content, _ := os.ReadFile(path); err == nil && strings.Contains(string(content), password) {
				t.Errorf("%s holds the password", path)
			}
			return err
		})
	}

	// A caller must prove access to a repository even if another caller's fetch has cached it.
	for _, src := range []Source{{URL: plain}, {URL: plain, Password: "wrong-" + password}, {URL: inURL + "-other"}} {
		dir := filepath.Join(t.TempDir(), "repo")
		_, err := c.Checkout(t.Context(), src, dir)
		if err == nil || strings.Contains(err.Error(), "s3cret") || len(left(t, dir)) > 0 {
			t.Errorf("got %v, left %v", err, left(t, dir))
		}
	}
	if _, err := c.Checkout(t.Context(), Source{URL: "ssh://host/repo", Password: password}, "x"); err == nil {
		t.Error("a password for ssh: got no error")
	}
	if _, err := c.Checkout(t.Context(), Source{URL: plain, Password: "a\r\nX-Evil: 1"}, "x"); err == nil {
		t.Error("a password of two lines: got no error")
	}
}

func TestCredentialsAreNotSentElsewhere(t *testing.T) {
	t.Parallel()
	from := origin(t)
	other := serve(t, filepath.Dir(from), nil)
	s := serve(t, filepath.Dir(from), func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
		})
	})
	src := Source{URL: s.URL + "/" + filepath.Base(from), Password: password}
	if _, err := open(t, Options{}).Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo")); err == nil {
		t.Error("a redirect with a password: got no error")
	}
	if requests, _ := other.counts(); requests > 0 {
		t.Errorf("the other server got %d requests", requests)
	}
	src.Password = ""
	if _, err := open(t, Options{}).Checkout(t.Context(), src, filepath.Join(t.TempDir(), "repo")); err != nil {
		t.Errorf("a redirect without a password: %v", err)
	}
	if other.header != "" {
		t.Errorf("the other server got %q", other.header)
	}
}

func TestErrorsShowNoSecretsAndNoControlCharacters(t *testing.T) {
	t.Parallel()
	r := &remote{secrets: []string{"hunter2", ""}}
	if got, want := clean("fatal: \x1b[31mhunter2\x00\rbad\xff hunter2 ü\n", r), "fatal: [31m***\nbad *** ü"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// A secret that the end of the output cuts is masked as well.
	var end tail
	for range 3000 {
		_, _ = end.Write([]byte("hunter2,"))
	}
	if got := clean(end.String(), r); strings.ContainsAny(got, "hunter2") || len(got) > maxStderr {
		t.Errorf("got %d bytes: %s…", len(got), got[:40])
	}
}

// bomb makes a commit of a dozen small objects with ten billion empty folders.
func bomb(t *testing.T, dir string) (commit string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tree")
	tree := func(content string) (id string) {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "hash-object", "-t", "tree", "-w", file)
	}
	id := tree("")
	for range 10 {
		raw, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		var content strings.Builder
		for name := 'a'; name < 'k'; name++ {
			content.WriteString("40000 " + string(name) + "\x00" + string(raw))
		}
		id = tree(content.String())
	}
	return git(t, dir, "commit-tree", "-m", "folders", id)
}

func TestFoldersWithoutEndAreGivenUp(t *testing.T) {
	t.Parallel()
	from := origin(t)
	git(t, from, "update-ref", "refs/heads/main", bomb(t, from))
	c := open(t, Options{})
	src := Source{URL: fileURL(from), Ref: "main"}
	head, err := c.Head(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	c.listing = time.Second
	if s, err := c.Snapshot(t.Context(), src, head, everything("a")); !errors.Is(err, ErrManyFiles) ||
		s.Commit.ID != head.Commit {
		t.Errorf("snapshot: got %v of commit %q", err, s.Commit.ID)
	}
	all := Selection{Match: func(string) bool { return true }, MaxSize: 1, MaxAll: 1, Max: 1}
	if _, err := c.Files(t.Context(), src, all); !errors.Is(err, ErrManyFiles) {
		t.Errorf("files: got %v", err)
	}
	dir := filepath.Join(t.TempDir(), "repo")
	if _, err := c.Checkout(t.Context(), src, dir); !errors.Is(err, ErrManyFiles) || len(left(t, dir)) > 0 {
		t.Errorf("checkout: got %v, left %v", err, left(t, dir))
	}
	q, err := NewQuarantine(t.Context(), c, src, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Compare(t.Context(), "", head.Commit); !errors.Is(err, ErrManyFiles) {
		t.Errorf("compare: got %v", err)
	}
	if _, err := q.Links(t.Context(), head.Commit); !errors.Is(err, ErrManyFiles) {
		t.Errorf("links: got %v", err)
	}
}

func TestObjectsThatDoNotFitIntoMemory(t *testing.T) {
	t.Parallel()
	from := origin(t)
	file := filepath.Join(t.TempDir(), "message")
	if err := os.WriteFile(file, []byte(strings.Repeat(" ", 32<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, from, "update-ref", "refs/heads/main", git(t, from, "commit-tree", "-F", file, "HEAD^{tree}"))
	c := open(t, Options{})
	c.memory = "8m"
	src := Source{URL: fileURL(from), Ref: "main"}
	head, err := c.Head(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Snapshot(t.Context(), src, head, everything("a")); err == nil ||
		!strings.Contains(err.Error(), "attempting to allocate") {
		t.Errorf("snapshot: got %v", err)
	}
	dir := filepath.Join(t.TempDir(), "repo")
	if _, err := c.Checkout(t.Context(), src, dir); err == nil ||
		!strings.Contains(err.Error(), "attempting to allocate") {
		t.Errorf("checkout: got %v", err)
	}
}

// If a server repeats the credential, the error does not contain it.
func TestServerThatRepeatsTheCredential(t *testing.T) {
	t.Parallel()
	packet := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
	head := strings.Repeat("a", 40) + " HEAD symref-target:refs/heads/"
	for name, response := range map[string]string{
		"in an error":             packet("ERR " + password + " may not read it"),
		"in the name of a branch": packet("version 2\n") + packet("ls-refs\n") + packet(head+url.QueryEscape(password)+"^"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
				_, _ = io.WriteString(w, response)
			}))
			defer s.Close()
			_, err := open(t, Options{}).Head(t.Context(), Source{URL: s.URL + "/owner/repo", Password: password})
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The names in a certificate are as hostile as a response.
func TestErrorsOfTheConnectionAreText(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"a\x00b\x1b[31mc"},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	s.StartTLS()
	defer s.Close()
	address := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) + "/owner/repo"
	_, err = open(t, Options{}).Head(t.Context(), Source{URL: address})
	if err == nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Errorf("got %q", err)
	}
}
