package egress

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/penstock-dev/penstock"
)

// DecideClone says whether git may read the repository at an https URL, and with which credential, nil
// for none. It decides about both requests of git's protocol (gitprotocol-http(5)).
func (c *Policy) DecideClone(u *url.URL) (Decision, *penstock.NetworkCredential) {
	t, path, err := urlTarget(u)
	if err != nil {
		return Decision{Host: u.Host, Mode: ModeRefused, Reason: "The repository is refused: " + err.Error() + "."}, nil
	}
	path = strings.TrimRight(path, "/")
	refs, credential := c.decideRequest(t, http.MethodGet, path+"/info/refs")
	if !refs.Allowed {
		return refs, nil
	}
	pack, second := c.decideRequest(t, http.MethodPost, path+"/git-upload-pack")
	if !pack.Allowed {
		return pack, nil
	}
	if credential == nil || second == nil || *credential != *second {
		return refs, nil
	}
	return refs, credential
}

// WithinCeiling reports whether the ceiling of an operator, nil for none, lets git read the repository at
// an https URL.
func WithinCeiling(ceiling *penstock.Network, u *url.URL) bool {
	if ceiling == nil {
		return true
	}
	t, _, err := urlTarget(u)
	if err != nil {
		return false
	}
	host := penstock.Network{Allow: []penstock.NetworkRule{{Host: t.host, Ports: []int{t.port}}}}
	policy, err := Compile(penstock.NetworkPolicy{
		Layers: []penstock.NetworkLayer{{Network: host}}, Ceiling: ceiling,
	})
	if err != nil {
		return false
	}
	d, _ := policy.DecideClone(u)
	return d.Allowed
}

// announcesPush reports whether a request begins a push of git, and returns the path of the next one
// (gitprotocol-http(5)).
func announcesPush(r *http.Request, path string) (next string, push bool) {
	before, refs := strings.CutSuffix(path, "/info/refs")
	return before + "/git-receive-pack", refs && r.URL.Query().Get("service") == "git-receive-pack"
}

// repositoryOfPush returns the path of the repository to which git pushes with a request. Each spelling counts
// that a server may read as one of the two requests of a push.
func repositoryOfPush(u *url.URL) (path string, push bool) {
	const service = "/git-receive-pack"
	last := func(path string) string {
		path, _, _ = strings.Cut(path, ";")
		return strings.TrimRight(path, "/")
	}
	query, err := url.QueryUnescape(u.RawQuery)
	refs := strings.HasSuffix(strings.ToLower(last(u.Path)), "/info/refs") &&
		(err != nil || strings.Contains(strings.ToLower(query), service[1:]))
	path = strings.TrimSuffix(strings.TrimSuffix(u.EscapedPath(), "/info/refs"), service)
	return path, refs || strings.HasSuffix(strings.ToLower(last(u.Path)), service)
}

// servePush serves a push of git for which the proxy forwards nothing, and reports whether it has. What the
// policy lets nobody read, nobody pushes to.
func (f *forwarder) servePush(w http.ResponseWriter, r *http.Request, t target) bool {
	if f.push == nil || !t.secure {
		return false
	}
	path, push := repositoryOfPush(r.URL)
	if !push {
		return false
	}
	handler := f.push(t.host, t.port, path)
	if handler == nil {
		return false
	}
	if d, _ := f.policy.decideRequest(t, http.MethodGet, path+"/info/refs"); !d.Allowed {
		f.refuse(w, t.host, t.port, http.StatusForbidden, d.Reason)
		return true
	}
	account := f.ledger.begin(t, ModeInspect)
	if err := f.ledger.send(account, headerSize(r)); err != nil {
		f.fail(w, t, err)
		return true
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &upload{ReadCloser: clientBody{r.Body}, ledger: f.ledger, account: account}
	}
	handler.ServeHTTP(w, r)
	return true
}
