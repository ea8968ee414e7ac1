package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// createKeysetCmd creates a keyset before there is a server. A server creates one only in a folder of
// its own, which others cannot read.
type createKeysetCmd struct {
	File      string `arg:"" type:"path" help:"New file, readable only by you."`
	KeysetKMS kmsKey `env:"PENSTOCK_KEYSET_KMS" placeholder:"URI" help:"AWS KMS key that encrypts the keyset, as for serve. By default, the keyset is in plain text."`
}

func (cmd *createKeysetCmd) Run(ctx context.Context, std *stdio) error {
	kms, err := cmd.KeysetKMS.open(ctx)
	if err != nil {
		return err
	}
	err = secret.KeysetFile{Path: cmd.File, KMS: kms}.Create(ctx)
	switch {
	case errors.Is(err, fs.ErrExist):
		return exitf(exitUsage, "%s exists already: without it, the secrets that it encrypted are lost", cmd.File)
	case errors.Is(err, syscall.ENOTDIR):
		return exitf(exitUsage, "cannot create the keyset: %w", err)
	case err != nil:
		return keysetError(fmt.Errorf("keyset %s: %w", cmd.File, err))
	}
	std.notef("wrote the keyset to %s. Keep a copy: without it, secrets cannot be decrypted", cmd.File)
	return nil
}
