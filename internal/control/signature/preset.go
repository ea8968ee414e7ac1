package signature

import (
	"time"

	"github.com/penstock-dev/penstock"
)

// presets lists all schemes. A new sender needs an entry here, and vectors in
// internal/control/webhook/testdata.
var presets = []Preset{
	{
		Scheme: StandardWebhooks, Sender: "Standard Webhooks", SecretGenerated: true,
		Forms: standardWebhooks(),
		Hint: "The sender's webhook settings show the secret, which begins with whsec_ (or a public key, whpk_). If the " +
			"sender asks you for a secret, create the webhook without one, and enter the secret that Penstock generates.",
	},
	{
		Scheme: "svix", Sender: "Svix", SecretGenerated: true, Forms: standardWebhooks(),
		Hint: "In Svix, open the endpoint: Signing Secret. It begins with whsec_.",
	},
	{
		Scheme: GitHub, Sender: "GitHub",
		Forms: hmacHex("X-Hub-Signature-256", "sha256=").idHeader("X-GitHub-Delivery"),
		Hint:  "Choose a secret and enter it in GitHub, in the webhook's settings: Secret.",
	},
	{
		Scheme: GitLab, Sender: "GitLab", Forms: append(
			standardWebhooks()[:1:1],
			Form{
				Signature: penstock.Signature{Header: "X-Gitlab-Token", KeyForm: KeyText}, Algorithm: AlgorithmToken,
				IDHeader: "Idempotency-Key",
			},
		),
		Hint: "In GitLab, the webhook's settings accept a secret token that you choose, or show a signing token that " +
			"begins with whsec_.",
	},
	{
		Scheme: "stripe", Sender: "Stripe", SecretAfterURL: true,
		Forms: hmacHex("Stripe-Signature", "v1=").list(",").field("t", "{timestamp}.{body}").idBody("id"),
		Hint:  "In Stripe Workbench, open the endpoint: Signing secret. Enter all of it, including whsec_.",
	},
	{
		Scheme: "sentry", Sender: "Sentry", Forms: hmacHex("Sentry-Hook-Signature", "").idHeader("Request-ID"),
		Hint: "In Sentry: Settings, Custom Integrations, your integration, Client Secret.",
	},
	{
		Scheme: "pagerduty", Sender: "PagerDuty", SecretAfterURL: true,
		Forms: hmacHex("X-PagerDuty-Signature", "v1=").list(",").idHeader("X-Webhook-Id"),
		Hint:  "PagerDuty shows it once, after you add the webhook subscription.",
	},
	{
		Scheme: "vercel", Sender: "Vercel", SecretAfterURL: true,
		Forms: hmacHex("x-vercel-signature", "").hash("sha1").idBody("id"),
		Hint:  "Vercel shows it once, after you create the webhook. For an integration, use its Client Secret.",
	},
	{
		Scheme: Slack, Sender: "Slack",
		Forms: hmacHex("X-Slack-Signature", "v0=").timestamp(
			"X-Slack-Request-Timestamp", "v0:{timestamp}:{body}",
		).idBody("event_id"),
		Hint: "In Slack: api.slack.com, your app, Basic Information, Signing Secret.",
	},
	{
		Scheme: "linear", Sender: "Linear",
		Forms: hmacHex("Linear-Signature", "").bodyTime("webhookTimestamp", 24*time.Hour).idHeader("Linear-Delivery"),
		Hint:  "In Linear: Settings, API, your webhook, Signing secret.",
	},
	{
		Scheme: "shopify", Sender: "Shopify", SecretAfterURL: true,
		Forms: hmacBase64("X-Shopify-Hmac-Sha256", "").idHeader("X-Shopify-Webhook-Id"),
		Hint: "In Shopify: Settings, Notifications, Webhooks; the secret is below the list. For the webhooks of " +
			"an app, use the app's client secret.",
	},
	{
		Scheme: Bitbucket, Sender: "Bitbucket", SetupPings: true,
		Forms: hmacHex("X-Hub-Signature", "sha256=").idHeader("X-Request-UUID"),
		Hint:  "Choose a secret and enter it in Bitbucket, in the webhook's settings: Secret.",
	},
	{
		Scheme: "jira", Sender: "Jira",
		Forms: hmacHex("X-Hub-Signature", "sha256=").idHeader("X-Atlassian-Webhook-Identifier"),
		Hint:  "Choose a secret and enter it in Jira: System, WebHooks, your webhook, Secret.",
	},
	{
		Scheme: "zendesk", Sender: "Zendesk", SecretAfterURL: true,
		Forms: hmacBase64("X-Zendesk-Webhook-Signature", "").timestamp(
			"X-Zendesk-Webhook-Signature-Timestamp", "{timestamp}{body}",
		).
			unit(UnitRFC3339, Tolerance).idHeader("X-Zendesk-Webhook-Invocation-Id"),
		Hint: "In Zendesk: Admin Center, Webhooks, your webhook, Reveal secret.",
	},
	{
		Scheme: "intercom", Sender: "Intercom", Forms: hmacHex("X-Hub-Signature", "sha1=").hash("sha1").idBody("id"),
		Hint: "In Intercom: Developer Hub, your app, Basic information, Client secret.",
	},
	{
		Scheme: "typeform", Sender: "Typeform", Forms: hmacBase64("Typeform-Signature", "sha256=").idBody("event_id"),
		Hint: "Choose a secret and enter it in Typeform, in the webhook's settings: Secret.",
	},
	{
		Scheme: "circleci", Sender: "CircleCI", Forms: hmacHex("circleci-signature", "v1=").list(",").idBody("id"),
		Hint: "Choose a secret and enter it in CircleCI: Project Settings, Webhooks, Secret token.",
	},
	{
		Scheme: "calendly", Sender: "Calendly",
		Forms: hmacHex("Calendly-Webhook-Signature", "v1=").list(",").field("t", "{timestamp}.{body}"),
		Hint:  "Choose a secret and set it as signing_key when you create the webhook subscription with Calendly's API.",
	},
	{
		Scheme: "mux", Sender: "Mux", SecretAfterURL: true,
		Forms: hmacHex("Mux-Signature", "v1=").list(",").field("t", "{timestamp}.{body}").idBody("id"),
		Hint:  "In Mux, after you create the webhook: Settings, Webhooks, Show signing secret.",
	},
	{
		Scheme: "paddle", Sender: "Paddle", SecretAfterURL: true,
		Forms: hmacHex("Paddle-Signature", "h1=").list(";").field("ts", "{timestamp}:{body}").idBody("event_id"),
		Hint:  "In Paddle: Developer Tools, Notifications, your destination, secret key. It begins with pdl_ntfset_.",
	},
	{
		Scheme: Notion, Sender: "Notion", SecretAfterURL: true,
		Forms: hmacHex("X-Notion-Signature", "sha256=").idBody("id"),
		Hint: "Create the webhook without a secret. Notion then sends a token to its URL, and Penstock keeps it as the " +
			"secret.",
	},
	{
		Scheme: "launchdarkly", Sender: "LaunchDarkly", Forms: hmacHex("X-LD-Signature", "").idBody("_id"),
		Hint: "In LaunchDarkly: Integrations, Webhooks, your webhook, Sign this webhook. Copy the secret or enter your own.",
	},
	{
		Scheme: "dropbox", Sender: "Dropbox", Forms: hmacHex("X-Dropbox-Signature", ""),
		Hint: "In Dropbox: App Console, your app, App secret.",
	},
	{
		Scheme: "meta", Sender: "Meta", Forms: hmacHex("X-Hub-Signature-256", "sha256="),
		Hint: "In Meta: App Dashboard, App settings, Basic, App secret.",
	},
	{
		Scheme: WooCommerce, Sender: "WooCommerce", SetupPings: true,
		Forms: hmacBase64("X-WC-Webhook-Signature", "").idHeader("X-WC-Webhook-Delivery-ID"),
		Hint:  "In WooCommerce: Settings, Advanced, Webhooks, your webhook, Secret.",
	},
	{
		Scheme: "buildkite", Sender: "Buildkite", Forms: append(
			hmacHex("X-Buildkite-Signature", "signature=").list(",").field("timestamp", "{timestamp}.{body}"),
			Form{Signature: penstock.Signature{Header: "X-Buildkite-Token", KeyForm: KeyText}, Algorithm: AlgorithmToken},
		),
		Hint: "In Buildkite: Settings, Notification Services, your webhook, Token. Both signatures and tokens work.",
	},
	{
		Scheme: Discord, Sender: "Discord", Forms: layouts{{
			Signature: penstock.Signature{Header: "X-Signature-Ed25519", Encoding: "hex", KeyForm: KeyEd25519},
			Algorithm: AlgorithmEd25519,
		}}.timestamp("X-Signature-Timestamp", "{timestamp}{body}").idBody("id"),
		Hint: "In Discord: Developer Portal, your application, General Information, Public Key.",
	},
	{
		Scheme: "square", Sender: "Square", SecretAfterURL: true,
		Forms: hmacBase64("x-square-hmacsha256-signature", "").signs("{url}{body}").idBody("event_id"),
		Hint:  "In Square: Developer Console, Webhooks, your subscription, Signature key.",
	},
	{
		Scheme: "hubspot", Sender: "HubSpot",
		Forms: hmacBase64("X-HubSpot-Signature-v3", "").timestamp(
			"X-HubSpot-Request-Timestamp", "{method}{url}{body}{timestamp}",
		).
			unit(UnitMilliseconds, Tolerance),
		Hint: "In HubSpot: your app, Auth, Client secret.",
	},
	{
		Scheme: Grafana, Sender: "Grafana", Forms: hmacHex("X-Grafana-Alerting-Signature", ""),
		Hint: "Choose a secret and enter it in Grafana, in the contact point: HMAC Signature. If you set a timestamp " +
			"header in Grafana, also enter the name of that header in Penstock.",
	},
	{
		Scheme: "docusign", Sender: "Docusign", Forms: hmacBase64("X-DocuSign-Signature-", "").numbered(),
		Hint: "In Docusign: Admin, Connect, Connect Keys, add a secret key. Docusign shows it once.",
	},
	{
		Scheme: "contentful", Sender: "Contentful", Forms: hmacHex("x-contentful-signature", "").
			timestamp("x-contentful-timestamp", "{method}\n{path}\n{signed_headers}\n{body}").
			unit(UnitMilliseconds, 30*time.Second).signedHeaders("x-contentful-signed-headers"),
		Hint: "In Contentful: Settings, Webhooks, Settings, Enable request verification. Contentful shows the secret once.",
	},
	{
		Scheme: "coinbase_commerce", Sender: "Coinbase Commerce", Forms: hmacHex("X-CC-Webhook-Signature", "").idBody("id"),
		Hint: "In Coinbase Commerce: Settings, Notifications, Show shared secret.",
	},
	{
		Scheme: CustomHMAC, Sender: "Another sender",
		Hint: "The key with which the sender signs. Also describe the signature.", Forms: []Form{},
	},
}

