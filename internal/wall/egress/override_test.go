package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// override is a request that many hosts read as another one.
type override struct {
	name, method, path, body string
	header                   []string
}

const formType = "application/x-www-form-urlencoded"

func multipartOf(header string) (body, kind string) {
	const first = "preamble\r\n--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\n"
	return first + header + "\r\n\r\nDELETE\r\n--B--\r\n", "multipart/form-data; boundary=B"
}

// methodOverrides stand for DELETE.
func methodOverrides() (list []override) {
	for _, name := range []string{
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "x_http_method_override", "X-Original-Method",
		"X-Forwarded-Method", "X-HTTP-Verb-Override", "X-Override-Method", "X-Method", "HTTP-Method-Override",
	} {
		list = append(list, override{"the header " + name, "POST", "/ok", "", []string{name, "DELETE"}})
	}
	for _, query := range []string{
		"_method=DELETE", "a=1&_METHOD=delete", "%5Fmethod=DELETE", "_HttpMethod=DELETE", "X-HTTP-Method-Override=DELETE",
		"method=delete", "a=1;_method=DELETE", "_method%00x=DELETE", "+.method=DELETE", "_method[]=DELETE",
	} {
		list = append(list, override{"the query " + query, "POST", "/ok?" + query, "", nil})
		list = append(list, override{"the form " + query, "POST", "/ok", query, []string{"Content-Type", formType}})
	}
	list = append(list,
		override{"a form after a megabyte", "POST", "/ok", "a=" + strings.Repeat("x", 1<<20) + "&_method=DELETE", []string{
			"Content-Type", formType,
		}},
		override{"a form with spaces before the name", "POST", "/ok", strings.Repeat("%20", 400) + "_method=DELETE", []string{
			"Content-Type", formType,
		}},
		override{"a compressed form", "POST", "/ok", "x", []string{"Content-Type", formType, "Content-Encoding", "gzip"}},
		override{"compressed JSON", "POST", "/ok", "x", []string{
			"Content-Type", "application/json", "Content-Encoding", "gzip",
		}},
		override{"a body compressed by a second header", "POST", "/ok", "x", []string{
			"Content-Type", "application/json", "Content-Encoding", "identity", "Content-Encoding", "gzip",
		}},
		override{"a compressed form without a type", "POST", "/ok", "x", []string{
			"Content-Type", "", "Content-Encoding", "br",
		}},
		override{"JSON in another charset", "POST", "/ok", "x", []string{"Content-Type", "application/json; charset=utf-16"}},
		override{"JSON in two charsets", "POST", "/ok", "x", []string{
			"Content-Type", "application/json; charset=utf-8; charset=utf-16",
		}},
		override{"a form in another charset", "POST", "/ok", "x", []string{"Content-Type", formType + "; charset=ibm037"}},
		override{"two types of a form", "POST", "/ok", "_method=DELETE", []string{
			"Content-Type", "text/plain", "Content-Type", formType,
		}},
	)
	for _, body := range []string{
		`{"_method":"DELETE"}`, ` { "a" : {"b":["}"]}, "\u005fmethod" : "delete" }`, `{"a":"\"{","_METHOD":"DELETE"}`,
	} {
		list = append(list, override{"the JSON " + body, "POST", "/ok", body, []string{
			"Content-Type", "application/vnd.api+json",
		}})
	}
	inParts, _ := multipartOf(`Content-Disposition: form-data; name="_method"`)
	list = append(list, override{"a form without a type", "POST", "/ok", "_method=DELETE", []string{"Content-Type", ""}})
	list = append(list, override{
		"long JSON", "POST", "/ok", `{"a":"` + strings.Repeat("x", 60<<10) + `","_method":"DELETE"}`,
		[]string{"Content-Type", "application/json; charset=utf-8"},
	})
	for _, kind := range []string{
		"multipart/mixed; boundary=B", "multipart/related; boundary=B", "multipart/x; boundary=B",
		`multipart/form-data; boundary="B,x"`, `multipart/form-data; boundary="\(B"`, `multipart/form-data; boundary="B x"`,
		`multipart/form-data; boundary="B;x"`, "multipart/form-data; boundary=" + strings.Repeat("B", 71),
		`multipart/form-data; boundary=A; x="boundary=B"`, "multipart/form-data; boundary*=utf-8''A; boundary=B",
	} {
		list = append(list, override{"a form of type " + kind, "POST", "/ok", inParts, []string{"Content-Type", kind}})
	}
	const part = "Content-Disposition: form-data; name=\"_method\"\r\n\r\nDELETE\r\n--B--\r\n"
	for _, form := range []struct{ name, body string }{
		{"a space before the boundary", " --B\r\n" + part},
		{"a boundary within a line", "--B\r\n\r\nx--B\r\n" + part},
		{"a boundary at the end of a long line", "--B\r\n\r\n" + strings.Repeat("x", 9<<10) + "--B\r\n" + part},
		{"a header that ends in two ways", "--B\r\nX: a\n\n" + part},
		{"a header that mixes its line ends", "--B\r\nX: a\r\nY: b\n\n" + part},
		{"a header whose last line ends otherwise", "--B\r\nX: a\n\r\n" + part},
		{"a boundary that ends otherwise than a line", "--B\nX: a\n\r\n" + part},
		{"a value that is not closed", "--B\r\nContent-Disposition: form-data; name=_method\n\nDELETE"},
		{"a name up to a semicolon", "--B\r\nContent-Disposition: form-data; name=\"_method;x\"\r\n\r\nDELETE"},
		{"a name up to a comma", "--B\r\nContent-Disposition: form-data; name=_method,x\r\n\r\nDELETE"},
	} {
		list = append(list, override{"a multipart form with " + form.name, "POST", "/ok", form.body, []string{
			"Content-Type", "multipart/form-data; boundary=B",
		}})
	}
	for _, header := range []string{
		"Content-ID: _method", "content-id: <_method>\r\nContent-Disposition: form-data",
		`Content-Disposition: form-data; name="_method"`, `content-disposition: form-data; name=_method`,
		"Content-Disposition: form-data;\r\n name=\"_method\"", `Content-Disposition: form-data; name="_met\hod"`,
		"X: y\r\nContent-Disposition: form-data; name*=UTF-8''%5Fmethod",
		`X-Content-Disposition: form-data; name="_method"`, `Content-Disposition: form-data; name="b"; foo="; name=_method"`,
		"Content-Disposition: form-data\r\nX; name=\"_method\"", "Content-Disposition: form-data; name='_method'",
		"X-Content-ID: _method", `Content-Disposition: form-data; name="b name=_method"`,
		"content-id: \r\n_method", "Content-Disposition: form-data\r\n--B; name=\"_method\"",
		`Content-Disposition: form-data; name="b"; name="_method"`, `Content-Disposition: form-data; name="_method`,
		"X: " + strings.Repeat("y", 9<<10) + "\r\nContent-Disposition: form-data; name=\"_method\"",
	} {
		body, kind := multipartOf(header)
		shown, typed := cut(strings.ReplaceAll(header, "\r\n", " ")), []string{"Content-Type", kind}
		list = append(list,
			override{"a multipart form with " + shown, "POST", "/ok", body, typed},
			override{"the same with bare line feeds, " + shown, "POST", "/ok", strings.ReplaceAll(body, "\r\n", "\n"), typed})
	}
	return list
}

