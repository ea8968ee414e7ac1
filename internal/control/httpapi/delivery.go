package httpapi

import (
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// deliveries holds the handlers of the delivery log, and of filters tested on it.
type deliveries struct {
	rules *factory.Deliveries
}

// rejected selects rejections of every kind. Their count is one number, too.
const rejected penstock.Outcome = "rejected"

// maxDeliverySearch limits the text that a search of payloads looks for, in bytes.
const maxDeliverySearch = 200

// logOf returns the factory and the webhook whose log a request reads. A connection to a forge has no factory.
func logOf(c *call) (factoryUID, webhookUID string) {
	if uid := c.param("wuid"); uid != "" {
		return c.param("uid"), uid
	}
	return "", c.param("uid")
}

func (h deliveries) list(c *call) error {
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
	of, webhook := logOf(c)
	return c.ok(h.rules.List(c.ctx(), c.principal, of, webhook, dq))
}

func (h deliveries) read(c *call) error {
	of, webhook := logOf(c)
	return c.ok(h.rules.Read(c.ctx(), c.principal, of, webhook, c.param("did")))
}

// deliveryPayload sends the body byte for byte. Anybody may have written it, so it is a download
// that no browser shows.
func (h deliveries) payload(c *call) error {
	of, webhook := logOf(c)
	payload, err := h.rules.Payload(c.ctx(), c.principal, of, webhook, c.param("did"))
	if err != nil {
		return err
	}
	header := c.w.Header()
	header.Set("Content-Disposition", attachment(c.param("did")+".json"))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	c.write(http.StatusOK, "application/octet-stream", payload)
	return nil
}

func (h deliveries) replay(c *call) error {
	of, webhook := logOf(c)
	return c.created(h.rules.Replay(c.ctx(), c.principal, of, webhook, c.param("did")))
}
