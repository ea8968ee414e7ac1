package definition

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// MinWebhookSecret is the minimum length of a new webhook secret, in characters. A webhook
// keeps an older, shorter one.
const MinWebhookSecret = 16

// Webhook is webhooks/NAME.yaml.
type Webhook struct {
	Name             string                   `json:"-"`
	AuthMode         penstock.AuthMode        `json:"authMode,omitzero" written:"always" rule:"authMode" about:"How a sender shows that a delivery is its own." default:"\"token\""`
	SignatureScheme  penstock.SignatureScheme `json:"signatureScheme,omitzero" rule:"scheme" about:"The sender's way to sign; with the mode signature and only then."`
	Signature        *Signature               `json:"signature,omitzero" about:"The layout of a custom_hmac signature, or the timestamp header of grafana."`
	SecretName       string                   `json:"secretName" rule:"secret" about:"The managed secret that deliveries are verified with. Of url_token it may hold A-Z a-z 0-9 - . _ ~ only."`
	DeliveryIDHeader string                   `json:"deliveryIdHeader,omitzero" about:"The header with the sender's id of a delivery."`
	Enabled          *bool                    `json:"enabled,omitzero" about:"Whether deliveries are taken." default:"true"`
	ReplayGuard      bool                     `json:"replayGuard,omitzero" about:"Whether the same signed body under a new id is a duplicate." default:"false"`
	DedupBodyWindow  penstock.DedupWindow     `json:"dedupBodyWindow,omitzero" rule:"window" about:"How long an equal body is a duplicate if nothing else identifies deliveries, such as 20h; 0 turns this off. The default is the setting of the server."`
	RetryUnmatched   bool                     `json:"retryUnmatched,omitzero" about:"Whether a delivery that started nothing can be sent again." default:"false"`
	SetupPings       bool                     `json:"setupPings,omitzero" about:"Whether unsigned setup requests of WooCommerce and Bitbucket get 200 until the first verified delivery." default:"false"`
	SecretRefresh    penstock.SecretRefresh   `json:"secretRefresh,omitzero" rule:"refresh" about:"When a new value of the secret is taken." default:"\"apply\""`
}

// Signature is the layout of a signature.
type Signature struct {
	Header          string `json:"header,omitzero" about:"The header that holds the signature."`
	Prefix          string `json:"prefix,omitzero" about:"What stands before it, such as sha256=."`
	Hash            string `json:"hash,omitzero" about:"sha1, sha256 or sha512."`
	Encoding        string `json:"encoding,omitzero" about:"hex or base64."`
	KeyForm         string `json:"keyForm,omitzero" about:"How the secret is written: text, base64, hex or whsec."`
	Template        string `json:"template,omitzero" about:"The signed text, such as {timestamp}.{body}."`
	TimestampHeader string `json:"timestampHeader,omitzero" about:"The header that holds {timestamp}."`
}

// webhooks reads all webhooks.
func (p *parser) webhooks() []Webhook {
	return each(p, KindWebhook, func(at place, d *document) Webhook {
		w := Webhook{Name: at.name}
		if d.readYAML(p.files[at.path]); d.root == nil {
			return w
		}
		d.decode(&w)
		if judge := p.known.WebhookSecret; judge != nil {
			p.secretFor(d, func(name string) (problem, nearest string) { return judge(w.Name, name) }, "secretName")
		}
		if w.AuthMode == penstock.AuthURLToken && w.SecretName != "" && p.known.NotURLSafe != nil &&
			p.known.NotURLSafe(w.SecretName) {
			d.badf(
				d.find("secretName"), InvalidValue,
				"the secret %s cannot be part of a URL: with url_token, only A-Z a-z 0-9 - . _ ~ are allowed", w.SecretName,
			)
		}
		p.shortSecret(d, w)
		w.signature(d)
		return w
	})
}

// shortSecret rejects a secret that is easy to guess. A webhook that already has such a secret
// keeps it.
func (p *parser) shortSecret(d *document, w Webhook) {
	if p.known.ShortSecret == nil || w.SecretName == "" {
		return
	}
	short, kept := p.known.ShortSecret(w.Name, w.SecretName)
	at, text := d.find("secretName"), fmt.Sprintf(
		"the value of the secret %s has fewer than %d characters", w.SecretName, MinWebhookSecret,
	)
	switch {
	case short && kept:
		d.warnf(at, InvalidValue, "", "%s: the webhook keeps it, but should get a longer one", text)
	case short:
		d.badf(at, InvalidValue, "%s: a webhook needs a longer one", text)
	}
}

