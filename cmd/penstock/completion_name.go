package main

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// nameTime limits the wait after a person has pressed the tab key.
const nameTime = 2 * time.Second

// listing is a list of the API with resources of one kind.
type listing struct {
	path, key string // of the list; {factory} stands for the path of the factory
	uid       bool   // the command accepts only the uid, not the name
}

// models have no commands of their own, but flags name them.
var models = listing{path: "agent/models", key: "models", uid: true}

// listed holds the fields that identify a resource, for completion and to find it by its name.
type listed struct {
	UID         string `json:"uid"`
	ID          string `json:"id"`
	RunID       string `json:"run_id"`
	Name        string `json:"name"`
	Alias       string `json:"alias"`
	Title       string `json:"title"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
	FactoryUID  string `json:"factory_uid"`
	Config      struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"config"`
}

func (l listed) uid() string  { return cmp.Or(l.UID, l.ID, l.RunID) }
func (l listed) name() string { return cmp.Or(l.Name, l.Config.Name, l.DisplayName, l.Title) }

// plainWord matches words without a special meaning in any shell. Others choose the names, so a
// shell must not interpret them.
var plainWord = penstock.LazyRegexp(`^[A-Za-z0-9_][A-Za-z0-9._/@:+-]*$`)

// names lists the server's resources for a value. It quickly returns nothing without a key, a
// server or the permission.
func (t typed) names(ctx context.Context, v *kong.Value, prefix string) []candidate {
	of := models
	var list []candidate
	if takesRun(v) {
		of = runNoun.completion()
	} else if n, ok := nouns[v.Name]; ok {
		of = n.completion()
	} else if v.Name != "model" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	c := t.client(ctx)
	if c == nil {
		return nil
	}
	path := of.path
	if strings.HasPrefix(path, "{factory}") {
		path = strings.Replace(path, "{factory}", "factory/"+url.PathEscape(t.factory(ctx, c)), 1)
	}
	byUID := of.uid || v.Flag != nil && (v.Flag.PlaceHolder == "UID" || v.Flag.PlaceHolder == "ID")
	things := c.things(ctx, path, of.key)
	if takesRun(v) && len(things) > 0 {
		list = append(list, candidate{prefix + lastRun, "the run that was created last"})
	}
	count := map[string]int{}
	for _, item := range things {
		count[item.name()]++
	}
	for _, item := range things {
		words := []string{item.Alias, item.name(), item.uid()}
		if byUID || count[item.name()] > 1 {
			words = words[2:]
		}
		for _, word := range words {
			if plainWord().MatchString(word) {
				list = append(list, candidate{prefix + word, cleanLine(item.help(word))})
				break
			}
		}
	}
	return list
}

// help returns the description of a word: the name or the uid, whichever is not the word.
func (l listed) help(word string) string {
	for _, text := range []string{l.name(), l.Description, l.Config.Description} {
		if text != word && text != "" {
			return text
		}
	}
	return ""
}

// client returns a client for the server in the words and the environment, or nil if a person would
// have to type the key.
func (t typed) client(ctx context.Context) *client {
	in := connection{Server: t.value("server"), KeyFile: t.value("key-file")}
	if in.Server == "" || in.KeyFile == "" && os.Getenv("PENSTOCK_API_KEY") == "" {
		return nil
	}
	for text := range strings.SplitSeq(t.value("trusted-proxies"), ",") {
		if network, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			in.TrustedProxies = append(in.TrustedProxies, network)
		}
	}
	c, err := in.dial(ctx, &stdio{}) // without a terminal
	if err != nil {
		return nil
	}
	return c
}

// value returns the value of a flag: from the words, the environment, or the default.
func (t typed) value(name string) string {
	if value, said := t.flags[name]; said {
		return value
	}
	flag, _ := flagOf(t.node, "--"+name)
	if flag == nil {
		return ""
	}
	for _, variable := range flag.Envs {
		if value := os.Getenv(variable); value != "" {
			return value
		}
	}
	return flag.Default
}

// factory returns the uid of the factory in the words, or of the only factory.
func (t typed) factory(ctx context.Context, c *client) string {
	target, factories := t.value("factory"), c.things(ctx, factoryNoun.path+factoryNoun.some, factoryNoun.key)
	for _, f := range factories {
		if target == "" && len(factories) == 1 || target != "" && (f.UID == target || strings.EqualFold(f.Name, target) ||
			strings.EqualFold(f.Alias, target)) {
			return f.UID
		}
	}
	return target
}

// things reads a list, without retries. It returns nothing if that fails.
func (c *client) things(ctx context.Context, path, key string) []listed {
	response, err := c.send(ctx, http.MethodGet, path, http.Header{"Accept": {"application/json"}}, nil)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var body map[string]jsontext.Value
	var list []listed
	if json.UnmarshalRead(response.Body, &body) != nil || json.Unmarshal(body[key], &list) != nil {
		return nil
	}
	return list
}
