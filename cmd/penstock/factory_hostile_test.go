package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// mostMemory is the memory that validating any tree may use.
const mostMemory = 200 << 20

// smallTree is the smallest factory plus some files, given as name and content in turn.
func smallTree(more ...string) map[string]string {
	files := map[string]string{
		"factory.yaml":            "schemaVersion: v1alpha1\nname: Example\nagentDefaults: {model: auto}\n",
		"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
	}
	for i := 0; i < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

// hostileTrees are keyed by name. Each has the beginning of its first finding, or none if it has no
// error.
func hostileTrees() map[string]struct {
	files map[string]string
	want  string
} {
	type tree = struct {
		files map[string]string
		want  string
	}
	const mac = "platform: {os: macos}\n"
	runner := func(content, want string) tree {
		if want != "" {
			want = "runners/a.yaml:" + want
		}
		return tree{smallTree("runners/a.yaml", content), want}
	}
	laughs := "a0: &a0 x\n"
	for i := range 100 {
		laughs += fmt.Sprintf(
			"a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","),
		)
	}
	many := smallTree()
	for i := range definition.MaxFiles - 1 {
		many[fmt.Sprintf("runners/r%03d.yaml", i)] = mac
	}
	large, size := smallTree("skills/s/SKILL.md", "---\nname: s\ndescription: S.\n---\nText.\n"), 0
	for _, content := range large {
		size += len(content)
	}
	large["skills/s/data.txt"] = strings.Repeat("x", definition.MaxBytes-size+1)
	return map[string]tree{
		"a billion laughs":     runner(laughs, "1:5: FF_ANCHOR"),
		"laughs in a prompt":   {smallTree("agents/a/agent.md", "---\n"+laughs+"---\n"), "agents/a/agent.md:2:5: FF_ANCHOR"},
		"an anchor":            runner("description: &a x\n"+mac, "1:14: FF_ANCHOR"),
		"an alias":             runner("description: *a\n"+mac, "1:14: FF_ALIAS"),
		"a tag":                runner("description: !!binary eA==\n"+mac, "1:14: FF_TAG"),
		"a merge key":          runner("platform:\n  <<: {os: macos}\n", "2:3: FF_INVALID_YAML"),
		"a key twice":          runner(mac+mac, "2:1: FF_DUPLICATE_KEY"),
		"a key that is a list": runner(mac+"? [a]\n: b\n", "2:3: FF_INVALID_YAML"),
		"two documents":        runner(mac+"---\n"+mac, "2:1: FF_INVALID_YAML"),
		"a directive":          runner("%YAML 1.2\n---\n"+mac, "1:1: FF_INVALID_YAML"),
		"tabs":                 runner("platform:\n\tos: macos\n", "2:1: FF_INVALID_YAML"),
		"line ends of Windows": runner("platform:\r\n  os: macos\r\n", ""),
		"a byte order mark":    runner("\ufeff"+mac, ""),
		"a line of 3.9 MB":     runner("description: "+strings.Repeat("x", 3900<<10)+"\n"+mac, "1:14: FF_INVALID_VALUE"),
		"a line of 10 MB":      runner(strings.Repeat("x", 10<<20), "1:1: FF_INVALID_DOCUMENT"),
		"lists in lists":       runner(strings.Repeat("- ", 100_000), "1:20001: FF_INVALID_YAML"),
		"open brackets":        runner(strings.Repeat("[", 200_000), "1:1: FF_INVALID_DOCUMENT"),
		"a key many times":     runner(strings.Repeat("k: 1\n", 70_000), "2:1: FF_DUPLICATE_KEY"),
		"a key of 3 MB":        runner(strings.Repeat("k", 3<<20)+": x\n"+mac, "1:1: FF_UNKNOWN_FIELD"),
		"many names": {
			smallTree(
				"automations/a.md",
				"---\ntriggers: [{provider: webhook, event: received, filter: {webhook_ids: ["+strings.Repeat("x,", 70_000)+
					"]}}]\n---\nx\n",
			),
			"automations/a.md:2:",
		},
		"only fences": {
			smallTree("agents/a/agent.md", strings.Repeat("---\n", 1_000_000)), "agents/a/agent.md:3:1: FF_INVALID_DOCUMENT",
		},
		"too many files":  {many, "runners/r998.yaml:1:1: FF_INVALID_DOCUMENT the factory has 1001 files"},
		"4 MB and a byte": {large, "skills/s/data.txt:1:1: FF_INVALID_DOCUMENT the factory has 4194305 bytes"},
	}
}

// For any folder, the command line reports what is wrong, in all of its formats, within bounds.
func TestFactoryValidateHandlesAnyFiles(t *testing.T) {
	t.Parallel()
	for name, tree := range hostileTrees() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, size := t.TempDir(), 0
			for path, content := range tree.files {
				writeBelow(t, folder, path, content)
				size += len(content)
			}
			if size < 100<<10 {
				wantFindings(t, folder, tree.want)
			} else { // the formats differ in what they print, not in what they read
				testkit.TakesLong(t)
				wantJSON(t, folder, tree.want)
			}
		})
	}
	t.Run("links and pipes", func(t *testing.T) {
		t.Parallel()
		folder, elsewhere := t.TempDir(), t.TempDir()
		for path, content := range smallTree() {
			writeBelow(t, folder, path, content)
		}
		writeBelow(t, elsewhere, "secret.yaml", "password: hidden\n")
		writeBelow(t, folder, "runners/z.yaml", "platform: {os: macos}\n")
		for link, target := range map[string]string{
			"runners/a.yaml": filepath.Join(elsewhere, "secret.yaml"), "webhooks": elsewhere, "skills": "..",
		} {
			if err := os.Symlink(target, filepath.Join(folder, link)); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(filepath.Join(folder, "runners/b.yaml"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, got := range wantFindings(
			t, folder, "runners/a.yaml:1:1: FF_UNSUPPORTED_PATH must be a plain file, not a link or device",
		) {
			for _, path := range []string{"runners/a.yaml", "runners/b.yaml", "skills", "webhooks"} {
				if !strings.Contains(got.out, path) {
					t.Errorf("got\n%s\nwant %s in it", got.out, path)
				}
			}
			if strings.Contains(got.out, "hidden") || strings.Contains(got.out, "password") {
				t.Errorf("got\n%s\nwhich a link leads to", got.out)
			}
		}
	})
}

// validate validates a folder. It may be valid or not, but must not panic.
func validate(t *testing.T, folder, format string, valid bool) called {
	t.Helper()
	code := 1
	if valid {
		code = 0
	}
	got := callMeasured(t, "factory", "validate", "--format", format, folder)
	if got.want(t, code); strings.Contains(got.err, "goroutine ") {
		t.Errorf("got a panic: %.2000s", got.err)
	}
	return got
}

// wantJSON validates a folder. The finding must come first. If it is "", the folder must be valid.
func wantJSON(t *testing.T, folder, want string) (called, []definition.Diagnostic) {
	t.Helper()
	got := validate(t, folder, "json", want == "")
	var result struct {
		Valid       bool                    `json:"valid"`
		Diagnostics []definition.Diagnostic `json:"diagnostics"`
	}
	fromJSON(t, got.out, &result)
	found := result.Diagnostics
	if result.Valid != (want == "") || want != "" && (len(found) == 0 || !strings.HasPrefix(found[0].String(), want)) {
		t.Errorf("got %t and %.300v, want %q first", result.Valid, found, want)
	}
	return got, found
}

// wantFindings is wantJSON, and the other formats must report the same.
func wantFindings(t *testing.T, folder, want string) []called {
	t.Helper()
	asJSON, found := wantJSON(t, folder, want)
	text := validate(t, folder, "text", want == "")
	github := validate(t, folder, "github", want == "")
	all := []called{text, asJSON, github}
	count := func(text string) int { return strings.Count(text, "\n") }
	if len(found) != count(text.out) || len(found) != count(github.out) {
		t.Errorf(
			"got %d findings as JSON, %d as text, %d for GitHub", len(found), count(text.out), count(github.out),
		)
	}
	if want == "" || len(found) == 0 {
		return all
	}
	first := found[0]
	if !strings.HasPrefix(text.out, folder+"/"+want) {
		t.Errorf("got %.300s, want %s first", text.out, want)
	}
	if line := fmt.Sprintf(
		"::%s file=%s,line=%d,col=%d::%s", first.Severity, path.Join(folder, first.Path), first.Line, first.Column,
		first.Code,
	); !strings.HasPrefix(github.out, line) {
		t.Errorf("got %.300s, want %s first", github.out, line)
	}
	return all
}

// callMeasured is call, but fails if the process uses too much memory. Linux starts a child with
// the memory figures of its parent, so a small process stands in between.
func callMeasured(t *testing.T, args ...string) called {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	const measure = `import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print("memory", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)`
	got := finish(
		t, "", exec.CommandContext(t.Context(), python, append([]string{"-c", measure, testkit.Binary(t)}, args...)...),
	)
	var kilobytes int64
	at := strings.LastIndex(got.err, "memory ")
	if _, err := fmt.Sscanf(got.err[max(at, 0):], "memory %d", &kilobytes); err != nil {
		t.Fatalf("got %q: %v", got.err, err)
	}
	if kilobytes<<10 > mostMemory {
		t.Errorf("penstock %s took %d MB", strings.Join(args, " "), kilobytes>>10)
	}
	got.err = got.err[:at]
	return got
}

// The server reports the same findings, both when it validates files and when it applies them. It
// applies none.
func TestServerHandlesAnyFactoryFiles(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	h := &hooked{Server: s, t: t}
	h.factory = h.newFactory("acme")
	trees, before := hostileTrees(), s.PeakMemory()
	for _, name := range []string{
		"../x.yaml", "/etc/x.yaml", "runners/../x.yaml", "./x.yaml", "runners//x.yaml", "", `runners\x.yaml`,
		"runners/x\n.yaml",
	} {
		tree := trees["tabs"]
		tree.files, tree.want = smallTree(name, "platform: {os: macos}\n"), name+":1:1: FF_UNSUPPORTED_PATH"
		trees["the path "+name] = tree
	}
	for name, tree := range trees {
		result, status := h.validate(tree.files)
		if status == http.StatusRequestEntityTooLarge && name == "a line of 10 MB" {
			continue
		}
		if status != http.StatusOK || result.Valid != (tree.want == "") {
			t.Errorf("%s: got %d, valid %t", name, status, result.Valid)
		}
		refused, status := h.define(tree.files)
		if tree.want == "" {
			if status != http.StatusOK {
				t.Errorf("%s: got %d, want 200", name, status)
			}
			continue
		}
		if status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d, want 422", name, status)
		}
		if diff := cmp.Diff(result.Diagnostics, refused.Diagnostics); diff != "" {
			t.Errorf("%s: one is told another thing where it is applied (-validated +applied):\n%.2000s", name, diff)
		}
		if len(result.Diagnostics) == 0 ||
			!strings.HasPrefix(position(result.Diagnostics[0])+" "+result.Diagnostics[0].Message, tree.want) {
			t.Errorf("%s: got %.300v, want %s first", name, result.Diagnostics, tree.want)
		}
	}
	if more := s.PeakMemory() - before; more > mostMemory {
		t.Errorf("looking through them took %d MB", more>>20)
	}
	var f penstock.Factory
	h.ask(http.MethodGet, h.path(), nil, http.StatusOK, &f)
	if f.Definition.Revision != 1 {
		t.Errorf("the factory has the revision %d, want the first", f.Definition.Revision)
	}
}

// findings returns the server's findings about files.
type findings struct {
	Valid       bool                    `json:"valid"`
	Diagnostics []definition.Diagnostic `json:"diagnostics"`
}

func (h *hooked) validate(files map[string]string) (findings, int) {
	h.t.Helper()
	return h.send(http.MethodPost, "/factory-files/validate", map[string]any{"files": files})
}

func (h *hooked) define(files map[string]string) (findings, int) {
	h.t.Helper()
	return h.send(http.MethodPut, h.path()+"/definition", map[string]any{"files": files, "dry_run": true})
}

func (h *hooked) send(method, path string, body any) (said findings, status int) {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	got := send(h.t, h.Server, method, path, string(text))
	if err := json.Unmarshal(got.body, &said); err != nil {
		h.t.Fatalf("%s %s: %v: %.300s", method, path, err, got.body)
	}
	return said, got.status
}

func position(d definition.Diagnostic) string {
	return fmt.Sprintf("%s:%d:%d: %s", d.Path, d.Line, d.Column, d.Code)
}

// Every entry point reports every code, at the place that its golden file in internal/control/definition
// names.
func TestEveryCodeOfFactoryFiles(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	h := &hooked{Server: s, t: t}
	h.factory = h.newFactory("acme")
	place := regexp.MustCompile(`^(.*:\d+:\d+: FF_[A-Z]+(?:_[A-Z]+)*) `)
	for _, code := range definition.Codes() {
		golden, err := os.ReadFile(filepath.Join("../../internal/control/definition/testdata/bad", string(code)+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		said, files := unpack(string(golden))
		var want []string
		for line := range strings.Lines(said) {
			want = append(want, place.FindStringSubmatch(line)[1])
		}
		result, _ := h.validate(files)
		refused, _ := h.define(files)
		for entrance, found := range map[string][]definition.Diagnostic{
			"validate": result.Diagnostics, "define": refused.Diagnostics,
		} {
			var got []string
			for _, d := range found {
				got = append(got, position(d))
			}
			wantAll(t, string(code)+" by "+entrance, want, got)
		}
		folder, onDisk := t.TempDir(), true
		for name, content := range files {
			if onDisk = onDisk && filepath.IsLocal(name) && path.Clean(name) == name && !strings.Contains(name, `\`); onDisk {
				writeBelow(t, folder, name, content)
			}
		}
		if !onDisk {
			continue // paths that no folder has
		}
		var got []string
		for line := range strings.Lines(call(t, nil, "factory", "validate", folder).out) {
			got = append(got, strings.TrimPrefix(place.FindStringSubmatch(line)[1], folder+"/"))
		}
		wantAll(t, string(code)+" by penstock factory validate", want, got)
	}
}

// wantAll looks for each place in the findings. The server knows more than the file parser, and may
// find more.
func wantAll(t *testing.T, where string, want, got []string) {
	t.Helper()
	for _, place := range want {
		if !slices.Contains(got, place) {
			t.Errorf("%s: %s is missing in %q", where, place, got)
		}
	}
}

// unpack reads a golden file: the findings, then the files of its tree below lines of the form --
// PATH --.
func unpack(text string) (want string, files map[string]string) {
	files = smallTree()
	name := ""
	for line := range strings.Lines(text) {
		if header, ok := strings.CutPrefix(line, "-- "); ok && strings.HasSuffix(header, " --\n") {
			name = strings.TrimSuffix(header, " --\n")
			files[name] = ""
		} else if name == "" {
			want += line
		} else {
			files[name] += line
		}
	}
	if _, without := files["factory.yaml: none"]; without {
		delete(files, "factory.yaml: none")
		delete(files, "factory.yaml")
	}
	return want, files
}
