package main_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// A run on a repository needs no environment, and shows at once what it has changed.
func TestRunOnARepository(t *testing.T) {
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--git-allow-file"}})
		env := client(s)
		repo := testkit.NewRepository(t, t.TempDir(), "acme/shop")
		repo.Commit("first", map[string]string{"README.md": "# Shop\n"})
		repo.Git("checkout", "-q", "-b", "fix/#12")
		repo.Commit("second", map[string]string{"README.md": "# Shop 12\n"})
		id := startRun(t, env, "Look around.", "--repo", repo.URL()+"#fix/#12", "--wait")
		call(t, env, "run", "get", id).want(t, 0, "repositories", repo.URL()+"#fix/#12")
		call(t, env, "run", "get", id, "-o", "json").want(t, 0, `"repositories": "request"`)
		call(t, env, "run", "diff", id).want(t, 0, " # Shop 12\n+", "demo/offline")
		call(t, env, "run", "diff", id, "--stat").want(t, 0, "shop/README.md", "modified")

		call(t, env, "run", "create", "x", "--repo", repo.Dir).want(t, 64, "--repo: it is a folder of this machine")
		secret := call(t, env, "run", "create", "x", "--repo", "acme/shop", "--repo", "https://hunter2@git.example.com/a")
		secret.want(t, 64, "--repo (number 2): the URL must not hold a user name or password")
		if strings.Contains(secret.out+secret.err, "hunter2") {
			t.Errorf("the error repeats the password: %s", secret.err)
		}
		call(t, env, "run", "create", "x", "--repo", "acme/shop#--upload-pack=id").want(t, 65, "--repo", "begins with a dash")
		call(t, env, "environment", "create", "shop", "--repo", "acme/shop#main").want(t, 0)
		call(t, env, "environment", "get", "shop").want(t, 0, "https://github.com/acme/shop.git")
	})
}
