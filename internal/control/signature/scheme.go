package signature

import "github.com/penstock-dev/penstock"

// The schemes that other code refers to.
const (
	StandardWebhooks penstock.SignatureScheme = "standard_webhooks"
	GitHub           penstock.SignatureScheme = "github"
	GitLab           penstock.SignatureScheme = "gitlab"
	Bitbucket        penstock.SignatureScheme = "bitbucket"
	WooCommerce      penstock.SignatureScheme = "woocommerce"
	Slack            penstock.SignatureScheme = "slack"
	Notion           penstock.SignatureScheme = "notion"
	Discord          penstock.SignatureScheme = "discord"
	Grafana          penstock.SignatureScheme = "grafana"
	CustomHMAC       penstock.SignatureScheme = "custom_hmac" // described by its webhook's Signature
)
