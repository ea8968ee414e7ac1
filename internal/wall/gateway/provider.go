package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// API is the protocol that a provider speaks.
type API string

// The APIs. OpenAI stands for Chat Completions and Responses.
const (
	Anthropic API = "anthropic"
	OpenAI    API = "openai"
	Gemini    API = "gemini"
)

// Provider is a model provider: one of the vendors, or a server that is compatible with
// one of them.
type Provider struct {
	// Name is the provider's part of the path: lower-case letters, digits, - and _.
	Name string
	API  API
	// BaseURL is what the vendor's own SDK takes: with /v1 for OpenAI, without a version
	// for Anthropic and Gemini. Empty means the vendor's own.
	BaseURL string
	// Key is the credential. Empty sends none, as a local server wants it.
	Key string
	// Models are ids without prefix, for a provider that does not list them itself.
	Models []string
	// Vendor is the provider whose name the ids of the models have; empty means Name.
	Vendor string
	// TokensPerSecond is the most that the provider generates for one completion; 0 means 10,000. It bounds
	// what a failed call can have used.
	TokensPerSecond int64
	// LimitIncludesThinking says whether the output limit of a request includes the tokens of thinking.
	// Nil means that it does for the vendors' own APIs, and for requests that do not ask for thinking.
	LimitIncludesThinking *bool
	// AllowFields are fields of requests that the list of the API lacks, and that the provider needs: a
	// field of the top by its name, any other after the field that holds it: messages.field.
	AllowFields []string
	// Query lists parameters that each request gets, such as api-version. A query of BaseURL adds
	// to them. Headers are added in the same way. The values may be secrets.
	Query, Headers map[string]string
	// OwnKey says that Key does not belong to the operator who set Query and Headers: it replaces
	// their credentials, like the key of a run.
	OwnKey bool
	// Setting names the setting that BaseURL comes from, for errors: OPENAI_BASE_URL.
	// Empty means "the base URL of provider NAME".
	Setting string
}

// upstream is a Provider that was checked.
type upstream struct {
	Provider
	base *url.URL // without a slash at the end
}

var (
	providerName = penstock.LazyRegexp(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	vendorURLs   = map[API]string{
		Anthropic: "https://api.anthropic.com",
		OpenAI:    "https://api.openai.com/v1",
		Gemini:    "https://generativelanguage.googleapis.com",
	}
)

// check returns the base URL, parsed. Its errors never quote a URL, which may hold a password.
func (p Provider) check() (*url.URL, error) {
	if !providerName().MatchString(p.Name) {
		return nil, fmt.Errorf("provider %q: a name has up to 63 lower-case letters, digits, - and _", p.Name)
	}
	vendor, ok := vendorURLs[p.API]
	if !ok {
		return nil, fmt.Errorf("provider %s: api must be anthropic, openai or gemini", p.Name)
	}
	base, err := url.Parse(cmp.Or(strings.TrimSpace(p.BaseURL), vendor))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" || base.Opaque != "" {
		return nil, fmt.Errorf("provider %s: %s must be a URL such as %s", p.Name, p.setting(), vendor)
	}
	if base.User != nil || base.Fragment != "" {
		return nil, fmt.Errorf("provider %s: %s must have no user or fragment", p.Name, p.setting())
	}
	if err := p.addQuery(base); err != nil {
		return nil, err
	}
	if err := p.checkHeaders(); err != nil {
		return nil, err
	}
	if strings.ContainsFunc(p.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("provider %s: its key has a space or a character outside ASCII", p.Name)
	}
	for _, field := range p.AllowFields {
		if err := checkAllowed(p.API, field); err != nil {
			return nil, fmt.Errorf("provider %s: allow_fields: %w", p.Name, err)
		}
	}
	base.Path = strings.TrimRight(base.Path, "/")
	base.RawPath = ""
	return base, nil
}

// addQuery adds the parameters of p to the parameters of its base URL.
func (p Provider) addQuery(base *url.URL) error {
	query, err := url.ParseQuery(base.RawQuery)
	if err != nil {
		return fmt.Errorf("provider %s: the query of %s is malformed", p.Name, p.setting())
	}
	for name, value := range p.Query {
		query.Set(name, value)
	}
	base.RawQuery, base.ForceQuery = query.Encode(), false
	return nil
}

