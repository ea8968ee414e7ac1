package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// From one key to a team, as docs/people.md tells it: Ada owns a key, what she cancels has her name, her role counts,
// and once she is disabled, the next request is refused.
func TestATeamOfPeople(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	admin := client(s)
	call(t, admin, "whoami").want(t, 0, "Admin", "roles", "admin")
	call(t, admin, "user", "create", "Ada Brandt", "--email", "ada@example.com", "--role", "user").want(t, 0, "Ada Brandt")
	file := filepath.Join(t.TempDir(), "ada.key")
	call(t, admin, "key", "create", "laptop", "--user", "Ada Brandt", "--role", "user", "--save", file).
		want(t, 0, "laptop")
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	ada := append([]string{}, admin...)
	ada = append(ada, "PENSTOCK_API_KEY="+strings.TrimSpace(string(key)))
	call(t, ada, "whoami").want(t, 0, "Ada Brandt", "runs:write")

	var made struct {
		RunID string `json:"run_id"`
	}
	fromJSON(t, call(t, admin, "run", "create", "look", "-o", "json").out, &made)
	call(t, ada, "run", "cancel", made.RunID).want(t, 0)
	call(t, admin, "run", "get", made.RunID).want(t, 0, "Cancelled by Ada Brandt.")

	call(t, admin, "service-account", "create", "nightly", "--role", "user").want(t, 0, "nightly")
	call(t, admin, "key", "create", "n", "--service-account", "nightly", "--scope", "runs:read", "--scope", "worker").
		want(t, 0)
	call(t, admin, "key", "list").want(t, 0, "Ada Brandt", "nightly", "OWNER")
	call(t, admin, "grant", "create", "viewer", "--user", "Ada Brandt").want(t, 0, "viewer")
	var grants struct {
		Grants []penstock.Grant `json:"grants"`
	}
	fromJSON(t, call(t, admin, "grant", "list", "-o", "json").out, &grants)
	for _, g := range grants.Grants {
		if g.SubjectType == penstock.GrantToUser && g.Role == penstock.UserRole {
			call(t, admin, "grant", "delete", g.UID).want(t, 0)
		}
	}
	call(t, ada, "run", "create", "again").want(t, 77, "its owner has not: Ada Brandt has only the role viewer")
	call(t, admin, "user", "disable", "Ada Brandt").want(t, 0, "disabled")
	call(t, ada, "whoami").want(t, 77, "unknown, expired or revoked")
	call(t, admin, "user", "enable", "Ada Brandt").want(t, 0, "enabled")
	call(t, ada, "whoami").want(t, 0, "viewer")
	call(t, admin, "key", "create", "x", "--scope", "runs:read", "--role", "user").want(t, 64, "--scope or --role")
	call(t, admin, "user", "disable", "Admin").want(t, 65, "without an admin")
}
