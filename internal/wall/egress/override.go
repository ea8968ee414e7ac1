package egress

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Many servers and frameworks let a header, a query or a form replace what the request line says. A
// rule would then decide about another request than the one that the host reads. Names are compared
// in lower case with hyphens, because a server behind CGI or WSGI reads X_HTTP_Method as X-HTTP-Method.
var (
	methodHeader = penstock.LazyRegexp(`^(?:x-)?(?:http-|original-|forwarded-|real-|request-)?(?:method|verb)$|` +
		`(?:method|verb)-override$|override-(?:http-)?(?:method|verb)$`)
	pathHeader = penstock.LazyRegexp(`^x-(?:[a-z0-9]+-)*(?:original|rewrite|rewritten|override|overridden|forwarded|` +
		`replaced|proxy|request|real)-(?:request-)?(?:url|uri|path|prefix|path-info|script-name|query|query-string)$|` +
		`^x-(?:http-)?(?:url|uri|path)(?:-override)?$|^(?:x-)?(?:script-name|path-info|request-uri)$|` +
		`^x-url-(?:rewrite|override)$|^x-waws-unencoded-url$|^destination$`)
	hostHeader = penstock.LazyRegexp(`^x-(?:[a-z0-9]+-)*(?:original|rewrite|override|forwarded|real)-(?:host|server|` +
		`authority|scheme-host)$|^x-(?:http-)?host(?:-override)?$`)
)

// stripped are headers that the proxy removes from each request (httputil.ReverseProxy).
var stripped = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// limits are the parts of a request that the rules which allow it decide.
type limits struct{ method, path, host bool }

// limitsOf returns what the rules decide about a request that they allow. secret is the credential
// that it gets, and headers are an MCP server's.
func (c *Policy) limitsOf(
	t target, method, path string, secret *penstock.NetworkCredential, headers http.Header,
) limits {
	l := limits{path: len(headers) > 0, host: secret != nil || len(headers) > 0}
	for i, b := range c.bounds() {
		byMethod, byPath := true, true
		for _, r := range b.covering(t) {
			if ok, _ := r.allows(method, path); ok && (i > 0 || r.decides(secret)) {
				byMethod, byPath = byMethod && len(r.Methods) > 0, byPath && len(r.Paths) > 0
			}
		}
		l.method, l.path = l.method || byMethod, l.path || byPath
	}
	l.host = l.host || l.method || l.path
	return l
}

// decides reports whether r says something about requests with a credential. A rule without one does not: the
// request gets the credential of another rule.
func (r rule) decides(secret *penstock.NetworkCredential) bool {
	return secret == nil || r.Credential != nil && *r.Credential == *secret
}

const anotherMethod = "can stand for another method, and the rules for this host limit the methods. To allow it, add " +
	"a rule for the host without methods"

// override returns how the header or the query of r may replace what its request line says, where the
// rules decide about that, or "". The method TRACE is refused without such rules, too: its response
// would repeat a credential.
func (l limits) override(r *http.Request) string {
	const (
		anotherPath = "can stand for another path, and the rules for this host limit the paths. To allow it, add a rule " +
			"for the host without paths"
		anotherHost = "can stand for another host than the one that its rule names"
	)
	for name, values := range r.Header {
		if slices.Contains(stripped, name) {
			continue
		}
		plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		traces := slices.ContainsFunc(values, isTrace)
		switch {
		case (l.method || traces) && methodHeader().MatchString(plain):
			return fmt.Sprintf("the header %s %s", name, anotherMethod)
		case l.path && pathHeader().MatchString(plain):
			return fmt.Sprintf("the header %s %s", name, anotherPath)
		case l.host && hostHeader().MatchString(plain):
			return fmt.Sprintf("the header %s %s", name, anotherHost)
		}
	}
	for pair := range strings.FieldsFuncSeq(r.URL.RawQuery, isSeparator) {
		name, value, _ := strings.Cut(pair, "=")
		named, value := unescape(name), unescape(value)
		replaces := replacesMethod(named)
		if l.method && (replaces || isMethod(named, value, r.Method)) || replaces && isTrace(value) {
			return fmt.Sprintf("the parameter %q of its URL %s", cut(named), anotherMethod)
		}
	}
	if l.method {
		return l.form(r)
	}
	return ""
}

func isSeparator(r rune) bool { return r == '&' || r == ';' }

func isTrace(value string) bool {
	value = strings.TrimSpace(value)
	return strings.EqualFold(value, http.MethodTrace) || strings.EqualFold(value, "TRACK")
}

// isMethod reports whether a parameter names another method than its request has. Some APIs read it
// so, while for others method=NAME is an ordinary parameter.
func isMethod(name, value, method string) bool {
	value = strings.ToUpper(strings.TrimSpace(value))
	return strings.EqualFold(name, "method") && value != method && (slices.Contains(all, value) || isTrace(value))
}

// unescape decodes a name of a query or a form. A name that is not valid stays as it is.
func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// replacesMethod reports whether frameworks read the parameter of this name as the method, whatever its
// value. PHP trims names, cuts them at a NUL byte, and reads dots and spaces as underscores.
func replacesMethod(name string) bool {
	name, _, _ = strings.Cut(name, "\x00")
	name = strings.NewReplacer(" ", "-", ".", "-", "_", "-", "[", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	name = strings.TrimRight(name, "-]")
	return slices.Contains([]string{"-method", "-httpmethod", "-http-method", "-verb"}, name) ||
		(strings.HasPrefix(name, "x-") || strings.HasSuffix(name, "-override")) && methodHeader().MatchString(name)
}
