package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// webhookFields are the flags for the fields of a webhook that can change.
type webhookFields struct {
	Signature        *string `placeholder:"JSON" about:"/signature" help:"Signature object as JSON. Fields for custom_hmac: header, prefix, hash, encoding, key_form and template; for grafana: timestamp_header."`
	DeliveryIDHeader *string `name:"delivery-id-header" placeholder:"NAME" field:"/delivery_id_header" help:"Header with the ID of the delivery; by default the sender's standard header. An empty value restores the default."`
	ReplayGuard      *bool   `negatable:"" field:"/replay_guard" help:"Treat the same signed bytes under a different, unsigned ID as a duplicate."`
	DedupBodyWindow  *string `name:"dedup-body-window" placeholder:"TIME" field:"/dedup_body_window" help:"How long an equal body is a duplicate if nothing else identifies deliveries, such as 20h; 0 turns this off. An empty value restores the setting of the server."`
	RetryUnmatched   *bool   `negatable:"" field:"/retry_unmatched" help:"Evaluate a delivery again if it comes again and had started no run."`
	SetupPings       *bool   `negatable:"" field:"/setup_pings" help:"Answer unsigned setup requests of WooCommerce and Bitbucket with 200 until the first verified delivery."`
	Refresh          *string `enum:"apply,immediate" placeholder:"WHEN" field:"/secret_refresh" help:"When the webhook uses a new value of its managed secret: apply (with the next change of its factory, or when it is enabled) or immediate."`
	givenSecret
	requestBody
}

// request builds the request from the flags of cmd and the file.
func (f *webhookFields) request(std *stdio, cmd any) (map[string]any, error) {
	flags := fieldsOf(cmd)
	if f.Signature != nil {
		var signature map[string]any
		if err := json.Unmarshal([]byte(*f.Signature), &signature); err != nil {
			return nil, exitf(exitUsage, "--signature must be a JSON object: %w", err)
		}
		flags["signature"] = signature
	}
	if f.SecretFile == "-" && f.File == "-" {
		return nil, exitf(exitUsage, "--secret-file and --file cannot both be read from standard input")
	}
	secret, err := f.secret(std)
	if err != nil {
		return nil, err
	}
	if secret != "" {
		flags["secret"] = secret
	}
	return f.with(std, flags)
}

// givenSecret holds the source of a webhook's secret, which is never an argument.
type givenSecret struct {
	SecretFile string `type:"path" xor:"secret" placeholder:"FILE" about:"/secret" help:"File with the sender's secret; - reads standard input. The line end of a one-line secret is removed."`
	AskSecret  bool   `xor:"secret" about:"/secret" help:"Prompt for the sender's secret without showing it."`
}

// secret returns the value, or "".
func (g givenSecret) secret(std *stdio) (string, error) {
	switch {
	case g.AskSecret && !std.mayAsk():
		return "", exitf(
			exitUsage, "--ask-secret: no terminal to ask on; set --secret-file to a file, or to - for standard input",
		)
	case g.AskSecret:
		return std.askSecret("Webhook secret: ")
	case g.SecretFile != "":
		return std.secretFrom("--secret-file", g.SecretFile)
	}
	return "", nil
}

// keptSecret holds the destination of a secret that is shown once.
type keptSecret struct {
	Save string `type:"path" placeholder:"FILE" help:"Write the secret to this new file, readable only by you, instead of printing it."`
}

// show makes a call that may create a secret, and shows the webhook in the response. A secret of the
// caller is not shown again: a terminal or a log might keep it.
func (k keptSecret) show(ctx context.Context, c *client, path string, body any, own bool) error {
	var file *os.File
	if k.Save != "" { // before the secret is created, because it is shown only once
		var err error
		if file, err = os.OpenFile(k.Save, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return exitf(exitUsage, "--save: %w", err)
		}
		defer file.Close()
	}
	var w penstock.Webhook
	raw, err := c.call(ctx, http.MethodPost, path, body, &w)
	if file != nil && (err != nil || w.Secret == "") {
		_ = os.Remove(k.Save) // our own empty file
		file = nil
	}
	switch {
	case err != nil:
		return err
	case file != nil:
		return k.save(ctx, c, file, w)
	case own:
		return showWithoutSecret(ctx, c, w)
	case c.data:
		return c.std.result(ctx, raw)
	case w.Secret != "":
		c.std.notef("the secret cannot be shown again")
	case w.PendingSecret:
		c.std.notef("the webhook returns 404 until you set the sender's secret: penstock webhook update %s "+
			"--ask-secret", w.Name)
	}
	return c.std.facts(webhookFacts(w))
}