func pathOverrides() (list []override) {
	for _, name := range []string{
		"X-Original-URL", "X-Rewrite-URL", "X-Original-URI", "X-Override-URL", "X-Forwarded-URI", "X-Forwarded-Prefix",
		"X-Forwarded-Path", "x_original_url", "X-Envoy-Original-Path", "X-Replaced-Path", "X-Script-Name", "X-Proxy-URL",
		"X-HTTP-Path-Override", "X-Original-Request-URI", "Destination",
	} {
		list = append(list, override{"the header " + name, "POST", "/ok", "", []string{name, "/secret"}})
	}
	return list
}

func hostOverrides() (list []override) {
	for _, name := range []string{
		"X-Host", "X-Original-Host", "X-Forwarded-Server", "X-HTTP-Host-Override", "x_forwarded_host",
	} {
		list = append(list, override{"the header " + name, "POST", "/ok", "", []string{name, "evil.test"}})
	}
	return list
}

// TestAttackOverrides sends requests that many hosts read as another one, to a host with a credential.
// The rule must decide about what the host reads.
func TestAttackOverrides(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	serve := func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // it may end early
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %v %s", r.Method, r.RequestURI, r.Header, body))
	}
	credential := &penstock.NetworkCredential{Secret: "TOKEN", As: penstock.CredentialBearer}
	newHost := func(rule penstock.NetworkRule) *world {
		rule.Host, rule.Credential = "api.example.test", credential
		return newWorld(t, setup{
			rules: []penstock.NetworkRule{rule}, hosts: map[string][]string{"TOKEN": {"api.example.test"}}, serve: serve,
		})
	}
	attacks := testkit.NewAttacks(t, section)
	for _, group := range []struct {
		what, stopped string
		rule          penstock.NetworkRule
		overrides     []override
	}{
		{
			"another method", "what can replace the method is refused where rules limit methods",
			penstock.NetworkRule{Methods: []string{"GET", "POST"}},
			methodOverrides(),
		},
		{
			"another path", "what can replace the path is refused where rules limit paths",
			penstock.NetworkRule{Paths: []string{"/ok"}},
			pathOverrides(),
		},
		{
			"another host", "what can replace the host is refused where rules limit requests",
			penstock.NetworkRule{},
			hostOverrides(),
		},
		{"TRACE", "TRACE is not forwarded, nor what can stand for it", penstock.NetworkRule{}, []override{
			{"the header X-HTTP-Method-Override", "POST", "/ok", "", []string{"X-HTTP-Method-Override", "trace"}},
			{"the query _method", "POST", "/ok?_method=TRACE", "", nil},
		}},
	} {
		w := newHost(group.rule)
		for _, o := range group.overrides {
			attacks.Run(fmt.Sprintf("%s by %s", group.what, o.name), group.stopped, func(t *testing.T) {
				status, text := w.do(t, o.method, w.url("api.example.test", o.path), o.body, o.header...)
				if status != http.StatusForbidden || strings.Contains(text, secretValue) {
					t.Errorf("got %d %s", status, text)
				}
			})
		}
	}
	mu.Lock()
	defer mu.Unlock()
	// Of the form of a megabyte, only what comes before the field arrives.
	for _, request := range seen {
		if len(seen) > 1 || strings.Contains(request, "method") || strings.Contains(request, "DELETE") {
			t.Errorf("%d requests arrived, the host read %.300q", len(seen), request)
		}
	}
}

