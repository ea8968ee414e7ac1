package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ content, says string }{
		"unknown key": {
			"data: /tmp/x\nconcurency: 3\n", `line 2: concurency: unknown key; did you mean "concurrency"?`,
		},
		"flag of one verb":        {"title: x\n", "unknown key"},
		"nothing like it":         {"zzzzzzzzzzzz: 1\n", "zzzzzzzzzzzz: unknown key\n"},
		"underscores":             {"public_url: https://x.example\n", `did you mean "public-url"?`},
		"key that is given twice": {"data: /a\ndata: /b\n", "data"},
		"mapping for a value":     {"listen: {host: x}\n", "line 1: listen: must be a value"},
		"no mapping":              {"- listen\n", "configuration"},
		"broken YAML":             {"listen: [\n", "configuration"},
		"unknown key of a harness": {
			"harnesses:\n  mine:\n    comand: [x]\n", `mine: comand: unknown key; did you mean "command"?`,
		},
		"harness without command": {"harnesses:\n  mine: {env: {A: b}}\n", "mine: command"},
		"unknown key of models": {
			"models: {alias: {a: b}}\n", `models: alias: unknown key; did you mean "aliases"?`,
		},
		"alias without a model": {"models: {aliases: {auto-genius: ''}}\n", "must be a model name"},
		"alias of two words":    {"models: {aliases: {auto genius: a}}\n", "must be a model name"},
		"alias of an alias":     {"models: {aliases: {a: b, b: c}}\n", `"a" refers to "b", which is also an alias`},
		"alias that is taken":   {"models: {aliases: {auto: a}}\n", "auto cannot be an alias"},
		"list of aliases":       {"models: {aliases: [a]}\n", "aliases"},
		"bad name of a harness": {"harnesses:\n  My Agent: {command: [x]}\n", "is not a valid name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call(t, nil, "doctor", "--config", writeFile(t, "c.yaml", test.content)).want(t, 78, test.says, "c.yaml")
		})
	}
	for _, nothing := range []string{"", "# listen: 127.0.0.1:0\n\n  # and so on"} {
		call(t, nil, "version", "--config", writeFile(t, "c.yaml", nothing)).want(t, 0)
	}
	call(t, nil, "doctor", "--config", "nowhere.yaml").want(t, 78, "nowhere.yaml")
	call(t, nil, "doctor", "--config", writeFile(t, "c.yaml", "sandbox: vm\n")).want(t, 64, "bubblewrap")
}

func TestClientTakesTheServerFromTheFile(t *testing.T) {
	t.Parallel()
	s := script(t, responds(200, `{"keys":[]}`))
	keyFile := writeFile(t, "key", someKey)
	file := writeFile(t, "c.yaml", "server: "+s.URL+"\nkey-file: "+keyFile+"\noutput: json\n")
	call(t, nil, "key", "list", "--config", file).want(t, 0, `"keys": []`)
	if got := s.seen()[0].Header.Get("Authorization"); got != "Bearer "+someKey {
		t.Errorf("got the credential %q", got)
	}
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	file := writeFile(
		t, "c.yaml", "data: /file/data\nlisten: 127.0.0.1:0\ntrusted-proxies: [10.0.0.0/8, 192.168.0.0/16]\n",
	)
	data := func(env []string, args ...string) string {
		t.Helper()
		got := call(t, append(env, "PENSTOCK_CONFIG="+file), append([]string{"doctor"}, args...)...)
		line, _, _ := strings.Cut(got.out, "\n")
		return line
	}
	for _, test := range []struct {
		line, want string
	}{
		{data(nil), "/file/data"},
		{data([]string{"PENSTOCK_DATA=/env/data"}), "/env/data"},
		{data([]string{"PENSTOCK_DATA=/env/data"}, "--data", "/flag/data"), "/flag/data"},
	} {
		if !strings.Contains(test.line, test.want) {
			t.Errorf("got %q, want %s", test.line, test.want)
		}
	}
}

func TestServeReadsAliasesOfModels(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "c.yaml", "models:\n  aliases:\n    auto-genius: anthropic/claude-opus-5-5\n")
	s := serve(t, nil, append(slices.Clip(noWorker), "--config", file)...)
	env := []string{"PENSTOCK_BASE_URL=" + s.url, "PENSTOCK_KEY_FILE=" + s.keyFile()}
	for asked, want := range map[string]string{
		"auto-genius": "anthropic/claude-opus-5-5", "auto-efficient": "demo/offline",
	} {
		id := strings.TrimSpace(call(t, env, "run", "create", "--model", asked, "Fix the login").out)
		call(t, env, "run", "get", id, "-o", "json").want(t, 0, `"model_id": "`+want+`"`)
	}
}
