package httpapi

import (
	"bytes"
	"encoding/csv"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// usage holds the handlers of what runs use and spend.
type usage struct {
	rules *run.Usage
}

// csvType is the media type of a table.
const csvType = "text/csv; charset=utf-8"

func (h usage) ofTeam(c *call) error {
	q := c.query()
	format := oneOf(q, "format", "json", "csv")
	uq := penstock.UsageQuery{
		From: q.after("from"), To: q.before("to"), GroupBy: oneOf(q, "group_by", usageGroups()...),
		TimeZone: q.text("time_zone"), Hourly: oneOf(q, "interval", "hour") != "",
	}
	if q.err != nil {
		return q.err
	}
	report, err := h.rules.OfTeam(c.ctx(), c.principal, uq)
	if err != nil {
		return err
	}
	c.w.Header().Set("Vary", "Accept")
	if format == "csv" || format == "" && prefersCSV(c.r.Header) {
		c.w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
		c.write(http.StatusOK, csvType, usageCSV(report.Rows))
		return nil
	}
	return c.respond(http.StatusOK, report)
}

// prefersCSV reports whether the first type that the client accepts is CSV.
func prefersCSV(h http.Header) bool {
	first, _, _ := strings.Cut(h.Get("Accept"), ",")
	kind, _, err := mime.ParseMediaType(first)
	return err == nil && kind == "text/csv"
}

// usageCSV writes rows as a table (RFC 4180). A cost that is not known is empty.
func usageCSV(rows []penstock.UsageRow) []byte {
	var out bytes.Buffer
	table := csv.NewWriter(&out)
	table.UseCRLF = true
	_ = table.Write([]string{ // a buffer never fails
		"key", "name", "calls", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens",
		"reasoning_tokens", "cost_usd", "priced_cost_usd", "unpriced_calls", "estimated_calls", "unknown_calls",
		"unsettled_calls", "reserved_usd",
	})
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	usd := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	for _, r := range rows {
		cost := ""
		if r.CostUSD != nil {
			cost = usd(*r.CostUSD)
		}
		_ = table.Write([]string{
			plainCell(r.Key), plainCell(r.Name), whole(r.Calls), whole(r.Input), whole(r.CacheRead), whole(r.CacheWrite),
			whole(r.Output), whole(r.Reasoning), cost, usd(r.PricedCostUSD), whole(r.UnpricedCalls),
			whole(r.EstimatedCalls), whole(r.UnknownCalls), whole(r.UnsettledCalls), usd(r.ReservedUSD),
		})
	}
	table.Flush()
	return out.Bytes()
}

// plainCell keeps a spreadsheet from taking a name for a formula.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func (h usage) ofRun(c *call) error {
	return c.ok(h.rules.OfRun(c.ctx(), c.principal, c.param("runId")))
}

func (h usage) ofHarness(c *call) error {
	return c.ok(h.rules.OfHarness(c.ctx(), c.principal, c.param("runId")))
}

func (h usage) callsOfRun(c *call) error {
	q := c.query()
	limit, cursor := q.limit(0), q.optional("cursor")
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.CallsOfRun(c.ctx(), c.principal, c.param("runId"), cursor, limit))
}
