package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// welcome makes sure that a key exists, opens the server, and then prints its address, so that a
// caller who waits for the address never finds a server that is still starting.
func (cmd *serveCmd) welcome(ctx context.Context, std *stdio, b *back, open func()) error {
	made, key, err := cmd.firstKey(ctx, b)
	if err != nil {
		return fmt.Errorf("create the first API key: %w", err)
	}
	open()
	b.log.Info(
		"serving", "url", b.origin, "listen", b.listens, "version", buildVersion(), "data", cmd.Data, "database",
		cmd.databaseName(), "worker", cmd.Worker,
	)
	bearer := "$PENSTOCK_API_KEY"
	switch {
	case made && key != "":
		bearer = "$(cat " + cmd.path(adminKeyFile) + ")"
		if isTerminal(std.err) {
			std.notef("\nYour API key, shown only once and saved in %s:\n\n  %s", cmd.path(adminKeyFile), key)
		} else { // a log would store it
			std.notef("\nYour API key is in %s.", cmd.path(adminKeyFile))
		}
	case !isTerminal(std.err):
		return nil
	}
	std.notef(`
Penstock listens on %s. Open it in a browser and sign in with the key, or try it here:

  curl -sS %s/api/v1/agent/runs -H "Authorization: Bearer %s" \
    -H 'Content-Type: application/json' -d '{"prompt": "Look around and write down what you find."}'
`, b.origin, b.origin, bearer)
	return nil
}

// firstKey creates an admin key if the database has no key yet. It writes the key to disk before
// the database, so that a crash in between locks nobody out. It does not print a key that the
// operator has set.
func (cmd *serveCmd) firstKey(ctx context.Context, b *back) (made bool, key string, err error) {
	if given := os.Getenv("PENSTOCK_BOOTSTRAP_KEY"); given != "" {
		made, _, err = b.rules.Keys.Bootstrap(ctx, given)
		return made, "", err
	}
	path := cmd.path(adminKeyFile)
	content, err := os.ReadFile(path)
	written := errors.Is(err, fs.ErrNotExist)
	switch {
	case written:
		key, err = writeKey(path)
	case err == nil:
		key = strings.TrimSpace(string(content)) // from an interrupted first start
	}
	if err != nil {
		return false, "", err
	}
	made, _, err = b.rules.Keys.Bootstrap(ctx, key)
	if written && !made {
		err = errors.Join(err, os.Remove(path)) // other keys exist already
	}
	return made, key, err
}

// writeKey creates a key, "psk_" and 32 random bytes, in a new file for this user only.
func writeKey(path string) (string, error) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails: crypto/rand aborts the program instead
	key := "psk_" + base64.RawURLEncoding.EncodeToString(random[:])
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(file, key)
	return key, errors.Join(err, file.Sync(), file.Close())
}
