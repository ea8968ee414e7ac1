package signature

import (
	"time"

	"github.com/penstock-dev/penstock"
)

// presets are all schemes. A sender is added here, with vectors in
// internal/webhook/testdata; nothing else knows of it.
var presets = []Preset{
	{
		Scheme: penstock.SchemeStandardWebhooks, Sender: "Standard Webhooks", SecretGenerated: true,
		Forms: standardWebhooks(),
		Hint: "The sender's webhook settings show a secret that begins with whsec_ (or a public key, whpk_), or take the " +
			"one that is made here.",
	},
	{
		Scheme: "svix", Sender: "Svix", SecretGenerated: true, Forms: standardWebhooks(),
		Hint: "The endpoint's page shows it as Signing Secret; it begins with whsec_.",
	},
	{
		Scheme: "github", Sender: "GitHub", Forms: hmacHex("X-Hub-Signature-256", "sha256=").idHeader("X-GitHub-Delivery"),
		Hint: "Make one up and enter it as Secret in the webhook's settings at GitHub.",
	},
	{
		Scheme: penstock.SchemeGitLab, Sender: "GitLab", Forms: append(
			standardWebhooks()[:1:1],
			Form{
				Signature: penstock.Signature{Header: "X-Gitlab-Token", KeyForm: KeyText}, Algorithm: AlgorithmToken,
				IDHeader: "Idempotency-Key",
			},
		),
		Hint: "The webhook's settings at GitLab take a secret token of your own, or show a signing token that begins with " +
			"whsec_.",
	},
	{
		Scheme: "stripe", Sender: "Stripe", SecretAfterURL: true,
		Forms: hmacHex("Stripe-Signature", "v1=").list(",").field("t", "{timestamp}.{body}").idBody("id"),
		Hint:  "Stripe's Workbench shows it on the endpoint's page as Signing secret; enter the whole whsec_….",
	},
	{
		Scheme: "sentry", Sender: "Sentry", Forms: hmacHex("Sentry-Hook-Signature", "").idHeader("Request-ID"),
		Hint: "Settings, Custom Integrations, the integration's Client Secret.",
	},
	{
		Scheme: "pagerduty", Sender: "PagerDuty", SecretAfterURL: true,
		Forms: hmacHex("X-PagerDuty-Signature", "v1=").list(",").idHeader("X-Webhook-Id"),
		Hint:  "PagerDuty shows it once, after the webhook subscription was added.",
	},
	{
		Scheme: "vercel", Sender: "Vercel", SecretAfterURL: true,
		Forms: hmacHex("x-vercel-signature", "").hash("sha1").idBody("id"),
		Hint:  "Vercel shows it once, after the webhook was created; for an integration it is the Client Secret.",
	},
	{
		Scheme: penstock.SchemeSlack, Sender: "Slack",
		Forms: hmacHex("X-Slack-Signature", "v0=").timestamp(
			"X-Slack-Request-Timestamp", "v0:{timestamp}:{body}",
		).idBody("event_id"),
		Hint: "api.slack.com, your app, Basic Information, Signing Secret.",
	},
	{
		Scheme: "linear", Sender: "Linear",
		Forms: hmacHex("Linear-Signature", "").bodyTime("webhookTimestamp").idHeader("Linear-Delivery"),
		Hint:  "Settings, API, the webhook's page shows it as Signing secret.",
	},
	{
		Scheme: "shopify", Sender: "Shopify", SecretAfterURL: true,
		Forms: hmacBase64("X-Shopify-Hmac-Sha256", "").idHeader("X-Shopify-Webhook-Id"),
		Hint: "Settings, Notifications, Webhooks shows it below the list; for an app's webhooks it is the app's client " +
			"secret.",
	},
	{
		Scheme: "bitbucket", Sender: "Bitbucket", Forms: hmacHex("X-Hub-Signature", "sha256=").idHeader("X-Request-UUID"),
		Hint: "Make one up and enter it as Secret in the webhook's settings at Bitbucket.",
	},
	{
		Scheme: "jira", Sender: "Jira",
		Forms: hmacHex("X-Hub-Signature", "sha256=").idHeader("X-Atlassian-Webhook-Identifier"),
		Hint:  "Make one up and enter it as Secret in System, WebHooks at Jira.",
	},
	{
		Scheme: "zendesk", Sender: "Zendesk", SecretAfterURL: true,
		Forms: hmacBase64("X-Zendesk-Webhook-Signature", "").timestamp(
			"X-Zendesk-Webhook-Signature-Timestamp", "{timestamp}{body}",
		).
			unit(UnitRFC3339, Tolerance).idHeader("X-Zendesk-Webhook-Invocation-Id"),
		Hint: "Admin Center, Webhooks, the webhook's page: Reveal secret.",
	},
	{
		Scheme: "intercom", Sender: "Intercom", Forms: hmacHex("X-Hub-Signature", "sha1=").hash("sha1").idBody("id"),
		Hint: "Developer Hub, your app, Basic information, Client secret.",
	},
	{
		Scheme: "typeform", Sender: "Typeform", Forms: hmacBase64("Typeform-Signature", "sha256=").idBody("event_id"),
		Hint: "Make one up and enter it as Secret in the webhook's settings at Typeform.",
	},
	{
		Scheme: "circleci", Sender: "CircleCI", Forms: hmacHex("circleci-signature", "v1=").list(",").idBody("id"),
		Hint: "Make one up and enter it as Secret token in Project Settings, Webhooks.",
	},
	{
		Scheme: "calendly", Sender: "Calendly",
		Forms: hmacHex("Calendly-Webhook-Signature", "v1=").list(",").field("t", "{timestamp}.{body}"),
		Hint:  "Make one up and give it as signing_key when you create the webhook subscription by Calendly's API.",
	},
	{
		Scheme: "mux", Sender: "Mux", SecretAfterURL: true,
		Forms: hmacHex("Mux-Signature", "v1=").list(",").field("t", "{timestamp}.{body}").idBody("id"),
		Hint:  "Settings, Webhooks: Show signing secret, once the webhook was created.",
	},
	{
		Scheme: "paddle", Sender: "Paddle", SecretAfterURL: true,
		Forms: hmacHex("Paddle-Signature", "h1=").list(";").field("ts", "{timestamp}:{body}").idBody("event_id"),
		Hint:  "Developer Tools, Notifications, the destination's secret key, which begins with pdl_ntfset_.",
	},
	{
		Scheme: penstock.SchemeNotion, Sender: "Notion", SecretAfterURL: true,
		Forms: hmacHex("X-Notion-Signature", "sha256=").idBody("id"),
		Hint:  "Nothing to copy: Notion sends its verification token to the new URL, and the pending webhook takes it.",
	},
	{
		Scheme: "launchdarkly", Sender: "LaunchDarkly", Forms: hmacHex("X-LD-Signature", "").idBody("_id"),
		Hint: "Integrations, Webhooks: tick Sign this webhook, which shows or takes the secret.",
	},
	{
		Scheme: "dropbox", Sender: "Dropbox", Forms: hmacHex("X-Dropbox-Signature", ""),
		Hint: "App Console, your app, App secret.",
	},
	{
		Scheme: "meta", Sender: "Meta", Forms: hmacHex("X-Hub-Signature-256", "sha256="),
		Hint: "App Dashboard, App settings, Basic, App secret.",
	},
	{
		Scheme: "woocommerce", Sender: "WooCommerce",
		Forms: hmacBase64("X-WC-Webhook-Signature", "").idHeader("X-WC-Webhook-Delivery-ID"),
		Hint:  "WooCommerce, Settings, Advanced, Webhooks: the webhook's Secret.",
	},
	{
		Scheme: "buildkite", Sender: "Buildkite", Forms: append(
			hmacHex("X-Buildkite-Signature", "signature=").list(",").field("timestamp", "{timestamp}.{body}"),
			Form{Signature: penstock.Signature{Header: "X-Buildkite-Token", KeyForm: KeyText}, Algorithm: AlgorithmToken},
		),
		Hint: "Settings, Notification Services, the webhook's Token; it serves both ways of sending.",
	},
	{
		Scheme: penstock.SchemeDiscord, Sender: "Discord", Forms: layouts{{
			Signature: penstock.Signature{Header: "X-Signature-Ed25519", Encoding: "hex", KeyForm: KeyEd25519},
			Algorithm: AlgorithmEd25519,
		}}.timestamp("X-Signature-Timestamp", "{timestamp}{body}").idBody("id"),
		Hint: "Developer Portal, your application, General Information, Public Key.",
	},
	{
		Scheme: "square", Sender: "Square", SecretAfterURL: true,
		Forms: hmacBase64("x-square-hmacsha256-signature", "").signs("{url}{body}").idBody("event_id"),
		Hint:  "Developer Console, Webhooks, the subscription's Signature key.",
	},
	{
		Scheme: "hubspot", Sender: "HubSpot",
		Forms: hmacBase64("X-HubSpot-Signature-v3", "").timestamp(
			"X-HubSpot-Request-Timestamp", "{method}{url}{body}{timestamp}",
		).
			unit(UnitMilliseconds, Tolerance),
		Hint: "Your app's Auth page shows it as Client secret.",
	},
	{
		Scheme: penstock.SchemeGrafana, Sender: "Grafana", Forms: hmacHex("X-Grafana-Alerting-Signature", ""),
		Hint: "Make one up and enter it in the contact point under HMAC Signature; name its timestamp header here if you " +
			"set one there.",
	},
	{
		Scheme: "docusign", Sender: "Docusign", Forms: hmacBase64("X-DocuSign-Signature-", "").numbered(),
		Hint: "Admin, Connect, Connect Keys: add a secret key, which is shown once.",
	},
	{
		Scheme: "contentful", Sender: "Contentful", Forms: hmacHex("x-contentful-signature", "").
			timestamp("x-contentful-timestamp", "{method}\n{path}\n{signed_headers}\n{body}").
			unit(UnitMilliseconds, 30*time.Second).signedHeaders("x-contentful-signed-headers"),
		Hint: "Settings, Webhooks, Settings: Enable request verification, which shows the secret once.",
	},
	{
		Scheme: "coinbase_commerce", Sender: "Coinbase Commerce", Forms: hmacHex("X-CC-Webhook-Signature", "").idBody("id"),
		Hint: "Settings, Notifications: Show shared secret.",
	},
	{
		Scheme: penstock.SchemeCustomHMAC, Sender: "Another sender",
		Hint: "Whatever the sender signs with; say below how it does.", Forms: []Form{},
	},
}

// layouts are a scheme's forms while they are put together; each method
// changes all of them.
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

// standardWebhooks are the forms of https://www.standardwebhooks.com: the
// symmetric one first, then those by public key and under Svix's names.
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

func (f layouts) bodyTime(key string) layouts {
	return f.unit(UnitMilliseconds, time.Minute).each(func(f *Form) { f.TimestampBody = key })
}

func (f layouts) idHeader(header string) layouts {
	return f.each(func(f *Form) { f.IDHeader = header })
}

func (f layouts) idBody(key string) layouts {
	return f.each(func(f *Form) { f.IDBody = key })
}
