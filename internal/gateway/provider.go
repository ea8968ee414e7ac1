package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
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
	providerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	vendorURLs   = map[API]string{
		Anthropic: "https://api.anthropic.com",
		OpenAI:    "https://api.openai.com/v1",
		Gemini:    "https://generativelanguage.googleapis.com",
	}
)

// check returns the base URL, parsed. Its errors never quote a URL, which may hold a password.
func (p Provider) check() (*url.URL, error) {
	if !providerName.MatchString(p.Name) {
		return nil, fmt.Errorf("provider %q: a name has up to 63 lower-case letters, digits, - and _", p.Name)
	}
	vendor, ok := vendorURLs[p.API]
	if !ok {
		return nil, fmt.Errorf("provider %s: api must be anthropic, openai or gemini", p.Name)
	}
	base, err := url.Parse(cmp.Or(p.BaseURL, vendor))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" || base.Opaque != "" {
		return nil, fmt.Errorf("provider %s: %s must be a URL such as %s", p.Name, p.setting(), vendor)
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" || base.ForceQuery {
		return nil, fmt.Errorf("provider %s: %s must have no user, query or fragment", p.Name, p.setting())
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

// address returns the URL of a call. Path begins with the version, such as v1/messages.
func (u *upstream) address(path, query string) *url.URL {
	if u.API == OpenAI { // its base URL has the version
		path = strings.TrimPrefix(path, "v1/")
	}
	out := *u.base
	out.Path += "/" + path
	out.RawQuery = query
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

// authorize adds the key to the header of a request.
func (u *upstream) authorize(h http.Header, key string) {
	if key == "" {
		return
	}
	switch u.API {
	case Anthropic:
		h.Set("X-Api-Key", key)
	case OpenAI:
		h.Set("Authorization", "Bearer "+key)
	case Gemini:
		h.Set("X-Goog-Api-Key", key)
	}
}

// listModels asks the provider.
func (u *upstream) listModels(ctx context.Context, transport http.RoundTripper) ([]string, error) {
	path := "v1/models"
	if u.API == Gemini {
		path = "v1beta/models"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.address(path, "").String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("list the models of provider %s: %w", u.Name, err)
	}
	u.authorize(r.Header, u.Key)
	if u.API == Anthropic {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		return nil, errors.New(u.unreachable(err))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("list the models of provider %s: it returned status %d; check %s and its key",
			u.Name, res.StatusCode, u.setting())
	}
	const most = 8 << 20
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, most)).Decode(&list); err != nil {
		return nil, fmt.Errorf("list the models of provider %s: %w; check %s", u.Name, err, u.setting())
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	for _, m := range list.Models {
		ids = append(ids, strings.TrimPrefix(m.Name, "models/"))
	}
	return ids, nil
}

// unreachable describes a failed request for the agent and its user. It has no addresses
// but those of the configuration.
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
