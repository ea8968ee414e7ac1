package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestFilesOfARun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "run", "create", "demo: run mkdir out && echo one >out/a.txt && echo two >b.txt\n"+
		"demo: artifact out/a.txt\n"+
		"demo: artifact b.txt\ndemo: run echo newer >b.txt\ndemo: artifact b.txt\n", "--wait").want(t, 0)
	files := callFor[struct {
		Files []struct {
			UID      string `json:"artifact_uid"`
			Name     string `json:"name"`
			Replaced bool   `json:"replaced"`
		} `json:"files"`
	}](t, env, "run", "files", "@last").Files
	if len(files) != 3 || files[0].Name != "out/a.txt" || !files[1].Replaced || files[2].Replaced {
		t.Fatalf("got the files %+v", files)
	}
	call(t, env, "run", "files", "@last").want(t, 0, "out/a.txt  FILE  4 B", "(replaced)", files[1].UID)
	ids := call(t, env, "run", "files", "@last", "-o", "name").out
	if want := files[0].UID + "\n" + files[1].UID + "\n" + files[2].UID + "\n"; ids != want {
		t.Errorf("got the IDs %q, want %q", ids, want)
	}

	dir := filepath.Join(t.TempDir(), "new", "folder")
	got := call(t, env, "run", "download", "@last", "--dir", dir)
	if got.want(t, 0); got.out != filepath.Join(dir, "out/a.txt")+"\n"+filepath.Join(dir, "b.txt")+"\n" {
		t.Errorf("got %q", got.out)
	}
	wantFiles(t, dir, map[string]string{"out/a.txt": "one\n", "b.txt": "newer\n"})

	// Nothing is overwritten, and nothing beside what exists is written.
	if err := os.Remove(filepath.Join(dir, "out/a.txt")); err != nil {
		t.Fatal(err)
	}
	call(t, env, "run", "download", "@last", "--dir", dir).want(t, 64, "nothing was downloaded", "b.txt; use --force")
	wantFiles(t, dir, map[string]string{"b.txt": "newer\n"})
	call(t, env, "run", "download", "@last", files[1].UID, "--dir", dir, "--force").want(t, 0)
	wantFiles(t, dir, map[string]string{"b.txt": "two\n"})
	call(t, env, "run", "download", "@last", "a.txt", "--dir", dir, "-o", "name").want(t, 0, files[0].UID+"\n")
	wantFiles(t, dir, map[string]string{"out/a.txt": "one\n", "b.txt": "two\n"})

	call(t, env, "run", "download", "@last", "nosuch", "--dir", dir).want(t, 64, `no file "nosuch"`)
	call(t, env, "run", "download", "@last", files[1].UID, files[2].UID, "--dir", dir, "--force").want(
		t, 64, "are versions of b.txt",
	)
	call(t, env, "run", "create", "demo: say done", "--wait").want(t, 0)
	call(t, env, "run", "download", "@last").want(t, 0, "has no files")
}

// wantFiles compares the files in a folder, also hidden and temporary ones, with their content.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		got[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

const artifactUID = "01900000-0000-7000-8000-00000000000"

// withFiles is a run with a file of each name, and the size that it announces.
func withFiles(size int, names ...string) string {
	var list []string
	for i, name := range names {
		list = append(list, fmt.Sprintf(`{"artifact_type":"FILE","created_at":"2026-01-31T12:00:00.000Z","data":{`+
			`"artifact_uid":"%s%d","filename":"x","filepath":%q,"mime_type":"text/plain","size_bytes":%d}}`,
			artifactUID, i, name, size))
	}
	return `{"run_id":"r","state":"SUCCEEDED","artifacts":[` + strings.Join(list, ",") + `]}`
}

