package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock/internal/control/access"
)

const howToGiveKey = "set PENSTOCK_API_KEY or --key-file, or run the command in a terminal and enter the key"

// secretShapes matches secrets of well-known services. The list need not be complete: it catches
// accidents, not intent.
var secretShapes = []struct {
	what, instead string
	shape         *regexp.Regexp
}{
	{"a Penstock API key", howToGiveKey, regexp.MustCompile(`psk_[A-Za-z0-9_-]{20,}`)},
	{
		"a model provider's key", "set the provider's variable, such as ANTHROPIC_API_KEY",
		regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}|\bAIza[0-9A-Za-z_-]{35}`),
	},
	{
		"an access token", "keep it out of arguments",
		regexp.MustCompile(
			`\bgh[opsur]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{20,` +
				`}|\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bAKIA[0-9A-Z]{16}\b`,
		),
	},
	{"a private key", "keep it in a file", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`)},
	{
		"a URL with a password", "use the flag's environment variable or the --config file",
		regexp.MustCompile(`://[^/\s:@]*:[^/\s@]+@`),
	},
}

// checkArguments returns a usage error if an argument looks like a secret, because everybody on the
// machine can see arguments, and shells store them; or if it is not UTF-8, because the parser would
// replace its characters. The message names the place of the argument, never its text.
func checkArguments(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return exitf(exitUsage, "argument %d is not UTF-8 text: use a terminal with UTF-8, or - and standard input", i+1)
		}
		for _, s := range secretShapes {
			if s.shape.MatchString(arg) {
				return exitf(
					exitUsage,
					"argument %d contains %s; other users of this machine can read arguments, and the shell history keeps them: %s "+
						"(use - to read a prompt from standard input)",
					i+1, s.what, s.instead,
				)
			}
		}
	}
	return nil
}

// namesSecret reports whether an argument is a flag by which people would like
// to pass a secret.
func namesSecret(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	switch name {
	case "--key", "--api-key", "--apikey", "--token", "--secret", "--password":
		return true
	}
	return false
}

// apiKey finds the key: in the file, in the environment, or from a prompt.
func (s *stdio) apiKey(file string) (string, error) {
	var key, from string
	switch env := os.Getenv("PENSTOCK_API_KEY"); {
	case file != "":
		content, err := os.ReadFile(file)
		if err != nil {
			return "", exitf(exitNotAllowed, "cannot read the key: %w; set --key-file to a file that this user can read", err)
		}
		key, from = string(content), file
	case env != "":
		key, from = env, "PENSTOCK_API_KEY"
	case s.mayAsk():
		typed, err := s.ask("API key: ")
		if err != nil {
			return "", exitf(exitNotAllowed, "prompt for the key: %w", err)
		}
		key, from = typed, "the entered text"
	default:
		return "", exitf(exitNotAllowed, "no API key: %s", howToGiveKey)
	}
	key, err := decodeText(from, []byte(key))
	key = strings.TrimSpace(key)
	invalid := func(r rune) bool { return r <= ' ' || r > '~' }
	if err != nil || key == "" || strings.ContainsFunc(key, invalid) {
		return "", &exitError{exitNotAllowed, fmt.Errorf("%s contains no API key", from)}
	}
	return key, nil
}

// secretFrom reads a secret from a flag's file; - is standard input. Editors add a line end. It is
// not part of a secret with one line, but is part of one with several lines, such as a PEM file.
func (s *stdio) secretFrom(flag, file string) (string, error) {
	in := s.in
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return "", exitf(exitUsage, "%s: %w", flag, err)
		}
		defer in.Close()
	}
	// Enough to see that a value exceeds the limit, also one in UTF-16 with a mark and a line end.
	content, err := io.ReadAll(io.LimitReader(in, 2*(access.MaxSecretBytes+4)))
	if err != nil {
		return "", exitf(exitUsage, "%s: %w", flag, err)
	}
	value, err := decodeText("the value", content)
	if err != nil {
		return checkSecret(string(content)) // its error says what to do with a binary secret
	}
	if strings.IndexByte(value, '\n') >= len(value)-1 {
		value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	}
	return checkSecret(value)
}

// askSecret asks for a secret, without showing it.
func (s *stdio) askSecret(prompt string) (string, error) {
	typed, err := s.ask(prompt)
	if errors.Is(err, io.EOF) {
		return "", exitf(exitInterrupted, "no value entered; nothing was changed")
	}
	if err != nil {
		return "", fmt.Errorf("prompt for a secret: %w", err)
	}
	return checkSecret(typed)
}

// checkSecret rejects the values that the server would reject, without repeating them.
func checkSecret(value string) (string, error) {
	switch {
	case value == "":
		return "", exitf(exitUsage, "the value is empty")
	case len(value) > access.MaxSecretBytes:
		return "", exitf(exitUsage, "the value has more than %d bytes", access.MaxSecretBytes)
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return "", exitf(exitUsage, "the value is not valid UTF-8 text; encode it, for example with base64")
	}
	return value, nil
}
