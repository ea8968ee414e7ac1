// Package web is the dashboard: its sources, which `make build` builds into dist if Node is
// available, and the handler that serves the result. It knows nothing about runs or keys: the page
// in the browser calls the API.
//
// The Content-Security-Policy allows only files of this server. There is no inline script. Style
// elements that libraries create at run time have a nonce, which differs for every served page.
package web

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// dist.html always exists, and dist only if the dashboard was built.
//
//go:embed all:dist*
var files embed.FS

// Assets is the path of the files whose names change with their content.
const Assets = "/assets/"

// placeholder marks the nonce in index.html.
const placeholder = "PENSTOCK_CSP_NONCE"

// Handler serves the files of the dashboard below [Assets], and its single page at every other
// address. The page chooses its content by the address. A build without the dashboard has a page
// that says how to get it.
func Handler() http.Handler { return handlerOf(files) }

func handlerOf(files fs.FS) http.Handler {
	index, err := fs.ReadFile(files, "dist/index.html")
	if errors.Is(err, fs.ErrNotExist) {
		index, _ = fs.ReadFile(files, "dist.html") // it is embedded
	}
	s := &site{files: files, index: index}
	return http.HandlerFunc(s.serve)
}

type site struct {
	files fs.FS
	index []byte
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, Assets); ok {
		s.serveAsset(w, r, name)
		return
	}
	nonce := newNonce()
	page := bytes.ReplaceAll(s.index, []byte(placeholder), []byte(nonce))
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self' "+
		"'nonce-"+nonce+"'; img-src 'self' data: blob:; font-src 'self'; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store") // the nonce is for one page
	h.Set("Content-Length", strconv.Itoa(len(page)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(page) // the client may have disconnected
	}
}

func newNonce() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// serveAsset sends a file in the smallest encoding that the browser accepts. Its name changes with
// its content, so caches may keep it forever.
func (s *site) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	content, err := s.read(name)
	if err != nil || strings.HasSuffix(name, ".br") || strings.HasSuffix(name, ".gz") {
		w.Header().Set("Cache-Control", "no-store") // after an update it exists
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	kind := cmp.Or(mime.TypeByExtension(path.Ext(name)), "application/octet-stream")
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	for _, form := range []struct{ coding, suffix string }{{"br", ".br"}, {"gzip", ".gz"}} {
		packed, err := s.read(name + form.suffix)
		if err == nil && accepts(r.Header.Get("Accept-Encoding"), form.coding) {
			h.Set("Content-Encoding", form.coding)
			content = packed
			break
		}
	}
	sum := sha256.Sum256(content)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(content) //nolint:gosec // an embedded file, whatever its name is; the client may have disconnected
	}
}

func (s *site) read(asset string) ([]byte, error) {
	return fs.ReadFile(s.files, "dist"+Assets+asset)
}

// accepts reads an Accept-Encoding (RFC 9110 §12.5.3) as browsers write it. It returns true if the
// coding is listed, unless with q=0.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, quality, weighed := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(name, coding) {
			return !weighed || strings.Trim(strings.TrimPrefix(quality, "q="), "0.") != ""
		}
	}
	return false
}