// ownHeaders are those that the gateway or HTTP itself sets.
var ownHeaders = penstock.LazyRegexp(`(?i)^(host|connection|te|trailer|transfer-encoding|upgrade|expect|` +
	`accept-encoding|content-length|content-encoding|content-type|proxy-.*|x-forwarded-.*|forwarded)$`)

// checkHeaders returns an error for a header that cannot be sent. It never quotes a value.
func (p Provider) checkHeaders() error {
	for name, value := range p.Headers {
		if !headerName().MatchString(name) || ownHeaders().MatchString(name) {
			return fmt.Errorf("provider %s: headers: %.100q is not a header that can be set", p.Name, name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("provider %s: headers: the value of %s has a control character", p.Name, name)
		}
	}
	return nil
}

var headerName = penstock.LazyRegexp("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// secrets lists the values that must not be in errors, in each form, longer ones first: the key, and longer values of
// the query and of headers, also each longer word of a header, such as what follows Bearer.
func (u *upstream) secrets(key string) []string {
	const least = 12 // a shorter value is a version or a name
	var list []string
	for _, values := range u.base.Query() {
		list = append(list, values...)
	}
	for _, value := range u.Headers {
		list = append(append(list, value), strings.Fields(value)...)
	}
	list = slices.DeleteFunc(list, func(s string) bool { return len(s) < least })
	for _, value := range slices.Clone(list) {
		list = append(list, secret.Forms(value)...)
	}
	if len(key) < least { // a form of it may be anything
		list = append(list, key)
	} else {
		list = append(list, secret.Forms(key)...)
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return list
}

// Private reports whether the provider is on this machine or in a private network, as far as its address
// shows.
func (p Provider) Private() bool {
	base, err := p.check()
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(strings.ToLower(base.Hostname()), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		return addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast()
	}
	_, domain, found := strings.Cut(host, ".")
	last := domain[strings.LastIndex(domain, ".")+1:]
	return !found || slices.Contains([]string{"local", "localhost", "internal", "lan", "home", "corp"}, last)
}

func (p Provider) setting() string { return cmp.Or(p.Setting, "the base URL of provider "+p.Name) }

// AgentURL returns the base URL to give to an agent's SDK. Origin is the address of the
// relay, such as http://127.0.0.1:3128.
func (p Provider) AgentURL(origin string) string {
	address := strings.TrimRight(origin, "/") + prefix + p.Name
	if p.API == OpenAI {
		address += "/v1"
	}
	return address
}

// ModelID returns the id by which runs and allow lists name a model of p: provider/model,
// where Google's models have the prefix google.
func (p Provider) ModelID(model string) string {
	name := cmp.Or(p.Vendor, p.Name)
	if name == "gemini" {
		name = "google"
	}
	return name + "/" + model
}

// address returns the URL of a call. Path begins with the version, such as v1/messages. The key of a run replaces
// credentials in the provider's query.
func (u *upstream) address(path, query string, ofRun bool) *url.URL {
	if u.API == OpenAI { // its base URL has the version
		path = strings.TrimPrefix(path, "v1/")
	}
	out := *u.base
	out.Path += "/" + path
	out.RawQuery = query
	own := u.base.Query()
	if ofRun {
		maps.DeleteFunc(own, func(name string, _ []string) bool { return credentialQueries().MatchString(name) })
	}
	if len(own) > 0 {
		sent, _ := url.ParseQuery(query) // checkQuery has read it
		maps.Copy(sent, own)
		out.RawQuery = sent.Encode()
	}
	return &out
}

func (u *upstream) port() int {
	if port, err := strconv.Atoi(u.base.Port()); err == nil {
		return port
	}
	if u.base.Scheme == "http" {
		return 80
	}
	return 443
}

// credentialHeaders are the headers that providers and compatible servers read a key from.
var credentialHeaders = penstock.LazyRegexp(
	`(?i)^(authorization|x-api-key|api-key|x-goog-api-key|x-litellm-api-key|ocp-apim-subscription-key)$`)

// credentialQueries are the parameters that they read a key from.
var credentialQueries = penstock.LazyRegexp(
	`(?i)^(key|code|(api|access|auth|subscription)[_-]?(key|token)|token|sig)$`)

// authorize adds the key and the headers of the provider to the header of a request. The key of a run
// replaces all credentials of the provider.
func (u *upstream) authorize(h http.Header, key string, ofRun bool) {
	betas := u.betas(h)
	switch {
	case key == "":
	case u.API == OpenAI && isAzure(u) && !strings.HasPrefix(key, "eyJ"): // not a token of Entra
		h.Set("Api-Key", key)
	case u.API == Anthropic:
		h.Set("X-Api-Key", key)
	case u.API == OpenAI:
		h.Set("Authorization", "Bearer "+key)
	case u.API == Gemini:
		h.Set("X-Goog-Api-Key", key)
	}
	for name, value := range u.Headers {
		if !ofRun || !credentialHeaders().MatchString(name) {
			h.Set(name, value)
		}
	}
	if betas != "" {
		h.Set(betaHeader, betas)
	}
}

// isAzure reports whether a provider is at a host of Azure, which takes a key as Bearer only at some of its paths.
func isAzure(u *upstream) bool {
	return isHost(u, "openai.azure.com") || isHost(u, "cognitiveservices.azure.com") || isHost(u, "services.ai.azure.com")
}

const betaHeader = "Anthropic-Beta"

// betas lists the beta features of a request: the agent's, and the ones in the provider's headers.
func (u *upstream) betas(h http.Header) string {
	list := slices.Clone(h.Values(betaHeader))
	for name, value := range u.Headers {
		if strings.EqualFold(name, betaHeader) {
			list = append(list, value)
		}
	}
	return strings.Join(list, ",")
}

// listModels asks the provider.
func (u *upstream) listModels(ctx context.Context, transport http.RoundTripper) ([]string, error) {
	path := "v1/models"
	if u.API == Gemini {
		path = "v1beta/models"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.address(path, "", u.OwnKey).String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("list the models of provider %s: %w", u.Name, err)
	}
	u.authorize(r.Header, u.Key, u.OwnKey)
	if u.API == Anthropic {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return nil, errors.New(u.unreachable(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		hint := ""
		if res.StatusCode == http.StatusNotFound && u.API == OpenAI && !strings.HasSuffix(u.base.Path, "/v1") {
			hint = ", which usually ends in /v1,"
		}
		return nil, fmt.Errorf("list the models of provider %s: it returned status %d; check %s%s and its key",
			u.Name, res.StatusCode, u.setting(), hint)
	}
	const most = 8 << 20
	var list any
	if err := json.NewDecoder(io.LimitReader(res.Body, most)).Decode(&list); err != nil {
		return nil, fmt.Errorf("list the models of provider %s: %w; check %s", u.Name, err, u.setting())
	}
	return modelIDs(list, 0), nil
}

// modelIDs finds the models in a list: OpenAI's and Anthropic's data with id, Gemini's models with name,
// and the other forms of compatible servers, such as an array or an object by id.
func modelIDs(list any, depth int) []string {
	const deepest = 3
	var ids []string
	switch v := list.(type) {
	case []any:
		for _, one := range v {
			id, _ := one.(string)
			if object, ok := one.(map[string]any); ok {
				id = firstText(object, "id", "model", "name", "slug", "key")
			}
			if id = strings.TrimPrefix(id, "models/"); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	case map[string]any:
		for _, name := range []string{"data", "models", "result", "results", "items"} {
			inner, isObject := v[name].(map[string]any)
			if ids = nil; depth < deepest {
				ids = modelIDs(v[name], depth+1)
			}
			if isObject && ids == nil {
				ids = slices.Sorted(maps.Keys(inner))
			}
			if len(ids) > 0 {
				return ids
			}
		}
	}
	return ids
}

// firstText returns the first of the fields that is a text.
func firstText(object map[string]any, names ...string) string {
	for _, name := range names {
		if text, ok := object[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// unreachable describes a failed request for the agent and its user. It contains only addresses
// from the configuration.
func (u *upstream) unreachable(err error) string {
	reason := "the connection failed"
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		reason = "the host name was not found"
	case errors.As(err, &timeout) && timeout.Timeout():
		reason = "the connection timed out"
	case errors.As(err, &op):
		reason = op.Err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "it closed the connection without a response"
	}
	return fmt.Sprintf("Penstock cannot reach provider %s at %s: %s. Check %s.", u.Name, u.base.Host, reason, u.setting())
}
