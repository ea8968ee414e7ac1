package factory

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// adviceOn returns what the owner of a webhook could change because of a delivery, or "".
func adviceOn(d *store.Delivery) string {
	switch {
	case d.Reason == ReasonSetupPing && d.HTTPStatus != penstock.OutcomeRejectedAuth.Status():
		return "The sender got 200 because of setup_pings. From its first verified delivery on, it gets 401."
	case d.Reason == ReasonSetupPing:
		return "Most senders save the webhook anyway. If this one does not, set setup_pings: until its first verified " +
			"delivery, the sender then gets 200."
	case d.IdentitySource != penstock.IdentityBody:
		return ""
	case d.Headers["ce-id"] != "":
		return "Only the body identifies this delivery. Set delivery_id_header to ce-id, which is read together with " +
			"ce-source."
	case d.Headers["idempotency-key"] != "":
		return "Only the body identifies this delivery. Set delivery_id_header to Idempotency-Key."
	case d.Outcome == penstock.OutcomeDuplicate:
		return "Its body equals that of an earlier delivery, and it has no id. If it is an event of its own, send an id in " +
			"X-Penstock-Delivery-Id, or set dedup_body_window to less than the time between two events; 0 turns the " +
			"comparison of bodies off."
	}
	return ""
}
