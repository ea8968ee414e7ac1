package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Head is the current commit of a branch of a remote.
type Head struct {
	Branch string // "": the remote's HEAD is a commit without a branch
	Commit string
}

// ErrNoBranch is returned if the remote responds and does not have the branch.
var ErrNoBranch = errors.New("the branch does not exist in the repository")

// Head asks a remote for the commit of a branch, without fetching objects. An empty Ref means the
// default branch. For an https remote, it uses a persistent connection and no git process. If the
// branch does not exist, the error is ErrNoBranch.
func (c *Cache) Head(ctx context.Context, src Source) (Head, error) {
	r, err := c.remote(src)
	if err != nil {
		return Head{}, err
	}
	if err := CheckRef(src.Ref); err != nil {
		return Head{}, err
	}
	var refs map[string]string
	err = errNotSmart
	if r.origin != "" && c.client != nil {
		refs, err = c.headsFromSmartHTTP(ctx, r, src.Ref)
	}
	if errors.Is(err, errNotSmart) {
		refs, err = c.headsFromGit(ctx, r, src.Ref)
	}
	if err != nil {
		return Head{}, r.hide(err)
	}
	head, err := headOf(refs, src.Ref)
	return head, r.hide(err)
}

// headOf finds a branch in refs. "ref: HEAD" has the target of HEAD.
func headOf(refs map[string]string, branch string) (Head, error) {
	if branch != "" {
		commit := refs["refs/heads/"+branch]
		if !commitID().MatchString(commit) {
			return Head{}, fmt.Errorf("%w: %s", ErrNoBranch, branch)
		}
		return Head{branch, commit}, nil
	}
	commit := refs["HEAD"]
	if !commitID().MatchString(commit) {
		return Head{}, fmt.Errorf("%w: its default branch has no commits", ErrNoBranch)
	}
	branch = strings.TrimPrefix(refs["ref: HEAD"], "refs/heads/")
	if err := CheckRef(branch); err != nil {
		return Head{}, fmt.Errorf("the repository's default branch has a name that is not allowed: %w", err)
	}
	return Head{branch, commit}, nil
}

// wanted returns the ref of a branch.
func wanted(branch string) string {
	if branch == "" {
		return "HEAD"
	}
	return "refs/heads/" + branch
}

// headsFromGit reads the refs with git.
func (c *Cache) headsFromGit(ctx context.Context, r remote, branch string) (map[string]string, error) {
	out, err := c.run(
		ctx, command{args: []string{"ls-remote", "--quiet", "--symref", "--", r.url, wanted(branch)}, remote: &r},
	)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		value, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if target, symbolic := strings.CutPrefix(value, "ref: "); symbolic {
			refs["ref: "+name] = target
		} else {
			refs[name] = value
		}
	}
	return refs, nil
}

// errNotSmart is returned for a response that git may understand, but we do not.
var errNotSmart = errors.New("the server does not speak version 2 of Git's protocol")

// maxRefs limits a remote's list of refs, in bytes.
const maxRefs = 1 << 20

// newClient returns nil if git reaches remotes in a way that net/http does not support.
func newClient(env []string) (*http.Client, error) {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 4, MaxIdleConns: 64, IdleConnTimeout: 2 * time.Minute, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: 15 * time.Second,
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) {
		case "ALL_PROXY":
			return nil, nil //nolint:nilnil // there is no such client, which is no error
		case "GIT_SSL_CAINFO":
			pem, err := os.ReadFile(value)
			if err != nil {
				return nil, fmt.Errorf("read GIT_SSL_CAINFO: %w", err)
			}
			transport.TLSClientConfig.RootCAs = x509.NewCertPool()
			transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem)
		}
	}
	return &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// headsFromSmartHTTP is the ls-refs command of gitprotocol-v2(5) over gitprotocol-http(5). It asks
