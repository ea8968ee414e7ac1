package webhook

import (
	"net/http"
	"strings"

	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// maxSetupPing is the most bytes of an unsigned body that are read to recognize a setup request.
const maxSetupPing = 64

// isSetupPing reports whether an unsigned request is the one with which the sender checks the URL
// when its webhook is saved. Anybody can send one, so it proves nothing.
func (d *intake) isSetupPing() (bool, error) {
	switch d.plan.Snapshot.SignatureScheme {
	case signature.Bitbucket:
		return d.r.Header.Get("X-Event-Key") == "diagnostics:ping", nil
	case signature.WooCommerce:
		if d.r.ContentLength < 1 || d.r.ContentLength > maxSetupPing || formType(d.r.Header) != encodedForm {
			return false, nil
		}
		err := d.readBody()
		number, named := strings.CutPrefix(string(d.body.bytes), "webhook_id=")
		return named && number != "" && strings.Trim(number, "0123456789") == "", err
	}
	return false, nil
}

// unsigned returns the rejection of a delivery without a signature.
func (d *intake) unsigned(failure *Failure) (*factory.InboundDelivery, error) {
	ping, err := d.isSetupPing()
	if err != nil {
		return nil, err
	}
	a := d.unauthenticated(failure)
	if ping {
		a.Reason, a.Detail = factory.ReasonSetupPing, "the sender checks the URL with an unsigned request"
	}
	return a, nil
}

// validationToken returns the text that Microsoft Graph expects back when it checks a URL, or "".
func (d *intake) validationToken() string {
	if len(strings.TrimSpace(string(d.body.bytes))) > 0 {
		return ""
	}
	values := d.r.URL.Query()["validationToken"]
	if len(values) != 1 || len(values[0]) > maxSignatureHeader {
		return ""
	}
	return values[0]
}

// validate makes a delivery without a body one that only checks the URL, if it asks for that.
func (d *intake) validate(a *factory.InboundDelivery) {
	if token := d.validationToken(); token != "" {
		d.reply = &Handshake{http.StatusOK, "text/plain; charset=utf-8", []byte(token)}
		a.Handshake, a.Status = true, http.StatusOK
	}
}
