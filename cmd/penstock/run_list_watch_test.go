package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// runsInStates is a page with a run for each state, named a, b and so on.
func runsInStates(states ...string) http.HandlerFunc {
	var list []string
	for i, state := range states {
		list = append(list, fmt.Sprintf(`{"run_id":"%c","title":"title\u001b[2J %c","state":%q,"created_at":`+
			`"2026-01-31T12:00:00.000Z"}`, 'a'+i, 'a'+i, state))
	}
	return responds(200, fmt.Sprintf(
		`{"runs":[%s],"page_info":{"has_next_page":false}}`, strings.Join(list, ","),
	))
}

// untilInterrupt responds with the pages, and then with the last one again and again.
func untilInterrupt(t *testing.T, pages ...http.HandlerFunc) *scripted {
	t.Helper()
	for len(pages) < 200 {
		pages = append(pages, pages[len(pages)-1])
	}
	return script(t, pages...)
}

// On a pipe, each change is a line. A server that is away for a while does not end it, and Ctrl-C does.
func TestRunListWatchOnAPipe(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want []string // the end of each line
	}{
		"lines": {nil, []string{"b  QUEUED      title b", "a  INPROGRESS  title a", "b  SUCCEEDED   title b"}},
		"jq":    {[]string{"--jq", ".run_id + .state"}, []string{"bQUEUED", "aINPROGRESS", "bSUCCEEDED"}},
		"name":  {[]string{"-o", "name"}, []string{"b", "a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := untilInterrupt(
				t, runsInStates("INPROGRESS", "QUEUED"), responds(503, ""), responds(503, ""), responds(503, ""),
				responds(503, ""), runsInStates("INPROGRESS", "SUCCEEDED"),
			)
			file, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			cmd := command(t, s.env(), append([]string{"run", "list", "--watch"}, test.args...)...)
			cmd.Stdout = file
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, timeout, func() error {
				if n := len(s.seen()); n < 8 {
					return fmt.Errorf("got %d requests", n)
				}
				return nil
			})
			_ = cmd.Process.Signal(syscall.SIGINT)
			_ = cmd.Wait() // the test checks the code
			if got := cmd.ProcessState.ExitCode(); got != 130 {
				t.Errorf("got exit code %d, want 130", got)
			}
			content, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("got the lines %q, want %q", lines, test.want)
			}
			for i, line := range lines {
				if !strings.HasSuffix(line, test.want[i]) {
					t.Errorf("got %q, want %q at its end", line, test.want[i])
				}
			}
		})
	}
	s := script(t, responds(403, `{"type":"x/insufficient_scope","title":"No"}`))
	call(t, s.env(), "run", "list", "--watch").want(t, 77)
	for _, args := range [][]string{{"--cursor", "n"}, {"--limit", "0"}} {
		call(t, s.env(), append([]string{"run", "list", "--watch"}, args...)...).want(t, 64, "--watch shows the first page")
	}
}

// On a terminal, the table is redrawn, and fits.
func TestRunListWatchOnATerminal(t *testing.T) {
	t.Parallel()
	many := make([]string, 26)
	for i := range many {
		many[i] = "QUEUED"
	}
	s := untilInterrupt(t, runsInStates("INPROGRESS"), runsInStates(many...))
	term := newTerminal(t)
	cmd := command(t, s.env(), "run", "list", "--watch")
	term.attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return term.shows("more runs exist; at ") })
	term.write("\x03")
	_ = cmd.Wait() // the test checks the code
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("got exit code %d, want 130", got)
	}
	screens := strings.Split(term.screen(), "\x1b[H\x1b[J")
	if len(screens) < 3 || !strings.Contains(screens[1], "INPROGRESS") || strings.Contains(screens[1], "more runs") {
		t.Fatalf("got the screens %q", screens)
	}
	if n := strings.Count(screens[2], "\n"); n != 23 { // the header, 21 runs and our line on 24 lines
		t.Errorf("got %d lines: %q", n, screens[2])
	}
	if strings.Contains(screens[2], "\x1b") {
		t.Errorf("the titles affect the terminal: %q", screens[2])
	}
}
