package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// noun describes a kind of resource of the API, such as agents. T is one of them. The commands list,
// get and delete, the names of resources in arguments and their completion are the same for all nouns.
type noun[T any] struct {
	name string // on the command line, such as agent
	id   string // what an argument accepts; "" means "UID or name"
	uid  bool   // only the uid or id, so that no list is needed to find a resource
	path string // of the list; {factory} stands for the path of the factory that --factory names
	key  string // of the list in its response
	some string // query of the list for completion

	head    []string // of a table
	row     func(T) []string
	facts   func(T) []fact
	prepare func(context.Context, *client, []T) error // changes resources before they are shown
	note    func(T) string                            // for the person, about a resource that is shown
	rename  func(target string) string                // returns the name that the server gives to a resource
	check   func(name string) error                   // names are the uids, and invalid ones are not sent
	// lookup finds the uid in another way than in the whole list.
	lookup  func(ctx context.Context, c *client, target string) (string, error)
	actions map[string]action // by verb
	remover string            // what errors call a deletion; "" means delete and the name
}

// action is a verb without flags.
type action struct {
	method string
	rest   []string // of the path, after the resource
	body   map[string]any
}

// request builds the body of a request.
type request func(context.Context, *client) (map[string]any, error)

// dialList connects to the server, and returns the path of the list.
func (n *noun[T]) dialList(ctx context.Context, std *stdio, in *connection) (*client, string, error) {
	c, err := in.dial(ctx, std)
	if err != nil || !strings.HasPrefix(n.path, "{factory}") {
		return c, n.path, err
	}
	factory, err := findFactory(ctx, c, in.factory)
	return c, strings.Replace(n.path, "{factory}", "factory/"+url.PathEscape(factory), 1), err
}

// dialItem connects to the server, and returns the path of the resource with this uid or name.
func (n *noun[T]) dialItem(
	ctx context.Context, std *stdio, in *connection, target string, rest ...string,
) (*client, string, error) {
	if n.check != nil {
		if err := n.check(target); err != nil {
			return nil, "", err
		}
	}
	c, list, err := n.dialList(ctx, std, in)
	if err != nil {
		return nil, "", err
	}
	if target == lastRun && c.last != "" {
		target = c.last
	}
	uid, err := n.resolve(ctx, c, list, target)
	return c, strings.Join(append([]string{list, url.PathEscape(uid)}, rest...), "/"), err
}

// find returns the uid of the resource with this uid or name, or "" for "".
func (n *noun[T]) find(ctx context.Context, c *client, target string) (string, error) {
	if target == "" {
		return "", nil
	}
	return n.resolve(ctx, c, n.path, target)
}

// resolve is find for the resources of a list.
func (n *noun[T]) resolve(ctx context.Context, c *client, list, target string) (string, error) {
	switch {
	case target == "": // an unset variable of a script, for example
		return "", exitf(exitUsage, "the %s of the %s is empty", n.identifier(), n.name)
	case n.uid || n.check != nil:
		return target, nil
	case n.lookup != nil:
		return n.lookup(ctx, c, target)
	}
	raw, err := c.call(ctx, http.MethodGet, list, nil, nil)
	if err != nil {
		return "", err
	}
	things, err := listOf[listed](c, raw, n.key)
	if err != nil {
		return "", err
	}
	name := target
	if n.rename != nil {
		name = n.rename(target)
	}
	var uids, factories []string
	for _, thing := range things {
		if thing.uid() == target {
			return target, nil
		}
		if cmp.Or(thing.Name, thing.Config.Name, thing.DisplayName) == name {
			uids, factories = append(uids, thing.uid()), append(factories, thing.FactoryUID)
		}
	}
	if len(uids) > 1 { // each factory has a foreman
		names, err := c.factoryNames(ctx, factories)
		if err != nil {
			return "", err
		}
		for i := range uids {
			uids[i] = strings.TrimSuffix(uids[i]+" of "+names[factories[i]], " of ")
		}
	}
	return theOne(n.name, target, uids)
}

