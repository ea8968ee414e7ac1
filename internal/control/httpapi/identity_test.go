package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestSecretsAppendIsAloneInItsRequest(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.must(http.StatusCreated, "POST", "/api/v1/secrets", map[string]string{"name": "TOKEN", "value": "a-secret-value"})
	var agent penstock.Identity
	w.must(http.StatusCreated, "POST", "/api/v1/agent/identities", map[string]string{"name": "reviewer"}).into(t, &agent)
	path := "/api/v1/agent/identities/" + agent.UID
	for body, want := range map[string]string{
		`{"secrets_append": [{"name": "TOKEN"}], "prompt": null}`:    "only field",
		`{"secrets_append": [], "secrets": []}`:                      "only field",
		`{"secrets_append": [{"name": "TOKEN"}], "something": true}`: "only field",
		`{"secrets_append": null}`:                                   "not null",
		`{"secrets_append": "TOKEN"}`:                                "must be an array",
		`{"secrets_append": [{"name": "NOBODYS"}]}`:                  "secrets_append/0/name",
	} {
		if a := w.do("PUT", path, body); a.status != http.StatusBadRequest || !strings.Contains(a.body, want) ||
			!strings.Contains(a.body, "secrets_append") {
			t.Errorf("%s: got %d %s, want 400 with %q", body, a.status, a.body, want)
		}
	}
	w.must(http.StatusOK, "GET", path, nil).into(t, &agent)
	if len(agent.Secrets) != 0 {
		t.Errorf("what was refused left the secrets %v", agent.Secrets)
	}
	w.must(http.StatusOK, "PUT", path, `{"secrets_append": [{"name": "TOKEN"}]}`).into(t, &agent)
	if len(agent.Secrets) != 1 || agent.Secrets[0].Name != "TOKEN" {
		t.Errorf("appended: got the secrets %v, want TOKEN", agent.Secrets)
	}
	w.must(http.StatusOK, "PUT", path, `{"base_harness": null}`)
	if a := w.must(
		http.StatusOK, "PUT", path, `{"base_harness": "oz"}`,
	); !strings.Contains(a.body, `"base_harness":"oz"`) {
		t.Errorf("base_harness is not shown: %s", a.body)
	}
}
