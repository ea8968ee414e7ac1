package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// webhookVerifyCmd needs no server. It runs the server's own verification on a captured request.
type webhookVerifyCmd struct {
	Scheme     penstock.SignatureScheme `required:"" enum:"${schemes}" placeholder:"SCHEME" help:"Signature scheme of the sender, such as github."`
	Secret     string                   `required:"" xor:"secret" help:"Secret of the webhook. Other users of this machine can see it here; --secret-file keeps it private."`
	SecretFile string                   `required:"" xor:"secret" type:"path" placeholder:"FILE" help:"File with the secret; - reads standard input."`
	Header     []string                 `sep:"none" placeholder:"'NAME: VALUE'" help:"Header of the request; repeatable."`
	BodyFile   string                   `required:"" placeholder:"FILE" help:"File with the body, byte for byte as it was sent; - reads standard input."`
	At         *int64                   `placeholder:"UNIX" help:"Time of the request in Unix seconds; by default now."`
	URL        string                   `help:"URL of the request, as the sender has it; some schemes sign it."`
	Method     string                   `default:"POST" help:"Method of the request; some schemes sign it."`
	Signature  string                   `placeholder:"JSON" help:"Signature object of the webhook as JSON, for custom_hmac and grafana."`
}

func (cmd *webhookVerifyCmd) Help() string {
	return "Prints valid, or invalid with the same reason as the delivery log. If invalid, standard error shows what to " +
		"check, and the exit code is 1."
}

func (cmd *webhookVerifyCmd) Run(std *stdio) error {
	own, err := cmd.signature()
	if err != nil {
		return err
	}
	verifier, err := webhook.NewVerifier(cmd.Scheme, own)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	secret, err := cmd.secret(std)
	if err != nil {
		return err
	}
	request, err := cmd.request(std)
	if err != nil {
		return err
	}
	if cmd.signsURL(own) && cmd.URL == "" {
		return exitf(exitUsage, "the scheme %s also signs the URL: set --url to the URL as the sender has it", cmd.Scheme)
	}
	_, failure := verifier.Verify(request, []string{secret})
	if failure == nil {
		_, err := fmt.Fprintln(std.out, "valid")
		return err
	}
	if _, err := fmt.Fprintf(std.out, "invalid: %s\n", failure.Reason); err != nil {
		return err
	}
	std.notef("%s", cmd.advice(
		failure, verifier.NearMiss(request, []string{secret}), signature.CheckSecret(cmd.Scheme, own, secret),
	))
	return &exitError{code: exitFailed}
}

func (cmd *webhookVerifyCmd) signature() (*penstock.Signature, error) {
	if cmd.Signature == "" {
		return nil, nil //nolint:nilnil // most schemes have none
	}
	var own penstock.Signature
	if err := json.Unmarshal([]byte(cmd.Signature), &own, json.RejectUnknownMembers(true)); err != nil {
		return nil, exitf(exitUsage, "--signature: %w", err)
	}
	return &own, nil
}

func (cmd *webhookVerifyCmd) secret(std *stdio) (string, error) {
	switch {
	case cmd.SecretFile == "":
		return cmd.Secret, nil
	case cmd.SecretFile == "-" && cmd.BodyFile == "-":
		return "", exitf(exitUsage, "--secret-file and --body-file cannot both be read from standard input")
	}
	return std.secretFrom("--secret-file", cmd.SecretFile)
}

func (cmd *webhookVerifyCmd) request(std *stdio) (webhook.Request, error) {
	request := webhook.Request{Method: cmd.Method, URL: cmd.URL, Header: http.Header{}, Now: time.Now()}
	if cmd.At != nil {
		request.Now = time.Unix(*cmd.At, 0)
	}
	for i, line := range cmd.Header {
		name, value, found := strings.Cut(line, ":")
		if !found || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return request, exitf(exitUsage, "--header number %d must have the form 'NAME: VALUE'", i+1)
		}
		request.Header.Add(name, strings.TrimSpace(value))
	}
	var err error
	if cmd.BodyFile == "-" {
		request.Body, err = io.ReadAll(std.in)
	} else {
		request.Body, err = os.ReadFile(cmd.BodyFile)
	}
	if err != nil {
		return request, exitf(exitUsage, "--body-file: %w", err)
	}
	return request, nil
}

func (cmd *webhookVerifyCmd) signsURL(own *penstock.Signature) bool {
	forms, _ := signature.Forms(cmd.Scheme, own) // they are valid, because a verifier was created from them
	for _, form := range forms {
		if strings.Contains(form.Template, "{url}") || strings.Contains(form.Template, "{path}") {
			return true
		}
	}
	return false
}

// advice returns a hint in one line. nearMiss is a common change that would make the request valid.
func (cmd *webhookVerifyCmd) advice(failure *webhook.Failure, nearMiss string, key error) string {
	what := strings.TrimSpace(failure.Where + " " + failure.Detail)
	switch failure.Reason {
	case webhook.MissingHeader:
		return what +
			": check that the sender signs, that --scheme is correct, and that no proxy removes the header"
	case webhook.BadFormat:
		return what + ": check that --scheme is correct and that --header has the complete header once"
	case webhook.Stale, webhook.Future:
		return what +
			": for an old request, set --at to its time; on a live server, compare the clocks of the sender and this machine"
	case webhook.NoSecret:
		if key != nil {
			what = key.Error()
		}
		return what + ": copy the complete secret from the sender again"
	case webhook.Mismatch:
	}
	switch {
	case nearMiss != "":
		return nearMiss
	case cmd.URL != "":
		return what +
			": check that the body is byte for byte as it was sent, that the secret is the current one, and that --url is the " +
			"URL as the sender has it"
	}
	return what + ": check that the body is byte for byte as it was sent and that the secret is the current one"
}

func schemeNames() []string {
	var names []string
	for _, preset := range signature.Presets() {
		names = append(names, string(preset.Scheme))
	}
	return names
}