// theOne returns an error unless exactly one resource has the name.
func theOne(kind, name string, uids []string) (string, error) {
	switch len(uids) {
	case 1:
		return uids[0], nil
	case 0:
		return "", exitf(exitRefused, "no %s with the UID or name %q exists\nsee: penstock %s list", kind, name, kind)
	}
	return "", exitf(exitUsage, "%d %ss have the name %q; use the UID: "+
		"%s", len(uids), kind, name, strings.Join(uids, ", "))
}

// listOf decodes a list of the API. A missing list is empty.
func listOf[T any](c *client, raw jsontext.Value, key string) (list []T, err error) {
	var body map[string]jsontext.Value
	if err = json.Unmarshal(raw, &body); err == nil && body[key] != nil {
		err = json.Unmarshal(body[key], &list)
	}
	if err != nil {
		return nil, c.unlikeServer(err)
	}
	return list, nil
}

// list shows the resources. query is empty, or begins with ?.
func (n *noun[T]) list(ctx context.Context, std *stdio, in *connection, query string) error {
	c, path, err := n.dialList(ctx, std, in)
	if err != nil {
		return err
	}
	raw, err := c.call(ctx, http.MethodGet, path+query, nil, nil)
	if err != nil {
		return err
	}
	list, err := listOf[T](c, raw, n.key)
	switch {
	case err != nil:
		return err
	case c.data:
		return std.result(ctx, raw)
	}
	return n.table(ctx, c, list)
}

func (n *noun[T]) table(ctx context.Context, c *client, list []T) error {
	if n.prepare != nil {
		if err := n.prepare(ctx, c, list); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, item := range list {
		rows = append(rows, n.row(item))
	}
	return c.std.table(n.head, rows)
}

// page is a list of the API, read as far as a command needs it, with every field that the server sent.
type page struct {
	key   string
	items []jsontext.Value
	info  store.PageInfo
}

// pages reads up to limit resources of a list, or all if it is 0.
func (c *client) pages(ctx context.Context, path, key string, query url.Values, limit int) (page, error) {
	read := page{key: key, items: []jsontext.Value{}}
	for {
		size := penstock.MaxLimit
		if limit > 0 {
			size = min(size, limit-len(read.items))
		}
		query.Set("limit", strconv.Itoa(size))
		var info struct {
			PageInfo store.PageInfo `json:"page_info"`
		}
		raw, err := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &info)
		if err != nil {
			return read, err
		}
		items, err := listOf[jsontext.Value](c, raw, key)
		if err != nil {
			return read, err
		}
		read.items, read.info = append(read.items, items...), info.PageInfo
		if !read.info.HasNext || limit > 0 && len(read.items) >= limit {
			return read, nil
		}
		query.Set("cursor", read.info.NextCursor)
	}
}

// itemsOf decodes the resources of a page.
func itemsOf[T any](p page, kind string) ([]T, error) {
	list := make([]T, len(p.items))
	for i, raw := range p.items {
		if err := json.Unmarshal(raw, &list[i]); err != nil {
			return nil, fmt.Errorf("read a %s: %w", kind, err)
		}
	}
	return list, nil
}

// showPage shows the resources of a page, and how to get more.
func (n *noun[T]) showPage(ctx context.Context, c *client, p page) error {
	if c.data {
		if err := c.std.result(ctx, p); err != nil {
			return err
		}
	} else {
		list, err := itemsOf[T](p, n.name)
		if err != nil {
			return err
		}
		if err := n.table(ctx, c, list); err != nil {
			return err
		}
	}
	if p.info.HasNext && !c.std.format.whole() {
		c.std.notef("more %s exist: continue with --cursor %s, or list all with --limit 0", p.key, p.info.NextCursor)
	}
	return nil
}

// MarshalJSONTo writes the page as the API does.
func (p page) MarshalJSONTo(out *jsontext.Encoder) error {
	return errors.Join(
		out.WriteToken(jsontext.BeginObject),
		out.WriteToken(jsontext.String(p.key)), json.MarshalEncode(out, p.items),
		out.WriteToken(jsontext.String("page_info")), json.MarshalEncode(out, p.info),
		out.WriteToken(jsontext.EndObject),
	)
}

