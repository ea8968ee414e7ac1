package main_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestCompletionCandidates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		words []string
		want  []string // the first words of the lines; "..." marks a prefix
	}{
		"commands":        {[]string{""}, []string{"serve", "worker", "run", "..."}},
		"verbs":           {[]string{"key", ""}, []string{"create", "list", "assign", "delete"}},
		"no hidden verbs": {[]string{"agent", ""}, []string{"list", "create", "get", "update", "delete"}},
		"values of a flag": {
			[]string{"run", "list", "--sort-by", ""}, []string{"updated_at", "created_at", "title", "agent"},
		},
		"values after an equals sign": {
			[]string{"run", "list", "--sort-by", "=", "t"}, []string{"updated_at", "created_at", "title", "agent"},
		},
		"values joined to the flag": {
			[]string{"run", "list", "--output=j"}, []string{"--output=table", "--output=json", "--output=yaml", "--output=name"},
		},
		"a short flag's values": {[]string{"run", "-o", ""}, []string{"table", "json", "yaml", "name"}},
		"files":                 {[]string{"backup", "--to", ""}, []string{":file"}},
		"arguments":             {[]string{"completion", ""}, []string{"bash", "zsh", "fish"}},
		"a flag with a value before": {
			[]string{"key", "--server", "run", "list", "--"}, []string{"--help", "--config", "--version", "--server", "..."},
		},
		"a folder":              {[]string{"factory", "apply", ""}, []string{":file"}},
		"presets":               {[]string{"network", "presets", "p"}, []string{"packages", "npm", "pypi", "..."}},
		"nothing without a key": {[]string{"run", "get", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, append([]string{"complete", "--"}, test.words...)...)
			got.want(t, 0)
			var words []string
			for line := range strings.Lines(got.out) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
				words = append(words, word)
			}
			want := test.want
			if n := slices.Index(want, "..."); n >= 0 && len(words) > n {
				want, words = want[:n], words[:n]
			}
			if diff := cmp.Diff(want, words); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
	call(t, nil, "completion", "tcsh").want(t, 64, "bash")
}

