package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type runCheckpointsCmd struct {
	ID string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
}

func (cmd *runCheckpointsCmd) Help() string {
	return "The last 20 turns of a run are kept, and every tenth one before. Turns are numbered by their message. " +
		"Turn 0 is what the run was forked from."
}

func (cmd *runCheckpointsCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	type answer struct {
		Checkpoints []penstock.Checkpoint `json:"checkpoints"`
	}
	return perform(ctx, c, http.MethodGet, runPath(cmd.ID, "checkpoints"), nil, func(a answer) error {
		var rows [][]string
		for _, k := range a.Checkpoints {
			note := ""
			if k.Superseded {
				note = "superseded"
			}
			rows = append(rows, []string{
				strconv.FormatInt(k.Turn, 10), age(k.CreatedAt), k.Harness, number(k.Files), bytesText(k.Bytes), k.MessageID, note,
			})
		}
		return std.table([]string{"TURN", "AGE", "HARNESS", "FILES", "SIZE", "MESSAGE", "NOTE"}, rows)
	})
}

type runForkCmd struct {
	ID          string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	Prompt      string `arg:"" field:"/prompt" help:"What the new runs should do; - reads it from standard input."`
	Turn        *int64 `placeholder:"N" field:"/turn" help:"Turn to begin from, see run checkpoints; by default the last one that ended."`
	Count       int    `placeholder:"N" field:"/count" help:"How many runs to begin, 1 to 10."`
	Title       string `field:"/title" help:"Title of the new runs; by default that of the run."`
	Model       string `placeholder:"ID" field:"/config/model_id" help:"Model instead of that of the run."`
	Harness     string `placeholder:"TYPE" field:"/config/harness/type" help:"Agent program instead of that of the run. Another one gets the conversation as text."`
	Environment string `placeholder:"UID" field:"/config/environment_id" help:"Environment instead of that of the run."`
	requestBody
}

func (cmd *runForkCmd) Help() string {
	return "Prints the IDs of the new runs, and the ID of their group for run compare. The run itself does not change."
}

func (cmd *runForkCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Prompt, err = std.text(cmd.Prompt); err != nil {
		return err
	}
	request, err := cmd.with(std, fieldsOf(cmd))
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, runPath(cmd.ID, "fork"), request, func(f run.Forked) error {
		std.printGroup(f.ForkGroup, f.Runs)
		return nil
	})
}

type runRewindCmd struct {
	ID     string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	Turn   int64  `arg:"" field:"/turn" help:"Turn to go back to, see run checkpoints."`
	Prompt string `arg:"" optional:"" field:"/prompt" help:"Next message to the agent; - reads it from standard input. Without it, the run waits for a follow-up."`
}

func (cmd *runRewindCmd) Help() string {
	return "Ends the current turn. The next turn has the files and the conversation of the given one. What the run " +
		"has done elsewhere, such as a push, is not undone; the hosts that it reached since are printed."
}

func (cmd *runRewindCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Prompt, err = std.text(cmd.Prompt); err != nil {
		return err
	}
	request := fieldsOf(cmd)
	request["turn"] = cmd.Turn // also 0
	return perform(ctx, c, http.MethodPost, runPath(cmd.ID, "rewind"), request, func(r run.Rewound) error {
		if len(r.Reached) == 0 {
			return nil
		}
		hosts := make([]string, len(r.Reached))
		for i, h := range r.Reached {
			hosts[i] = fmt.Sprintf("%s:%d", h.Host, h.Port)
		}
		std.notef("not undone: what the run did at %s", strings.Join(hosts, ", "))
		return nil
	})
}

type runCompareCmd struct {
	Group string `arg:"" help:"ID of the fork group."`
}

func (cmd *runCompareCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	path := "agent/fork-groups/" + url.PathEscape(cmd.Group)
	return perform(ctx, c, http.MethodGet, path, nil, func(g run.ForkGroup) error {
		var rows [][]string
		for _, r := range g.Runs {
			cost := ""
			if r.Usage != nil && r.Usage.InferenceCostUSD != nil {
				cost = dollars(*r.Usage.InferenceCostUSD)
			}
			rows = append(rows, []string{
				r.ID, string(r.State), r.Harness, r.ModelID, number(int64(r.Changes.Files)),
				fmt.Sprintf("+%d -%d", r.Changes.Additions, r.Changes.Deletions), cost, duration(r.RunTime),
			})
		}
		return std.table([]string{"RUN", "STATE", "HARNESS", "MODEL", "FILES", "LINES", "COST", "TIME"}, rows)
	})
}
