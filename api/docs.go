package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
)

//go:embed docs
var docsFiles embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"markdown": markdown,
		"inline":   inline,
		"lower":    strings.ToLower,
	}).ParseFS(docsFiles, "docs/*.tmpl"))
})

// contentSecurityPolicy of every page allows no script, and nothing from other origins.
const contentSecurityPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// Docs serves the reference of the API for people, generated from [OpenAPI]: /docs,
// /docs/openapi.yaml, /docs/openapi.json, /docs/errors, /docs/errors/{code} and their stylesheet.
// They need no script, no key and no network. Base is the server's public origin, such as
// "https://penstock.example.com", for the examples; "" leaves a shell variable there. The pages are
// rendered at the first request.
func Docs(base string) http.Handler {
	base = cmp.Or(base, "$PENSTOCK_URL")
	pages := sync.OnceValues(func() (map[string]page, error) { return makePages(base) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := pages()
		if err != nil { // a test renders them
			panic(fmt.Errorf("api: make the reference pages: %w", err))
		}
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		p, ok := all[strings.TrimSuffix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		p.serve(w, r)
	})
}

// page is one resource, ready to be sent.
type page struct {
	contentType string
	plain       []byte
	gzipped     []byte
	tag         string // of the content, for both forms
}

func newPage(contentType string, content []byte) page {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // never fails: the level is valid
	_, _ = z.Write(content)                                    // writing to a buffer never fails
	_ = z.Close()
	sum := sha256.Sum256(content)
	return page{contentType, content, zipped.Bytes(), hex.EncodeToString(sum[:8])}
}

func (p page) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", p.contentType)
	h.Set("Cache-Control", "no-cache") // clients revalidate, and mostly get a 304
	h.Set("Vary", "Accept-Encoding")
	tag, content := `"`+p.tag+`"`, p.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		tag, content = `"`+p.tag+`-gz"`, p.gzipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	for candidate := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/"); candidate == tag || candidate == "*" {
			h.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Length", fmt.Sprint(len(content)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(content)
	}
}

// acceptsGzip reads an Accept-Encoding (RFC 9110 §12.5.3) as browsers write it. It returns true if
// gzip is listed, unless with q=0.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, quality, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(strings.TrimPrefix(quality, "q="), "0.") != "" || quality == ""
		}
	}
	return false
}

func makePages(base string) (map[string]page, error) {
	root, err := parseTree(OpenAPI)
	if err != nil {
		return nil, err
	}
	ref, err := newReference(root, base)
	if err != nil {
		return nil, err
	}
	asJSON, err := root.json()
	if err != nil {
		return nil, err
	}
	style, err := docsFiles.ReadFile("docs/style.css")
	if err != nil {
		return nil, err
	}
	reference, err := render("reference.tmpl", ref)
	if err != nil {
		return nil, err
	}
	const html = "text/html; charset=utf-8"
	pages := map[string]page{
		"/docs":              newPage(html, reference),
		"/docs/errors":       newPage(html, ErrorIndex()),
		"/docs/style.css":    newPage("text/css; charset=utf-8", style),
		"/docs/openapi.yaml": newPage("application/yaml", OpenAPI),
		"/docs/openapi.json": newPage("application/json", asJSON),
	}
	for _, e := range errorInfos {
		content, _ := ErrorPage(e.Code)
		pages["/docs/errors/"+e.Code] = newPage(html, content)
	}
	return pages, nil
}

// ErrorPage returns the page that explains an error code. ok is false for an unknown code. The page
// needs /docs/style.css.
func ErrorPage(code string) (html []byte, ok bool) {
	info, ok := FindError(code)
	if !ok {
		return nil, false
	}
	return mustRender("error.tmpl", info), true
}

// ErrorIndex returns the page that lists every error code.
func ErrorIndex() []byte { return mustRender("errors.tmpl", errorInfos) }

func render(name string, data any) ([]byte, error) {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, name, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// mustRender is only for the data of this package. A test renders all of it.
func mustRender(name string, data any) []byte {
	out, err := render(name, data)
	if err != nil {
		panic(fmt.Errorf("api: %w", err))
	}
	return out
}
