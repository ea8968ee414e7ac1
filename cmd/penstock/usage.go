package main

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type usageCmd struct {
	connection

	From     string `placeholder:"TIME|AGE" default:"720h" field:"?from" help:"Start of the report: a time in RFC 3339, or an age such as 24h."`
	To       string `placeholder:"TIME|AGE" field:"?to" help:"End of the report (exclusive): a time in RFC 3339, or an age such as 24h. By default now."`
	By       string `enum:"day,model,provider,automation,agent,factory,key" default:"model" field:"?group_by" help:"Group the usage by day, model, provider, automation, agent, factory or key."`
	TimeZone string `placeholder:"NAME" field:"?time_zone" help:"Time zone of the days, such as Europe/Berlin; UTC by default."`
	CSV      bool   `name:"csv" help:"Print CSV, with the columns of the API."`
}

func (cmd *usageCmd) Help() string {
	return "Adds up the model calls of all runs of the team, over at most 400 days. A cost that begins with ≥ is " +
		"incomplete: some calls used a model without a price. Run penstock prices to see the known prices."
}

func (cmd *usageCmd) Run(ctx context.Context, std *stdio) error {
	var err error
	if cmd.From, err = parseTime("--from", cmd.From); err != nil {
		return err
	}
	if cmd.To, err = parseTime("--to", cmd.To); err != nil {
		return err
	}
	query := queryOf(cmd)
	c, err := cmd.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.CSV {
		query.Set("format", "csv")
		response, err := c.send(ctx, http.MethodGet, "usage?"+query.Encode(), http.Header{}, nil)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, err = io.Copy(std.out, response.Body)
		return err
	}
	return perform(ctx, c, http.MethodGet, "usage?"+query.Encode(), nil, func(r run.UsageReport) error {
		var rows [][]string
		for _, row := range r.Rows {
			name := withFactory(cmp.Or(row.Name, row.Key, "(none)"), row.FactoryName)
			rows = append(rows, usageColumns(name, row.UsageSum))
		}
		if r.OmittedRows > 0 {
			rows = append(rows, []string{"(" + strconv.Itoa(r.OmittedRows) + " more)"})
		}
		rows = append(rows, usageColumns("total", r.Total))
		return std.table([]string{"GROUP", "CALLS", "INPUT", "CACHED", "OUTPUT", "COST", "RESERVED"}, rows)
	})
}

// withFactory adds the factory, if there is one: names of agents and automations are unique only within it.
func withFactory(name, factory string) string {
	if factory == "" {
		return name
	}
	return name + " (" + factory + ")"
}

func usageColumns(name string, u penstock.UsageSum) []string {
	reserved := ""
	if u.UnsettledCalls > 0 {
		reserved = dollars(u.ReservedUSD)
	}
	return []string{
		name, number(u.Calls), number(u.Input + u.CacheWrite), number(u.CacheRead), number(u.Output), costText(u), reserved,
	}
}

// costText marks a cost that leaves out calls.
func costText(u penstock.UsageSum) string {
	if u.CostUSD == nil {
		return "≥ " + dollars(u.PricedCostUSD)
	}
	return dollars(*u.CostUSD)
}
