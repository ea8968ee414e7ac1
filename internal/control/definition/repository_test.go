package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
)

// withRepositories has repositories in agentDefaults, an agent and an automation.
func withRepositories(defaults, agent, automation string) map[string][]byte {
	return map[string][]byte{
		"factory.yaml":            []byte(smallFactory + "  repositories: " + defaults + "\n"),
		"agents/foreman/agent.md": []byte("---\nagentType: FOREMAN\nrepositories: " + agent + "\n---\nLead.\n"),
		"automations/a.md": []byte("---\ntriggers: [{provider: schedule, event: cron_fired, schedule: {cron: '@daily'}}]\n" +
			"repositories: " + automation + "\n---\nLook.\n"),
	}
}

// Each finding names the place in the file, also the keys that other programs have for a repository.
func TestFindingsOfRepositories(t *testing.T) {
	t.Parallel()
	files := withRepositories(
		"[{connection: acme}, {path: acme/shop, branch: main}]", "[acme/shop, {connection: acme, path: https://x/y}]",
		"[{ref: main}, {url: 'https://h/'}, {url: 'https://h/a', ref: '-x'}]",
	)
	known := definition.Known{Repositories: func(list []penstock.RunRepository) []penstock.FieldError {
		wrong := func(what string) func(string) error {
			return func(text string) error {
				if strings.HasPrefix(text, "-") || strings.HasSuffix(text, "/") {
					return errors.New("is no " + what)
				}
				return nil
			}
		}
		return penstock.CheckRepositories("", list, wrong("URL"), wrong("ref"))
	}}
	_, found := definition.Parse(files, known)
	const want = `agents/foreman/agent.md:3:16: FF_TYPE_MISMATCH each of repositories must be a mapping, not the text ` +
		`"acme/shop"
agents/foreman/agent.md:3:52: FF_INVALID_VALUE repositories: path must be owner/name of the repository, ` +
		`without the URL of the forge
automations/a.md:3:16: FF_INVALID_VALUE repositories: url is required, unless connection and path are given
automations/a.md:3:35: FF_INVALID_VALUE repositories: url is no URL
automations/a.md:3:76: FF_INVALID_VALUE repositories: ref is no ref
factory.yaml:5:18: FF_INVALID_VALUE repositories: path must be owner/name of the repository, ` +
		`without the URL of the forge
factory.yaml:5:38: FF_INVALID_VALUE repositories: connection is required with a path: it names a connection to a forge
factory.yaml:5:56: FF_UNKNOWN_FIELD unknown key "branch"; allowed are url, connection, path, ref
`
	if diff := cmp.Diff(want, lines(found)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Without a server, what depends on none is found all the same.
	_, offline := definition.Parse(files, definition.Known{})
	for _, text := range []string{"path must be owner/name", "url is required", "connection is required"} {
		if !strings.Contains(lines(offline), text) {
			t.Errorf("without a server, there is no %q:\n%s", text, lines(offline))
		}
	}
}

// What a connection does not give by now is a warning, because the connection may be created for the factory.
func TestAMissingConnectionIsAWarning(t *testing.T) {
	t.Parallel()
	files := withRepositories("[{connection: acme, path: acme/shop}]", "[]", "[{connection: acme, path: acme/lib}]")
	result, found := definition.Parse(files, definition.Known{
		Connection: func(r penstock.RunRepository) (key, problem string) {
			if r.Path == "acme/shop" {
				return "connection", "the team has no connection " + r.Connection
			}
			return "", ""
		},
	})
	const want = "factory.yaml:5:31: FF_INVALID_REFERENCE (warning) repositories: the team has no connection acme; " +
		"until this changes, runs with it are not created\n"
	if diff := cmp.Diff(want, lines(found)); diff != "" || result == nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An empty list is a value: it is read, and written again.
func TestRepositoriesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	files := withRepositories("[{connection: acme, path: acme/shop, ref: main}]", "[]", "[{url: 'https://h/a/b'}]")
	result, found := definition.Parse(files, definition.Known{})
	if result == nil {
		t.Fatal(lines(found))
	}
	shop := []penstock.RunRepository{{Connection: "acme", Path: "acme/shop", Ref: "main"}}
	agent, automation := result.Agents[0], result.Automations[0]
	for what, diff := range map[string]string{
		"agentDefaults": cmp.Diff(shop, result.Factory.AgentDefaults.Overrides().Repositories),
		"agent":         cmp.Diff([]penstock.RunRepository{}, agent.Identity().Repositories),
		"automation":    cmp.Diff([]penstock.RunRepository{{URL: "https://h/a/b"}}, automation.Automation().Repositories),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	anew, err := definition.WriteAgent(nil, definition.AgentOf(agent.Identity()))
	if err != nil || !strings.Contains(string(anew), "repositories: []") {
		t.Errorf("an empty list is not written: %v\n%s", err, anew)
	}
	identity := agent.Identity()
	identity.Repositories = shop
	changed, err := definition.WriteAgent(files["agents/foreman/agent.md"], definition.AgentOf(identity))
	if err != nil {
		t.Fatal(err)
	}
	files["agents/foreman/agent.md"] = changed
	again, found := definition.Parse(files, definition.Known{})
	if again == nil || cmp.Diff(shop, again.Agents[0].Identity().Repositories) != "" {
		t.Errorf("%s\n%s", changed, lines(found))
	}
	identity.Repositories = nil
	if gone, err := definition.WriteAgent(changed, definition.AgentOf(identity)); err != nil ||
		strings.Contains(string(gone), "repositories") {
		t.Errorf("removed: %v\n%s", err, gone)
	}
}
