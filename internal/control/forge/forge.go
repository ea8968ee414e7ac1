// Package forge owns connections to forges, the hosts of repositories: their tokens, what they are checked
// for, and which runs may use them for what.
package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Options are the dependencies of the rules.
type Options struct {
	Store     *store.Store
	Keyset    *secret.Keyset
	Responses *access.Responses
	Log       *slog.Logger
	PublicURL string // where forges reach the server, without a trailing slash
	// Outbound connects to forges; nil: public ones, directly.
	Outbound *egress.Outbound
}

// Connections manages the connections of a team to forges.
type Connections struct {
	store     *store.Store
	keyset    *secret.Keyset
	responses *access.Responses
	log       *slog.Logger
	http      *http.Client
	publicURL string

	answers answers
	asking  share.SharedRead[answer]
}

// Rules are the rules of this package.
type Rules struct{ Connections *Connections }

// New makes the rules of connections.
func New(o Options) Rules {
	if o.Outbound == nil {
		o.Outbound, _ = egress.NewOutbound(egress.OutboundOptions{}) // without an upstream, it has no error
	}
	transport := o.Outbound.Transport()
	transport.MaxResponseHeaderBytes = 64 << 10
	return Rules{&Connections{
		store: o.Store, keyset: o.Keyset, responses: o.Responses, log: o.Log, publicURL: o.PublicURL,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}}
}

// Limits of connections.
const (
	maxForges       = 20 // of a team
	maxName         = 63
	maxURL          = 2048
	maxToken        = 4096
	maxFactories    = 100
	maxRepositories = 500
)

// tokens is what is stored encrypted.
type tokens struct {
	Token     string `json:"token"`
	ReadToken string `json:"read_token,omitempty"`
}

// forRuns is the token that the proxy adds to the requests of runs, which can only read.
func (t tokens) forRuns() string {
	if t.ReadToken != "" {
		return t.ReadToken
	}
	return t.Token
}

// give gives a connection tokens, and the result of their check.
func (c *Connections) give(row *store.ForgeRow, t tokens, result found, now penstock.Time) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	apply(row, result, now)
	row.ReadToken = t.ReadToken != ""
	row.Sealed, err = c.keyset.Seal(text, access.ForgeContext(row.UID))
	return err
}

func (c *Connections) open(row store.ForgeRow) (t tokens, err error) {
	text, err := c.keyset.Open(row.Sealed, access.ForgeContext(row.UID))
	if err != nil {
		return t, fmt.Errorf("decrypt the tokens of connection %s: %w", row.UID, err)
	}
	return t, json.Unmarshal(text, &t)
}

func (c *Connections) api(f penstock.Forge, token string) api { return api{c.http, f, token} }

// mayManage returns an error unless p may manage connections. An agent may not.
func mayManage(p penstock.Principal) error {
	if err := access.Require(p, penstock.ScopeForgesManage); err != nil {
		return err
	}
	return access.RefuseAgent(p, "manage connections")
}

// ConnectRequest creates a connection.
type ConnectRequest struct {
	Name         string                 `json:"name"`
	Provider     penstock.ForgeProvider `json:"provider"`
	URL          string                 `json:"url"`
	Token        string                 `json:"token"`
	ReadToken    string                 `json:"read_token,omitempty"`
	Factories    []string               `json:"factories,omitempty"`
	Repositories []string               `json:"repositories,omitempty"`
}

// ChangeRequest changes a connection. An absent field stays unchanged, and null sets its default.
type ChangeRequest struct {
	Token        *string   `json:"token,omitempty"`
	ReadToken    *string   `json:"read_token,omitempty"`
	Factories    *[]string `json:"factories,omitempty"`
	Repositories *[]string `json:"repositories,omitempty"`

	// These cannot change, and are only read to say so.
	Name     *string                 `json:"name,omitempty"`
	Provider *penstock.ForgeProvider `json:"provider,omitempty"`
	URL      *string                 `json:"url,omitempty"`

	Cleared []string `json:"-"` // the fields that were given as null
}

// List lists the connections of the team by name.
func (c *Connections) List(ctx context.Context, p penstock.Principal) ([]penstock.Forge, error) {
	if err := mayManage(p); err != nil {
		return nil, err
	}
	rows, err := c.store.Forges.List(ctx, p.Team)
	list := make([]penstock.Forge, len(rows))
	for i, row := range rows {
		list[i] = c.present(row.Forge)
	}
	return list, err
}

