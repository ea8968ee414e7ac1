package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
)

// The messages between a worker and the server. A call without a result gets an empty object.
// ErrNoWork is 204. ErrLeaseLost is a conflict with the header X-Penstock-Lease: lost,
// and ErrRenewed one with X-Penstock-Lease: renewed.
type (
	heartbeatBody struct {
		Lease penstock.Lease `json:"lease"`
		Wait  time.Duration  `json:"wait"`
	}
	appendBody struct {
		Lease  penstock.Lease   `json:"lease"`
		Drafts []penstock.Draft `json:"drafts"`
	}
	finishBody struct {
		Lease  penstock.Lease  `json:"lease"`
		Result penstock.Result `json:"result"`
	}
	finishAnswer struct {
		Prompts []penstock.Prompt `json:"prompts"`
	}
	reserveBody struct {
		Lease       penstock.Lease       `json:"lease"`
		Reservation penstock.Reservation `json:"reservation"`
	}
	settleBody struct {
		Lease      penstock.Lease      `json:"lease"`
		Settlement penstock.Settlement `json:"settlement"`
	}
	adoptBody struct {
		Lease    penstock.Lease    `json:"lease"`
		Adoption penstock.Adoption `json:"adoption"`
	}
	lossBody struct {
		Lease penstock.Lease `json:"lease"`
		Loss  penstock.Loss  `json:"loss"`
	}
	branchesBody struct {
		Lease penstock.Lease     `json:"lease"`
		Claim penstock.PushClaim `json:"claim"`
	}
	branchesAnswer struct {
		Refusals []string `json:"refusals"`
	}
	layersAnswer struct {
		Retired []string `json:"retired"`
	}
	saveAnswer struct {
		UID string `json:"uid"`
	}
)

const (
	leaseHeader = "X-Penstock-Lease" // of a request: run/execution/token
	leaseLost   = "lost"             // of a response
	leaseHeld   = "renewed"          // of a response
	maxAppend   = 80 << 20           // one line of an agent may have 64 MiB
	longestWait = time.Minute
)

// control holds the handlers of the worker protocol: a penstock.Control over HTTP.
type workerControl struct {
	rules    penstock.Control
	shutdown *shutdown
}

// waitFor extends the time of a call by its wait. The wait ends early when the server stops, so
// that the worker calls another replica.
func (h workerControl) waitFor(c *call, wait time.Duration) (context.Context, time.Duration, func()) {
	wait = min(max(wait, 0), longestWait)
	_ = c.extend(wait + time.Minute)
	ctx, cancel := context.WithCancel(c.ctx())
	release := context.AfterFunc(h.shutdown.stopping, cancel)
	return ctx, wait, func() { release(); cancel() }
}

// controlError converts ErrNoWork and ErrLeaseLost to HTTP.
func controlError(c *call, err error) error {
	switch {
	case errors.Is(err, penstock.ErrNoWork):
		return c.noContent()
	case errors.Is(err, penstock.ErrLeaseLost):
		c.w.Header().Set(leaseHeader, leaseLost)
		return penstock.Errorf(penstock.CodeConflict, "%s", penstock.ErrLeaseLost)
	case errors.Is(err, penstock.ErrRenewed):
		c.w.Header().Set(leaseHeader, leaseHeld)
		return penstock.Errorf(penstock.CodeConflict, "%s", penstock.ErrRenewed)
	}
	return err
}

func (h workerControl) claim(c *call) error {
	var claim penstock.ClaimRequest
	if err := c.decode(&claim); err != nil {
		return err
	}
	ctx, wait, done := h.waitFor(c, claim.Wait)
	defer done()
	claim.Wait, claim.Local = wait, false
	assignment, err := h.rules.Claim(ctx, claim)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, assignment)
}

func (h workerControl) heartbeat(c *call) error {
	var body heartbeatBody
	if err := c.decode(&body); err != nil {
		return err
	}
	ctx, wait, done := h.waitFor(c, body.Wait)
	defer done()
	signal, err := h.rules.Heartbeat(ctx, body.Lease, wait)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, signal)
}

func (h workerControl) appendEvents(c *call) error {
	var body appendBody
	if err := c.decode(&body); err != nil {
		return err
	}
	if err := h.rules.Append(c.ctx(), body.Lease, body.Drafts); err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, struct{}{})
}

func (h workerControl) finish(c *call) error {
	var body finishBody
	if err := c.decode(&body); err != nil {
		return err
	}
	prompts, err := h.rules.Finish(c.ctx(), body.Lease, body.Result)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, finishAnswer{prompts})
}

func (h workerControl) adopt(c *call) error {
	var body adoptBody
	if err := c.decode(&body); err != nil {
		return err
	}
	assignment, err := h.rules.Adopt(c.ctx(), body.Lease, body.Adoption)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, assignment)
}

func (h workerControl) reportLoss(c *call) error {
	var body lossBody
	if err := c.decode(&body); err != nil {
		return err
	}
	if err := h.rules.ReportLoss(c.ctx(), body.Lease, body.Loss); err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, struct{}{})
}

