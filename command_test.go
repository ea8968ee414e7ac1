package penstock_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// The ways to test a block of shell commands in a document. The word after "sh" in the fence
// selects one.
const (
	blockRuns       = ""           // in order with the others of the document
	blockBackground = "background" // it starts the server
	blockCluster    = "cluster"    // scripts/kube-test runs it, in order, in a Kubernetes cluster
	blockNoRun      = "no-run"     // a test cannot run it; its commands and flags must exist
)

// block is a fenced block of shell commands.
type block struct {
	kind, text string
}

// runsHere reports whether this test runs the block. Of others, commands and flags are checked.
func (b block) runsHere() bool { return b.kind == blockRuns || b.kind == blockBackground }

var fenceForm = regexp.MustCompile("(?ms)^ *```(sh|bash|shell|console)([^\n]*)\n(.*?)^ *```$")

func shellBlocks(t *testing.T, name string) []block {
	t.Helper()
	var blocks []block
	for _, match := range fenceForm.FindAllStringSubmatch(readDocument(t, name), -1) {
		b := block{kind: strings.TrimSpace(match[2]), text: match[3]}
		if match[1] != "sh" || !slices.Contains([]string{blockRuns, blockBackground, blockCluster, blockNoRun}, b.kind) {
			t.Errorf("%s: a block of shell commands begins with sh, sh background, sh cluster or sh no-run, not "+
				"%s%s", name, match[1], match[2])
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// A command that is not in a fenced block is not tested.
func TestDocumentsFenceTheirCommands(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`(?m)^(?:    |\t)(?:bin/)?(?:penstock|curl|export|make|sudo|scripts/\S+) .*$`)
	for _, name := range commandDocuments(t) {
		for _, line := range form.FindAllString(withoutBlocks(readDocument(t, name)), -1) {
			t.Errorf("%s: put this command into a block that begins with ```sh: %s", name, line)
		}
	}
}

// commandDocuments are the documents whose commands a user types. AGENTS.md is not one: its
// commands are for people and programs that change the repository.
func commandDocuments(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(documents(t), func(name string) bool {
		return strings.HasPrefix(name, "docs/decisions/") || name == "AGENTS.md"
	})
}

// TestCommandsOfDocuments types the commands of each document into a shell, in order. The shell has
// a HOME of its own and the real binary; where the document does not start a server, the test does.
func TestCommandsOfDocuments(t *testing.T) {
	t.Parallel()
	wants := map[string][]string{
		"README.md": {
			"state     SUCCEEDED", "event: done\n", "secret", "delivery_id", "Accepted",
		},
	}
	for _, name := range commandDocuments(t) {
		blocks := shellBlocks(t, name)
		if !slices.ContainsFunc(blocks, block.runsHere) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := typeIn(t, blocks)
			at := 0
			for _, want := range wants[name] {
				found := strings.Index(out[at:], want)
				if found < 0 {
					t.Fatalf("%q is missing after the first %d bytes of\n%s", want, at, out)
				}
				at += found + len(want)
			}
		})
	}
	for name := range wants {
		if len(shellBlocks(t, name)) == 0 {
			t.Errorf("%s has no commands", name)
		}
	}
}