// Read returns one connection.
func (c *Connections) Read(ctx context.Context, p penstock.Principal, uid string) (penstock.Forge, error) {
	row, err := c.find(ctx, p, uid)
	if err != nil {
		return penstock.Forge{}, err
	}
	return c.present(row.Forge), nil
}

func (c *Connections) find(ctx context.Context, p penstock.Principal, uid string) (store.ForgeRow, error) {
	if err := mayManage(p); err != nil {
		return store.ForgeRow{}, err
	}
	return c.store.Forges.Find(ctx, p.Team, uid)
}

// Create connects to a forge. The forge is asked for the account of the token at once: a token that it
// refuses, or a URL that is not its API, is an invalid request. A forge that does not answer is pending.
func (c *Connections) Create(
	ctx context.Context, p penstock.Principal, req ConnectRequest,
) (out penstock.Forge, err error) {
	if err := mayManage(p); err != nil {
		return out, err
	}
	now := penstock.Now()
	row := store.ForgeRow{Team: p.Team, Forge: penstock.Forge{
		UID: penstock.NewUID(), Name: req.Name, Provider: req.Provider, Auth: penstock.ForgeToken,
		Factories: req.Factories, Repositories: req.Repositories, Status: penstock.ForgePending, CreatedAt: now,
	}}
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if req.Provider == penstock.HostGitLab {
		return out, &penstock.Error{Code: penstock.CodeNotSupported, Fields: []penstock.FieldError{{
			Pointer: "/provider", Detail: "gitlab is not supported yet: use github or gitea",
		}}}
	}
	if !slices.Contains(penstock.ForgeProviders(), req.Provider) {
		bad("/provider", "must be one of %s", request.Enumerated(penstock.ForgeProviders()))
	}
	if !forgeName().MatchString(req.Name) {
		bad("/name", "must be 1 to %d lower-case letters, digits and hyphens, and begin with a letter or a digit", maxName)
	}
	var wrong string
	if row.URL, wrong = canonicalURL(req.Provider, req.URL); wrong != "" {
		bad("/url", "%s", wrong)
	}
	t := tokens{req.Token, req.ReadToken}
	if t.Token == "" {
		bad("/token", "is required")
	}
	checkTokens(bad, t)
	checkLimits(bad, row.Forge)
	if errs != nil {
		return out, penstock.InvalidFields(errs...)
	}
	return c.add(ctx, p, row, t, now)
}

// add probes and stores a new connection.
func (c *Connections) add(
	ctx context.Context, p penstock.Principal, row store.ForgeRow, t tokens, now penstock.Time,
) (out penstock.Forge, err error) {
	result := c.probe(ctx, row.Forge, t, now)
	if err := rejects(result); err != nil {
		return out, err
	}
	row.UpdatedAt = now
	if err := c.give(&row, t, result, now); err != nil {
		return out, err
	}
	return access.Edit(ctx, c.responses, p, func(tx *store.Tx) (penstock.Forge, error) {
		n, err := tx.Forges().Count(ctx, p.Team)
		if err != nil {
			return out, err
		}
		if n >= maxForges {
			return out, penstock.Errorf(penstock.CodeConflict, "the team has %d connections, the maximum", n)
		}
		if err := access.UseFactories(ctx, tx, row.Team, "/factories", row.Factories); err != nil {
			return out, err
		}
		if err := tx.Forges().Add(ctx, row); err != nil {
			return out, err
		}
		secret, err := c.addIngress(ctx, tx, row)
		return c.reveal(row.Forge, secret), err
	})
}

var forgeName = penstock.LazyRegexp(`^[a-z0-9][a-z0-9-]{0,62}$`)

// rejects returns an error for tokens that a forge refuses, and for a URL that is not its API.
func rejects(result found) error {
	switch {
	case result.readRefused:
		return penstock.Invalid("/read_token", "the forge refuses it (401)")
	case result.failed == nil || result.failed.kind == noAnswer:
		return nil
	case result.failed.kind == refused:
		return penstock.Invalid("/token", "the forge refuses it (401)")
	}
	return penstock.Invalid("/url", "%s", result.failed.text)
}

