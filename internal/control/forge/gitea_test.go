package forge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

const shop = "acme/shop"

// giteaWorld is a real Gitea with the repository acme/shop, in which the bot may write.
type giteaWorld struct {
	*testing.T
	api

	gitea *testkit.Gitea
	owner string
	bot   int64
}

func newGiteaWorld(t *testing.T) *giteaWorld {
	t.Helper()
	g := testkit.NewGitea(t)
	owner := g.Token("owner", "all")
	g.Do("POST", "/api/v1/orgs", owner, map[string]any{"username": "acme"})
	g.Do("POST", "/api/v1/orgs/acme/repos", owner, map[string]any{
		"name": "shop", "private": true, "auto_init": true, "default_branch": "main",
	})
	g.Do("PUT", "/api/v1/repos/acme/shop/collaborators/bot", owner, map[string]any{"permission": "write"})
	client := g.Client()
	client.CheckRedirect = New(Options{}).Connections.http.CheckRedirect
	w := &giteaWorld{T: t, gitea: g, owner: owner, api: api{
		http: client, forge: penstock.Forge{Provider: penstock.HostGitea, URL: g.URL},
		token: g.Token("bot", "write:repository,write:issue,read:user"),
	}}
	bot, _, failed := w.user(t.Context())
	w.ok(failed)
	w.forge.Bot, w.bot = &bot, bot.ID
	return w
}

func (w *giteaWorld) ok(failed *failure) {
	w.Helper()
	if failed != nil {
		w.Fatalf("%+v", failed)
	}
}

// file creates a file on a new branch, or on the branch main if it is "main".
func (w *giteaWorld) file(path, branch, name, content string) {
	w.Helper()
	body := map[string]any{"content": base64.StdEncoding.EncodeToString([]byte(content)), "branch": "main"}
	if branch != "main" {
		body["new_branch"] = branch
	}
	w.gitea.Do("POST", "/api/v1/repos/"+path+"/contents/"+name, w.owner, body)
}

func (w *giteaWorld) number(path string, body map[string]any) (n int64) {
	w.Helper()
	var created struct {
		Number int64 `json:"number"`
	}
	if err := json.Unmarshal(w.gitea.Do("POST", path, w.owner, body), &created); err != nil {
		w.Fatal(err)
	}
	return created.Number
}

