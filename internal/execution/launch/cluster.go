package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// cluster calls the API of one namespace.
type cluster struct {
	base      string // of the server
	namespace string
	http      *http.Client
}

// connect returns a client of the cluster with the given access. It sends nothing.
func connect(config *rest.Config, namespace string) (*cluster, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the Kubernetes API: %w", err)
	}
	base := strings.TrimRight(config.Host, "/")
	if !strings.Contains(base, "://") {
		base = "https://" + base
	}
	return &cluster{base: base, namespace: namespace, http: client}, nil
}

// callTime limits a call that is not a watch.
const callTime = 20 * time.Second

// apiError is an answer of the API that is not a success.
type apiError struct {
	status

	call string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s: the Kubernetes API returned %d %s: %s", e.call, e.Code, e.Reason, e.Message)
}

// answered returns the HTTP status of an answer that is an error, or 0.
func answered(err error) int {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.Code
	}
	return 0
}

// createJob creates a Job. A dry run stores nothing, and rejects fields that the API does not know.
func (c *cluster) createJob(ctx context.Context, j job, dry bool) (job, error) {
	path := c.path("batch/v1", "jobs")
	if dry {
		path += "?dryRun=All&fieldValidation=Strict"
	}
	var created job
	return created, c.call(ctx, http.MethodPost, path, j, &created)
}

func (c *cluster) createSecret(ctx context.Context, s secret) error {
	return c.call(ctx, http.MethodPost, c.path("v1", "secrets"), s, nil)
}

func (c *cluster) readSecret(ctx context.Context, name string) (secret, error) {
	var s secret
	return s, c.call(ctx, http.MethodGet, c.path("v1", "secrets")+"/"+url.PathEscape(name), nil, &s)
}

func (c *cluster) listJobs(ctx context.Context, selector string) (list[job], error) {
	var jobs list[job]
	return jobs, c.call(ctx, http.MethodGet, c.path("batch/v1", "jobs")+labelled(selector), nil, &jobs)
}

// deleteJob deletes a Job with its Pod and Secret. A missing one is no error.
func (c *cluster) deleteJob(ctx context.Context, name string) error {
	body := map[string]any{"propagationPolicy": "Background"}
	err := c.call(ctx, http.MethodDelete, c.path("batch/v1", "jobs")+"/"+url.PathEscape(name), body, nil)
	if answered(err) == http.StatusNotFound {
		return nil
	}
	return err
}

func (c *cluster) listPods(ctx context.Context, selector string) (list[pod], error) {
	var pods list[pod]
	return pods, c.call(ctx, http.MethodGet, c.path("v1", "pods")+labelled(selector), nil, &pods)
}

// listEvents returns the events of one object, which the API keeps for an hour.
func (c *cluster) listEvents(ctx context.Context, kind, name string) ([]event, error) {
	selector := "involvedObject.kind=" + kind + ",involvedObject.name=" + name
	var events list[event]
	err := c.call(
		ctx, http.MethodGet, c.path("v1", "events")+"?fieldSelector="+url.QueryEscape(selector), nil, &events,
	)
	return events.Items, err
}

// may reports whether the API allows the caller something in the namespace.
func (c *cluster) may(ctx context.Context, r right) (bool, error) {
	review := map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": map[string]any{
			"namespace": c.namespace, "group": r.group, "resource": r.resource, "verb": r.verb,
		}},
	}
	var answer struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	err := c.call(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review, &answer)
	return answer.Status.Allowed, err
}

// errExpired is returned if the API does not have the changes since a version any more.
var errExpired = errors.New("the watch has expired")

// watchPods calls changed for each change of a Pod since a version, until the watch ends, which it
// does after a few minutes without an error.
func (c *cluster) watchPods(ctx context.Context, selector, since string, changed func(kind string, p pod)) error {
	query := url.Values{
		"watch": {"1"}, "labelSelector": {selector}, "resourceVersion": {since}, "timeoutSeconds": {"240"},
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, c.path("v1", "pods")+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var line struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("watch pods: %w", err)
		}
		if line.Type == "ERROR" { // with HTTP 200
			failed := &apiError{call: "watch pods"}
			if err := json.Unmarshal(line.Object, &failed.status); err != nil {
				return fmt.Errorf("watch pods: %w", err)
			}
			if failed.Code == http.StatusGone {
				return errExpired
			}
			return failed
		}
		var p pod
		if err := json.Unmarshal(line.Object, &p); err != nil {
			return fmt.Errorf("watch pods: %w", err)
		}
		changed(line.Type, p)
	}
}

func labelled(selector string) string { return "?labelSelector=" + url.QueryEscape(selector) }

func (c *cluster) path(group, resource string) string {
	root := "/apis/"
	if group == "v1" {
		root = "/api/"
	}
	return root + group + "/namespaces/" + url.PathEscape(c.namespace) + "/" + resource
}

// call sends a body, unless it is nil, and decodes the answer into result, unless that is nil.
func (c *cluster) call(ctx context.Context, method, path string, body, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if result == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(result); err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	return nil
}

// send returns a successful answer, whose body the caller closes. An error has neither the body of
// the request, which may be a Secret, nor the token.
func (c *cluster) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		content = bytes.NewReader(raw)
	}
	// The operator names the cluster, and paths come from names that are escaped. Gosec finds this or
	// not, depending on other code of the package.
	//nolint:gosec,nolintlint // see above
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r) //nolint:gosec,nolintlint // see above
	if err != nil {
		return nil, err // names the method and the address
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	where, _, _ := strings.Cut(path, "?")
	failed := &apiError{call: method + " " + where}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil || json.Unmarshal(raw, &failed.status) != nil || failed.Code == 0 {
		failed.status = status{Code: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	}
	return nil, failed
}
