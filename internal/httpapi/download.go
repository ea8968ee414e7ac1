package httpapi

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// download is where every signed link leads. What it sends was made by an agent
// or its user, so a browser must save it and never show it as this origin's.
func (a *API) download(c *call) error {
	d, err := a.svc.Files.Download(c.ctx(), c.param("token"))
	if err != nil {
		return err
	}
	defer d.Content.Close()
	h := c.w.Header()
	h.Set("Content-Type", safeType(d.MimeType))
	h.Set("Content-Disposition", attachment(d.Name))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w := &slowAnswer{ResponseWriter: c.w, rc: http.NewResponseController(c.w)}
	if seeker, ok := d.Content.(io.ReadSeeker); ok {
		http.ServeContent(w, c.r, "", d.ModTime, seeker)
		return nil
	}
	if d.Size > 0 {
		h.Set("Content-Length", strconv.FormatInt(d.Size, 10))
	}
	c.w.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(w, d.Content)
	return err
}

// slowAnswer lets a large answer take its time as long as the reader goes on.
type slowAnswer struct {
	http.ResponseWriter
	rc *http.ResponseController
}

func (w *slowAnswer) Write(b []byte) (int, error) {
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

// attachment is a Content-Disposition with the name twice: plain for old
// clients, and as it is (RFC 6266 §5, RFC 8187).
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
