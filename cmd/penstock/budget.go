package main

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

type budgetCmds struct {
	connection

	List   listCmd         `cmd:"" help:"List budgets with what is spent in their current periods."`
	Create budgetCreateCmd `cmd:"" help:"Create a budget, by default for all runs of the team."`
	Get    getCmd          `cmd:"" help:"Show a budget."`
	Set    budgetSetCmd    `cmd:"" help:"Change a budget. If it now has room, the runs that it blocked continue."`
	Delete deleteAllCmd    `cmd:"" help:"Delete budgets. The runs that they blocked then continue."`
}

var budgetNoun = &noun[penstock.SharedBudget]{
	name: "budget", id: "UID", uid: true, path: "budgets", key: "budgets", remover: "delete budget",
	head: []string{"BUDGET", "SCOPE", "PERIOD", "SPENT", "RESERVED", "CAP", "ACTION"},
	row: func(b penstock.SharedBudget) []string {
		return []string{
			b.UID, budgetScope(b), string(b.Period), dollars(b.SpentUSD), dollars(b.ReservedUSD), dollars(b.MaxCostUSD),
			string(b.Action),
		}
	},
	facts: budgetFacts,
}

// budgetFields are the flags that describe a budget.
type budgetFields struct {
	Period   string    `enum:",day,week,month,total" default:"" placeholder:"PERIOD" field:"/period" help:"When spending starts again at zero: every day, week or month, or total for never."`
	TimeZone string    `placeholder:"NAME" field:"/time_zone" help:"Time zone of the period, such as Europe/Berlin; UTC by default."`
	Action   string    `enum:",pause,refuse" default:"" placeholder:"ACTION" field:"/action" help:"What happens to a run whose next call does not fit: pause (the default) blocks it until the budget has room, refuse ends it as FAILED."`
	NotifyAt []float64 `placeholder:"SHARE" field:"/notify_at" help:"Share of the cap, such as 0.8, at which an event is added to the run that reaches it; repeatable. By default 0.8."`
}

func budgetScope(b penstock.SharedBudget) string {
	return strings.TrimSpace(string(b.Scope) + " " + withFactory(cmp.Or(b.ScopeName, b.ScopeUID), b.FactoryName))
}

// dollars writes an amount with as many digits as it needs, and at least two decimals.
func dollars(usd float64) string {
	text := strconv.FormatFloat(usd, 'f', -1, 64)
	if _, cents, _ := strings.Cut(text, "."); len(cents) < 2 {
		text = strconv.FormatFloat(usd, 'f', 2, 64)
	}
	return "$" + text
}

func budgetFacts(b penstock.SharedBudget) []fact {
	var shares []string
	for _, share := range b.NotifyAt {
		shares = append(shares, strconv.FormatFloat(share*100, 'f', -1, 64)+" %")
	}
	period := string(b.Period)
	if b.PeriodEnd != 0 {
		period += " (" + b.TimeZone + ")"
	}
	return []fact{
		{"budget", b.UID},
		{"scope", budgetScope(b)},
		{"period", period},
		{"started", timestamp(b.PeriodStart)},
		{"ends", timestamp(b.PeriodEnd)},
		{"cap", dollars(b.MaxCostUSD)},
		{"spent", dollars(b.SpentUSD)},
		{"reserved", dollars(b.ReservedUSD)},
		{"action", string(b.Action)},
		{"reported at", strings.Join(shares, ", ")},
		{"created", timestamp(b.CreatedAt)},
		{"changed", timestamp(b.UpdatedAt)},
	}
}

type budgetCreateCmd struct {
	MaxCost    float64 `required:"" placeholder:"USD" about:"/max_cost_usd" help:"Maximum amount that the runs can spend in a period, in US dollars; 0 lets them spend nothing."`
	Factory    string  `xor:"scope" placeholder:"UID|NAME" about:"/scope_uid" help:"Factory whose runs share the budget."`
	Agent      string  `xor:"scope" placeholder:"UID|NAME" about:"/scope_uid" help:"Agent whose runs share the budget."`
	Automation string  `xor:"scope" placeholder:"UID" about:"/scope_uid" help:"Automation whose runs share the budget."`
	Key        string  `xor:"scope" placeholder:"UID" about:"/scope_uid" help:"API key whose runs share the budget."`
	budgetFields
}

func (cmd *budgetCreateCmd) Help() string {
	return "Counts what the runs have already spent in the current period. --period is month by default."
}

func (cmd *budgetCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return budgetNoun.create(ctx, std, in, func(ctx context.Context, c *client) (_ map[string]any, err error) {
		cmd.Period = cmp.Or(cmd.Period, string(penstock.BudgetMonth))
		body := fieldsOf(cmd)
		body["max_cost_usd"] = cmd.MaxCost
		scope, uid := store.BudgetOfTeam, ""
		switch {
		case cmd.Factory != "":
			scope = store.BudgetOfFactory
			uid, err = findFactory(ctx, c, cmd.Factory)
		case cmd.Agent != "":
			scope = store.BudgetOfAgent
			uid, err = agentNoun.find(ctx, c, cmd.Agent)
		case cmd.Automation != "":
			scope, uid = store.BudgetOfAutomation, cmd.Automation
		case cmd.Key != "":
			scope, uid = store.BudgetOfKey, cmd.Key
		}
		if body["scope"] = scope; uid != "" {
			body["scope_uid"] = uid
		}
		return body, err
	})
}

type budgetSetCmd struct {
	resourceArg
	MaxCost *float64 `placeholder:"USD" field:"/max_cost_usd" help:"Maximum amount that the runs can spend in a period, in US dollars; 0 lets them spend nothing."`
	budgetFields
}

func (cmd *budgetSetCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	change := fieldsOf(cmd)
	if len(change) == 0 {
		return exitf(exitUsage, "nothing to change: set --max-cost, --period, --time-zone, --action or --notify-at")
	}
	return budgetNoun.change(ctx, std, in, http.MethodPatch, cmd.Target, fixed(change))
}
