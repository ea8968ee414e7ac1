package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type runBudgetCmd struct {
	ID          string   `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	MaxCost     *float64 `xor:"cost" placeholder:"USD" field:"/config/budget/max_cost_usd" help:"Maximum cost of the run and its child runs, in US dollars."`
	NoMaxCost   bool     `xor:"cost" help:"Remove the cap on the cost."`
	MaxTokens   *int64   `xor:"tokens" placeholder:"TOKENS" field:"/config/budget/max_total_tokens" help:"Maximum number of tokens, of all kinds, of the run and its child runs."`
	NoMaxTokens bool     `xor:"tokens" help:"Remove the cap on tokens."`
}

func (cmd *runBudgetCmd) Help() string {
	return "Changes the given caps and leaves the other as it is. A run that its budget blocks continues if it now has " +
		"room. Without flags, shows the budget."
}

func (cmd *runBudgetCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	budget := map[string]any{}
	if cmd.MaxCost != nil {
		budget["max_cost_usd"] = *cmd.MaxCost
	}
	if cmd.MaxTokens != nil {
		budget["max_total_tokens"] = *cmd.MaxTokens
	}
	if cmd.NoMaxCost {
		budget["max_cost_usd"] = nil
	}
	if cmd.NoMaxTokens {
		budget["max_total_tokens"] = nil
	}
	if len(budget) > 0 {
		change := map[string]any{"config": map[string]any{"budget": budget}}
		if _, err := c.call(ctx, http.MethodPatch, runPath(cmd.ID), change, nil); err != nil {
			return err
		}
	}
	return perform(ctx, c, http.MethodGet, runPath(cmd.ID, "usage"), nil, func(u run.RunUsage) error {
		var list []fact
		if b := u.Budget; b != nil {
			if b.MaxCostUSD != nil {
				list = append(list, fact{"cost", spentOf(dollars(b.SpentUSD), dollars(b.ReservedUSD), dollars(*b.MaxCostUSD))})
			}
			if b.MaxTotalTokens != nil {
				whole := func(n int64) string { return strconv.FormatInt(n, 10) }
				list = append(list, fact{
					"tokens", spentOf(whole(b.SpentTokens), whole(b.ReservedTokens), whole(*b.MaxTotalTokens)),
				})
			}
		} else {
			list = append(list, fact{"budget", "none"}, fact{"spent", costText(u.Total)})
		}
		return std.facts(list)
	})
}

func spentOf(spent, reserved, limit string) string {
	return fmt.Sprintf("%s spent and %s reserved of %s", spent, reserved, limit)
}

// blockedText says in one sentence why a budget blocks a run, and how to continue; "" if none does.
func blockedText(run penstock.Run) string {
	if run.State != penstock.StateBlocked || run.StatusMessage == nil || run.StatusMessage.Budget == nil {
		return ""
	}
	b := run.StatusMessage.Budget
	subject, command, flag := "", "penstock budget set "+b.BudgetUID, "--max-cost"
	above := b.BudgetUID != run.ID && b.BudgetName == "" && penstock.ValidID(b.BudgetUID)
	if above || b.BudgetName != "" {
		subject = b.Subject(false) + ": "
	}
	if above || b.BudgetUID == run.ID {
		command = "penstock run budget " + b.BudgetUID
	}
	spent, limit, needed := dollars(b.SpentUSD), dollars(b.CapUSD), dollars(b.NeededUSD)
	cost := math.Ceil((b.SpentUSD+b.NeededUSD)*100) / 100
	if cost <= b.CapUSD { // a cap that the next call does not exceed is spent, such as 0
		cost = b.CapUSD + 1
	}
	enough := strconv.FormatFloat(cost, 'f', -1, 64)
	verb := "is"
	if b.CapTokens > 0 {
		flag, verb = "--max-tokens", "are"
		spent, limit, needed = number(b.SpentTokens)+" tokens", number(b.CapTokens), number(b.NeededTokens)
		enough = strconv.FormatInt(b.SpentTokens+b.NeededTokens, 10)
	}
	return fmt.Sprintf("%s%s of %s %s spent or reserved, and the next call may need %s. To continue the run, raise the "+
		"budget, for example: %s %s %s", subject, spent, limit, verb, needed, command, flag, enough)
}