func (w Webhook) signature(d *document) {
	scheme := d.key("signatureScheme")
	switch signed := w.AuthMode == penstock.AuthSignature; {
	case signed && scheme == nil:
		d.badf(nil, MissingRequired, "authMode signature needs a signatureScheme")
	case !signed && scheme != nil && (w.AuthMode != "" || d.find("authMode") == nil):
		d.badf(scheme, InvalidValue, "signatureScheme is allowed only with authMode: signature")
	}
	own := w.Signature.Signature()
	if _, known := signature.PresetOf(w.SignatureScheme); known || own != nil && w.SignatureScheme == "" {
		for _, problem := range signature.Check(w.SignatureScheme, own) {
			field := strings.TrimPrefix(strings.TrimPrefix(problem.Pointer, "/signature"), "/")
			d.badf(
				pointed(d.root, "/signature/"+signatureKeys.Replace(field)), InvalidValue, "signature %s%s",
				spaced(signatureKeys.Replace(field)), problem.Detail,
			)
		}
	}
	if w.SetupPings && !signature.SendsSetupPings(w.SignatureScheme) {
		d.badf(
			d.find("setupPings"), InvalidValue,
			"setupPings is only for the schemes woocommerce and bitbucket, which send unsigned setup requests",
		)
	}
	if w.DeliveryIDHeader != "" || d.find("deliveryIdHeader") != nil {
		if problem := signature.CheckIDHeader(w.DeliveryIDHeader, own); problem != "" {
			d.badf(d.find("deliveryIdHeader"), InvalidValue, "deliveryIdHeader: %s", problem)
		}
	}
}

var signatureKeys = strings.NewReplacer("key_form", "keyForm", "timestamp_header", "timestampHeader")

func spaced(word string) string {
	if word == "" {
		return ""
	}
	return word + " "
}

// Signature returns s in the vocabulary of the server.
func (s *Signature) Signature() *penstock.Signature {
	if s == nil {
		return nil
	}
	return &penstock.Signature{
		Header: s.Header, Prefix: s.Prefix, Hash: s.Hash, Encoding: s.Encoding, KeyForm: s.KeyForm, Template: s.Template,
		TimestampHeader: s.TimestampHeader,
	}
}

// Webhook returns w in the vocabulary of the server, with its defaults.
func (w Webhook) Webhook() penstock.Webhook {
	webhook := penstock.Webhook{
		Name: w.Name, AuthMode: w.AuthMode, SignatureScheme: w.SignatureScheme, Signature: w.Signature.Signature(),
		SecretName:       w.SecretName,
		DeliveryIDHeader: w.DeliveryIDHeader, ReplayGuard: w.ReplayGuard, SecretRefresh: w.SecretRefresh,
		DedupBodyWindow: w.DedupBodyWindow, RetryUnmatched: w.RetryUnmatched, SetupPings: w.SetupPings,
		Enabled: value(w.Enabled, true),
	}
	webhook.AuthMode = cmp.Or(webhook.AuthMode, penstock.AuthToken)
	webhook.SecretRefresh = cmp.Or(webhook.SecretRefresh, penstock.RefreshApply)
	return webhook
}

// WebhookOf returns the document of a webhook.
func WebhookOf(w penstock.Webhook) Webhook {
	webhook := Webhook{
		Name: w.Name, AuthMode: w.AuthMode, SignatureScheme: w.SignatureScheme, SecretName: w.SecretName,
		DeliveryIDHeader: w.DeliveryIDHeader, Enabled: pointer(w.Enabled, true), ReplayGuard: w.ReplayGuard,
		DedupBodyWindow: w.DedupBodyWindow, RetryUnmatched: w.RetryUnmatched, SetupPings: w.SetupPings,
	}
	if w.SecretRefresh != penstock.RefreshApply {
		webhook.SecretRefresh = w.SecretRefresh
	}
	if s := w.Signature; s != nil {
		webhook.Signature = &Signature{s.Header, s.Prefix, s.Hash, s.Encoding, s.KeyForm, s.Template, s.TimestampHeader}
	}
	return webhook
}
