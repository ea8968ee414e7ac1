package main_test

import (
	"strings"
	"testing"
)

// The server has an origin of its own. What else a URL can have is refused by name, and the error repeats no password.
func TestPublicURLIsAnOrigin(t *testing.T) {
	t.Parallel()
	const (
		noURL, user  = "--public-url is not a URL such as https://", "--public-url contains a user or a password"
		path, beyond = "the server cannot be below a path", "--public-url contains a query or a fragment"
	)
	for value, want := range map[string]string{
		"https://x.example/y":                      "--public-url https://x.example/y: " + path,
		"https://x.example:8443/a/b/":              "such as https://penstock.x.example:8443",
		"https://x.example/%68":                    "--public-url https://x.example/%68: " + path,
		"https://x.example//y":                     path,
		"https://x.example?token=hunter2":          beyond,
		"https://x.example/y?token=hunter2":        beyond,
		"https://x.example/?":                      beyond,
		"https://x.example#hunter2":                beyond,
		"https://x.example/#":                      beyond,
		"https://me:hunter2@x.example":             user,
		"https://me:hunter2@x.example/y":           user,
		"https://hunter2@x.example/?a=b":           user,
		"https://me:hunter2%zz@x.example":          noURL,
		"https:me:hunter2@x.example":               noURL,
		"me:hunter2@x.example":                     noURL,
		"https://me:hunter2@":                      noURL,
		"ftp://me:hunter2@x.example":               noURL,
		"x.example":                                noURL,
		"//x.example":                              noURL,
		"https://":                                 noURL,
		"https://:8443":                            noURL,
		"https://x.example:port-hunter2":           noURL,
		"https://x.example\n.evil.example/hunter2": noURL,
	} {
		got := call(t, []string{"PENSTOCK_PUBLIC_URL=" + value}, "serve", "--data", t.TempDir())
		if got.code != 64 || !strings.Contains(got.err, want) {
			t.Errorf("%q: got exit code %d, %s; want 64 with %q", value, got.code, got.err, want)
		}
		if strings.Contains(got.out+got.err, "hunter2") {
			t.Errorf("%q: the error repeats it: %s", value, got.err)
		}
	}
	call(t, nil, "serve", "--public-url", "https://x.example/y").want(t, 64, path)
	for value, want := range map[string]string{
		"https://x.example": "https://x.example", "https://x.example/": "https://x.example",
		"http://[::1]:8080//": "http://[::1]:8080",
	} {
		s := serve(t, nil, "--public-url", value)
		if !strings.Contains(s.logs(), "url="+want+" ") {
			t.Errorf("%s: got %s, want the public address %s", value, s.logs(), want)
		}
	}
}

// A client's address of the server is refused in the same words, at each command that has one.
func TestServerURLRepeatsNoPassword(t *testing.T) {
	t.Parallel()
	const noURL, user, beyond = "is not a URL such as", "contains a user or a password", "contains a query or a fragment"
	for value, want := range map[string]string{
		"https://me:hunter2@x.example":         user,
		"https://me:hunter2@x.example/api/v1/": user,
		"https://x.example?token=hunter2":      beyond,
		"https://x.example/#hunter2":           beyond,
		"ftp://me:hunter2@x.example":           noURL,
		"https://me:hunter2@ x.example":        noURL,
		"me:hunter2@x.example":                 noURL,
	} {
		for _, command := range [][]string{{"run", "list"}, {"worker", "--data", t.TempDir()}} {
			env := []string{"PENSTOCK_BASE_URL=" + value, "PENSTOCK_API_KEY=psk_0123456789012345678901234567890123"}
			got := call(t, env, command...)
			if got.code != 64 || !strings.Contains(got.err, "--server "+want) || strings.Contains(got.out+got.err, "hunter2") {
				t.Errorf("%s with %q: got exit code %d, %s; want 64 with %q", command[0], value, got.code, got.err, want)
			}
		}
	}
}