// canonicalURL returns the URL of a forge in the form in which it is stored, or what is wrong with it.
func canonicalURL(provider penstock.ForgeProvider, text string) (canonical, wrong string) {
	if text == "" && provider == penstock.HostGitHub {
		return "https://github.com", ""
	}
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case text == "":
		return "", "is required"
	case len(text) > maxURL:
		return "", fmt.Sprintf("is %d bytes long; at most %d are allowed", len(text), maxURL)
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return "", "must be the URL of the forge, such as https://git.example.com"
	case u.User != nil:
		return "", "must not hold a user name or password"
	case u.Scheme != "https":
		return "", "must begin with https://: tokens are only sent with TLS"
	case u.RawQuery != "" || u.Fragment != "":
		return "", "must not have a query or a fragment"
	}
	host, err := egress.Canonical(u.Hostname())
	if err != nil {
		return "", "has a host that cannot be used: " + err.Error()
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	for _, suffix := range []string{"/api/v1", "/api/v3"} {
		path = strings.TrimSuffix(path, suffix)
	}
	if !forgePath().MatchString(path) {
		return "", "has a path that cannot be used: it may have letters, digits, dots, hyphens and underscores"
	}
	if host == "api.github.com" || host == "www.github.com" {
		host = "github.com"
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 {
			return "", "has a port that is not a number from 1 to 65535"
		}
		if number != 443 {
			host += ":" + strconv.FormatUint(number, 10)
		}
	}
	return "https://" + host + path, ""
}

var forgePath = penstock.LazyRegexp(`^(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$`)

func checkTokens(bad func(string, string, ...any), t tokens) {
	for pointer, value := range map[string]string{"/token": t.Token, "/read_token": t.ReadToken} {
		if len(value) > maxToken || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			bad(pointer, "must be at most %d visible ASCII characters, without spaces", maxToken)
		}
	}
}

func checkLimits(bad func(string, string, ...any), f penstock.Forge) {
	if len(f.Factories) > maxFactories {
		bad("/factories", "has %d factories; at most %d are allowed", len(f.Factories), maxFactories)
	}
	if len(f.Repositories) > maxRepositories {
		bad("/repositories", "has %d repositories; at most %d are allowed", len(f.Repositories), maxRepositories)
		return
	}
	for i, pattern := range f.Repositories {
		name := pattern
		if owner, all := strings.CutSuffix(pattern, "/*"); all {
			name = owner + "/x"
		}
		if penstock.CheckForgePath(name) != "" {
			bad(fmt.Sprintf("/repositories/%d", i), "must be owner/name, or owner/* for all of an owner")
		}
	}
}

// Update changes a connection. New tokens are tried first, as in [Connections.Create].
func (c *Connections) Update(
	ctx context.Context, p penstock.Principal, uid string, req ChangeRequest,
) (penstock.Forge, error) {
	for range 5 {
		out, err := c.update(ctx, p, uid, req)
		if !errors.Is(err, errReplaced) {
			return out, err
		}
	}
	return penstock.Forge{}, &penstock.Error{
		Code: penstock.CodeUnavailable, Detail: "others keep changing the connection", RetryAfter: time.Second,
	}
}

var errReplaced = errors.New("the tokens of the connection were replaced meanwhile")

// update returns errReplaced if somebody has replaced a token since it began.
func (c *Connections) update(
	ctx context.Context, p penstock.Principal, uid string, req ChangeRequest,
) (penstock.Forge, error) {
	before, err := c.find(ctx, p, uid)
	if err != nil {
		return penstock.Forge{}, err
	}
	now := penstock.Now()
	t, err := c.open(before)
	if err != nil && req.Token == nil {
		return penstock.Forge{}, err
	}
	after, err := changed(before, &t, req)
	if err != nil {
		return penstock.Forge{}, err
	}
	tried := req.Token != nil || req.ReadToken != nil || slices.Contains(req.Cleared, "read_token")
	var result found
	if tried {
		if result, err = c.tryNew(ctx, after.Forge, t, now); err != nil {
			return penstock.Forge{}, err
		}
	}
	err = c.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		row, err := tx.Forges().Lock(ctx, p.Team, uid)
		if err != nil {
			return err
		}
		old := tokens{}
		if row, err = changed(row, &old, req); err != nil {
			return err
		}
		if tried && !bytes.Equal(row.Sealed, before.Sealed) {
			return errReplaced
		}
		if tried {
			if err := c.give(&row, t, result, now); err != nil {
				return err
			}
		}
		row.UpdatedAt = now
		if err := access.UseFactories(ctx, tx, row.Team, "/factories", row.Factories); err != nil {
			return err
		}
		return tx.Forges().Set(ctx, row)
	})
	if err != nil {
		return penstock.Forge{}, err
	}
	return c.Read(ctx, p, uid)
}

