package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"

	"github.com/penstock-dev/penstock/internal/secret"
)

// kmsKey names a key of AWS KMS by a URI: awskms://KEY, with the query
// region=REGION where neither an ARN nor the environment says it. "" names none.
type kmsKey string

// awsKey is what may stand for KEY: an ARN with its region, an alias, an id.
var awsKey = regexp.MustCompile(
	`^(?:arn:aws[a-z-]*:kms:([a-z0-9-]+):[0-9]{12}:(?:key|alias)/[\w/-]+|alias/[\w/-]+|[0-9A-Za-z-]+)$`,
)

// parse takes a third slash too, which gocloud.dev has before an ARN.
func (k kmsKey) parse() (key, region string, err error) {
	rest, found := strings.CutPrefix(string(k), "awskms://")
	key, rawQuery, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "?")
	parts := awsKey.FindStringSubmatch(key)
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

// open prepares calls with the credentials, region and endpoint that AWS's own
// tools would use here: variables, files, roles. It asks nobody. Without a key
// it is nil.
func (k kmsKey) open(ctx context.Context) (*secret.KMS, error) {
	if k == "" {
		return nil, nil //nolint:nilnil // no KMS is a choice, not an absence
	}
	key, region, err := k.parse()
	if err != nil {
		return nil, err
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(region)) // "" leaves it to the environment
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

// locateKeyset says where the keyset is and how it is encrypted.
func (s *storage) locateKeyset(ctx context.Context) (secret.KeysetFile, error) {
	key, err := s.KeysetKMS.open(ctx)
	return secret.KeysetFile{Path: s.keysetPath(), KMS: key}, err
}

// openKeyset opens the keyset, or makes it.
func (s *storage) openKeyset(ctx context.Context) (*secret.Keyset, error) {
	file, err := s.locateKeyset(ctx)
	if err != nil {
		return nil, err
	}
	keyset, err := secret.OpenKeyset(ctx, file)
	if err != nil {
		return nil, keysetError(err)
	}
	return keyset, nil
}

// keysetError says whose fault it is that the keyset cannot be used, and what
// to do about it.
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

// refusedForGood reports whether the KMS has answered, and would answer the
// same in a while.
func refusedForGood(err error) bool {
	_, answered := errors.AsType[smithy.APIError](err)
	return answered && retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) != aws.TrueTernary
}
