package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// prefix begins each path that a Session serves.
const prefix = "/model/"

// Operation is a call that the gateway forwards.
type Operation string

// The operations. Those that do not generate cost nothing. The zero value is none.
const (
	Messages         Operation = "messages"
	CountTokens      Operation = "count_tokens" // of all APIs
	ListModels       Operation = "models"       // also one model
	ChatCompletions  Operation = "chat_completions"
	Responses        Operation = "responses"
	CompactResponse  Operation = "responses_compact"
	RetrieveResponse Operation = "responses_retrieve"
	GenerateContent  Operation = "generate_content"
	StreamGenerate   Operation = "stream_generate_content"
)

// Generates reports whether a call of this kind costs tokens.
func (o Operation) Generates() bool {
	return o != "" && o != CountTokens && o != ListModels && o != RetrieveResponse
}

// route is where a request goes.
type route struct {
	operation Operation
	path      string // at the provider, from the version on
	model     string // of Gemini's paths
	id        string // of a response
}

var (
	// plainPath matches paths that every server reads alike: no empty segment, no dots
	// alone, nothing encoded.
	plainPath   = penstock.LazyRegexp(`^(/[A-Za-z0-9_:@~-][A-Za-z0-9._:@~-]*)+$`)
	oneModel    = penstock.LazyRegexp(`^v1/models/[^/]+$`)
	oneResponse = penstock.LazyRegexp(`^v1/responses/([^/]+)$`)
	geminiCall  = penstock.LazyRegexp(`^v1beta/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$`)
)

// posts are the calls by path, of Gemini by the method at its end.
var posts = map[API]map[string]Operation{
	Anthropic: {"v1/messages": Messages, "v1/messages/count_tokens": CountTokens},
	OpenAI: {
		"v1/chat/completions": ChatCompletions, "v1/responses": Responses,
		"v1/responses/input_tokens": CountTokens, "v1/responses/compact": CompactResponse,
	},
	Gemini: {"generateContent": GenerateContent, "streamGenerateContent": StreamGenerate, "countTokens": CountTokens},
}

// findRoute splits /model/<provider>/<path>. The path is compared as it was sent, before
// any decoding, so that no two spellings reach the same place.
func (g *Gateway) findRoute(r *http.Request) (*upstream, route, *Refusal) {
	sent := r.URL.EscapedPath()
	name, path, _ := strings.Cut(strings.TrimPrefix(sent, prefix), "/")
	u := g.providers[name]
	if !strings.HasPrefix(sent, prefix) || u == nil {
		if !providerName().MatchString(name) {
			name = "of this path"
		}
		return nil, route{}, refuse("", fmt.Sprintf("Provider %s is not configured on this server.", name))
	}
	refused := refuse("", fmt.Sprintf(
		"The model gateway does not forward %s to this path of provider %s.", knownMethod(r.Method), u.Name))
	if !plainPath().MatchString(sent) {
		return u, route{}, refused
	}
	found, ok := matchPath(u.API, r.Method, path)
	if !ok {
		return u, route{}, refused
	}
	if r.Header.Get("Upgrade") != "" {
		return u, route{}, refuse("", "The model gateway does not forward WebSockets. Use HTTP.")
	}
	found.path = path
	return u, found, nil
}

func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodHead:
		return method
	}
	return "this method"
}

// matchPath is the list of what is forwarded.
func matchPath(api API, method, path string) (route, bool) {
	if method == http.MethodGet {
		switch {
		case api != Gemini && (path == "v1/models" || oneModel().MatchString(path)):
			return route{operation: ListModels}, true
		case api == OpenAI && oneResponse().MatchString(path):
			return route{operation: RetrieveResponse, id: oneResponse().FindStringSubmatch(path)[1]}, true
		}
		return route{}, false
	}
	if method != http.MethodPost {
		return route{}, false
	}
	var model string
	if api == Gemini {
		call := geminiCall().FindStringSubmatch(path)
		if call == nil {
			return route{}, false
		}
		model, path = call[1], call[2]
	}
	operation, ok := posts[api][path]
	return route{operation: operation, model: model}, ok
}

// queries are the query parameters that reach a provider, by its API. Google's key is the agent's
// placeholder, which is left out.
var queries = map[API][]string{
	Anthropic: {"beta", "limit", "after_id", "before_id"},
	OpenAI: {
		"client_version", "include", "include[]", "stream", "starting_after", "include_obfuscation", "limit", "after",
		"order",
	},
	Gemini: {"alt", "prettyPrint"},
}

var placeholders = []string{"key", "access_token", "oauth_token"}

// checkQuery returns the query to send. A query can carry a credential, name another model, choose
// another encoding, leave out the usage or override the method.
func checkQuery(api API, raw string) (string, *Refusal) {
	query, err := url.ParseQuery(raw)
	if err != nil || strings.Contains(raw, ";") {
		return "", invalid("", "The query of the request is malformed.")
	}
	kept := url.Values{}
	for name, values := range query {
		switch {
		case api == Gemini && slices.Contains(placeholders, name):
		case !slices.Contains(queries[api], name):
			return "", refuse("", fmt.Sprintf("The model gateway does not forward the query parameter %.50q.", name))
		case name == "alt" && (len(values) != 1 || values[0] != "sse" && values[0] != "json"):
			return "", refuse("", "The query parameter alt must be sse or json.")
		default:
			kept[name] = values
		}
	}
	return kept.Encode(), nil
}