// tryNew probes a connection with new tokens. Those that it has stay if the forge does not answer.
func (c *Connections) tryNew(ctx context.Context, f penstock.Forge, t tokens, now penstock.Time) (found, error) {
	result := c.probe(ctx, f, t, now)
	if result.failed != nil && result.failed.kind == noAnswer {
		return result, unavailable(f, result.failed)
	}
	return result, rejects(result)
}

// changed returns a connection and its tokens as a request changes them.
func changed(row store.ForgeRow, t *tokens, req ChangeRequest) (store.ForgeRow, error) {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if slices.Contains(req.Cleared, "token") || req.Token != nil && *req.Token == "" {
		bad("/token", "must not be empty")
	}
	for name, given := range map[string]bool{
		"name":     req.Name != nil && *req.Name != row.Name,
		"provider": req.Provider != nil && *req.Provider != row.Provider,
		"url":      req.URL != nil && *req.URL != row.URL,
	} {
		if given {
			bad("/"+name, "cannot change: create another connection")
		}
	}
	request.Clear(req.Cleared, map[string]func(){
		"read_token":   func() { t.ReadToken = "" },
		"factories":    func() { row.Factories = nil },
		"repositories": func() { row.Repositories = nil },
	})
	request.Set(&t.Token, req.Token)
	request.Set(&t.ReadToken, req.ReadToken)
	request.Set(&row.Factories, req.Factories)
	request.Set(&row.Repositories, req.Repositories)
	checkTokens(bad, *t)
	checkLimits(bad, row.Forge)
	if errs != nil {
		return row, penstock.InvalidFields(errs...)
	}
	return row, nil
}

// Delete removes a connection with its tokens. Executions that run keep them until they end.
func (c *Connections) Delete(ctx context.Context, p penstock.Principal, uid string) error {
	if err := mayManage(p); err != nil {
		return err
	}
	return c.responses.Alter(ctx, p.Team, func(tx *store.Tx) error { return tx.Forges().Delete(ctx, p.Team, uid) })
}

// RepositoryList is what a connection can read, within its own limits.
type RepositoryList struct {
	Repositories []penstock.ForgeRepository `json:"repositories"`
	Truncated    bool                       `json:"truncated"` // there are more than are listed
}

// Repositories lists the repositories that runs may use through the connection.
func (c *Connections) Repositories(ctx context.Context, p penstock.Principal, uid string) (RepositoryList, error) {
	row, err := c.find(ctx, p, uid)
	if err != nil {
		return RepositoryList{}, err
	}
	t, err := c.open(row)
	if err != nil {
		return RepositoryList{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	all, more, failed := c.api(row.Forge, t.Token).repositories(ctx)
	if failed != nil {
		return RepositoryList{}, unavailable(row.Forge, failed)
	}
	row.Factories = nil // each of them may use these
	list := slices.DeleteFunc(all, func(r penstock.ForgeRepository) bool { return row.MayUse("", r.Path) != "" })
	slices.SortFunc(list, func(a, b penstock.ForgeRepository) int {
		return strings.Compare(strings.ToLower(a.Path), strings.ToLower(b.Path))
	})
	if list == nil {
		list = []penstock.ForgeRepository{}
	}
	return RepositoryList{list, more}, nil
}

// unavailable is the error for a forge that does not give what a request needs.
func unavailable(f penstock.Forge, failed *failure) error {
	return &penstock.Error{
		Code: penstock.CodeUnavailable, Detail: fmt.Sprintf("%s: %s", f.URL, failed.text), RetryAfter: time.Minute,
	}
}