// create creates a resource and shows it.
func (n *noun[T]) create(ctx context.Context, std *stdio, in *connection, body request) error {
	c, path, err := n.dialList(ctx, std, in)
	if err != nil {
		return err
	}
	return n.send(ctx, c, http.MethodPost, path, body)
}

// change makes a call about the resource with this uid or name, and shows the resource in the response.
func (n *noun[T]) change(
	ctx context.Context, std *stdio, in *connection, method, target string, body request, rest ...string,
) error {
	c, path, err := n.dialItem(ctx, std, in, target, rest...)
	if err != nil {
		return err
	}
	return n.send(ctx, c, method, path, body)
}

// send makes a call, and shows the resource in the response. A nil body sends nothing.
func (n *noun[T]) send(ctx context.Context, c *client, method, path string, body request) error {
	var sent any
	if body != nil {
		fields, err := body(ctx, c)
		if err != nil {
			return err
		}
		sent = fields
	}
	return perform(ctx, c, method, path, sent, func(item T) error {
		if n.prepare != nil {
			list := []T{item}
			if err := n.prepare(ctx, c, list); err != nil {
				return err
			}
			item = list[0]
		}
		if n.note != nil {
			if text := n.note(item); text != "" {
				c.std.notef("%s", text)
			}
		}
		return c.std.facts(n.facts(item))
	})
}

func (n *noun[T]) act(ctx context.Context, std *stdio, in *connection, verb, target string) error {
	a, ok := n.actions[verb]
	if !ok {
		return fmt.Errorf("a %s has no action %q", n.name, verb)
	}
	var body request
	if a.body != nil {
		body = fixed(a.body)
	}
	return n.change(ctx, std, in, a.method, target, body, a.rest...)
}

// fixed is the request with these fields.
func fixed(fields map[string]any) request {
	return func(context.Context, *client) (map[string]any, error) { return fields, nil }
}

