package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The whole of docs/forges.md with a real Gitea: what its tokens may do is what it says, not what we think.
func TestConnectionToARealGitea(t *testing.T) {
	t.Parallel()
	g := testkit.NewGitea(t)
	owner := g.Token("owner", "all")
	for _, name := range []string{"shop", "secret"} {
		g.Do("POST", "/api/v1/user/repos", owner, map[string]any{
			"name": name, "private": true, "auto_init": true, "default_branch": "main",
		})
		g.Do("PUT", "/api/v1/repos/owner/"+name+"/collaborators/bot", owner, map[string]any{"permission": "write"})
	}
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{"--upstream-proxy", proxyTo(t, g.Address), "--ca-file", g.CAFile},
		Env:  []string{"GIT_SSL_CAINFO=" + g.CAFile},
	})
	env := client(s)
	file := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	connect := func(name, token string, more ...string) called {
		return call(t, env, append([]string{
			"forge", "connect", name, "--provider", "gitea", "--url", g.URL, "--token-file", file("token", token),
		}, more...)...)
	}
	uidOf := func(name string) string {
		var list struct {
			Forges []penstock.Forge `json:"forges"`
		}
		fromJSON(t, call(t, env, "forge", "list", "-o", "json").out, &list)
		for _, f := range list.Forges {
			if f.Name == name {
				return f.UID
			}
		}
		t.Fatalf("there is no %s", name)
		return ""
	}
	const all = "write:repository,write:issue,read:user"
	writer, reader := g.Token("bot", all), g.Token("bot", "read:repository,read:issue,read:user")
	connect("acme", writer, "--repository", "owner/shop").want(t, 0, "bot", "connected")
	connect("gone", strings.Repeat("0", 40)).want(t, 65, "--token-file", "refuses")
	for name, tt := range map[string]struct{ scopes, missing string }{
		"noissue": {"write:repository,read:user", "write:issue"},
		"nowrite": {"read:repository,write:issue,read:user", "write:repository"},
		"nouser":  {"write:repository,write:issue", "read:user"},
	} {
		connect(name, g.Token("bot", tt.scopes)).want(t, 0, "degraded", tt.missing)
		call(t, env, "forge", "check", uidOf(name)).want(t, 1, tt.missing, "missing")
	}
	connect("two", writer, "--read-token-file", file("read", reader)).want(t, 0, "connected")
	connect("weak", writer, "--read-token-file", file("read", writer)).want(t, 0, "degraded", "can write")
	call(t, env, "forge", "repositories", uidOf("two")).want(t, 0, "owner/shop", "owner/secret", "main", "true")
	call(t, env, "forge", "repositories", uidOf("acme")).want(t, 0, "owner/shop")

	for _, connection := range []string{"acme", "two"} {
		id := startRun(t, env, "demo: run cd shop && git fetch -q origin && git log --format=%s -1 && "+
			"curl -sS https://example.com/api/v1/repos/owner/shop/branches && echo && "+
			"for url in owner/secret.git/info/refs?service=git-upload-pack api/v1/user api/v1/repos/owner/secret "+
			"owner/secret; do "+
			"curl -sS -o /dev/null -w \"$url %{http_code}\\n\" \"https://example.com/$url\"; done; "+
			"curl -sS -o /dev/null -w 'write %{http_code}\\n' -X POST -H 'Content-Type: application/json' "+
			"-d '{\"new_branch_name\": \"x\"}' "+
			"https://example.com/api/v1/repos/owner/shop/branches; "+
			"git checkout -qb penstock/fix && echo two >> README.md && git commit -qam Fix && "+
			"git push origin HEAD; echo push $?; git push origin HEAD:main; echo main $?; git commit --amend -qm Better && "+
			"git push -f origin HEAD; echo again $?; git fetch -q && git checkout -qb penstock/"+connection+" && "+
			"git push origin HEAD; echo own $? && "+
			"\"$PENSTOCK_CLI\" output pr --title 'Fix it, @owner' --body 'Fixes #1. Read the **second** line.' && "+
			"\"$PENSTOCK_CLI\" output comment 'For @owner: only one line.'; echo declared $?",
			"--connection", connection, "--repo", "owner/shop#main", "--wait")
		logs := call(t, env, "run", "logs", id)
		logs.want(
			t, 0, "Initial commit", `"name":"main"`, "upload-pack 403", "api/v1/user 403", "owner/secret 403", "write 403",
			"main 1", "this run may push penstock/**", "own 0", "declared 0",
		)
		outputsAreDone(t, env, id)
		call(t, env, "run", "get", id).want(t, 0, g.URL+"/owner/shop/pulls/", "seen by the proxy")
		if strings.Contains(logs.out, writer) || strings.Contains(logs.out, reader) {
			t.Error("the run has a token")
		}
	}
	var branches []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(g.Do("GET", "/api/v1/repos/owner/shop/branches", owner, nil), &branches); err != nil ||
		len(branches) != 4 {
		t.Errorf("got %v, %v, want main, the branch of the first run, and one of each", branches, err)
	}
	text := string(g.Do("GET", "/api/v1/repos/owner/shop/issues?state=all&type=issues", owner, nil))
	if strings.TrimSpace(text) != "[]" {
		t.Errorf("got issues %s: the checks write nothing", text)
	}
	var pulls []struct {
		Title    string `json:"title"`
		Body     string `json:"body"`
		Draft    bool   `json:"draft"`
		Comments int    `json:"comments"`
		User     struct {
			Login string `json:"login"`
		} `json:"user"`
	}
	text = string(g.Do("GET", "/api/v1/repos/owner/shop/pulls", owner, nil))
	if err := json.Unmarshal([]byte(text), &pulls); err != nil || len(pulls) != 2 {
		t.Fatalf("got %v, %s", err, text)
	}
	for _, p := range pulls {
		if !p.Draft || p.Comments != 1 || p.User.Login != "bot" || strings.Contains(p.Title+p.Body, "@owner") ||
			!strings.Contains(p.Body, "cost so far") {
			t.Errorf("got %+v", p)
		}
	}
	if got := string(g.Do("GET", "/api/v1/notifications?all=true", owner, nil)); strings.Contains(got, "mention") {
		t.Errorf("the owner was mentioned: %s", got)
	}
}