// layouts builds the forms of a scheme. Each method changes all of them.
type layouts []Form

func hmacHex(header, prefix string) layouts {
	return layouts{{
		Signature: penstock.Signature{
			Header: header, Prefix: prefix, Hash: "sha256", Encoding: "hex", KeyForm: KeyText, Template: "{body}",
		},
		Algorithm: AlgorithmHMAC,
	}}
}

func hmacBase64(header, prefix string) layouts {
	return hmacHex(header, prefix).each(func(f *Form) { f.Encoding = "base64" })
}

// standardWebhooks returns the forms of https://www.standardwebhooks.com: first the symmetric one,
// then those with a public key and with Svix's names.
func standardWebhooks() layouts {
	var forms layouts
	for _, name := range []string{"webhook-", "svix-"} {
		template := "{header:" + name + "id}.{timestamp}.{body}"
		symmetric := hmacBase64(name+"signature", "v1,").list(" ").timestamp(name+"timestamp", template).idHeader(name + "id")
		symmetric[0].KeyForm = KeyWhsec
		public := symmetric[0]
		public.Algorithm, public.Hash, public.Prefix, public.KeyForm = AlgorithmEd25519, "", "v1a,", KeyWhpk
		forms = append(forms, symmetric[0], public)
	}
	return forms
}

