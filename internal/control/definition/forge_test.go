package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
)

// TestFindingsOfForge has what people write after reading about other programs, or about later releases.
func TestFindingsOfForge(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{
		"factory.yaml": []byte(smallFactory + `forge:
  connection: acme
  push:
    signing: ssh
    branches: [/main, "feature/"]
    protectedPaths: {policy: review, add: [".gitea/**;.github/**"], except: ["!README.md"]}
    limits: {files: 0, bytes: 2gb}
    secrets: review
  outputs:
    review: true
    approval: sometimes
    status: maybe
    pullRequest: {openLimit: -1, base: [/main], draft: ready, labels: ["a\tb", " "], reviewers: ["@octocat", a b], ` +
			`closesIssue: true}
    limits: {pullRequest: 21, comment: -1, issue: 1}
  followups: {checks: 101, reviews: true}
`),
		"agents/foreman/agent.md": []byte("---\nagentType: FOREMAN\nforge: {push: {branches: ['**.go'], secrets: off, " +
			"protectedPaths: {add: [AGENTS.md, '" + strings.Repeat("a", 201) + "']}}, who: x}\n---\nLead.\n"),
	}
	result, found := definition.Parse(files, definition.Known{})
	if result != nil {
		t.Error("the tree is valid")
	}
	const want = `agents/foreman/agent.md:3:27: FF_INVALID_VALUE forge: branches has ** beside other characters: ` +
		`** is a segment of its own, as in **/*.yml
agents/foreman/agent.md:3:85: FF_INVALID_VALUE each of add must be at most 200 bytes, not 201
agents/foreman/agent.md:3:293: FF_UNKNOWN_FIELD unknown key "who"; allowed are push, outputs, followups
factory.yaml:6:3: FF_UNKNOWN_FIELD unknown key "connection"; allowed are push, outputs, followups
factory.yaml:8:5: FF_UNKNOWN_FIELD unknown key "signing"; allowed are branches, protectedPaths, limits, secrets
factory.yaml:9:16: FF_INVALID_VALUE forge: branches begins with /: patterns begin at the root of the repository anyway
factory.yaml:9:23: FF_INVALID_VALUE forge: branches ends with /: write feature/** for everything below
factory.yaml:10:30: FF_INVALID_VALUE policy must be refuse or allow, not "review"
factory.yaml:10:44: FF_INVALID_VALUE forge: add has one of []{}; but only *, ? and ** are special (write ? for such ` +
		`a character of a name, and each pattern as an item of the list)
factory.yaml:10:78: FF_INVALID_VALUE forge: except begins with !: patterns cannot be negated
factory.yaml:11:21: FF_INVALID_VALUE files must be from 1 to 100000, not 0
factory.yaml:11:31: FF_TYPE_MISMATCH bytes must be a whole number, not the text "2gb"
factory.yaml:12:14: FF_INVALID_VALUE secrets must be refuse or off, not "review"
factory.yaml:14:5: FF_UNKNOWN_FIELD unknown key "review"; allowed are pullRequest, limits, approval, status
factory.yaml:15:15: FF_INVALID_VALUE approval must be never, protected or always, not "sometimes"
factory.yaml:16:13: FF_INVALID_VALUE status must be comment or none, not "maybe"
factory.yaml:17:30: FF_INVALID_VALUE openLimit must be from 0 to 1000, not -1
factory.yaml:17:41: FF_INVALID_VALUE forge: base begins with /: patterns begin at the root of the repository anyway
factory.yaml:17:56: FF_TYPE_MISMATCH draft must be true or false, not the text "ready"
factory.yaml:17:72: FF_INVALID_VALUE each of labels must be the name of a label, in one line of at most 50 ` +
		`characters, not "a\tb"
factory.yaml:17:80: FF_INVALID_VALUE each of labels must be the name of a label, in one line of at most 50 characters
factory.yaml:17:98: FF_INVALID_VALUE each of reviewers must be a login without @, or owner/team, not "@octocat"
factory.yaml:17:110: FF_INVALID_VALUE each of reviewers must be a login without @, or owner/team, not "a b"
factory.yaml:17:116: FF_UNKNOWN_FIELD unknown key "closesIssue"; allowed are openLimit, base, draft, labels, reviewers
factory.yaml:18:27: FF_INVALID_VALUE pullRequest must be from 0 to 20, not 21
factory.yaml:18:40: FF_INVALID_VALUE comment must be from 0 to 20, not -1
factory.yaml:18:44: FF_UNKNOWN_FIELD unknown key "issue"; allowed are pullRequest, comment
factory.yaml:19:23: FF_INVALID_VALUE checks must be from 0 to 100, not 101
factory.yaml:19:28: FF_UNKNOWN_FIELD unknown key "reviews"; allowed are checks
`
	if diff := cmp.Diff(want, lines(found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The value off needs no quotes, an empty list is a value, and a factory that is written again keeps both.
func TestForgeIsReadAndWritten(t *testing.T) {
	t.Parallel()
	const text = smallFactory + "forge: {push: {branches: [], secrets: off, limits: {binary: 0}}, outputs: " +
		"{pullRequest: {openLimit: 0, base: [], draft: false, labels: [a b], reviewers: [acme/core]}, " +
		"limits: {comment: 0}, approval: never, status: none}, followups: {checks: 0}}\n"
	result, found := definition.Parse(map[string][]byte{
		"factory.yaml": []byte(text), "agents/foreman/agent.md": []byte(smallForeman),
	}, definition.Known{})
	if result == nil {
		t.Fatal(lines(found))
	}
	want := &penstock.ForgeSettings{Push: &penstock.PushSettings{
		Branches: []string{}, Secrets: penstock.SecretsOff, Limits: &penstock.PushBounds{Binary: new(0)},
	}, Outputs: &penstock.OutputSettings{
		PullRequest: &penstock.PullRequestSettings{
			OpenLimit: new(0), Base: []string{}, Draft: new(false), Labels: []string{"a b"}, Reviewers: []string{"acme/core"},
		}, Limits: &penstock.OutputBounds{Comment: new(0)}, Approval: penstock.ApprovalNever, Status: penstock.StatusNone,
	}, Followups: &penstock.FollowupSettings{Checks: new(0)}}
	if diff := cmp.Diff(want, result.Factory.Forge.Settings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	written, err := definition.WriteFactory([]byte(text), result.Factory)
	if err != nil || string(written) != text {
		t.Errorf("written again: %v\n%s", err, written)
	}
	result.Factory.Forge = definition.ForgeOf(want)
	anew, err := definition.WriteFactory([]byte(smallFactory), result.Factory)
	if err != nil {
		t.Fatal(err)
	}
	again, found := definition.Parse(map[string][]byte{
		"factory.yaml": anew, "agents/foreman/agent.md": []byte(smallForeman),
	}, definition.Known{})
	if again == nil || cmp.Diff(want, again.Factory.Forge.Settings()) != "" {
		t.Errorf("%s\n%s", anew, lines(found))
	}
	if result.Factory.Forge = nil; definition.ForgeOf(&penstock.ForgeSettings{Push: &penstock.PushSettings{}}) != nil {
		t.Error("settings without a value are written")
	}
	if gone, err := definition.WriteFactory(anew, result.Factory); err != nil || strings.Contains(string(gone), "forge") {
		t.Errorf("removed: %v\n%s", err, gone)
	}
}
