package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
)

// rejected selects rejections of every kind. Their count is one number, too.
const rejected penstock.Outcome = "rejected"

// maxDeliverySearch limits the text that a search of payloads looks for, in bytes.
const maxDeliverySearch = 200

func (a *API) listDeliveries(c *call) error {
	q := c.query()
	dq := penstock.DeliveryQuery{
		Limit: q.limit(penstock.DefaultDeliveries), Cursor: q.optional("cursor"), NoRun: q.boolean("no_run"),
		Search: q.text("search"), ReceivedAfter: q.after("received_after"), ReceivedBefore: q.before("received_before"),
	}
	if len(dq.Search) > maxDeliverySearch {
		q.badf("search", "must have at most %d bytes", maxDeliverySearch)
	}
	switch outcome := oneOf(q, "outcome", append(penstock.Outcomes(), rejected)...); outcome {
	case "":
	case rejected:
		dq.Outcomes = []penstock.Outcome{
			penstock.OutcomeRejectedAuth, penstock.OutcomeRejectedJSON, penstock.OutcomeRejectedSize,
		}
	default:
		dq.Outcomes = []penstock.Outcome{outcome}
	}
	if q.err != nil {
		return q.err
	}
	page, err := a.svc.Deliveries.List(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), dq)
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, page)
}

func (a *API) delivery(c *call) error {
	delivery, err := a.svc.Deliveries.Read(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), c.param("did"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, delivery)
}

// deliveryPayload sends the body byte for byte. Anybody may have written it, so it is a download
// that no browser shows.
func (a *API) deliveryPayload(c *call) error {
	payload, err := a.svc.Deliveries.Payload(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), c.param("did"))
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Disposition", attachment(c.param("did")+".json"))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	c.write(http.StatusOK, "application/octet-stream", payload)
	return nil
}

func (a *API) replayDelivery(c *call) error {
	delivery, err := a.svc.Deliveries.Replay(c.ctx(), c.principal, c.param("uid"), c.param("wuid"), c.param("did"))
	if err != nil {
		return err
	}
	return c.respond(http.StatusCreated, delivery)
}
