package main_test

import (
	"encoding/binary"
	"io"
	"net/http"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Text is text as other programs write it: UTF-16 behind a byte order mark.
func utf16Text(order binary.AppendByteOrder, text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestTextOfOtherPrograms(t *testing.T) {
	t.Parallel()
	type sent struct{ key, body string }
	arrived := make(chan sent, 100)
	env := []string{"PENSTOCK_BASE_URL=" + responding(t, func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost {
			return `{}`
		}
		arrived <- sent{r.Header.Get("Authorization"), string(body)}
		return `{"run_id":"01900000-0000-7000-8000-000000000001","state":"QUEUED"}`
	})}
	key := func(content string) string { return writeFile(t, "key", content) }
	const request = `{"prompt":"Grüße 🚰"}`
	for name, tt := range map[string]struct {
		stdin, file, key string
	}{
		"UTF-8":                       {stdin: "Grüße 🚰"},
		"UTF-8 with a mark":           {stdin: "\ufeffGrüße 🚰"},
		"UTF-16, little endian":       {stdin: utf16Text(binary.LittleEndian, "Grüße 🚰")},
		"UTF-16, big endian":          {stdin: utf16Text(binary.BigEndian, "Grüße 🚰")},
		"a request with a mark":       {file: "\ufeff" + request},
		"a request in UTF-16":         {file: utf16Text(binary.LittleEndian, request+"\r\n")},
		"a request as YAML in UTF-16": {file: utf16Text(binary.BigEndian, "prompt: Grüße 🚰\r\n")},
		"a key with a mark":           {stdin: "Grüße 🚰", key: "\ufeff" + someKey + "\r\n"},
		"a key in UTF-16":             {stdin: "Grüße 🚰", key: utf16Text(binary.LittleEndian, someKey+"\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"run", "create", "-o", "json", "--key-file", key(someKey)}
			if tt.key != "" {
				args[len(args)-1] = key(tt.key)
			}
			if tt.file != "" {
				args = append(args, "--file", writeFile(t, "request", tt.file))
			} else {
				args = append(args, "-")
			}
			callWith(t, tt.stdin, env, args...).want(t, 0)
			if got, want := <-arrived, (sent{"Bearer " + someKey, request}); got != want {
				t.Errorf("sent %q, want %q", got, want)
			}
		})
	}
	for name, tt := range map[string]struct{ stdin, argument, says string }{
		"Latin-1":                {"caf\xe9", "-", "standard input is not UTF-8 text: convert it"},
		"Latin-1 as an argument": {"", "caf\xe9", "argument 3 is not UTF-8 text"},
		"a list item":            {"", "- fix it", "write -- before it, after all flags, or pass -"},
		"a diff":                 {"", "--- a/file\n+++ b/file", "write -- before it"},
		"a dash before words":    {"", "--all tests fail", "write -- before it"},
	} {
		t.Run(name, func(t *testing.T) {
			callWith(t, tt.stdin, env, "run", "create", tt.argument, "--key-file", key(someKey)).want(t, 64, tt.says)
		})
	}
	t.Run("a text behind the end of flags", func(t *testing.T) {
		call(t, env, "run", "create", "--key-file", key(someKey), "--", "- fix it").want(t, 0)
		if got := <-arrived; got.body != `{"prompt":"- fix it"}` {
			t.Errorf("sent %q", got.body)
		}
	})
}

// A service manager or cron may start a server without HOME. Commands of the same user must look at the
// same place.
func TestDataFolderWithoutHome(t *testing.T) {
	t.Parallel()
	u, err := user.Current()
	if err != nil {
		t.Skip("this user is not in the system's list: ", err)
	}
	want := filepath.Join(u.HomeDir, ".local", "share", "penstock")
	for _, home := range []string{"NO_HOME=", "HOME=", "HOME=relative"} {
		cmd := command(t, nil, "serve", "--help")
		cmd.Env = []string{home}
		got := finish(t, "", cmd)
		if help := strings.Join(strings.Fields(got.out), " "); !strings.Contains(help, "Default: "+want+" ") {
			t.Errorf("with %q: the help does not name %s:\n%s", home, want, got.out)
		}
	}
}
