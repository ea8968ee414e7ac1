package worker

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// outlet serves everything that an execution reaches outside of its sandbox: the model gateway, the
// routes of the API for the run itself and, in a sealed sandbox, the forward proxy for everything
// else.
//
// A sealed sandbox reaches it through a unix socket of this execution. Any other sandbox has the
// network of this machine, and reaches gateway and API through a port of loopback; its paths then
// begin with a secret of this execution.
type outlet struct {
	task   *task
	sealed bool   // the sandbox has no other network
	exe    string // this program, as the sandbox shows it
	kept   string // folder beside the workspace, for the next execution
	dir    string // on the host, of mode 0700; removed at the end
	socket string // "" if the sandbox is not sealed
	trust  string // folder with the certificates; "" if the sandbox is not sealed
	origin string // base of the addresses that the agent gets
	env    []string

	policy  *egress.Policy
	models  *gateway.Session
	spend   *spender
	proxy   *egress.Proxy // nil if the sandbox is not sealed
	pushes  pushGates
	traffic modelTraffic

	// preparing means that only setup commands run, of a workspace that later runs may get, too. They
	// reach neither models nor the API. missed: they have tried.
	preparing, missed atomic.Bool
	problem           providerProblem

	reportMu sync.Mutex
	reported []penstock.HostTraffic

	stop    context.CancelFunc
	served  sync.WaitGroup
	uploads sync.WaitGroup // of observed pull requests
}

// insideTrust is the folder of the proxy's certificates in a sealed sandbox.
const insideTrust = "/run/penstock/trust"

// outletDir is the folder of an outlet, below the workspace's.
const outletDir = "outlet"

// openOutlet starts serving the execution.
func (b *box) openOutlet() error {
	o := &outlet{
		task: b.task, sealed: b.sealed(), exe: b.layout().Exe, kept: b.space.dir,
		dir: filepath.Join(b.space.dir, outletDir), spend: newSpender(b.task), // also of an outlet that does not open
	}
	b.outlet = o
	if err := errors.Join(os.RemoveAll(o.dir), os.Mkdir(o.dir, 0o700)); err != nil {
		return fmt.Errorf("make the folder of the network of run %s: %w", b.Lease.RunID, err)
	}
	var err error
	if o.policy, err = o.networkPolicy(); err != nil {
		return err
	}
	o.models = o.modelSession()
	o.findReceived()
	ctx, stop := context.WithCancel(context.WithoutCancel(b.lease))
	o.stop = stop
	serve := o.servePort
	if o.sealed {
		serve = o.serveRelay
	}
	if err := serve(ctx); err != nil {
		return fmt.Errorf("open the network of run %s: %w", b.Lease.RunID, err)
	}
	o.served.Go(func() { o.keepReporting(ctx) })
	return nil
}

// serveRelay serves a sealed sandbox.
func (o *outlet) serveRelay(ctx context.Context) (err error) {
	o.socket, o.trust = filepath.Join(o.dir, "relay"), filepath.Join(o.dir, "trust")
	o.origin = "http://" + sandbox.RelayAddress
	if err = o.openPushes(ctx); err != nil {
		return err
	}
	if o.proxy, err = o.newProxy(); err != nil {
		return err
	}
	if o.env, err = o.writeTrust(); err != nil {
		return err
	}
	listener, err := sandbox.Listen(o.dir, filepath.Base(o.socket))
	if err != nil {
		return err
	}
	o.served.Go(func() {
		if err := o.proxy.Serve(ctx, listener); err != nil {
			o.task.log.Error("the network of the execution failed", "error", err)
		}
	})
	return nil
}

// servePort serves a sandbox that has the network of this machine.
func (o *outlet) servePort(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	secret := "/" + rand.Text()
	o.origin = "http://" + listener.Addr().String() + secret
	local := http.StripPrefix(secret, http.HandlerFunc(o.serveLocal))
	server := &http.Server{
		ReadHeaderTimeout: headerTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := min(len(secret), len(r.URL.Path))
			if subtle.ConstantTimeCompare([]byte(r.URL.Path[:n]), []byte(secret)) != 1 {
				http.NotFound(w, r)
				return
			}
			local.ServeHTTP(w, r)
		}),
	}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	o.served.Go(func() {
		defer stopped()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			o.task.log.Error("the gateway of the execution failed", "error", err)
		}
	})
	return nil
}

// headerTimeout bounds how long the header of a request may take.
const headerTimeout = 30 * time.Second

// serveLocal serves the routes of the run itself.
func (o *outlet) serveLocal(w http.ResponseWriter, r *http.Request) {
	own := strings.HasPrefix(r.URL.Path, ownPrefix+"/")
	switch model := strings.HasPrefix(r.URL.Path, "/model/"); {
	case (model || own) && o.preparing.Load():
		o.missed.Store(true)
		http.Error(w, "The preparation of an environment reaches no models and no API.", http.StatusForbidden)
	case model:
		o.models.ServeHTTP(w, r)
	case own:
		o.serveOwn(w, r)
	default:
		http.Error(w, "Nothing is at this address. A run finds its models below /model/ and the API below "+ownPrefix+"/.",
			http.StatusNotFound)
	}
}

// settle waits until observed pull requests are stored, and reports the traffic.
func (o *outlet) settle() {
	if o == nil {
		return
	}
	o.uploads.Wait()
	o.reportTraffic()
}

// close ends every connection.
func (o *outlet) close() {
	if o == nil {
		return
	}
	if o.models != nil {
		o.models.End()
		stop := o.spend.closing()
		o.models.Close()
		stop()
	}
	if o.stop != nil {
		o.stop()
	}
	o.served.Wait()
	o.uploads.Wait()
	o.pushes.close()
	_ = os.RemoveAll(o.dir)
}