func (f layouts) each(change func(*Form)) layouts {
	for i := range f {
		change(&f[i])
	}
	return f
}

func (f layouts) hash(hash string) layouts {
	return f.each(func(f *Form) { f.Hash = hash })
}

func (f layouts) signs(template string) layouts {
	return f.each(func(f *Form) { f.Template = template })
}

func (f layouts) list(separator string) layouts {
	return f.each(func(f *Form) { f.Separator = separator })
}

func (f layouts) numbered() layouts {
	return f.each(func(f *Form) { f.Numbered = true })
}

func (f layouts) signedHeaders(header string) layouts {
	return f.each(func(f *Form) { f.SignedHeaders = header })
}

func (f layouts) unit(unit TimestampUnit, tolerance time.Duration) layouts {
	return f.each(func(f *Form) { f.TimestampUnit, f.Tolerance = unit, tolerance })
}

func (f layouts) timestamp(header, template string) layouts {
	return f.signs(template).unit(UnitSeconds, Tolerance).each(func(f *Form) { f.TimestampHeader = header })
}

func (f layouts) field(name, template string) layouts {
	return f.signs(template).unit(UnitSeconds, Tolerance).each(func(f *Form) { f.TimestampField = name })
}

// bodyTime is for a time in the body. A retry has the bytes of the first attempt, so it may be as old
// as maxAge, and counts once.
func (f layouts) bodyTime(key string, maxAge time.Duration) layouts {
	return f.unit(UnitMilliseconds, time.Minute).each(func(f *Form) {
		f.TimestampBody, f.MaxAge, f.Once = key, maxAge, true
	})
}

func (f layouts) idHeader(header string) layouts {
	return f.each(func(f *Form) { f.IDHeader = header })
}

func (f layouts) idBody(key string) layouts {
	return f.each(func(f *Form) { f.IDBody = key })
}
