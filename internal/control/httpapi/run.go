package httpapi

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// runs holds the handlers of runs.
type runs struct {
	rules *run.Runs
}

func (h runs) create(c *call) error {
	var req penstock.RunRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	if err := c.checkRunSize(req.Attachments); err != nil {
		return err
	}
	source, err := c.source()
	if err != nil {
		return err
	}
	created, err := h.rules.Create(c.ctx(), c.principal, req, source)
	if err != nil {
		return err
	}
	c.warn(created.Warnings)
	return c.respond(http.StatusOK, created)
}

// warn adds warnings to a response, each in its own header line.
func (c *call) warn(warnings []string) {
	for _, w := range warnings {
		c.w.Header().Add("X-Penstock-Warnings", w)
	}
}

// createAlias is create under its old path (RFC 9745, RFC 8288).
func (h runs) createAlias(c *call) error {
	c.w.Header().Set("Deprecation", "@1767225600") // 2026-01-01
	c.w.Header().Set("Link", "<"+Base+`/agent/runs>; rel="successor-version"`)
	return h.create(c)
}

// checkRunSize checks the size of the body without its attachments, and of the decoded attachments.
func (c *call) checkRunSize(attachments []penstock.Attachment) error {
	rest, files := len(c.body), 0
	for _, file := range attachments {
		rest -= base64.StdEncoding.EncodedLen(len(file.Data))
		files += len(file.Data)
	}
	if files > run.MaxAttachmentBytes {
		return penstock.Errorf(
			penstock.CodePayloadTooLarge, "the attachments have %d bytes in total; the limit is %d", files,
			run.MaxAttachmentBytes,
		)
	}
	if rest > maxJSON {
		return tooLarge(maxJSON)
	}
	return nil
}

// source returns the kind of client that the caller names; the default is API. Only the server sets
// other sources.
func (c *call) source() (penstock.Source, error) {
	said := penstock.Source(strings.Join(c.r.Header.Values("X-Penstock-Source"), ", "))
	if said == "" {
		return run.SourceAPI, nil
	}
	callers := []penstock.Source{run.SourceCLI, run.SourceWebApp, run.SourceGitHubAction}
	if !slices.Contains(callers, said) {
		return "", penstock.Errorf(
			penstock.CodeInvalidRequest, "the header X-Penstock-Source must be one of %s; omit it for API", list(callers),
		)
	}
	return said, nil
}

func (h runs) list(c *call) error {
	query, none, err := c.query().runs()
	if err != nil {
		return err
	}
	if none {
		return c.respond(http.StatusOK, run.Page{})
	}
	return c.ok(h.rules.List(c.ctx(), c.principal, query))
}

func (h runs) read(c *call) error {
	return c.ok(h.rules.Read(c.ctx(), c.principal, c.param("runId")))
}

func (h runs) cancel(c *call) error {
	q := c.query()
	cascade := q.boolean("cascade")
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.Cancel(c.ctx(), c.principal, c.param("runId"), cascade))
}

func (h runs) timeline(c *call) error {
	events, err := h.rules.Timeline(c.ctx(), c.principal, c.param("runId"))
	return c.ok(map[string][]penstock.TimelineEvent{"events": events}, err)
}

func (h runs) network(c *call) error {
	return c.ok(h.rules.Network(c.ctx(), c.principal, c.param("runId")))
}

func (h runs) findByReference(c *call) error {
	q := c.query()
	url := q.text("url")
	if url == "" {
		q.badf("url", "is required: the URL of a pull request, an issue or a ticket")
	}
	if q.err != nil {
		return q.err
	}
	id, err := h.rules.RunByReference(c.ctx(), c.principal, url)
	return c.ok(map[string]string{"run_id": id}, err)
}

func (h runs) update(c *call) error {
	var req run.Update
	if err := c.decode(&req); err != nil {
		return err
	}
	for _, pointer := range run.UpdateNulls() {
		if c.isNull(pointer) {
			req.Cleared = append(req.Cleared, pointer)
		}
	}
	return c.ok(h.rules.Update(c.ctx(), c.principal, c.param("runId"), req))
}

func (h runs) stats(c *call) error {
	q := c.query()
	hours := q.count("hours", penstock.MaxStatsHours, run.StatsHours)
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.Stats(c.ctx(), c.principal, hours))
}