// outputsAreDone waits until the outputs of a run are done.
func outputsAreDone(t *testing.T, env []string, id string) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		var list struct {
			Outputs []penstock.Output `json:"outputs"`
		}
		text := call(t, env, "output", "list", id, "-o", "json").out
		fromJSON(t, text, &list)
		for _, o := range list.Outputs {
			if o.State == penstock.OutputDone {
				continue
			}
			return errors.New(text)
		}
		if len(list.Outputs) == 0 {
			return errors.New("there are none")
		}
		return nil
	})
}

// An issue starts a run by itself, which opens a pull request. A review and a failed check go on with this run, and the
// merge ends the work. Who may not write to the repository starts nothing.
func TestAnIssueOfARealGiteaIsMerged(t *testing.T) {
	t.Parallel()
	g := testkit.NewGitea(t)
	owner := g.Token("owner", "all")
	const repo = "/api/v1/repos/owner/shop"
	g.Do("POST", "/api/v1/user/repos", owner, map[string]any{"name": "shop", "auto_init": true, "default_branch": "main"})
	g.Do("PUT", repo+"/collaborators/bot", owner, map[string]any{"permission": "write"})
	g.Do("POST", "/api/v1/admin/users", owner, map[string]any{
		"username": "stranger", "email": "s@example.com", "password": "stranger-password-1", "must_change_password": false,
	})
	s := testkit.Serve(t, testkit.ServeOptions{
		Args: []string{"--upstream-proxy", proxyTo(t, g.Address), "--ca-file", g.CAFile},
		Env:  []string{"GIT_SSL_CAINFO=" + g.CAFile},
	})
	env, dir := client(s), t.TempDir()
	for name, text := range map[string]string{
		"token": g.Token("bot", "write:repository,write:issue,read:user"),
		"factory/factory.yaml": "schemaVersion: v1alpha1\nname: Shop\nrepositories: [{owner: owner, name: shop}]\n" +
			"agentDefaults: {model: demo/offline}\n",
		"factory/agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		"factory/automations/fix.md": "---\nsubject: auto\ntriggers:\n  - {provider: github, event: issue_created}\n" +
			"  - {provider: github, event: pull_request_review_submitted}\n" +
			"closes: [{provider: github, event: pull_request_merged}]\n---\n" +
			"demo: run cd shop && git checkout -qb penstock/fix && echo fixed >> README.md && git commit -qam Fix && " +
			"git push -q origin HEAD && \"$PENSTOCK_CLI\" output pr --ready --title Fix --body 'One line.'\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	call(t, env, "factory", "apply", filepath.Join(dir, "factory")).want(t, 0)
	var f penstock.Forge
	fromJSON(t, call(t, env, "forge", "connect", "acme", "--provider", "gitea", "--url", g.URL,
		"--token-file", filepath.Join(dir, "token"), "-o", "json").out, &f)
	g.Do("POST", repo+"/hooks", owner, map[string]any{
		"type": "gitea", "active": true, "config": map[string]string{
			"url": s.URL + "/webhooks/f/" + f.UID, "content_type": "json", "secret": f.Secret,
		},
		"events": []string{
			"push", "issues", "issue_comment", "pull_request", "pull_request_comment",
			"pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment", "status",
		},
	})
	type comment struct {
		ID   int64  `json:"id"`
		Body string `json:"body"`
	}
	comments := func(number string) (list []comment) {
		fromJSON(t, string(g.Do("GET", repo+"/issues/"+number+"/comments", owner, nil)), &list)
		return list
	}
	logged := func(event string) (d store.Delivery, err error) {
		var list struct {
			Deliveries []store.Delivery `json:"deliveries"`
		}
		text := call(t, env, "forge", "deliveries", f.UID, "-o", "json").out
		fromJSON(t, text, &list)
		for _, d := range list.Deliveries {
			if d.EventType == event {
				return d, nil
			}
		}
		return d, errors.New(event + " has not come: " + text)
	}
	await := func(event string, fits func(store.Delivery) bool) (d store.Delivery) {
		t.Helper()
		testkit.Eventually(t, time.Minute, func() (err error) {
			if d, err = logged(event); err == nil && !fits(d) {
				err = fmt.Errorf("%+v", d)
			}
			return err
		})
		return d
	}
	g.Do("POST", repo+"/issues", g.Token("stranger", "all"), map[string]any{"title": "Do this", "body": "Please."})
	await("issues.opened", func(d store.Delivery) bool {
		return len(d.Runs) == 0 && strings.Contains(d.Matches[0].Reason, "stranger may not write to owner/shop")
	})
	g.Do("POST", repo+"/issues", owner, map[string]any{"title": "It is broken", "body": "Please fix it."})
	id := await("issues.opened", func(d store.Delivery) bool { return len(d.Runs) == 1 }).Runs[0]
	outputsAreDone(t, env, id)
	var pulls []struct {
		Number int64 `json:"number"`
		Draft  bool  `json:"draft"`
		Head   struct {
			SHA string `json:"sha"`
		} `json:"head"`
	}
	fromJSON(t, string(g.Do("GET", repo+"/pulls", owner, nil)), &pulls)
	if len(pulls) != 1 || pulls[0].Draft {
		t.Fatalf("%+v", pulls)
	}
	pull := repo + "/pulls/" + strconv.FormatInt(pulls[0].Number, 10)
	g.Do("POST", pull+"/reviews", owner, map[string]any{"event": "REQUEST_CHANGES", "body": "Please add a test."})
	await("pull_request_rejected.reviewed", func(d store.Delivery) bool { return len(d.Runs) == 1 && d.Runs[0] == id })
	testkit.Eventually(t, time.Minute, func() error { // the run has ended its second turn
		var list struct {
			Runs []penstock.Run `json:"runs"`
		}
		text := call(t, env, "run", "list", "-o", "json").out
		fromJSON(t, text, &list)
		if len(list.Runs) != 1 || list.Runs[0].EventsCount != 2 || !list.Runs[0].State.Done() {
			return errors.New(text)
		}
		return nil
	})
	report := func(check, state string) {
		t.Helper()
		g.Do("POST", repo+"/statuses/"+pulls[0].Head.SHA, owner, map[string]any{
			"context": check, "state": state, "description": "It is a " + state,
		})
	}
	fromJSON(t, string(g.Do("GET", repo+"/pulls", owner, nil)), &pulls) // of the second turn's commit
	report("lint", "pending")
	report("test", "failure")
	report("lint", "warning")
	testkit.Eventually(t, 2*time.Minute, func() error { // the run has been told, and has ended its third turn
		var timeline struct {
			Events []penstock.TimelineEvent `json:"events"`
		}
		text := string(send(t, s, "GET", "/agent/runs/"+id+"/timeline", "").body)
		fromJSON(t, text, &timeline)
		told := false
		for _, e := range timeline.Events {
			told = told || e.Type == penstock.TimelineChecksFailed && fmt.Sprint(e.Payload["checks"]) == "[test]"
		}
		if state := call(t, env, "run", "get", id, "-o", "json").out; !told || !strings.Contains(state, `"SUCCEEDED"`) {
			return errors.New(text + state)
		}
		return nil
	})
	// A person tells the run something below its pull request, and asks how it is below the issue, which says so already.
	var said comment
	fromJSON(t, string(g.Do("POST", strings.Replace(pull, "pulls", "issues", 1)+"/comments", owner,
		map[string]any{"body": "@bot Thank you."})), &said)
	await("issue_comment.created", func(d store.Delivery) bool { return d.Detail == "It is a message to the run." })
	g.Do("POST", repo+"/issues/2/comments", owner, map[string]any{"body": "@bot status"})
	testkit.Eventually(t, time.Minute, func() error {
		list := comments("2")
		reactions := string(g.Do("GET", fmt.Sprintf("%s/issues/comments/%d/reactions", repo, said.ID), owner, nil))
		if len(list) != 3 || !strings.Contains(list[0].Body, "is done: "+g.URL+"/owner/shop/pulls/3.") ||
			!strings.HasPrefix(list[2].Body, "[Run of Penstock](") || !strings.Contains(reactions, `"+1"`) {
			return fmt.Errorf("%+v %s", list, reactions)
		}
		return nil
	})
	if eyes := string(g.Do("GET", repo+"/issues/2/reactions", owner, nil)); !strings.Contains(eyes, `"eyes"`) {
		t.Errorf("reactions: %s", eyes)
	}
	text := call(t, env, "run", "logs", id).out
	if !strings.Contains(text, "owner in owner/shop#3 has written to you:") {
		t.Errorf("the run has not been told: %s", text)
	}
	g.Do("POST", pull+"/merge", owner, map[string]any{"Do": "merge"})
	await("pull_request.closed", func(d store.Delivery) bool {
		return len(d.Matches) == 1 && d.Matches[0].FateReason == "It closed the subject."
	})
}
