package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// opener is a browser that notes its arguments in a file.
func opener(t *testing.T) (program, opened string) {
	t.Helper()
	dir := t.TempDir()
	program, opened = filepath.Join(dir, "browser"), filepath.Join(dir, "opened")
	text := "#!/bin/sh\necho \"$@\" >" + opened + ".part && mv " + opened + ".part " + opened + "\n"
	if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, opened
}

func wantOpened(t *testing.T, file, address string) {
	t.Helper()
	testkit.Eventually(t, timeout, func() error {
		_, err := os.Stat(file)
		return err
	})
	if got, err := os.ReadFile(file); err != nil || string(got) != address+"\n" {
		t.Errorf("the browser got %q, %v; want %s", got, err, address)
	}
}

func TestWeb(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	program, opened := opener(t)
	env := append(client(s), "BROWSER="+program)
	created := call(t, env, "run", "create", "x", "--web")
	id := strings.TrimSpace(created.out)
	page := s.URL + "/runs/" + id
	if created.want(t, 0, page); created.out != id+"\n" {
		t.Errorf("got %q, want only the ID on standard output", created.out)
	}
	wantOpened(t, opened, page)
	if err := os.Remove(opened); err != nil {
		t.Fatal(err)
	}
	if got := call(t, env, "run", "get", "@last", "--web"); got.code != 0 || got.out != page+"\n" {
		t.Errorf("got %q and %q with %d, want %s", got.out, got.err, got.code, page)
	}
	wantOpened(t, opened, page)
	call(t, env, "run", "get", id, "--web", "--jq", ".run_id").want(t, 0, id+"\n", page)
	// Without a display, or with a browser that does not exist, the URL is printed.
	for _, env := range [][]string{client(s), append(client(s), "BROWSER=/nonexistent")} {
		call(t, env, "run", "get", id, "--web").want(t, 0, page)
	}
}

// The server chooses the address. A program gets only a web address.
func TestWebOfAHostileServer(t *testing.T) {
	t.Parallel()
	for _, link := range []string{
		"file:///etc/passwd", "file://host/x", "--help", "javascript:alert(1)", "/runs/r", "https:x", "",
	} {
		s := script(t, responds(200, `{"run_id":"r","state":"QUEUED","session_link":"`+link+`"}`))
		program, opened := opener(t)
		call(t, append(s.env(), "BROWSER="+program), "run", "get", "r", "--web").want(t, 0, s.URL+"/runs/r\n")
		wantOpened(t, opened, s.URL+"/runs/r")
	}
}
