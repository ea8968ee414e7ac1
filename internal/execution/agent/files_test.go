package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// use calls one tool through demo/offline and returns the client's updates about it.
func (h *harness) use(session, tool string, input any) toolCall {
	h.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		h.t.Fatal(err)
	}
	h.forget()
	h.say(session, "demo: call "+tool+" "+string(raw), acp.StopEndTurn)
	calls := h.calls()
	if len(calls) != 1 {
		h.t.Fatalf("%d calls, want 1", len(calls))
	}
	return calls[0]
}

type object = map[string]any

func edits(list ...object) object { return object{"edits": list} }

func files(list ...object) object { return object{"files": list} }

func TestEdits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		edits  object
		output string
		want   map[string]string // "" is gone
	}{
		{
			"a replacement", edits(object{"path": "f.txt", "old_text": "two", "new_text": "2"}), "changed f.txt\n",
			map[string]string{"f.txt": "one 2 one\n"},
		},
		{
			"of all", edits(object{"path": "f.txt", "old_text": "one", "new_text": "1", "replace_all": true}), "changed f.txt\n",
			map[string]string{"f.txt": "1 two 1\n"},
		},
		{
			"by nothing", edits(object{"path": "f.txt", "old_text": " two"}), "changed f.txt\n",
			map[string]string{"f.txt": "one one\n"},
		},
		{
			"two in one file",
			edits(
				object{"path": "f.txt", "old_text": "two", "new_text": "2"},
				object{"path": "./f.txt", "old_text": "one 2", "new_text": "x"},
			),
			"changed f.txt\n",
			map[string]string{"f.txt": "x one\n"},
		},
		{
			"a new file in a new directory", edits(object{"path": "a/b/c", "content": "hi"}), "created a/b/c\n",
			map[string]string{"a/b/c": "hi"},
		},
		{"an empty new file", edits(object{"path": "e", "content": ""}), "created e\n", map[string]string{"e": ""}},
		{
			"a whole file", edits(object{"path": "f.txt", "content": "new"}), "changed f.txt\n",
			map[string]string{"f.txt": "new"},
		},
		{
			"at the end", edits(object{"path": "f.txt", "content": "three\n", "append": true}), "changed f.txt\n",
			map[string]string{"f.txt": "one two one\nthree\n"},
		},
		{"a removal", edits(object{"path": "f.txt", "delete": true}), "deleted f.txt\n", map[string]string{"f.txt": "-"}},
		{
			"made and removed", edits(object{"path": "n", "content": "x"}, object{"path": "n", "delete": true}), "unchanged n\n",
			map[string]string{"n": "-"},
		},
		{
			"text that is not there", edits(object{"path": "f.txt", "old_text": "three", "new_text": "3"}),
			"Error: edit 1: f.txt: old_text does not occur; no file was changed", nil,
		},
		{
			"text that is there twice", edits(object{"path": "f.txt", "old_text": "one", "new_text": "1"}),
			"Error: edit 1: f.txt: old_text occurs 2 times; make it longer, or set replace_all; no file was changed", nil,
		},
		{
			"no text", edits(object{"path": "f.txt", "new_text": "x"}),
			"Error: edit 1: f.txt: old_text is empty; to write the whole file, set content; no file was changed", nil,
		},
		{
			"a file that is not there", edits(object{"path": "g", "old_text": "a", "new_text": "b"}),
			"Error: edit 1: g: file does not exist; no file was changed", nil,
		},
		{
			"the second does not match", edits(object{"path": "n", "content": "x"}, object{"path": "f.txt", "old_text": "zzz"}),
			"Error: edit 2: f.txt: old_text does not occur; no file was changed",
			map[string]string{"n": "-"},
		},
		{
			"outside", edits(object{"path": "../x", "content": "x"}),
			"Error: edit 1: ../x: the path is outside the workspace", nil,
		},
		{
			"outside, absolute", edits(object{"path": "/etc/passwd", "content": "x"}),
			"Error: edit 1: /etc/passwd: the path is outside the workspace", nil,
		},
		{"a directory", edits(object{"path": "dir", "content": "x"}), "Error: edit 1: dir: it is a directory", nil},
		{"a pipe", edits(object{"path": "pipe", "content": "x"}), "Error: edit 1: pipe: it is not a regular file", nil},
		{
			"through a link that leads out", edits(object{"path": "out/x", "content": "x"}),
			"Error: edit 1: out/x: path escapes from parent", nil,
		},
		{"none", edits(), "Error: edits is empty", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, nil)
			h.write("f.txt", "one two one\n")
			h.write("dir/x", "")
			makePipe(t, filepath.Join(h.workspace, "pipe"))
			outside := t.TempDir()
			if err := os.Symlink(outside, filepath.Join(h.workspace, "out")); err != nil {
				t.Fatal(err)
			}
			c := h.use(h.open(), toolEditFiles, tt.edits)
			got := c.Output
			if got == "" { // content that updates show as diffs is in the raw output
				var raw editOutput
				if err := json.Unmarshal(c.Raw, &raw); err != nil {
					t.Fatal(err)
				}
				for _, f := range raw.Files {
					got += f.Action + " " + f.Path + "\n"
				}
			}
			if got != tt.output {
				t.Errorf("output %q, want %q", got, tt.output)
			}
			for path, want := range tt.want {
				data, err := os.ReadFile(filepath.Join(h.workspace, path))
				if want == "-" {
					if err == nil {
						t.Errorf("%s is there", path)
					}
				} else if string(data) != want {
					t.Errorf("%s = %q, %v; want %q", path, data, err, want)
				}
			}
			if tt.want == nil && h.read("f.txt") != "one two one\n" {
				t.Errorf("f.txt = %q", h.read("f.txt"))
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
				t.Errorf("outside of the workspace there is %v, %v", entries, err)
			}
		})
	}
}

