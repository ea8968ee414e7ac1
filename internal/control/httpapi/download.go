package httpapi

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/control/run"
)

// downloads serves signed links.
type downloads struct {
	rules *run.Files
}

// serve serves signed links. The content comes from an agent or a user, so a browser must save
// it and never show it as a page of this origin.
func (h downloads) serve(c *call) error {
	if url, err := h.elsewhere(c); err != nil || url != "" {
		if err != nil {
			return err
		}
		return c.redirect(url)
	}
	d, err := h.rules.Download(c.ctx(), c.param("token"))
	if err != nil {
		return err
	}
	defer d.Content.Close()
	header := c.w.Header()
	header.Set("Content-Type", safeType(d.MimeType))
	header.Set("Content-Disposition", attachment(d.Name))
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w := &slowResponse{ResponseWriter: c.w, rc: http.NewResponseController(c.w)}
	if seeker, ok := d.Content.(io.ReadSeeker); ok {
		http.ServeContent(w, c.r, "", d.ModTime, seeker)
		return nil
	}
	if d.Size > 0 {
		header.Set("Content-Length", strconv.FormatInt(d.Size, 10))
	}
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(w, d.Content)
	return err
}

// elsewhere returns a URL of the object store, or "" if the server sends the content. It always does
// so for a script in a page, which its content security policy would not let follow the redirect.
func (h downloads) elsewhere(c *call) (string, error) {
	if mode := c.r.Header.Get("Sec-Fetch-Mode"); c.r.Method != http.MethodGet || mode != "" && mode != "navigate" {
		return "", nil
	}
	return h.rules.DownloadElsewhere(c.ctx(), c.param("token"), attachment, safeType)
}

// slowResponse extends the deadline of a large response while the client keeps reading.
type slowResponse struct {
	http.ResponseWriter
	rc *http.ResponseController
}

func (w *slowResponse) Write(b []byte) (int, error) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(time.Minute))
	return w.ResponseWriter.Write(b)
}

func safeType(t string) string {
	if kind, params, err := mime.ParseMediaType(t); err == nil && strings.Contains(kind, "/") {
		if formatted := mime.FormatMediaType(kind, params); formatted != "" {
			return formatted
		}
	}
	return "application/octet-stream"
}

// attachment returns a Content-Disposition that has the name twice: in ASCII for old clients, and
// unchanged (RFC 6266 §5, RFC 8187).
func attachment(name string) string {
	if name == "" {
		return "attachment"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%;`, r) {
			return '_'
		}
		return r
	}, name)
	if plain == name {
		return `attachment; filename="` + name + `"`
	}
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + strings.ReplaceAll(
		url.QueryEscape(strings.ToValidUTF8(name, "_")), "+", "%20",
	)
}