func TestPullRequestsOfARealGitea(t *testing.T) {
	t.Parallel()
	w := newGiteaWorld(t)
	ctx := t.Context()
	const head = "penstock/fix-1"

	// The branch of a fork with the same name has a pull request, too, and it is older.
	w.gitea.Do("POST", "/api/v1/repos/acme/shop/forks", w.owner, map[string]any{})
	w.file("owner/shop", head, "b.txt", "b")
	w.file(shop, head, "a.txt", "a")
	w.number("/api/v1/repos/acme/shop/pulls", map[string]any{"title": "Fork", "head": "owner:" + head, "base": "main"})
	if found, has, failed := w.findPull(ctx, shop, head, "main"); has || failed != nil {
		t.Fatalf("found %+v, %+v", found, failed)
	}
	first, failed := w.createPull(ctx, shop, newPull{"WIP: Fix it", "By @owner", head, "main", true})
	w.ok(failed)
	want := pull{
		Number: 2, URL: w.gitea.URL + "/acme/shop/pulls/2", Open: true, Draft: true, Title: "Fix it", Body: "By @owner",
		Head: head, HeadCommit: first.HeadCommit, Base: "main",
	}
	if diff := cmp.Diff(want, first); diff != "" || len(first.HeadCommit) != 40 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, failed := w.createPull(ctx, shop, newPull{"Again", "", head, "main", false}); !failed.exists() {
		t.Errorf("the second time: %+v", failed)
	}
	if found, has, failed := w.findPull(ctx, shop, head, "main"); !has || cmp.Diff(first, found) != "" {
		t.Errorf("found %+v, %v, %+v", found, has, failed)
	}
	if _, has, failed := w.findPull(ctx, shop, head, "other"); has || failed != nil {
		t.Errorf("found one to another base, %+v", failed)
	}
	changed, failed := w.updatePull(ctx, shop, 2, "feat: better", "Text")
	if failed != nil || !changed.Draft || changed.Title != "feat: better" || changed.Body != "Text" {
		t.Errorf("got %+v, %+v", changed, failed)
	}
	w.gitea.Do("PATCH", "/api/v1/repos/acme/shop/pulls/2", w.owner, map[string]any{"title": "[WIP] by hand"})
	changed, failed = w.updatePull(ctx, shop, 2, "fix: x", "Text")
	if raw, _ := w.rawPull(ctx, shop, 2); failed != nil || !changed.Draft || raw.Title != "[WIP] fix: x" {
		t.Errorf("got %q, %+v", raw.Title, failed)
	}
	w.gitea.Do("PATCH", "/api/v1/repos/acme/shop/pulls/2", w.owner, map[string]any{"title": "Ready"})
	changed, failed = w.updatePull(ctx, shop, 2, "WIP: Draft: y", "Text")
	if failed != nil || changed.Draft || changed.Title != "y" {
		t.Errorf("an agent has made a draft of it: %+v, %+v", changed, failed)
	}

	w.gitea.Do("POST", "/api/v1/repos/acme/shop/pulls/2/merge", w.owner, map[string]any{"Do": "merge"})
	if merged, failed := w.readPull(ctx, shop, 2); failed != nil || merged.Open || !merged.Merged {
		t.Errorf("got %+v, %+v", merged, failed)
	}
	if _, has, failed := w.findPull(ctx, shop, head, "main"); has || failed != nil {
		t.Errorf("a merged one is found, %+v", failed)
	}
	if _, failed := w.createPull(ctx, shop, newPull{"Empty", "", head, "main", false}); failed.exists() {
		t.Errorf("a branch without changes: %+v", failed)
	}
	w.file(shop, "penstock/b", "b.txt", "b")
	second, failed := w.createPull(ctx, shop, newPull{"B", "", "penstock/b", "main", false})
	if failed != nil || second.Draft {
		t.Fatalf("got %+v, %+v", second, failed)
	}
	w.gitea.Do("PATCH", fmt.Sprintf("/api/v1/repos/acme/shop/pulls/%d", second.Number), w.owner,
		map[string]any{"state": "closed"})
	if closed, failed := w.readPull(ctx, shop, second.Number); failed != nil || closed.Open || closed.Merged {
		t.Errorf("got %+v, %+v", closed, failed)
	}
	if again, failed := w.createPull(ctx, shop, newPull{"B", "", "penstock/b", "main", false}); failed != nil ||
		again.Number == second.Number {
		t.Errorf("after it was closed: %+v, %+v", again, failed)
	}
	if _, failed := w.readPull(ctx, shop, 99); failed == nil || failed.status != http.StatusNotFound {
		t.Errorf("got %+v", failed)
	}
}

func TestLabelsAndReviewersOfARealGitea(t *testing.T) {
	t.Parallel()
	w := newGiteaWorld(t)
	ctx := t.Context()
	n := w.number("/api/v1/repos/acme/shop/issues", map[string]any{"title": "Bug"})
	color := func(name string) map[string]any { return map[string]any{"name": name, "color": "#ff0000"} }
	w.gitea.Do("POST", "/api/v1/orgs/acme/labels", w.owner, color("team/core"))
	w.gitea.Do("POST", "/api/v1/repos/acme/shop/labels", w.owner, color("bug"))
	w.gitea.Do("POST", "/api/v1/repos/acme/shop/labels", w.owner, color("kept"))
	w.gitea.Do("POST", fmt.Sprintf("/api/v1/repos/acme/shop/issues/%d/labels", n), w.owner,
		map[string]any{"labels": []string{"kept"}})
	for range 2 {
		w.ok(w.addLabels(ctx, shop, n, []string{"factory:shop", "Bug", "team/core", "factory:shop"}))
	}
	names := func(path string) (list []string) {
		var labels []labelJSON
		if err := json.Unmarshal(w.gitea.Do("GET", path, w.owner, nil), &labels); err != nil {
			t.Fatal(err)
		}
		for _, l := range labels {
			list = append(list, l.Name)
		}
		slices.Sort(list)
		return list
	}
	got := names(fmt.Sprintf("/api/v1/repos/acme/shop/issues/%d/labels", n))
	if diff := cmp.Diff([]string{"bug", "factory:shop", "kept", "team/core"}, got); diff != "" {
		t.Errorf("of the issue (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bug", "factory:shop", "kept"}, names("/api/v1/repos/acme/shop/labels")); diff != "" {
		t.Errorf("of the repository (-want +got):\n%s", diff)
	}
}

