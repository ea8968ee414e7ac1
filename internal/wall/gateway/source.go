package gateway

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/penstock-dev/penstock"
)

// plainHost matches the authority of a URL that every parser reads alike: a name or an IP
// address, and perhaps a port. It has no user, no percent sign and no backslash.
var plainHost = penstock.LazyRegexp(`^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// schemeStart matches the start of a URL: any scheme and a slash, or a scheme that is fetched, since some
// parsers read http:host as http://host. A name such as model:8b has no scheme.
var schemeStart = penstock.LazyRegexp(
	`(?i)^(?:[a-z][a-z0-9+.-]*:[/\\]|(?:https?|ftps?|file|gs|s3|oss|wss?|blob|az|ipfs|cid):)`)

// beginsLikeURL reports whether a string begins with a scheme other than data:. It ignores what parsers
// of URLs leave out: white space, control characters and invisible ones.
func beginsLikeURL(n *node) bool {
	const most = 256 // of a string that may be a picture
	text := string(n.raw[1:min(len(n.raw), most)])
	if strings.Contains(text, `\`) {
		text = n.text()
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text[:min(len(text), most)])
	return schemeStart().MatchString(text) && !strings.HasPrefix(strings.ToLower(text), "data:")
}

// source checks a URL that the provider would fetch.
func (c *checker) source(n *node, at string) *Refusal {
	switch {
	case n.isArray():
		for i := range n.items {
			if refusal := c.source(&n.items[i], fmt.Sprintf("%s/%d", at, i)); refusal != nil {
				return refusal
			}
		}
		return nil
	case !n.isString() || !n.isSet():
		return nil // objects are walked like any other
	}
	if scheme := n.raw[1:min(len(n.raw), len(`"data:`))]; strings.EqualFold(string(scheme), "data:") {
		return nil
	}
	text := n.text()
	if c.u.API == Gemini && !strings.Contains(text, "://") {
		return c.known(text, at)
	}
	host, port, ok := sourceHost(text)
	if !ok {
		return refuse(at, "The source must be a data: URL or a plain http or https URL without a user.")
	}
	if c.u.API == Gemini && host == c.u.base.Hostname() {
		return c.known(text, at) // a file of Google's Files API
	}
	reason := "no host is allowed"
	if c.s.opts.AllowSource != nil {
		reason = c.s.opts.AllowSource(host, port)
	}
	if reason == "" {
		return nil
	}
	refusal := refuse(at, fmt.Sprintf("The provider may not fetch from %s: %s.", host, strings.TrimSuffix(reason, ".")))
	refusal.Host, refusal.Port = host, port
	return refusal
}

// sourceHost returns the host of a URL in lower case without a final dot, and its port.
func sourceHost(text string) (host string, port int, ok bool) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
		return "", 0, false
	}
	scheme, rest, found := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	if !found || scheme != "http" && scheme != "https" {
		return "", 0, false
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if !plainHost().MatchString(authority) {
		return "", 0, false
	}
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil {
		return "", 0, false
	}
	port = 443
	if scheme == "http" {
		port = 80
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return "", 0, false
		}
	}
	host = strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return host, port, host != ""
}
