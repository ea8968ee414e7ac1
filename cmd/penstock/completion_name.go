package main

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// nameTime is how long a person who has pressed the tab key is kept waiting.
const nameTime = 2 * time.Second

// listing is where the API lists things of a kind.
type listing struct {
	path, key string // of the list; {factory} stands for the path of the factory
	uid       bool   // a command takes the uid only, not the name
}

// listings are by what an argument or a flag is called.
var listings = map[string]listing{
	"factory":     {path: "factory?limit=500", key: "factories"},
	"webhook":     {path: "{factory}/webhooks", key: "webhooks"},
	"automation":  {path: "{factory}/automations", key: "automations"},
	"agent":       {path: "agent/identities", key: "agents"},
	"environment": {path: "agent/environments", key: "environments"},
	"schedule":    {path: "agent/schedules", key: "schedules"},
	"secret":      {path: "secrets", key: "secrets"},
	"model":       {path: "agent/models", key: "models", uid: true},
	"key":         {path: "keys", key: "keys", uid: true},
	"run":         {path: "agent/runs?limit=50", key: "runs", uid: true},
}

// listed is what completion needs to know of a thing.
type listed struct {
	UID         string `json:"uid"`
	ID          string `json:"id"`
	RunID       string `json:"run_id"`
	Name        string `json:"name"`
	Alias       string `json:"alias"`
	Title       string `json:"title"`
	DisplayName string `json:"display_name"`
	Description string `json:"description"`
	Config      struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"config"`
}

func (l listed) uid() string  { return cmp.Or(l.UID, l.ID, l.RunID) }
func (l listed) name() string { return cmp.Or(l.Name, l.Config.Name, l.DisplayName, l.Title) }

// plainWord is a word that no shell takes for anything else. Names are made by
// others, and a shell is not to do what they say.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/@:+-]*$`)

// names lists what the server has of the kind that a value is called by. It says
// nothing, and soon, where there is no key, no server or no right to see them.
func (t typed) names(ctx context.Context, v *kong.Value, prefix string) []candidate {
	of, known := listings[v.Name]
	if !known {
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
	count := map[string]int{}
	for _, one := range things {
		count[one.name()]++
	}
	var list []candidate
	for _, one := range things {
		words := []string{one.Alias, one.name(), one.uid()}
		if byUID || count[one.name()] > 1 {
			words = words[2:]
		}
		for _, word := range words {
			if plainWord.MatchString(word) {
				list = append(list, candidate{prefix + word, cleanLine(one.help(word))})
				break
			}
		}
	}
	return list
}

// help is what is said beside a word, whichever is not the word itself.
func (l listed) help(word string) string {
	for _, text := range []string{l.name(), l.Description, l.Config.Description} {
		if text != word && text != "" {
			return text
		}
	}
	return ""
}

// client is that of the server that the words and the environment name, nil
// where somebody would have to be asked for the key.
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
	c, err := in.dial(ctx, &stdio{}) // with nobody to talk to
	if err != nil {
		return nil
	}
	return c
}

// value is what a flag is set to: by the words, the environment, or the default.
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

// factory is the uid of the factory that the words name, or of the only one.
func (t typed) factory(ctx context.Context, c *client) string {
	called, factories := t.value("factory"), c.things(ctx, listings["factory"].path, "factories")
	for _, f := range factories {
		if called == "" && len(factories) == 1 || called != "" && (f.UID == called || strings.EqualFold(f.Name, called) ||
			strings.EqualFold(f.Alias, called)) {
			return f.UID
		}
	}
	return called
}

// things reads a list, asking once; nothing where that fails.
func (c *client) things(ctx context.Context, path, key string) []listed {
	response, err := c.send(ctx, http.MethodGet, path, http.Header{"Accept": {"application/json"}}, nil)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	var answer map[string]jsontext.Value
	var list []listed
	if json.UnmarshalRead(response.Body, &answer) != nil || json.Unmarshal(answer[key], &list) != nil {
		return nil
	}
	return list
}
