package worker

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
)

const oldToken = "tok-8Jq2vX7mZk-99"

var noToken = strings.Repeat("*", len(oldToken))

// keptBox returns a box whose workspace is kept, for a run with TOKEN. The files contain its value.
func keptBox(t *testing.T, files ...string) *box {
	t.Helper()
	b := &box{task: &task{log: slog.New(slog.DiscardHandler)}}
	b.space = &workspace{all: &workspaces{keep: time.Hour}, dir: t.TempDir(), setup: "done"}
	b.Secrets = map[string]string{"TOKEN": oldToken}
	for _, dir := range []string{"work", "home"} {
		if err := os.Mkdir(filepath.Join(b.space.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		putFile(t, b, name, oldToken)
	}
	return b
}

func putFile(t *testing.T, b *box, name, content string) {
	t.Helper()
	path := filepath.Join(b.space.dir, "work", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, b *box, name, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(b.space.dir, "work", name))
	if err != nil || string(got) != want {
		t.Errorf("%s contains %q (%v), want %q", name, got, err, want)
	}
}

func recall(t *testing.T, b *box) {
	t.Helper()
	if err := b.recallSecrets(); err != nil {
		t.Fatal(err)
	}
}

func TestKeptFilesGetOnlyTheSameValueBack(t *testing.T) {
	t.Parallel()
	b := keptBox(t, "token")
	b.NetworkSecrets = map[string]string{"SEALED": "never-in-the-sandbox"}
	b.config.MCPServers = map[string]penstock.MCPServer{"m": {Env: map[string]string{"A": "key=${{ secrets.SEALED }}"}}}
	putFile(t, b, "sealed", "never-in-the-sandbox")
	putFile(t, b, "setting", "key=never-in-the-sandbox")
	b.forgetSecrets()
	wantFile(t, b, "token", noToken)

	b.Secrets["TOKEN"] = "new-8Jq2vX7mZk-99"
	recall(t, b)
	wantFile(t, b, "token", noToken)
	b.forgetSecrets()

	delete(b.Secrets, "TOKEN")
	b.NetworkSecrets["TOKEN"] = oldToken // it must not enter the sandbox any more
	recall(t, b)
	wantFile(t, b, "token", noToken)
	b.forgetSecrets()

	b.Secrets["TOKEN"] = oldToken
	recall(t, b)
	wantFile(t, b, "token", oldToken)
	wantFile(t, b, "sealed", strings.Repeat("*", 20))
	wantFile(t, b, "setting", "key="+strings.Repeat("*", 20))
}

func TestKeptWorkspaceNeedsARecord(t *testing.T) {
	t.Parallel()
	for _, name := range []string{blankedFile, blankedFile + ".new"} {
		b := keptBox(t, "token")
		if err := os.Mkdir(filepath.Join(b.space.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		b.forgetSecrets()
		wantFile(t, b, "token", oldToken)
		if b.space.kept() {
			t.Errorf("a workspace without a record is kept (%s)", name)
		}
	}
}

func TestKeptFilesThatChangedStayAsTheyAre(t *testing.T) {
	t.Parallel()
	b := keptBox(t, "same", "changed", "short", "dir/file", "link/file", "removed")
	putFile(t, b, "cut", oldToken+"\n"+oldToken)
	b.forgetSecrets()
	work := filepath.Join(b.space.dir, "work")
	outside := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(outside, "file"), []byte(noToken), 0o600),
		os.RemoveAll(filepath.Join(work, "dir")),
		os.RemoveAll(filepath.Join(work, "link")),
		os.Remove(filepath.Join(work, "removed")),
		os.Symlink(outside, filepath.Join(work, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	putFile(t, b, "dir", "a file now")
	putFile(t, b, "short", "***")
	putFile(t, b, "cut", noToken+"\n***")
	changed := "x" + noToken[1:]
	putFile(t, b, "changed", changed)
	recall(t, b)
	wantFile(t, b, "same", oldToken)
	wantFile(t, b, "changed", changed)
	wantFile(t, b, "short", "***")
	wantFile(t, b, "cut", oldToken+"\n***")
	wantFile(t, b, "dir", "a file now")
	wantFile(t, b, "link/file", noToken)
	if _, err := os.Stat(filepath.Join(b.space.dir, blankedFile)); !os.IsNotExist(err) {
		t.Errorf("the record still exists (%v)", err)
	}
}

func TestKeptPlacesSurviveAnIncompleteRecall(t *testing.T) {
	t.Parallel()
	b := keptBox(t, "a", "z")
	b.forgetSecrets()
	record := filepath.Join(b.space.dir, blankedFile)
	rewrite := func(change func([]blank) []blank) {
		var places []blank
		data, err := os.ReadFile(record)
		if err == nil {
			err = json.Unmarshal(data, &places)
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, err = json.Marshal(change(places)); err == nil {
			err = os.WriteFile(record, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	broken := "work/m" + strings.Repeat("m", 300) // no file system has such a name
	rewrite(func(places []blank) []blank { return slices.Insert(places, 1, blank{File: broken, Length: 8}) })
	if err := b.recallSecrets(); err == nil {
		t.Fatal("a name that is too long is no error")
	}
	b.forgetSecrets()
	wantFile(t, b, "a", noToken)
	wantFile(t, b, "z", noToken)
	rewrite(func(places []blank) []blank {
		return slices.DeleteFunc(places, func(at blank) bool { return at.File == broken })
	})
	recall(t, b)
	wantFile(t, b, "a", oldToken)
	wantFile(t, b, "z", oldToken)
}

func TestKeptSettingsWithoutSecretsStay(t *testing.T) {
	t.Parallel()
	b := keptBox(t)
	b.config.MCPServers = map[string]penstock.MCPServer{"m": {
		Env: map[string]string{
			"MODE": "production", "HOST": "localhost", "PATTERN": "localhost", "AUTHOR": "production", "TOKENIZER": "localhost",
		},
		Headers: map[string]string{"Authorization": "Basic me:${{ secrets.TOKEN }}"},
	}}
	const text = "production localhost "
	putFile(t, b, "file", text+"me:"+oldToken)
	b.forgetSecrets()
	wantFile(t, b, "file", text+"me:"+noToken)
}

// A key of an MCP server may be in its settings as it is. It comes back with the next execution.
func TestKeptFilesHaveNoKeysOfMCPServers(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]penstock.MCPServer{
		"a header":             {Headers: map[string]string{"Authorization": "Bearer " + oldToken}},
		"another header":       {Headers: map[string]string{"X-Api-Key": oldToken}},
		"a cookie":             {Headers: map[string]string{"Cookie": oldToken}},
		"a variable":           {Env: map[string]string{"LINEAR_API_TOKEN": oldToken}},
		"a token of a person":  {Env: map[string]string{"GITHUB_PAT": oldToken}},
		"a name in small case": {Env: map[string]string{"password": oldToken}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := keptBox(t, "agent/config.json", "log")
			b.Secrets = nil
			b.config.MCPServers = map[string]penstock.MCPServer{"m": server}
			b.forgetSecrets()
			wantFile(t, b, "agent/config.json", noToken)
			wantFile(t, b, "log", noToken)
			recall(t, b)
			wantFile(t, b, "agent/config.json", oldToken)
		})
	}
}

func TestKeptFormsAreSearchedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range spellings(map[string]string{"A": "abcdefgh12345678"}, nil) {
		if seen[s.text] {
			t.Errorf("%q is searched twice", s.text)
		}
		seen[s.text] = true
	}
}