func (h workerControl) reportLayers(c *call) error {
	var report penstock.LayerReport
	if err := c.decode(&report); err != nil {
		return err
	}
	retired, err := h.rules.ReportLayers(c.ctx(), report)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, layersAnswer{retired})
}

func (h workerControl) claimBranches(c *call) error {
	var body branchesBody
	if err := c.decode(&body); err != nil {
		return err
	}
	refusals, err := h.rules.ClaimBranches(c.ctx(), body.Lease, body.Claim)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, branchesAnswer{refusals})
}

func (h workerControl) reserve(c *call) error {
	var body reserveBody
	if err := c.decode(&body); err != nil {
		return err
	}
	reserved, err := h.rules.Reserve(c.ctx(), body.Lease, body.Reservation)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, reserved)
}

func (h workerControl) settle(c *call) error {
	var body settleBody
	if err := c.decode(&body); err != nil {
		return err
	}
	if err := h.rules.Settle(c.ctx(), body.Lease, body.Settlement); err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, struct{}{})
}

func (h workerControl) open(c *call) error {
	lease, err := c.lease()
	if err != nil {
		return err
	}
	q := c.query()
	id := q.text("id")
	if q.err != nil {
		return q.err
	}
	content, err := h.rules.Open(c.ctx(), lease, penstock.File{ID: id})
	if err != nil {
		return controlError(c, err)
	}
	defer content.Close()
	c.w.Header().Set("Content-Type", "application/octet-stream")
	c.w.WriteHeader(http.StatusOK)
	_, err = io.Copy(&slowResponse{ResponseWriter: c.w, rc: http.NewResponseController(c.w)}, content)
	return err
}

// save reads a form with two parts: the description as JSON, then the content.
func (h workerControl) save(c *call) error {
	lease, err := c.lease()
	if err != nil {
		return err
	}
	body := http.MaxBytesReader(c.w, slowBody{c.r.Body, http.NewResponseController(c.w)}, maxSaved)
	c.r.Body = struct {
		io.Reader
		io.Closer
	}{wholeForm(body), body}
	form, err := c.r.MultipartReader()
	if err != nil {
		return penstock.Errorf(penstock.CodeInvalidRequest, "the body must be multipart/form-data")
	}
	up, content, err := readSave(form)
	if penstock.CodeOf(err) != "" {
		return err
	}
	if err != nil {
		return bodyError(err, maxSaved)
	}
	if content == nil {
		return h.saveContent(c, lease, up, nil)
	}
	sent := &sentContent{Reader: content}
	if err = h.saveContent(c, lease, up, sent); sent.err != nil {
		return bodyError(sent.err, maxSaved)
	}
	return err
}

func (h workerControl) saveContent(c *call, lease penstock.Lease, up penstock.Upload, content io.Reader) error {
	uid, err := h.rules.Save(c.ctx(), lease, up, content)
	if err != nil {
		return controlError(c, err)
	}
	return c.respond(http.StatusOK, saveAnswer{uid})
}

// sentContent records that the sender disconnected, which is not an error of the server.
type sentContent struct {
	io.Reader
	err error
}

func (s *sentContent) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// maxSaved limits a saved session. Artifacts have their own limit.
const maxSaved = 4 << 30

func readSave(form *multipart.Reader) (up penstock.Upload, content io.Reader, err error) {
	part, err := form.NextPart()
	if err != nil {
		return up, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(part, maxJSON))
	if err != nil {
		return up, nil, err
	}
	if tooDeep(raw) {
		return up, nil, tooDeepError()
	}
	if err := json.Unmarshal(raw, &up, lenient); err != nil {
		return up, nil, err
	}
	switch part, err = form.NextPart(); {
	case errors.Is(err, io.EOF):
		return up, nil, nil
	case err != nil:
		return up, nil, err
	}
	return up, &lastPart{part, form}, nil
}

// lastPart is the content of a part that ends only if the form ends after it.
type lastPart struct {
	io.Reader
	form *multipart.Reader
}

func (p *lastPart) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		_, err = p.form.NextPart() // nil for a part that nothing reads: the next call skips it
	}
	return n, err
}

// lease reads the lease of a call whose body is a file.
func (c *call) lease() (penstock.Lease, error) {
	parts := strings.SplitN(c.r.Header.Get(leaseHeader), "/", 3)
	if len(parts) == 3 {
		if n, err := strconv.Atoi(parts[1]); err == nil && utf8.ValidString(parts[0]+parts[2]) {
			return penstock.Lease{RunID: parts[0], ExecutionID: n, Token: parts[2]}, nil
		}
	}
	return penstock.Lease{}, penstock.Errorf(
		penstock.CodeInvalidRequest, "header %s must be run/execution/token", leaseHeader,
	)
}

func formatLease(l penstock.Lease) string {
	return fmt.Sprintf("%s/%d/%s", l.RunID, l.ExecutionID, l.Token)
}
