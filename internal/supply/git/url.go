package git

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// remote is a checked URL and its separate credentials.
type remote struct {
	url     string // without credentials
	origin  string // scheme and host of an http remote, "" for others
	header  string // the Authorization header, or ""
	secrets []string
}

const maxURL = 2048

var (
	// [user@]host:path, the common form of ssh remotes.
	scpURL   = penstock.LazyRegexp(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([^:].*)$`)
	hostName = penstock.LazyRegexp(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?$`)
	userName = penstock.LazyRegexp(`^[A-Za-z0-9._][A-Za-z0-9._@+-]*$`)
)

// CheckURL returns an error if the URL of a remote is invalid. Valid are https: and ssh: (also as
// user@host:path), and with local also file: and http: to this machine. The message is safe to
// show: it contains no secret part of the URL.
func CheckURL(raw string, local bool) error {
	_, err := parse(raw, local)
	return err
}

// remote returns the checked remote of src with its credentials.
func (c *Cache) remote(src Source) (remote, error) {
	u, err := parse(src.URL, c.local)
	if err != nil {
		return remote{}, err
	}
	r := remote{url: u.String()}
	if !strings.Contains(src.URL, "://") {
		r.url = src.URL // the scp form, which has no secrets
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		if src.Password != "" {
			return remote{}, errors.New("passwords are sent only to https remotes")
		}
		return r, nil
	}
	user, password := src.Username, src.Password
	if password == "" && u.User != nil {
		user = u.User.Username()
		password, _ = u.User.Password()
		if password == "" {
			// https://TOKEN@host/…
			r.secrets = append(r.secrets, user)
		}
	}
	u.User = nil
	r.url, r.origin = u.String(), u.Scheme+"://"+u.Host
	if user == "" && password == "" {
		return r, nil
	}
	if strings.ContainsAny(user+password, "\r\n\x00") || strings.Contains(user, ":") {
		return remote{}, errors.New("the user name or password contains a character that cannot be sent")
	}
	basic := base64.StdEncoding.EncodeToString([]byte(cmp.Or(user, "x-access-token") + ":" + password))
	r.header = "Authorization: Basic " + basic
	r.secrets = append(r.secrets, basic)
	if password != "" {
		r.secrets = append(r.secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	return r, nil
}

// parse checks a URL. For the scp form, the result's path has no leading slash, because it is
// relative to a home folder.
func parse(raw string, local bool) (*url.URL, error) {
	switch {
	case raw == "":
		return nil, errors.New("the URL is empty")
	case len(raw) > maxURL:
		return nil, fmt.Errorf("the URL has more than %d bytes", maxURL)
	case strings.HasPrefix(raw, "-"):
		return nil, errors.New("the URL begins with a dash")
	case strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return nil, errors.New("the URL contains a backslash, a line break or another control character")
	case strings.HasPrefix(raw, " ") || strings.HasSuffix(raw, " "):
		return nil, errors.New("the URL begins or ends with a space")
	}
	if !strings.Contains(raw, "://") {
		m := scpURL().FindStringSubmatch(raw)
		if m == nil {
			return nil, errors.New("the URL is neither https://…, ssh://… nor user@host:path")
		}
		u := &url.URL{Scheme: "ssh", Host: m[2], Path: m[3]}
		if m[1] != "" {
			u.User = url.User(m[1])
		}
		return u, checkParts(u, local)
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The error of url.Parse contains the URL.
		return nil, errors.New("the URL cannot be parsed")
	}
	return u, checkParts(u, local)
}

func checkParts(u *url.URL, local bool) error {
	if u.RawQuery != "" || u.Fragment != "" || u.ForceQuery {
		return errors.New("the URL has a query or a fragment")
	}
	if u.Opaque != "" || strings.Trim(u.Path, "/") == "" {
		return errors.New("the URL names no repository")
	}
	switch {
	case u.Scheme == "file":
		if !local {
			return errors.New("a file URL needs the setting --git-allow-file of the server, and of the worker that clones it")
		}
		if u.Host != "" || u.User != nil {
			return errors.New("a file URL must not have a host: use file:///path")
		}
		return nil
	case u.Scheme == "http" && local:
		if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
			return errors.New("http is allowed only for this machine: use https")
		}
	case u.Scheme == "https":
	case u.Scheme == "ssh":
		if _, ok := u.User.Password(); ok {
			return errors.New("an ssh URL must not have a password")
		}
		if name := u.User.Username(); name != "" && !userName().MatchString(name) {
			return errors.New("the URL has no valid user name")
		}
	default:
		return errors.New("the URL's scheme is not allowed: use https or ssh")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); err == nil && addr.Zone() == "" {
		return nil
	}
	if !hostName().MatchString(u.Hostname()) {
		return errors.New("the URL has no valid host name")
	}
	return nil
}

// IsObjectID reports whether a text is the whole id of a commit or another object.
func IsObjectID(text string) bool { return commitID().MatchString(text) }

var commitID = penstock.LazyRegexp(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// CheckRef returns an error for an invalid branch, tag, full ref name or commit id; "" is the
// default branch. The rules come from git-check-ref-format(1). A name must not look like an option.
func CheckRef(ref string) error {
	bad := func(why string) error { return fmt.Errorf("%q is not a branch, tag or commit id: %s", ref, why) }
	switch {
	case ref == "":
		return nil
	case len(ref) > 255:
		return errors.New("the ref is longer than 255 bytes")
	case strings.HasPrefix(ref, "-"):
		return bad("it begins with a dash")
	case ref == "@" || ref == "HEAD":
		return bad("omit it for the default branch")
	case strings.ContainsFunc(
		ref, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) },
	):
		return bad(`it contains a space, a control character or one of ~ ^ : ? * [ \`)
	case strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.HasSuffix(ref, "."):
		return bad("it contains .. or @{ or ends with a dot")
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-") || strings.HasSuffix(part, ".lock") {
			return bad("a part of it is empty, begins with a dot or a dash, or ends with .lock")
		}
	}
	return nil
}

// PublicURL returns a valid URL without user name and password, to show. For an invalid one, it
// returns "".
func PublicURL(raw string) string {
	u, err := parse(raw, true)
	if err != nil {
		return ""
	}
	if !strings.Contains(raw, "://") {
		return raw // the scp form, which has no secrets
	}
	if u.Scheme == "https" || u.Scheme == "http" {
		u.User = nil
	}
	return u.String()
}

// maxFolder limits the name of a folder, in bytes. File systems allow 255, and callers may add to it.
const maxFolder = 200

// Folder returns the folder that git clone would make for a repository with this name, or a safe
// form of it: without characters that are not printable, and never empty, an option, or a name with
// another meaning.
func Folder(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' ' // as git does
		case r == '/' || r == '\\' || r == utf8.RuneError || !unicode.IsGraphic(r):
			return '_'
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if len(name) > maxFolder {
		name = strings.TrimSpace(strings.ToValidUTF8(name[:maxFolder], ""))
	}
	switch {
	case strings.Trim(name, ".") == "" || strings.EqualFold(name, ".git"):
		return "repository"
	case name[0] == '-':
		return "_" + name
	}
	return name
}