// save writes the secret to the file, and shows the rest.
func (k keptSecret) save(ctx context.Context, c *client, file *os.File, w penstock.Webhook) error {
	if _, err := fmt.Fprintln(file, w.Secret); err != nil {
		return fmt.Errorf("save the secret of webhook %s: %w", w.UID, err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("save the secret of webhook %s: %w", w.UID, err)
	}
	c.std.notef("wrote the secret to %s", k.Save)
	return showWithoutSecret(ctx, c, w)
}

// showWithoutSecret shows a webhook of a response that has its secret.
func showWithoutSecret(ctx context.Context, c *client, w penstock.Webhook) error {
	if w.AuthMode == penstock.AuthURLToken {
		w.IngressURL = strings.TrimSuffix(w.IngressURL, w.Secret) + "{token}"
	}
	w.Secret = ""
	if c.data {
		return c.std.result(ctx, w)
	}
	return c.std.facts(webhookFacts(w))
}

type webhookCreateCmd struct {
	Name       string `arg:"" field:"/name" help:"Name of the webhook: letters, digits, - and spaces."`
	Mode       string `enum:",token,url_token,signature" default:"" placeholder:"MODE" field:"/auth_mode" help:"How the sender authenticates: token, url_token or signature. --scheme implies signature."`
	Scheme     string `enum:",${schemes}" default:"" placeholder:"SCHEME" field:"/signature_scheme" help:"Signature scheme of the sender, such as github or custom_hmac."`
	SecretName string `placeholder:"NAME" field:"/secret_name" help:"Name of the managed secret; an existing one is used unchanged. Default: NAME_WEBHOOK_SECRET."`
	Disabled   bool   `about:"/enabled" help:"Create it disabled."`
	webhookFields
	keptSecret
}

func (cmd *webhookCreateCmd) Help() string {
	return "Prints the URL and the secret, which cannot be shown again. For signed webhooks, the sender creates the " +
		"secret, except for the schemes standard_webhooks and svix. Set it with --secret-file or --ask-secret. If the " +
		"sender shows the secret only after it knows the URL, set it later with webhook update."
}

func (cmd *webhookCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.Mode == "" && cmd.Scheme != "" {
		cmd.Mode = string(penstock.AuthSignature)
	}
	body, err := cmd.request(std, cmd)
	if err != nil {
		return err
	}
	if cmd.Disabled {
		body["enabled"] = false
	}
	c, path, err := webhookNoun.dialList(ctx, std, in)
	if err != nil {
		return err
	}
	_, own := body["secret"]
	return cmd.show(ctx, c, path, body, own)
}

type webhookUpdateCmd struct {
	resourceArg
	webhookFields
}

func (cmd *webhookUpdateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	body, err := someChange(cmd.request(std, cmd))
	if err != nil {
		return err
	}
	return webhookNoun.change(ctx, std, in, http.MethodPatch, cmd.Target, fixed(body))
}

// overlapSeconds reads --overlap.
func overlapSeconds(overlap time.Duration) (int64, error) {
	if overlap < 0 || overlap%time.Second != 0 {
		return 0, exitf(exitUsage, "--overlap must be a whole number of seconds, such as 90s or 1h")
	}
	return int64(overlap / time.Second), nil
}

type webhookRotateCmd struct {
	resourceArg
	Overlap time.Duration `placeholder:"DURATION" about:"/overlap_seconds" help:"How long the old secret stays valid, such as 1h, at most 168h; by default it becomes invalid at once."`
	givenSecret
	keptSecret
}

func (cmd *webhookRotateCmd) Help() string {
	return "Without --secret-file and --ask-secret, the server creates a new secret. If only the sender can create " +
		"secrets, set the sender's new one. The new secret becomes the value of the managed secret and is printed only once."
}

func (cmd *webhookRotateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	seconds, err := overlapSeconds(cmd.Overlap)
	if err != nil {
		return err
	}
	secret, err := cmd.secret(std)
	if err != nil {
		return err
	}
	request := factory.RotateRequest{OverlapSeconds: seconds}
	if secret != "" {
		request.Secret = &secret
	}
	c, path, err := webhookNoun.dialItem(ctx, std, in, cmd.Target, "rotate-secret")
	if err != nil {
		return err
	}
	return cmd.show(ctx, c, path, request, request.Secret != nil)
}