// What is no override passes, byte for byte: rules must not get in the way of ordinary clients.
func TestOrdinaryRequestsPassLimitedRules(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got string
	serve := func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = r.Header.Get("X-Forwarded-Host") + r.Header.Get("Forwarded") + r.URL.RawQuery + "|" + string(body)
	}
	rule := penstock.NetworkRule{Host: "api.example.test"}
	rule.Credential = &penstock.NetworkCredential{Secret: "TOKEN", As: penstock.CredentialBearer}
	hosts := map[string][]string{"TOKEN": {"api.example.test"}}
	open := newWorld(t, setup{serve: serve, hosts: hosts, rules: []penstock.NetworkRule{rule}})
	rule.Methods, rule.Paths = []string{"GET", "POST", "PUT"}, []string{"/ok"}
	limited := newWorld(t, setup{serve: serve, hosts: hosts, rules: []penstock.NetworkRule{rule}})
	multi, kind := multipartOf(
		"Content-Disposition: form-data; name=\"file\"; filename=\"test_method.py\"\r\nX-Part-Method: none",
	)
	source := strings.Replace(multi, "DELETE", "<input name=\"_method\">\r\nContent-Disposition: x; name=\"_method\"", 1)
	form := []string{"Content-Type", formType}
	for _, tt := range []struct {
		w *world
		o override
	}{
		{limited, override{"a file with the name in its content", "POST", "/ok", source, []string{"Content-Type", kind}}},
		{limited, override{"a form", "POST", "/ok", "payment_method=card&request_method=x&method=search", form}},
		{limited, override{"JSON with the type of a form", "POST", "/ok", "{" + strings.Repeat("x", 4<<10) + "}", form}},
		{limited, override{"a long form", "POST", "/ok", "a=" + strings.Repeat("x", 1<<20) + "&b=2", form}},
		{limited, override{"JSON", "POST", "/ok", `{"a":{"_method":"x"},"b":"_method","c":["_method"]}`, []string{
			"Content-Type", "application/json",
		}}},
		{limited, override{
			"a form of several parts", "POST", "/ok", "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n" +
				"\r\nx\n\nname=_method\n\n\r\n--B\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; name=\"b\";" +
				"\r\n filename=\"_method.txt\"\r\n\r\n" + strings.Repeat("y", 9<<10) + "\n name=_method\r\n--B--\r\n\r\n",
			[]string{"Content-Type", `multipart/form-data; boundary="B"; charset=utf-8`},
		}},
		{limited, override{"a form with bare line feeds", "POST", "/ok", "--B\nContent-Disposition: form-data; name=\"a\"\n" +
			"\nname=_method\n--B--\n", []string{"Content-Type", "multipart/form-data; boundary=B"}}},
		{limited, override{"JSON with an empty parameter", "POST", "/ok", `{"a":1}`, []string{
			"Content-Type", "application/json; Charset=UTF-8;", "Content-Encoding", "identity",
		}}},
		{limited, override{"JSON that replaces no method", "PUT", "/ok", `{"_method":"x"}`, []string{
			"Content-Type", "application/json",
		}}},
		{limited, override{"related parts", "POST", "/ok", strings.Replace(multi, "DELETE", "x\n_method", 1), []string{
			"Content-Type", `multipart/related; boundary="B"; type="text/plain"`,
		}}},
		{limited, override{"another type", "POST", "/ok", "_method=DELETE", []string{"Content-Type", "text/x-log"}}},
		{limited, override{"a query", "GET", "/ok?method=flickr.photos.search&payment_method=card&method=GET", "", nil}},
		{limited, override{"headers of proxies, which are removed", "GET", "/ok", "", []string{
			"X-Forwarded-Host", "evil.test", "Forwarded", "host=evil.test", "X-Forwarded-For", "1.1.1.1",
		}}},
		{open, override{"another method without methods", "POST", "/any", "a=1", []string{
			"Content-Type", formType, "X-HTTP-Method-Override", "GET",
		}}},
		{open, override{"another path without paths", "COPY", "/any", "", []string{"Destination", "/other"}}},
	} {
		_, query, _ := strings.Cut(tt.o.path, "?")
		status, text := tt.w.do(t, tt.o.method, tt.w.url("api.example.test", tt.o.path), tt.o.body, tt.o.header...)
		mu.Lock()
		if want := query + "|" + tt.o.body; status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, the host read %.200q, want %.200q", tt.o.name, status, text, got, want)
		}
		mu.Unlock()
	}
}