func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAnEditKeepsLinksAndModes(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.write("script.sh", "echo 1\n")
	if err := os.Chmod(filepath.Join(h.workspace, "script.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script.sh", filepath.Join(h.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	h.use(h.open(), toolEditFiles, edits(object{"path": "link", "old_text": "1", "new_text": "2"}))
	info, err := os.Lstat(filepath.Join(h.workspace, "script.sh"))
	if err != nil || info.Mode().Perm() != 0o755 || h.read("script.sh") != "echo 2\n" {
		t.Errorf("the file is %v, %v", info, err)
	}
	if info, err := os.Lstat(filepath.Join(h.workspace, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

func TestReadingFiles(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.write("lines", "a\nb\r\nc\nd")
	h.write("empty", "")
	h.write("bin", "a\x00b")
	h.write("bad", "caf\xe9\n")
	h.write("minified", strings.Repeat("x", 100<<10))
	h.write("long", strings.Repeat("0123456789\n", 10_000))
	makePipe(t, filepath.Join(h.workspace, "pipe"))
	if err := os.Symlink("/etc/hostname", filepath.Join(h.workspace, "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		input object
		want  string
		whole bool
	}{
		{"a whole file", files(object{"path": "lines"}), "== lines\n     1\ta\n     2\tb\n     3\tc\n     4\td\n", true},
		{
			"some lines", files(object{"path": "lines", "start_line": 2, "line_count": 2}), "== lines\n     2\tb\n     3\tc\n",
			true,
		},
		{
			"by its absolute path", files(object{"path": filepath.Join(h.workspace, "lines"), "start_line": 4}), "     4\td\n",
			false,
		},
		{"lines beyond the end", files(object{"path": "lines", "start_line": 9}), "Error: the file has only 4 lines", false},
		{"an empty file", files(object{"path": "empty"}), "== empty\n[empty]\n", true},
		{"a binary file", files(object{"path": "bin"}), "== bin\n[binary, 3 bytes]\n", true},
		{"bytes that are no UTF-8", files(object{"path": "bad"}), "== bad\n     1\tcaf\uFFFD\n", true},
		{"a line that is very long", files(object{"path": "minified"}), "more bytes]", false},
		{"many lines", files(object{"path": "long"}), "of 10000]", false},
		{
			"one that is there and one that is not", files(object{"path": "nope"}, object{"path": "empty"}),
			"== nope\nError: no such file or directory\n== empty\n[empty]\n", true,
		},
		{"a directory", files(object{"path": "."}), "it is a directory", false},
		{"a pipe", files(object{"path": "pipe"}), "it is not a regular file", false},
		{"a link that leads out", files(object{"path": "link"}), "path escapes from parent", false},
		{"outside", files(object{"path": "../../etc/passwd"}), errOutside.Error(), false},
		{"a NUL in the path", files(object{"path": "a\x00b"}), errOutside.Error(), false},
		{"none", files(), "1 to 20 files", false},
	}
	id := h.open()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.t = t
			got := h.use(id, toolReadFiles, tt.input).Output
			if tt.whole && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", cut(got, 500), tt.want)
			}
			if len(got) > maxReadBytes+1000 {
				t.Errorf("got %d bytes", len(got))
			}
		})
	}
}

func TestSearching(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.write("main.go", "package main\n\nfunc main() { Println() }\n")
	h.write("lib/a.go", "package lib\n")
	h.write("lib/deep/b_test.go", "package deep\n")
	h.write("README.md", "package? No.\n")
	h.write(".git/config", "package secret\n")
	h.write("bin", "package\x00")
	h.write("odd name+(1).txt", "x\n")
	if err := os.Symlink("/etc", filepath.Join(h.workspace, "etc")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		input object
		want  string
	}{
		{
			"a word",
			object{"pattern": "package"},
			"README.md:1: package? No.\nlib/a.go:1: package lib\nlib/deep/b_test.go:1: package deep\nmain.go:1: package main\n",
		},
		{"an expression", object{"pattern": `func \w+\(`}, "main.go:3: func main() { Println() }\n"},
		{"in some files", object{"pattern": "package", "glob": "*_test.go"}, "lib/deep/b_test.go:1: package deep\n"},
		{"in a directory", object{"pattern": "package", "path": "lib/deep"}, "lib/deep/b_test.go:1: package deep\n"},
		{"in one file", object{"pattern": "package", "path": "main.go"}, "main.go:1: package main\n"},
		{
			"without regard to case",
			object{"pattern": "PRINTLN", "ignore_case": true},
			"main.go:3: func main() { Println() }\n",
		},
		{
			"the first only",
			object{"pattern": "package", "max_results": 1},
			"README.md:1: package? No.\n[only the first 1 results; there are more]",
		},
		{"names", object{"glob": "lib/**/*.go"}, "lib/a.go\nlib/deep/b_test.go\n"},
		{"names at one level", object{"glob": "lib/*.go"}, "lib/a.go\n"},
		{"a name with characters of expressions", object{"glob": "odd name+(?).txt"}, "odd name+(1).txt\n"},
		{"nothing", object{"pattern": "zebra"}, "No matches."},
		{"a bad expression", object{"pattern": "("}, "Error: pattern: error parsing regexp: missing closing ): `(`"},
		{"outside", object{"pattern": "root", "path": "/etc"}, "Error: the path is outside the workspace"},
		{"through a link that leads out", object{"pattern": "root", "path": "etc"}, "Error: path escapes from parent"},
		{"a directory that is not there", object{"pattern": "x", "path": "nope"}, "Error: no such file or directory"},
	}
	id := h.open()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.t = t
			if got := h.use(id, toolSearchFiles, tt.input).Output; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFurtherDirectories(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	more := t.TempDir()
	if err := os.WriteFile(filepath.Join(more, "x.txt"), []byte("there\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := h.NewSession(h.ctx, acp.NewSessionRequest{Cwd: h.workspace, MoreDirs: []string{more}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(more, "x.txt")
	if c := h.use(s.ID, toolReadFiles, files(object{"path": path})); !strings.Contains(c.Output, "there") ||
		c.Locations[0].Path != path {
		t.Errorf("got %+v", c)
	}
	if c := h.use(s.ID, toolSearchFiles, object{"pattern": "there", "path": more}); c.Output != path+":1: there\n" {
		t.Errorf("got %q", c.Output)
	}
}

func TestArtifactsAreChecked(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.write("shot.png", "x")
	tests := []struct {
		name  string
		input object
		want  string
	}{
		{"a picture", object{"type": "SCREENSHOT", "path": "shot.png"}, "Saved as artifact"},
		{"a plan", object{"type": "PLAN", "content": "# Plan"}, "Saved as artifact"},
		{
			"a pull request",
			object{"type": "PULL_REQUEST", "branch": "b", "url": "https://example.com/1"},
			"Saved as artifact",
		},
		{
			"a reference",
			object{
				"type": "EXTERNAL_REFERENCE", "reference_type": "issue", "url": "https://example.com/2", "metadata": object{"n": 1},
			},
			"Saved as artifact",
		},
		{"a file that is not there", object{"type": "FILE", "path": "nope"}, "Error: nope: no such file or directory"},
		{"a file outside", object{"type": "FILE", "path": "/etc/passwd"}, "Error: /etc/passwd: the path is outside"},
		{"a directory", object{"type": "FILE", "path": "."}, "Error: . is not a regular file"},
		{"no path", object{"type": "FILE"}, "Error: FILE needs path"},
		{"no content", object{"type": "PLAN"}, "Error: PLAN needs content"},
		{
			"a script for a URL",
			object{"type": "PULL_REQUEST", "branch": "b", "url": "javascript:alert(1)"},
			"Error: PULL_REQUEST needs",
		},
		{
			"no sort of reference",
			object{"type": "EXTERNAL_REFERENCE", "url": "https://example.com"},
			"Error: EXTERNAL_REFERENCE needs",
		},
		{"an unknown type", object{"type": "ZIP"}, "Error: type must be one of"},
	}
	id := h.open()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h.t = t
			if got := h.use(id, toolCreateArtifact, tt.input).Output; !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if n := len(h.artifacts); n != 4 {
		t.Errorf("%d artifacts, want 4", n)
	}
}

func TestPlansAreChecked(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open()
	for _, entry := range []object{
		{"content": "x", "status": "maybe"}, {"status": "pending"}, {"content": "x", "status": "pending", "priority": "top"},
	} {
		if c := h.use(id, toolUpdatePlan, object{"entries": []object{entry}}); c.Status != acp.ToolFailed {
			t.Errorf("%v was taken", entry)
		}
	}
	if len(h.told(func(u acp.Update) bool { return u.Plan != nil })) > 0 {
		t.Error("a bad plan was shown")
	}
}
