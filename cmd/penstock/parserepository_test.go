package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// The dashboard reads the same file. Reported of others: gitpod-io/gitpod#1566, #2624, #5129 and
// pypa/pip#4813 (# in a branch), loft-sh/devpod#474, #600 (slashes and underscores), #781 (the address of
// a page), vercel-labs/opensrc#65 (.git), LibreChat-AI/code-interpreter#242 (a slash at the end),
// IonicaBizau/git-url-parse#143 (dots), openai/codex#4888, #9111, #35743 (the branch is never guessed),
// preloop/preloop#173 and gitpython-developers/GitPython#1284 (credentials), steveukx/git-js#775 (options).
func TestWhatPeopleWriteForARepository(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/run_repositories.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text    string `json:"text"`
		URL     string `json:"url"`
		Ref     string `json:"ref"`
		Problem string `json:"problem"`
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, err := parseRepository(c.Text)
		if c.Problem != "" {
			if err == nil || !strings.Contains(err.Error(), c.Problem) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q is %+v, %v; want an error about %q", c.Text, got, err, c.Problem)
			}
			continue
		}
		if want := (penstock.RunRepository{URL: c.URL, Ref: c.Ref}); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", c.Text, got, err, want)
		}
	}
}