// With a key, completion asks the server for names. It never returns one that a shell could run as
// a command.
func TestCompletionOfNames(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "factory", "create", "Payments team", "--alias", "pay").want(t, 0)
	call(t, env, "factory", "create", "$(touch pwned)").want(t, 0)
	callWith(t, "0123456789", env, "secret", "create", "DEPLOY_TOKEN", "--value-file", "-").want(t, 0)
	hook := made(t, env, "webhook", "--factory", "pay", "create", "ci")
	call(t, env, "automation", "--factory", "pay", "create", "fix", "--prompt", "Mend it.", "--webhook", "ci").want(t, 0)
	call(t, env, "schedule", "create", "--name", "nightly", "--cron", "0 0 29 2 *", "--prompt", "x").want(t, 0)
	call(t, env, "schedule", "create", "--name", "two words", "--cron", "0 0 29 2 *", "--prompt", "x").want(t, 0)
	call(t, env, "environment", "create", "--name", "app").want(t, 0)
	call(t, env, "agent", "create", "--name", "reviewer", "--description", "Reads\tcode").want(t, 0)
	id := startRun(t, env, "Look around.", "--worker-host", "none")
	const uid = "*"
	for name, test := range map[string]struct {
		words []string
		want  []string // lines; uid stands for one
	}{
		"factories": {
			[]string{"factory", "get", ""}, []string{"pay\tPayments team", uid + "\t$(touch pwned)"},
		},
		"the factory of a folder": {
			[]string{"factory", "plan", "--factory", ""}, []string{"pay\tPayments team", uid + "\t$(touch pwned)"},
		},
		"webhooks":                       {[]string{"webhook", "--factory", "pay", "get", ""}, []string{"ci"}},
		"webhooks, the factory behind":   {[]string{"webhook", "get", "--factory=Payments Team", ""}, []string{"ci"}},
		"webhooks of no certain factory": {[]string{"webhook", "get", ""}, nil},
		"webhooks by their uids": {
			[]string{"run", "list", "--factory", "pay", "--webhook", ""}, []string{hook.UID + "\tci"},
		},
		"several webhooks":                {[]string{"webhook", "--factory", "pay", "delete", "ci", ""}, []string{"ci"}},
		"no second argument where one is": {[]string{"webhook", "--factory", "pay", "get", "ci", ""}, nil},
		"automations":                     {[]string{"automation", "--factory", "pay", "get", ""}, []string{"fix"}},
		"agents": {
			[]string{"run", "create", "--agent", ""}, []string{uid + "\tforeman", uid + "\tforeman", "reviewer\tReads code"},
		},
		"a value joined to its flag": {[]string{"run", "create", "--environment=a"}, []string{"--environment=app"}},
		"environments":               {[]string{"environment", "get", ""}, []string{"app"}},
		"schedules":                  {[]string{"schedule", "pause", ""}, []string{"nightly", uid + "\ttwo words"}},
		"secrets":                    {[]string{"secret", "get", ""}, []string{"CI_WEBHOOK_SECRET", "DEPLOY_TOKEN"}},
		"no names for what is new":   {[]string{"secret", "create", ""}, nil},
		"runs": {
			[]string{"run", "watch", ""}, []string{id + "\tLook around.", "@last\tthe run that was created last"},
		},
		"nothing for a prompt":               {[]string{"factory", "dispatch", "pay", ""}, nil},
		"another server that is not there":   {[]string{"run", "watch", "--server", "http://127.0.0.1:1", ""}, nil},
		"a key file that is not there":       {[]string{"run", "watch", "--key-file", "none", ""}, nil},
		"a server to which no key may go":    {[]string{"run", "watch", "--server", "http://192.0.2.1", ""}, nil},
		"another server, joined to the flag": {[]string{"run", "watch", "--server=http://127.0.0.1:1", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, env, append([]string{"complete", "--"}, test.words...)...)
			if test.want != nil { // it does not wait for a server that is busy
				testkit.Eventually(t, timeout, func() error {
					if got.out == "" {
						got = call(t, env, append([]string{"complete", "--"}, test.words...)...)
						return errors.New("no candidates")
					}
					return nil
				})
			}
			if got.want(t, 0); got.err != "" {
				t.Errorf("got %q on standard error, where a person types", got.err)
			}
			var lines []string
			for line := range strings.Lines(got.out) {
				word, help, described := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				if len(word) == len(id) && strings.Count(word, "-") == 4 && word != id {
					word = uid
				}
				if described {
					word += "\t" + help
				}
				lines = append(lines, word)
			}
			slices.Sort(lines)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

// The scripts run in the real shells, as far as these are installed.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	call(t, client(s), "factory", "create", "Payments team", "--alias", "pay").want(t, 0)
	call(t, client(s), "factory", "create", "$(touch pwned)").want(t, 0)
	startRun(t, client(s), "x", "--worker-host", "none")
	folder := filepath.Dir(testkit.Binary(t))
	for shell, script := range map[string]string{
		"bash": `source <(penstock completion bash)
			COMP_WORDS=(penstock run follow); COMP_CWORD=2; _penstock; echo "${COMPREPLY[@]}"
			COMP_WORDS=(penstock run list --output = j); COMP_CWORD=5; _penstock; echo "${COMPREPLY[@]}"
			COMP_WORDS=(penstock factory get p); COMP_CWORD=3; _penstock; echo "${COMPREPLY[@]}"
			COMP_WORDS=(penstock run get @ l); COMP_CWORD=4; _penstock; last="${COMPREPLY[@]}"
			COMP_WORDS=(penstock run get @); COMP_CWORD=3; _penstock; [ "$last${COMPREPLY[*]}" = "@last@last" ] || exit 1
			COMP_WORDS=(penstock factory get ""); COMP_CWORD=3; _penstock; ls`,
		"zsh": `compdef() { : }; _describe() { print -l ${(P)2%%:*} | grep -e follow-up -e json -e pay }
			eval "$(penstock completion zsh)"
			words=(penstock run ""); CURRENT=3; _penstock
			words=(penstock run list --output ""); CURRENT=5; _penstock
			words=(penstock factory get ""); CURRENT=4; _penstock; ls`,
		"fish": `penstock completion fish | source
			complete -C "penstock run follow" | cut -f1
			complete -C "penstock run list --output j" | cut -f1
			complete -C "penstock factory get p" | cut -f1
			complete -C "penstock factory get " >/dev/null; ls`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("not installed")
			}
			cmd := exec.CommandContext(t.Context(), program, "-c", script)
			cmd.Env = append(client(s), "PATH="+folder+":/usr/bin:/bin", "HOME="+t.TempDir())
			cmd.Dir = t.TempDir() // stays empty: no name has made a file
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got, want := string(out), "follow-up\njson\npay\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