// each server once whether it supports this.
func (c *Cache) headsFromSmartHTTP(ctx context.Context, r remote, branch string) (map[string]string, error) {
	format, known := c.formats.Load(r.url)
	if !known {
		lines, err := c.exchange(ctx, r, http.MethodGet, "/info/refs?service=git-upload-pack", nil)
		if err != nil {
			return nil, err
		}
		if format, err = objectFormat(lines); err != nil {
			return nil, err
		}
		c.formats.Store(r.url, format)
	}
	var body bytes.Buffer
	packet := func(line string) { fmt.Fprintf(&body, "%04x%s\n", len(line)+5, line) }
	packet("command=ls-refs")
	packet("object-format=" + fmt.Sprint(format))
	body.WriteString("0001")
	packet("symrefs")
	packet("ref-prefix " + wanted(branch))
	body.WriteString("0000")
	lines, err := c.exchange(ctx, r, http.MethodPost, "/git-upload-pack", body.Bytes())
	if err != nil {
		c.formats.Delete(r.url)
		return nil, err
	}
	refs := map[string]string{}
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		refs[fields[1]] = fields[0]
		for _, attribute := range fields[2:] {
			if target, ok := strings.CutPrefix(attribute, "symref-target:"); ok {
				refs["ref: "+fields[1]] = target
			}
		}
	}
	return refs, nil
}

// objectFormat reads the capabilities of a server.
func objectFormat(lines []string) (any, error) {
	version, refs, format := false, false, "sha1"
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		version = version || line == "version 2"
		refs = refs || name == "ls-refs"
		if name == "object-format" {
			format = value
		}
	}
	if !version || !refs {
		return nil, errNotSmart
	}
	return format, nil
}

// exchange sends one request and reads the packets of the response, without line ends.
func (c *Cache) exchange(ctx context.Context, r remote, method, path string, body []byte) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(r.url, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, errNotSmart
	}
	req.Header.Set("Git-Protocol", "version=2")
	req.Header.Set("User-Agent", "git/penstock")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
		req.Header.Set("Accept", "application/x-git-upload-pack-result")
	}
	if name, value, ok := strings.Cut(r.header, ": "); ok {
		req.Header.Set(name, value)
	}
	res, err := c.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the outer error only adds the URL
		}
		return nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden ||
		res.StatusCode == http.StatusNotFound:
		return nil, accessError(r, res.StatusCode)
	case res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests:
		return nil, fmt.Errorf("the server returned the HTTP status %d", res.StatusCode)
	case res.StatusCode != http.StatusOK ||
		!strings.HasPrefix(res.Header.Get("Content-Type"), "application/x-git-upload-pack-"):
		return nil, errNotSmart
	}
	lines, err := packets(io.LimitReader(res.Body, maxRefs))
	if err == nil {
		_, err = io.CopyN(io.Discard, res.Body, 1) // reads the end, so that the connection can be reused
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the server's response: %w", err)
	}
	return lines, nil
}

// accessError explains why a server does not show a repository. Many servers respond with 404 to
// callers without access.
func accessError(r remote, status int) error {
	switch {
	case r.header != "" && status == http.StatusNotFound:
		return fmt.Errorf("the repository does not exist, or the credential cannot read it (HTTP %d)", status)
	case r.header != "":
		return fmt.Errorf("the server does not accept the credential (HTTP %d)", status)
	case status == http.StatusNotFound:
		return fmt.Errorf("the repository does not exist, or it needs a credential (HTTP %d)", status)
	}
	return fmt.Errorf("the repository needs a credential (HTTP %d)", status)
}

// packets reads pkt-lines of gitprotocol-common(5) to the end.
func packets(from io.Reader) ([]string, error) {
	in := bufio.NewReader(from)
	var lines []string
	for {
		var head [4]byte
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return lines, nil
		} else if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(string(head[:]), 16, 16)
		if err != nil {
			return nil, errNotSmart
		}
		if n < 4 { // flush and other special packets
			continue
		}
		line := make([]byte, n-4)
		if _, err := io.ReadFull(in, line); err != nil {
			return nil, err
		}
		text := strings.TrimSuffix(string(line), "\n")
		if message, failed := strings.CutPrefix(text, "ERR "); failed {
			return nil, fmt.Errorf("the server says: %s", clean(message, nil))
		}
		lines = append(lines, text)
	}
}
