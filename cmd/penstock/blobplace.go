package main

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

// blobPlace is where blobs are: a folder, or s3:// with a bucket and a prefix.
type blobPlace string

// scheme is how a URL begins. A folder with such a name can be written with ./ before it.
var scheme = penstock.LazyRegexp(`^([A-Za-z][A-Za-z0-9+.-]*):`)

// decodeBlobPlace reads a place from a flag. It checks nothing: the command line repeats the value of
// a variable that is refused here, and that may hold a password by mistake.
func decodeBlobPlace(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("place", &text); err != nil {
		return err
	}
	place := blobPlace(text)
	if !place.isBucket() {
		place = blobPlace(kong.ExpandPath(text))
	}
	target.Set(reflect.ValueOf(place))
	return nil
}

// isBucket reports whether the place is in an object store.
func (p blobPlace) isBucket() bool { return scheme().MatchString(string(p)) }

// bucketPlace is what a place in an object store says.
type bucketPlace struct {
	bucket, prefix, endpoint, region string
	pathStyle                        bool
}

// check refuses a place of an unknown kind.
func (p blobPlace) check() error {
	if !p.isBucket() {
		return nil
	}
	_, err := p.parse()
	return err
}

// parse reads a place in an object store. Its errors do not repeat the text.
func (p blobPlace) parse() (at bucketPlace, err error) {
	const form = "s3://BUCKET/PREFIX?endpoint=URL&region=REGION&path_style=true"
	if found := scheme().FindStringSubmatch(string(p)); found == nil || found[1] != "s3" {
		return at, exitf(
			exitUsage, "a place that begins with %q is not supported; use a folder, or %s (write ./ before a folder whose "+
				"name has a colon)", cmp.Or(found...), form,
		)
	}
	u, err := url.Parse(string(p))
	if err != nil || u.Host == "" || u.Port() != "" || u.Fragment != "" {
		return at, exitf(exitUsage, "a place in an object store has the form %s", form)
	}
	if u.User != nil {
		return at, exitf(
			exitUsage,
			"a URL of an object store must not have credentials; its form is %s. Set AWS_ACCESS_KEY_ID and "+
				"AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role", form,
		)
	}
	at.bucket, at.prefix = u.Host, strings.Trim(u.Path, "/")
	if parts := strings.Split(at.prefix, "/"); at.prefix != "" &&
		(slices.Contains(parts, "") || slices.Contains(parts, ".") || slices.Contains(parts, "..")) {
		return at, exitf(exitUsage, "the prefix of an object store must not have empty parts, . or ..; the form is %s", form)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return at, exitf(exitUsage, "a place in an object store has the form %s", form)
	}
	for name, values := range query {
		if len(values) != 1 || !at.set(name, values[0]) {
			return at, exitf(
				exitUsage,
				"the parameter %s is unknown, repeated or invalid: endpoint is an http or https URL without a path, region a "+
					"region, path_style true or false", name,
			)
		}
	}
	return at, nil
}

// set reads a parameter; it returns false for any but a valid one.
func (at *bucketPlace) set(name, value string) bool {
	switch name {
	case "endpoint":
		u, err := url.Parse(value)
		at.endpoint = value
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
			strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
	case "region":
		at.region = value
		return value != ""
	case "path_style":
		at.pathStyle = value == "true"
		return value == "true" || value == "false"
	}
	return false
}

// open opens a place. It sends no request to an object store. Credentials come from the settings of
// AWS's own tools, and so do region and endpoint unless they are given. spool is a folder for
// content on its way.
func (p blobPlace) open(ctx context.Context, spool string) (*blob.Store, error) {
	if !p.isBucket() {
		return blob.Open(string(p))
	}
	at, err := p.parse()
	if err != nil {
		return nil, err
	}
	settings, err := config.LoadDefaultConfig(ctx, config.WithRegion(at.region)) // "" leaves it to the environment
	if err != nil {
		return nil, exitf(exitConfig, "AWS settings: %w", err)
	}
	if settings.Region == "" && at.endpoint != "" {
		settings.Region = "us-east-1" // other stores have none, and take this one
	}
	if settings.Region == "" {
		return nil, exitf(
			exitConfig, "the region of the bucket %s is unknown: set AWS_REGION, or add ?region=REGION", at.bucket,
		)
	}
	return blob.OpenS3(blob.S3Options{
		Config: settings, Bucket: at.bucket, Prefix: at.prefix, Endpoint: at.endpoint, PathStyle: at.pathStyle, Spool: spool,
	}), nil
}

// openBlobs opens the place that --blobs names.
func (s *storage) openBlobs(ctx context.Context) (*blob.Store, error) {
	return s.blobPlace().open(ctx, s.Data)
}

// blobError says what to do about a place that cannot be used.
func blobError(place blobPlace, err error) error {
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, blob.ErrUnavailable):
		return exitf(exitUnavailable, "%w\nstart the object store, or correct its address and credentials: %s", err, place)
	case place.isBucket():
		return exitf(exitConfig, "%w\ncorrect the address, or give these credentials access: %s", err, place)
	}
	return err
}
