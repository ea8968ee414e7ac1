package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// kmsKey is the URI of a key of AWS KMS: awskms://KEY, with the query region=REGION if neither the
// ARN nor the environment has the region. "" means no key.
type kmsKey string

// awsKey matches the valid forms of KEY: an ARN with its region, an alias, or an id.
var awsKey = penstock.LazyRegexp(
	`^(?:arn:aws[a-z-]*:kms:([a-z0-9-]+):[0-9]{12}:(?:key|alias)/[\w/-]+|alias/[\w/-]+|[0-9A-Za-z-]+)$`,
)

// parse also accepts a third slash, which gocloud.dev has before an ARN.
func (k kmsKey) parse() (key, region string, err error) {
	rest, found := strings.CutPrefix(string(k), "awskms://")
	key, rawQuery, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "?")
	parts := awsKey().FindStringSubmatch(key)
	query, err := url.ParseQuery(rawQuery)
	region = query.Get("region")
	query.Del("region")
	if !found || parts == nil || err != nil || len(query) > 0 {
		return "", "", exitf(
			exitUsage,
			"a KMS key has the form awskms://KEY or awskms://KEY?region=REGION, where KEY is alias/NAME, a key ID or an ARN; "+
				"only AWS KMS is supported",
		)
	}
	if region != "" && parts[1] != "" && region != parts[1] {
		return "", "", exitf(exitUsage, "the KMS key is in %s, not in %s: remove ?region=", parts[1], region)
	}
	return key, cmp.Or(region, parts[1]), nil
}

// open prepares calls with the credentials, region and endpoint of AWS's own tools: variables,
// files, roles. It makes no call. Without a key, it returns nil.
func (k kmsKey) open(ctx context.Context) (*secret.KMS, error) {
	if k == "" {
		return nil, nil //nolint:nilnil // no KMS is a choice, not an absence
	}
	key, region, err := k.parse()
	if err != nil {
		return nil, err
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region)) // "": from the environment
	if err != nil {
		return nil, exitf(exitConfig, "AWS settings: %w", err)
	}
	if settings.Region == "" {
		return nil, exitf(
			exitConfig, "the region of the KMS is unknown: set AWS_REGION, or use awskms://%s?region=REGION", key,
		)
	}
	return secret.NewKMS(kms.NewFromConfig(settings), key), nil
}

// locateKeyset returns the path of the keyset and its KMS key.
func (s *storage) locateKeyset(ctx context.Context) (secret.KeysetFile, error) {
	key, err := s.KeysetKMS.open(ctx)
	return secret.KeysetFile{Path: s.keysetPath(), KMS: key}, err
}

// openKeyset opens the keyset for a database, or creates it. Unless a lost one is accepted, it returns
// an error, and creates nothing, if another keyset encrypted the secrets in the database.
func (s *storage) openKeyset(ctx context.Context, db *store.Store, acceptLost bool) (*secret.Keyset, error) {
	file, err := s.locateKeyset(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file.Path); errors.Is(err, fs.ErrNotExist) && !acceptLost {
		if err := s.checkKeyset(ctx, db, nil); err != nil {
			return nil, err
		}
	}
	keyset, err := secret.OpenKeyset(ctx, file)
	if err != nil {
		return nil, keysetError(err)
	}
	if acceptLost {
		return keyset, nil
	}
	return keyset, s.checkKeyset(ctx, db, keyset)
}

// checkKeyset returns an error that says what to do if the keyset does not belong to the database. A
// keyset of nil does not exist.
func (s *storage) checkKeyset(ctx context.Context, db *store.Store, keyset *secret.Keyset) error {
	err := access.CheckKeyset(ctx, db, keyset)
	if !errors.Is(err, access.ErrOtherKeyset) {
		return err
	}
	found := "decrypts none of the secrets in " + s.databaseName()
	if keyset == nil {
		found = "does not exist, but " + s.databaseName() + " has secrets that it encrypted"
	}
	return exitf(
		exitConfig, "the keyset %s %s: restore the file, which each backup contains, or set --keyset "+
			"(PENSTOCK_KEYSET) to the right one. If it is lost, start serve with --accept-lost-secrets and set all secrets "+
			"again",
		s.keysetPath(), found,
	)
}

// keysetError explains why the keyset cannot be used, and what to do.
func keysetError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return exitf(exitConfig, "no keyset: %w", err)
	case errors.Is(err, secret.ErrBusy):
		return exitf(exitRefused, "%w: wait until it ends", err)
	case errors.Is(err, secret.ErrPlain):
		return exitf(
			exitConfig,
			"%w. Stop the servers, then run penstock secret rotate-key with the same --keyset-kms to replace them with "+
				"encrypted keys",
			err,
		)
	case errors.Is(err, secret.ErrEncrypted):
		return exitf(exitConfig, "%w: set --keyset-kms (PENSTOCK_KEYSET_KMS)", err)
	case errors.Is(err, secret.ErrKMS) && !refusedForGood(err):
		return exitf(exitUnavailable, "%w", err)
	}
	return exitf(exitConfig, "%w", err)
}

// refusedForGood reports whether the KMS has rejected the request permanently.
func refusedForGood(err error) bool {
	_, responded := errors.AsType[smithy.APIError](err)
	return responded && retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) != aws.TrueTernary
}