// typeIn runs the blocks of a document and returns what they print.
func typeIn(t *testing.T, blocks []block) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testkit.Binary(t), filepath.Join(home, "bin", "penstock")); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"PENSTOCK_LOG_LEVEL=warn",
	}
	var address string
	if slices.ContainsFunc(blocks, func(b block) bool { return b.kind == blockBackground }) {
		address = "127.0.0.1:" + testkit.FreePort(t)
		env = append(env, "PENSTOCK_LISTEN="+address)
	} else {
		server := testkit.Serve(t, testkit.ServeOptions{})
		address = strings.TrimPrefix(server.URL, "http://")
		key := filepath.Join(home, "admin.key")
		if err := os.WriteFile(key, []byte(server.Key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env = append(env, "PENSTOCK_KEY_FILE="+key)
	}
	env = append(env, "PENSTOCK_BASE_URL=http://"+address)

	shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script(blocks, address))
	shell.Dir, shell.Env = home, env
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	shell.WaitDelay = 10 * time.Second
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// script is one program of all blocks. It ends the server that a block of it starts.
func script(blocks []block, address string) string {
	var text strings.Builder
	for _, b := range blocks {
		switch b.kind {
		case blockRuns:
			text.WriteString(b.text)
		case blockBackground:
			fmt.Fprintf(&text, "{\n%s} &\n", strings.TrimSuffix(b.text, "\n")+" & server=$!; wait $server || true\n")
			text.WriteString("trap 'pkill -TERM -P $! || true; wait $! || true' EXIT\n")
			text.WriteString("until curl -sf -o /dev/null http://127.0.0.1:8080/readyz; do sleep 0.1; done\n")
		}
	}
	return strings.ReplaceAll(text.String(), "127.0.0.1:8080", address)
}

// Each `penstock …` in a document, in a block that is not run and in the text, is a command that
// exists, with flags that it has.
func TestCommandsOfDocumentsExist(t *testing.T) {
	t.Parallel()
	commands := helpOf{binary: testkit.Binary(t), known: map[string]string{}}
	inline := regexp.MustCompile("`(?:bin/)?penstock ([a-z-][^`\n]*)`")
	checked := 0
	for _, name := range commandDocuments(t) {
		document := readDocument(t, name)
		var lines []string
		for _, match := range inline.FindAllStringSubmatch(withoutBlocks(document), -1) {
			lines = append(lines, match[1])
		}
		for _, b := range shellBlocks(t, name) {
			if !b.runsHere() {
				lines = append(lines, penstockLines(b.text)...)
			}
		}
		for _, line := range lines {
			checked++
			if err := commands.check(t, line); err != nil {
				t.Errorf("%s: penstock %s: %v", name, line, err)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d commands were checked, want more", checked)
	}
	for _, wrong := range []string{"rum create", "run creat", "run create --no-such-flag", "serve --liste :80"} {
		if commands.check(t, wrong) == nil {
			t.Errorf("penstock %s is taken for a command", wrong)
		}
	}
}

// penstockLines returns the arguments of each call of penstock in a block. It joins continued
// lines.
func penstockLines(text string) []string {
	var lines []string
	form := regexp.MustCompile(`(?:^|\$\(|[|&;] *|sudo )(?:-u \S+ )?penstock ([a-z-].*)$`)
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if match := form.FindStringSubmatch(strings.TrimSpace(line)); match != nil &&
			!strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, match[1])
		}
	}
	return lines
}

// helpOf finds commands and flags in the help of the program.
type helpOf struct {
	binary string
	known  map[string]string // by command
}

func (h helpOf) text(t *testing.T, command string) string {
	t.Helper()
	if text, ok := h.known[command]; ok {
		return text
	}
	args := append(strings.Fields(command), "--help")
	out, err := exec.CommandContext(t.Context(), h.binary, args...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	h.known[command] = string(out)
	return string(out)
}

func (h helpOf) check(t *testing.T, line string) error {
	t.Helper()
	line, _, _ = strings.Cut(line, " # ")
	words := strings.Fields(line)
	command, rest := words[0], words[1:]
	if command == "help" {
		return nil // the same as --help
	}
	if strings.HasPrefix(command, "-") {
		command, rest = "", words
	} else if text := h.text(t, command); strings.Contains(text, "<command>") && len(rest) > 0 &&
		!strings.HasPrefix(rest[0], "-") {
		command, rest = command+" "+rest[0], rest[1:]
	}
	help := h.text(t, command)
	if !strings.Contains(help, "Usage: penstock "+command) {
		return errors.New("there is no such command")
	}
	for _, word := range rest {
		flag, _, _ := strings.Cut(strings.Trim(word, `'"[]`), "=")
		if !strings.HasPrefix(flag, "--") || flag == "--" {
			continue
		}
		if !regexp.MustCompile(regexp.QuoteMeta(flag) + `[\s=,]`).MatchString(strings.ReplaceAll(help, "--[no-]", "--")) {
			return fmt.Errorf("there is no flag %s", flag)
		}
	}
	return nil
}

// Each make target and script that a document names exists.
func TestTargetsOfDocumentsExist(t *testing.T) {
	t.Parallel()
	makefile := readDocument(t, "Makefile")
	target := regexp.MustCompile("(?m)(?:`|^    |^)make ([a-z][a-z-]*(?: [a-z][a-z-]*)*)")
	script := regexp.MustCompile(`\bscripts/([a-z][a-z0-9-]*)\b`)
	checked := 0
	for _, name := range append(documents(t), "bench/NOTES.md") {
		document := readDocument(t, name)
		for _, match := range target.FindAllStringSubmatch(document, -1) {
			for word := range strings.FieldsSeq(match[1]) {
				checked++
				if !regexp.MustCompile(`(?m)^` + word + `:`).MatchString(makefile) {
					t.Errorf("%s: make %s: the target does not exist", name, word)
				}
			}
		}
		for _, match := range script.FindAllStringSubmatch(document, -1) {
			if _, err := os.Stat(match[0]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d targets were checked, want more", checked)
	}
}