// A body whose framing has more than one meaning is refused with the reason, and not with the status of
// a host that cannot be reached.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{rules: []penstock.NetworkRule{{Host: "api.example.test", Methods: []string{"POST"}}}})
	for name, body := range map[string]string{
		"a chunk extension with a bare line feed": "5;a\nhello\r\n0\r\n\r\n",
		"a chunk size with a bare line feed":      "5\nhello\r\n0\r\n\r\n",
		"a last chunk with a bare line feed":      "5\r\nhello\r\n0\n\r\n",
		"data with a bare line feed at its end":   "5\r\nhello\n0\r\n\r\n",
		"a size that is no number":                "x\r\nhello\r\n0\r\n\r\n",
		"a size that is too large":                "fffffffffffffffff\r\nhello\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := w.inside(t, "api.example.test", "api.example.test")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			status, text := exchangeRaw(t, conn, fmt.Sprintf(
				"POST /ok HTTP/1.1\r\nHost: api.example.test:%d\r\nTransfer-Encoding: chunked\r\n\r\n%s", w.port(), body))
			if status != http.StatusBadRequest || !strings.Contains(text, "its body is malformed: ") {
				t.Errorf("got %d %s", status, text)
			}
		})
	}
	for name, body := range map[string]string{
		"an extension": "5;a=b\r\nhello\r\n0\r\n\r\n", "a quoted extension": "5;a=\"b c\"\r\nhello\r\n0\r\n\r\n",
		"zeros and a space": "0005 \r\nhello\r\n000\r\n\r\n", "a trailer": "5\r\nhello\r\n0\r\nX: y\r\n\r\n",
	} {
		conn, err := w.inside(t, "api.example.test", "api.example.test")
		if err != nil {
			t.Fatal(err)
		}
		status, text := exchangeRaw(t, conn, fmt.Sprintf("POST /ok HTTP/1.1\r\nHost: api.example.test:%d\r\n"+
			"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n%s", w.port(), body))
		if conn.Close(); status != http.StatusOK {
			t.Errorf("%s: got %d %s", name, status, text)
		}
	}
}

// A rule of an environment for the same host, without a credential, says nothing about the requests that get the
// token of a connection.
func TestAPlainRuleOfTheSameHostKeepsTheGuard(t *testing.T) {
	t.Parallel()
	token := &penstock.NetworkCredential{Secret: "forge:x", As: penstock.CredentialBearer}
	c, err := Compile(penstock.NetworkPolicy{
		Layers: []penstock.NetworkLayer{
			{Source: "environment", Network: penstock.Network{Allow: []penstock.NetworkRule{{Host: "git.example.com"}}}},
			{Source: penstock.NetworkForge, Name: "acme", Network: penstock.Network{Allow: []penstock.NetworkRule{{
				Host: "git.example.com", Methods: []string{http.MethodGet}, Paths: []string{"/api/v1/repos/acme/shop/issues"},
				Credential: token,
			}}}},
		},
		SecretHosts: map[string][]string{"forge:x": {"git.example.com"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := target{host: "git.example.com", port: 443, secure: true}
	for path, guarded := range map[string]bool{"/api/v1/repos/acme/shop/issues": true, "/elsewhere": false} {
		_, credential := c.decideRequest(at, http.MethodGet, path)
		if (credential != nil) != guarded {
			t.Fatalf("%s: got the credential %v", path, credential)
		}
		for header, value := range map[string]string{"X-HTTP-Method-Override": "DELETE", "X-Original-URL": "/x"} {
			r := &http.Request{Method: http.MethodGet, Header: http.Header{header: {value}}, URL: &url.URL{Path: path}}
			if reason := c.limitsOf(at, http.MethodGet, path, credential, nil).override(r); (reason != "") != guarded {
				t.Errorf("%s on %s: got %q", header, path, reason)
			}
		}
	}
}