func (n *noun[T]) remove(ctx context.Context, std *stdio, in *connection, targets ...string) error {
	for _, target := range targets {
		if n.check == nil {
			break
		}
		if err := n.check(target); err != nil {
			return err
		}
	}
	c, list, err := n.dialList(ctx, std, in)
	if err != nil {
		return err
	}
	uids := make([]string, len(targets))
	for i, target := range targets {
		if uids[i], err = n.resolve(ctx, c, list, target); err != nil {
			return err
		}
	}
	for i, target := range targets {
		raw, err := c.call(ctx, http.MethodDelete, list+"/"+url.PathEscape(uids[i]), nil, nil)
		if err != nil {
			return fmt.Errorf("%s %s: %w", cmp.Or(n.remover, "delete "+n.name), target, err)
		}
		if std.format.kind == outputName {
			raw, err = json.Marshal(uids[i])
		}
		if err == nil && c.data && len(raw) > 0 {
			err = std.result(ctx, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// anyNoun is a noun of any type, for the verbs that all nouns have.
type anyNoun interface {
	list(ctx context.Context, std *stdio, in *connection, query string) error
	change(
		ctx context.Context, std *stdio, in *connection, method, target string, body request, rest ...string,
	) error
	act(ctx context.Context, std *stdio, in *connection, verb, target string) error
	remove(ctx context.Context, std *stdio, in *connection, targets ...string) error
	completion() listing
	vars() kong.Vars
}

func (n *noun[T]) completion() listing { return listing{n.path + n.some, n.key, n.uid} }

// vars are the words for help texts.
func (n *noun[T]) vars() kong.Vars {
	id := n.identifier()
	last := ""
	if n.name == "run" {
		last = "; " + lastRun + " is the one created last that your key may see"
	}
	return kong.Vars{"noun": n.name, "id": id, "ids": strings.ReplaceAll(id, " or ", "s or ") + "s", "last": last}
}

// identifier is what an argument accepts.
func (n *noun[T]) identifier() string { return cmp.Or(n.id, "UID or name") }

// nouns are the resources that have the verbs below, by their names on the command line.
var nouns = map[string]anyNoun{
	"agent": agentNoun, "automation": automationNoun, "budget": budgetNoun, "endpoint": endpointNoun, "forge": forgeNoun,
	"environment": environmentNoun, "factory": factoryNoun, "grant": grantNoun, "key": keyNoun, "run": runNoun,
	"schedule": scheduleNoun, "secret": secretNoun, "service-account": serviceAccountNoun, "subject": subjectNoun,
	"user": userNoun, "webhook": webhookNoun,
}

// nameNouns sets the words of help texts, and names the arguments that stand for a resource.
func nameNouns(k *kong.Kong) error {
	for _, command := range k.Model.Children {
		n, ok := nouns[command.Name]
		if !ok {
			continue
		}
		command.Tag.Vars = command.Tag.Vars.CloneWith(n.vars())
		for _, verb := range command.Children {
			for _, argument := range verb.Positional {
				if argument.Name == "noun" {
					argument.Name = command.Name
				}
			}
		}
	}
	return nil
}

// AfterApply passes the connection and the noun of a command to the method Run of its verb.
func (c *connection) AfterApply(std *stdio, parsed *kong.Context) error {
	if err := c.resultFlags.AfterApply(std, parsed); err != nil {
		return err
	}
	c.last = lastRunsOf(parsed.Selected())
	parsed.Bind(c)
	if n, ok := nouns[parsed.Selected().Parent.Name]; ok {
		parsed.BindTo(n, (*anyNoun)(nil))
	}
	return nil
}

// resourceArg is the argument of a verb about one resource.
type resourceArg struct {
	Target string `arg:"" name:"noun" help:"${id} of the ${noun}${last}."`
}

type listCmd struct{}

func (cmd *listCmd) Run(ctx context.Context, std *stdio, in *connection, n anyNoun) error {
	return n.list(ctx, std, in, "")
}

type getCmd struct{ resourceArg }

func (cmd *getCmd) Run(ctx context.Context, std *stdio, in *connection, n anyNoun) error {
	return n.change(ctx, std, in, http.MethodGet, cmd.Target, nil)
}

// actionCmd is a verb of [noun.actions].
type actionCmd struct{ resourceArg }

func (cmd *actionCmd) Run(ctx context.Context, std *stdio, in *connection, n anyNoun, k *kong.Context) error {
	return n.act(ctx, std, in, k.Selected().Name, cmd.Target)
}

type deleteCmd struct{ resourceArg }

func (cmd *deleteCmd) Run(ctx context.Context, std *stdio, in *connection, n anyNoun) error {
	return n.remove(ctx, std, in, cmd.Target)
}

type deleteAllCmd struct {
	Target []string `arg:"" name:"noun" help:"${ids} of the ${noun}s."`
}

func (cmd *deleteAllCmd) Run(ctx context.Context, std *stdio, in *connection, n anyNoun) error {
	return n.remove(ctx, std, in, cmd.Target...)
}

// newName is the name of a new resource.
type newName struct {
	NewName *string `arg:"" optional:"" name:"name" field:"/name" help:"Name of the ${noun}; can be set by --name or --file instead."`
}

// or returns the name from the argument or from --name, or nil.
func (n newName) or(flag *string) (*string, error) {
	switch {
	case n.NewName == nil:
		return flag, nil
	case flag != nil && *flag != *n.NewName:
		return nil, exitf(exitUsage, "the name is set twice, as %q and as --name %q: remove one", *n.NewName, *flag)
	}
	return n.NewName, nil
}

// factoryNames returns the names of factories, by uid. If the key may not read factories, the uid is
// the name.
func (c *client) factoryNames(ctx context.Context, uids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, uid := range uids {
		if uid != "" {
			names[uid] = uid
		}
	}
	if len(names) == 0 {
		return names, nil
	}
	all, err := c.factories(ctx, "")
	if isStatus(err, http.StatusForbidden) {
		return names, nil
	}
	for _, f := range all {
		names[f.UID] = f.Name
	}
	return names, err
}