// A server and an agent choose the names. A download never leaves its folder, and never becomes a part of a
// git repository. A name that could do that is replaced.
func TestDownloadOfHostileNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"../x.txt", "/etc/x.txt", "a/../../x.txt", "..", ".", ".git/config", "sub/.GIT/hooks/post-checkout", ".git./config",
		"a\x1b[2J", "a\nb", "\u202egnp.exe", `..\x`, "a//../../x", " ", strings.Repeat("n", 300),
	} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			t.Parallel()
			above := t.TempDir()
			raw := strings.Replace(withFiles(4, "NAME"), `"NAME"`, jsonText(t, name), 1)
			raw = strings.Replace(raw, `"filename":"x"`, `"filename":`+jsonText(t, name), 1)
			s := script(t, responds(200, raw), responds(200, "evil"))
			call(t, s.env(), "run", "download", "r", "--dir", filepath.Join(above, "dir")).want(t, 0, artifactUID+"0")
			entries := map[string]string{}
			for _, extension := range []string{".txt", ".asc", ".text", ".conf", ".def", ".log"} { // by the machine's table
				if _, err := os.Stat(filepath.Join(above, "dir", artifactUID+"0"+extension)); err == nil {
					entries["dir/"+artifactUID+"0"+extension] = "evil"
				}
			}
			if len(entries) != 1 {
				t.Errorf("the file has no name of ours")
			}
			wantFiles(t, above, entries)
		})
	}
	t.Run("an ID that is a path", func(t *testing.T) {
		t.Parallel()
		s := script(t, responds(200, strings.Replace(withFiles(4, ".."), artifactUID+"0", "../../x", 1)))
		call(t, s.env(), "run", "download", "r", "--dir", t.TempDir()).want(t, 0, "has no files")
	})
}

func jsonText(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String() + `"`
}

// A link in the folder does not lead out of it, and is never replaced.
func TestDownloadThroughLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for name, test := range map[string]struct{ link, file string }{
		"a folder": {"out", "out/a.txt"}, "a file": {"a.txt", "a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Symlink(outside, filepath.Join(dir, test.link)); err != nil {
				t.Fatal(err)
			}
			s := script(t, responds(200, withFiles(4, test.file)))
			call(t, s.env(), "run", "download", "r", "--dir", dir, "--force").want(t, 64)
			wantFiles(t, outside, map[string]string{})
		})
	}
}

// A file is written whole or not at all, also if its content ends early or never ends.
func TestDownloadIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		responses []http.HandlerFunc
		code      int
		want      map[string]string
	}{
		"a lost connection, then success": {
			[]http.HandlerFunc{cuts("half"), responds(200, "complete")}, 0, map[string]string{"a.txt": "complete"},
		},
		"always cut": {[]http.HandlerFunc{cuts("h"), cuts("ha"), cuts("hal"), cuts("half")}, 69, map[string]string{}},
		"too little": {
			slices.Repeat([]http.HandlerFunc{responds(200, "short")}, 4), 69, map[string]string{},
		},
		"too much": {slices.Repeat([]http.HandlerFunc{responds(200, "much too long")}, 4), 69, map[string]string{}},
		"rejected": {[]http.HandlerFunc{responds(404, "")}, 65, map[string]string{}},
		"not yet available": {
			[]http.HandlerFunc{responds(503, ""), responds(200, "complete")}, 0, map[string]string{"a.txt": "complete"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := script(t, append([]http.HandlerFunc{responds(200, withFiles(8, "a.txt"))}, test.responses...)...)
			call(t, s.env(), "run", "download", "r", "--dir", dir).want(t, test.code)
			wantFiles(t, dir, test.want)
		})
	}
}

// cuts sends a part of a larger response, and then closes the connection.
func cuts(part string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8")
		fmt.Fprint(w, part)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// A file that appears while it is downloaded stays, and an interrupt leaves nothing behind.
func TestDownloadMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := script(t, responds(200, withFiles(8, "a.txt")), func(w http.ResponseWriter, _ *http.Request) {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("mine"), 0o600); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "complete")
	})
	call(t, s.env(), "run", "download", "r", "--dir", dir).want(t, 70, "file exists")
	wantFiles(t, dir, map[string]string{"a.txt": "mine"})

	other := t.TempDir()
	begun, done := make(chan struct{}), make(chan struct{})
	s = script(t, responds(200, withFiles(8, "a.txt")), func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-done
	})
	cmd := command(t, s.env(), "run", "download", "r", "--dir", other)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-begun
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait() // the test checks the code
	close(done)
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("got exit code %d, want 130", got)
	}
	wantFiles(t, other, map[string]string{})
}
