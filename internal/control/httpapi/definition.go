package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

// definitions holds the handlers of factories' files.
type definitions struct {
	rules *factory.Factories
	crowd *crowd // callers without a key
}

func (h definitions) read(c *call) error {
	return c.ok(h.rules.Definition(c.ctx(), c.principal, c.param("uid"), 0))
}

func (h definitions) readRevision(c *call) error {
	revision, err := strconv.ParseInt(c.param("revision"), 10, 64)
	if err != nil || revision < 1 {
		return penstock.NotFound("revision", c.param("revision"))
	}
	return c.ok(h.rules.Definition(c.ctx(), c.principal, c.param("uid"), revision))
}

func (h definitions) apply(c *call) error {
	var req factory.ApplyRequest
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Apply(c.ctx(), c.principal, c.param("uid"), req))
}

func (h definitions) validate(c *call) error {
	if c.principal.May(penstock.ScopeFactoriesManage) {
		return h.check(c)
	}
	exit, err := h.crowd.enter(c.peer.addr)
	if err != nil {
		c.w.Header().Set("Connection", "close") // otherwise net/http waits for a body that nobody reads
		return err
	}
	defer exit()
	if _, err := c.readBody(); err != nil { // a slow sender must not keep others from being checked
		return err
	}
	return h.crowd.check(c.ctx(), func() error { return h.check(c) })
}

// check responds with the findings in the files of the body. Callers without a key get fewer
// checks.
func (h definitions) check(c *call) error {
	var req struct {
		Files fileTree `json:"files"`
	}
	if err := c.decode(&req); err != nil {
		return err
	}
	return c.ok(h.rules.Validate(c.ctx(), c.principal, req.Files))
}

// fileTree is the content of each file by its path: an object, or a list of {path, content}.
type fileTree map[string]string

// decodeFiles reads both forms.
func decodeFiles(dec *jsontext.Decoder, files *fileTree) error {
	if dec.PeekKind() == '{' {
		texts := map[string]string{}
		err := decodeTexts(dec, &texts)
		*files = texts
		return err
	}
	if dec.PeekKind() != '[' {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*files = fileTree{}
	for n := 0; dec.PeekKind() != ']'; n++ {
		var file listedFile
		at := fmt.Sprintf("/%d", n)
		if err := json.UnmarshalDecode(dec, &file); err != nil {
			return err
		}
		if file.Path == nil || file.Content == nil {
			return penstock.Invalid(at, "must have path and content")
		}
		if _, twice := (*files)[*file.Path]; twice {
			return penstock.Invalid(at+"/path", "is %q, which is already the path of another file", *file.Path)
		}
		(*files)[*file.Path] = *file.Content
	}
	_, err := dec.ReadToken()
	return err
}

// listedFile is a file in a list.
type listedFile struct {
	Path    *string `json:"path"`
	Content *string `json:"content"`
}

func (h definitions) schemaVersions(c *call) error {
	_, versions, err := h.rules.FactorySchemas()
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, versions)
}

func (h definitions) schemas(c *call) error {
	schemas, _, err := h.rules.FactorySchemas()
	if err != nil {
		return err
	}
	return c.respond(http.StatusOK, schemas)
}

func (h definitions) schema(c *call) error {
	text, err := h.rules.FactorySchema(c.param("version"), c.param("document"))
	if err != nil {
		return err
	}
	c.write(http.StatusOK, "", text)
	return nil
}

func (h definitions) history(c *call) error {
	q := c.query()
	limit, cursor := q.limit(penstock.DefaultLimit), q.text("cursor")
	if q.err != nil {
		return q.err
	}
	return c.ok(h.rules.History(c.ctx(), c.principal, c.param("uid"), limit, cursor))
}
