package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

type prebuildListCmd struct{ resourceArg }

func (cmd *prebuildListCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := environmentNoun.dialItem(ctx, std, in, cmd.Target, "prebuilds")
	if err != nil {
		return err
	}
	raw, err := c.call(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	list, err := listOf[penstock.PreparedWorkspace](c, raw, prebuilds.key)
	switch {
	case err != nil:
		return err
	case c.data:
		return std.result(ctx, raw)
	}
	return prebuilds.table(ctx, c, list)
}

// prebuilds shows the prepared workspaces of one environment.
var prebuilds = &noun[penstock.PreparedWorkspace]{
	name: "prebuild", path: "agent/environments", key: "prebuilds",
	head: []string{"PREBUILD", "STATE", "BUILT", "SIZE", "TOOK", "USES", "WORKER", "COMMITS", "REASON"},
	row: func(p penstock.PreparedWorkspace) []string {
		size, took := "", ""
		if p.State != penstock.PreparedFailed {
			size = bytesText(p.Bytes)
		}
		if p.DurationMS > 0 {
			took = (time.Duration(p.DurationMS) * time.Millisecond).Round(100 * time.Millisecond).String()
		}
		return []string{
			p.UID, string(p.State), age(p.BuiltAt), size, took, strconv.FormatInt(p.Uses, 10), p.WorkerHost,
			shortHeads(p.Heads), p.Reason,
		}
	},
}

// shortHeads names the repositories with the beginnings of their commits.
func shortHeads(heads []penstock.PreparedHead) string {
	var list []string
	for _, h := range heads {
		name := strings.TrimSuffix(h.URL[strings.LastIndexAny(h.URL, "/:")+1:], ".git")
		list = append(list, strings.TrimPrefix(name+"@"+h.Commit[:min(len(h.Commit), 8)], "@"))
	}
	return strings.Join(list, " ")
}

type prebuildDeleteCmd struct {
	resourceArg
	Prebuild []string `arg:"" help:"UIDs of the prepared workspaces."`
}

func (cmd *prebuildDeleteCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := environmentNoun.dialItem(ctx, std, in, cmd.Target, "prebuilds")
	if err != nil {
		return err
	}
	for _, uid := range cmd.Prebuild {
		if uid == "" {
			return exitf(exitUsage, "the UID of the prepared workspace is empty")
		}
		if _, err := c.call(ctx, http.MethodDelete, path+"/"+url.PathEscape(uid), nil, nil); err != nil {
			return fmt.Errorf("delete prebuild %s: %w", uid, err)
		}
	}
	return nil
}
