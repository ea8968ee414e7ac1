package main_test

import (
	"os"
	"path/filepath"
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
		"unknown key":              {"data: /tmp/x\nconcurency: 3\n", `line 2: concurency: there is no such key; did you mean "concurrency"?`},
		"flag of one verb":         {"title: x\n", "there is no such key"},
		"nothing like it":          {"zzzzzzzzzzzz: 1\n", "zzzzzzzzzzzz: there is no such key\n"},
		"underscores":              {"public_url: https://x.example\n", `did you mean "public-url"?`},
		"key that is given twice":  {"data: /a\ndata: /b\n", "data"},
		"mapping for a value":      {"listen: {host: x}\n", "line 1: listen: must be a value"},
		"no mapping":               {"- listen\n", "configuration"},
		"broken YAML":              {"listen: [\n", "configuration"},
		"unknown key of a harness": {"harnesses:\n  mine:\n    comand: [x]\n", `mine: comand: there is no such key; did you mean "command"?`},
		"harness without command":  {"harnesses:\n  mine: {env: {A: b}}\n", "mine: command"},
		"bad name of a harness":    {"harnesses:\n  My Agent: {command: [x]}\n", "cannot be a name"},
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
	call(t, nil, "doctor", "--config", writeFile(t, "c.yaml", "sandbox: docker\n")).want(t, 64, "bubblewrap")
}

func TestClientTakesTheServerFromTheFile(t *testing.T) {
	t.Parallel()
	s := script(t, answers(200, `{"keys":[]}`))
	keyFile := writeFile(t, "key", someKey)
	file := writeFile(t, "c.yaml", "server: "+s.URL+"\nkey-file: "+keyFile+"\noutput: json\n")
	call(t, nil, "key", "list", "--config", file).want(t, 0, `"keys": []`)
	if got := s.seen()[0].Header.Get("Authorization"); got != "Bearer "+someKey {
		t.Errorf("got the credential %q", got)
	}
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "c.yaml", "data: /file/data\nlisten: 127.0.0.1:0\ntrusted-proxies: [10.0.0.0/8, 192.168.0.0/16]\n")
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