// What Gitea does with reviewers decides how they are asked: it asks those before one that it refuses, and none after.
func TestReviewersOfARealGitea(t *testing.T) {
	t.Parallel()
	w := newGiteaWorld(t)
	ctx := t.Context()
	for _, name := range []string{"ada", "stranger"} {
		w.gitea.Do("POST", "/api/v1/admin/users", w.owner, map[string]any{
			"username": name, "email": name + "@example.com", "password": name + "-password-1",
		})
	}
	w.gitea.Do("PUT", "/api/v1/repos/acme/shop/collaborators/ada", w.owner, map[string]any{"permission": "read"})
	w.gitea.Do("POST", "/api/v1/orgs/acme/teams", w.owner, map[string]any{
		"name": "core", "permission": "write", "units": []string{"repo.code", "repo.pulls"},
		"includes_all_repositories": true,
	})
	w.file(shop, "penstock/a", "a.txt", "a")
	p, failed := w.createPull(ctx, shop, newPull{"A", "", "penstock/a", "main", true})
	w.ok(failed)
	asked := func() (list []string) {
		var reviews []struct {
			State string `json:"state"`
			User  *struct {
				Login string `json:"login"`
			} `json:"user"`
			Team *struct {
				Name string `json:"name"`
			} `json:"team"`
		}
		text := w.gitea.Do("GET", fmt.Sprintf("/api/v1/repos/acme/shop/pulls/%d/reviews", p.Number), w.owner, nil)
		if err := json.Unmarshal(text, &reviews); err != nil {
			t.Fatal(err)
		}
		for _, r := range reviews {
			switch {
			case r.User != nil:
				list = append(list, r.User.Login+" "+r.State)
			case r.Team != nil:
				list = append(list, r.Team.Name+" "+r.State)
			}
		}
		slices.Sort(list)
		return list
	}
	for _, names := range [][]string{{"bot", "ada"}, {"stranger", "ada"}, {"nobody", "ada"}, {"acme/none"}, {"x/core"}} {
		if failed := w.askReviewers(ctx, shop, p.Number, names); failed == nil || failed.kind != lacking || asked() != nil {
			t.Errorf("%v: %+v, asked are %v", names, failed, asked())
		}
	}
	refused, why := each([]string{"ada", "stranger", "acme/core", "nobody", "other/core"}, func(names []string) *failure {
		return w.askReviewers(ctx, shop, p.Number, names)
	})
	if diff := cmp.Diff([]string{"stranger", "nobody", "other/core"}, refused); diff != "" || why == "" {
		t.Errorf("refused, %s (-want +got):\n%s", why, diff)
	}
	if diff := cmp.Diff([]string{"ada REQUEST_REVIEW", "core REQUEST_REVIEW"}, asked()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	w.ok(w.askReviewers(ctx, shop, p.Number, []string{"Ada"}))
	w.ok(w.addLabels(ctx, shop, p.Number, []string{"factory:shop", "robot"}))
	w.ok(w.addLabels(ctx, shop, p.Number, []string{"factory:shop", "robot"}))
	var labels []labelJSON
	text := w.gitea.Do("GET", fmt.Sprintf("/api/v1/repos/acme/shop/issues/%d/labels", p.Number), w.owner, nil)
	if err := json.Unmarshal(text, &labels); err != nil || len(labels) != 2 {
		t.Errorf("labels are %s, %v", text, err)
	}
}

func TestCommentsOfARealGitea(t *testing.T) {
	t.Parallel()
	w := newGiteaWorld(t)
	ctx := t.Context()
	const marker = "<!-- penstock:o1 -->"
	n := w.number("/api/v1/repos/acme/shop/issues", map[string]any{"title": "Bug"})
	comments := fmt.Sprintf("/api/v1/repos/acme/shop/issues/%d/comments", n)
	w.gitea.Do("POST", comments, w.owner, map[string]any{"body": "a quote " + marker})
	if _, has, failed := w.findComment(ctx, shop, n, marker, w.bot); has || failed != nil {
		t.Errorf("found a comment of somebody else, %+v", failed)
	}
	first, failed := w.addComment(ctx, shop, n, "Hello\n"+marker)
	w.ok(failed)
	for i := range 60 {
		w.gitea.Do("POST", comments, w.owner, map[string]any{"body": fmt.Sprint("more ", i)})
	}
	found, has, failed := w.findComment(ctx, shop, n, marker, w.bot)
	want := fmt.Sprintf("%s/acme/shop/issues/%d#issuecomment-%d", w.gitea.URL, n, first.ID)
	if !has || failed != nil || found != first || first.URL != want {
		t.Errorf("got %+v, %v, %+v; want %+v at %s", found, has, failed, first, want)
	}
	if _, failed := w.addComment(ctx, shop, 99, "x"); failed == nil { // Gitea 1.26 answers 500
		t.Error("a comment on nothing")
	}

	if _, failed := w.addComment(ctx, shop, n, neutral("> \t`x`", nil)); failed != nil {
		t.Errorf("a text that Gitea 1.26 answers 500 to: %+v", failed)
	}
}

func TestARepositoryOfARealGitea(t *testing.T) {
	t.Parallel()
	w := newGiteaWorld(t)
	ctx := t.Context()
	if name, failed := w.defaultBranch(ctx, shop); name != "main" || failed != nil {
		t.Errorf("got %q, %+v", name, failed)
	}
	w.gitea.Do("PATCH", "/api/v1/repos/acme/shop", w.owner, map[string]any{"name": "store"})
	_, failed := w.defaultBranch(ctx, shop)
	if failed == nil || !strings.Contains(failed.text, "renamed") {
		t.Errorf("after it was renamed: %+v", failed)
	}
	if _, failed := w.addComment(ctx, shop, 1, "x"); failed == nil || !strings.Contains(failed.text, "renamed") {
		t.Errorf("after it was renamed: %+v", failed)
	}
}

// What Gitea makes of texts is what it does, not what we think.
func TestTextsInARealGitea(t *testing.T) {
	t.Parallel()
	w := newGiteaWorld(t)
	ctx := t.Context()
	victim := w.number("/api/v1/repos/acme/shop/issues", map[string]any{"title": "Victim"})
	unread := func() int {
		var list []json.RawMessage
		text := w.gitea.Do("GET", "/api/v1/notifications?all=true", w.owner, nil)
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	body := fmt.Sprintf("Thanks @owner, &#64;owner and (@owner).\n\n@owner\n\nFixes #%[1]d, closes: acme/shop#%[1]d, "+
		"resolves %[2]s/acme/shop/issues/%[1]d", victim, w.gitea.URL)
	open := func(branch, text string) {
		t.Helper()
		w.file(shop, branch, branch+".txt", "x")
		p, failed := w.createPull(ctx, shop, newPull{branch, text, branch, "main", false})
		w.ok(failed)
		w.gitea.Do("POST", fmt.Sprintf("/api/v1/repos/acme/shop/pulls/%d/merge", p.Number), w.owner,
			map[string]any{"Do": "squash", "MergeMessageField": text})
	}
	state := func() string {
		var issue struct {
			State string `json:"state"`
		}
		text := w.gitea.Do("GET", fmt.Sprintf("/api/v1/repos/acme/shop/issues/%d", victim), w.owner, nil)
		if err := json.Unmarshal(text, &issue); err != nil {
			t.Fatal(err)
		}
		return issue.State
	}
	w.gitea.Do("DELETE", "/api/v1/repos/acme/shop/subscription", w.owner, nil)
	before := unread()
	open("one", neutral(body, nil))
	if got := unread(); got != before || state() != "open" {
		t.Errorf("%d notifications, %d before; the issue is %s", got, before, state())
	}
	open("two", body)
	if state() != "closed" || unread() == before {
		t.Errorf("without neutral, the issue is %s, with %d notifications: the test shows nothing", state(), unread())
	}
}
