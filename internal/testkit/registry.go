package testkit

import (
	"archive/tar"
	"bytes"
	"cmp"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Registry is a registry of container images in this process. It accepts one user.
type Registry struct {
	// Host is its address, as in references.
	Host string
	// Username and Password are of its only user. Everybody may push and pull if they are empty.
	Username, Password string
	// Tokens makes the registry ask for a token, which it gives to its user, as public registries do.
	Tokens bool
	// Realm is where the registry sends logins with Tokens. Default: its own address.
	Realm string
	// CA is the certificate of a registry with TLS, in PEM.
	CA []byte
	// Blobs counts the downloads of layers and configurations.
	Blobs atomic.Int64
	// Status, if it is not 0, is the response to each request.
	Status atomic.Int64
	// Hold, unless it is nil, is called before a layer or a configuration is sent.
	Hold func(*http.Request)
	// Got counts the requests with a user and a password.
	Got atomic.Int64

	server *httptest.Server
}

// NewRegistry starts a registry that ends with the test.
func NewRegistry(tb testing.TB) *Registry {
	tb.Helper()
	r := &Registry{}
	r.server = httptest.NewServer(r.handler())
	return r.started(tb)
}

// NewTLSRegistry is NewRegistry with TLS, without which no registry gets the login of a secret.
func NewTLSRegistry(tb testing.TB) *Registry {
	tb.Helper()
	r := &Registry{}
	r.server = httptest.NewUnstartedServer(r.handler())
	r.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	r.server.StartTLS()
	r.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	return r.started(tb)
}

func (r *Registry) started(tb testing.TB) *Registry {
	tb.Helper()
	tb.Cleanup(r.server.Close)
	at, err := url.Parse(r.server.URL)
	if err != nil {
		tb.Fatal(err)
	}
	r.Host = at.Host
	return r
}

func (r *Registry) handler() http.Handler {
	images := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if _, _, ok := request.BasicAuth(); ok {
			r.Got.Add(1)
		}
		if status := r.Status.Load(); status != 0 {
			w.WriteHeader(int(status))
			return
		}
		if !r.authorize(w, request) {
			return
		}
		if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/blobs/sha256:") {
			r.Blobs.Add(1)
			if r.Hold != nil {
				r.Hold(request)
			}
		}
		images.ServeHTTP(w, request)
	})
}

// authorize reports whether r continues with a request. Otherwise it has responded.
func (r *Registry) authorize(w http.ResponseWriter, request *http.Request) bool {
	const token = "of-the-registry"
	user, password, _ := request.BasicAuth()
	known, asks := user == r.Username && password == r.Password, request.URL.Path == "/token"
	switch {
	case r.Tokens && asks && known:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"token": "`+token+`"}`)
		return false
	case r.Tokens && !asks && request.Header.Get("Authorization") == "Bearer "+token, !r.Tokens && known:
		return true
	case r.Tokens:
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+cmp.Or(r.Realm, r.server.URL+"/token")+`",service="images"`)
	default:
		w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
	}
	// A hostile registry might send back what it got.
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprintf(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "no access with %s:%s"}]}`, user, password)
	return false
}

// ImageFile is an entry of a layer. Without a Typeflag it is a regular file.
type ImageFile struct {
	tar.Header
	Content string
}

// Push stores an image of layers, the lowest one first, with an environment, and returns its
// digest.
func (r *Registry) Push(tb testing.TB, repository string, env []string, layers ...[]ImageFile) (digest string) {
	tb.Helper()
	var archives [][]byte
	for _, files := range layers {
		archives = append(archives, layerArchive(tb, files))
	}
	return r.PushArchives(tb, repository, env, archives...)
}

// PushArchives is Push with layers that are tar archives.
func (r *Registry) PushArchives(tb testing.TB, repository string, env []string, layers ...[]byte) (digest string) {
	tb.Helper()
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, Config: v1.Config{Env: env}, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, archive := range layers {
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
		layer, err := tarball.LayerFromOpener(open)
		if err != nil {
			tb.Fatal(err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			tb.Fatal(err)
		}
	}
	ref, err := name.ParseReference(r.Host + "/" + repository)
	if err != nil {
		tb.Fatal(err)
	}
	err = remote.Write(ref, image, remote.WithAuth(&authn.Basic{Username: r.Username, Password: r.Password}),
		remote.WithTransport(r.server.Client().Transport))
	if err != nil {
		tb.Fatal(err)
	}
	hash, err := image.Digest()
	if err != nil {
		tb.Fatal(err)
	}
	return hash.String()
}

func layerArchive(tb testing.TB, files []ImageFile) []byte {
	tb.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, file := range files {
		header := file.Header
		header.Size = int64(len(file.Content))
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		if header.Mode == 0 {
			header.Mode = 0o755
		}
		if err := archive.WriteHeader(&header); err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(archive, file.Content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// HostImage is a layer with programs of this machine in /bin, and the libraries that they need.
func HostImage(tb testing.TB, programs ...string) (layer []ImageFile) {
	tb.Helper()
	added := map[string]bool{}
	add := func(source, at string) {
		if added[at] {
			return
		}
		added[at] = true
		content, err := os.ReadFile(source)
		if err != nil {
			tb.Fatal(err)
		}
		layer = append(layer, ImageFile{tar.Header{Name: strings.TrimPrefix(at, "/")}, string(content)})
	}
	for _, program := range programs {
		source, err := exec.LookPath(program)
		if err != nil {
			tb.Fatal(err)
		}
		add(source, "/bin/"+program)
		libraries, err := exec.CommandContext(tb.Context(), "ldd", source).Output()
		if err != nil {
			continue // static
		}
		for field := range strings.FieldsSeq(string(libraries)) {
			if filepath.IsAbs(field) {
				add(field, field)
			}
		}
	}
	return layer
}
