package launch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/penstock-dev/penstock"
)

// right is one thing that a launcher must be allowed to do in its namespace.
type right struct{ group, resource, verb string }

// rights are all that a launcher needs.
var rights = []right{
	{"batch", "jobs", "create"},
	{"batch", "jobs", "list"},
	{"batch", "jobs", "delete"},
	{"", "pods", "list"},
	{"", "pods", "watch"},
	{"", "secrets", "create"},
	{"", "secrets", "get"},
	{"", "events", "list"},
}

// Role is the RBAC that a launcher needs, to apply in its namespace.
func Role(namespace string) string {
	return `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: penstock-launcher, namespace: ` + namespace + `}
rules:
- {apiGroups: [batch], resources: [jobs], verbs: [create, list, delete]}
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [""], resources: [secrets], verbs: [create, get]}
- {apiGroups: [""], resources: [events], verbs: [list]}
`
}

// ErrUnsealed is returned if the cluster refuses the Pod of a sealed run.
var ErrUnsealed = errors.New("the cluster refuses Pods of sealed runs")

// Preflight checks, without storing anything, that the launcher has its rights and that the cluster
// accepts its Job. The error says in words what is missing. ErrUnsealed: --allow-unsealed would help.
func (l *Launcher) Preflight(ctx context.Context) error {
	var missing []string
	for _, r := range rights {
		var allowed bool
		err := retry(ctx, l.Log, "check a right", func() (err error) {
			allowed, err = l.cluster.may(ctx, r)
			return err
		})
		if err != nil {
			return fmt.Errorf("check the rights in the namespace %s: %w", l.Namespace, err)
		}
		if !allowed {
			missing = append(missing, r.verb+" "+r.resource)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf(
			"the launcher may not %s in the namespace %s. Apply this Role, and bind it to the launcher's "+
				"ServiceAccount:\n%s", strings.Join(missing, ", "), l.Namespace, Role(l.Namespace),
		)
	}
	trial := penstock.Assignment{Lease: penstock.Lease{RunID: penstock.NewID(), ExecutionID: 1}}
	made, err := l.cluster.createJob(ctx, l.newJob(trial), true)
	switch code := answered(err); {
	case code == http.StatusBadRequest || code == http.StatusUnprocessableEntity || code == http.StatusForbidden:
		if l.Unsealed || elsewhere(err) {
			return fmt.Errorf("the cluster refuses the Job of a run: %w", err)
		}
		return fmt.Errorf("%w: %w. Allow user namespaces and procMount, or accept the Pod as the only sandbox with "+
			"--allow-unsealed", ErrUnsealed, err)
	case err != nil:
		return fmt.Errorf("try to create the Job of a run: %w", err)
	}
	// A cluster without user namespaces drops the fields that ask for them.
	spec := made.Spec.Template.Spec
	if !l.Unsealed && (spec.HostUsers == nil || *spec.HostUsers) {
		return fmt.Errorf("%w: its API drops the field hostUsers. Enable user namespaces, or accept the Pod as the only "+
			"sandbox with --allow-unsealed", ErrUnsealed)
	}
	if l.MountProgram && !l.Unsealed {
		return l.tryMount(ctx)
	}
	return nil
}

// tryMount returns an error if the API refuses a Pod that mounts an image. An API that has no such
// volumes drops the field, and refuses the volume that is left.
func (l *Launcher) tryMount(ctx context.Context) error {
	trial := penstock.Assignment{
		Lease:  penstock.Lease{RunID: penstock.NewID(), ExecutionID: 1},
		Runner: &penstock.RunnerSpec{Image: l.WorkerImage + "-other"},
	}
	if _, err := l.cluster.createJob(ctx, l.newJob(trial), true); err != nil {
		return fmt.Errorf("the cluster refuses a Pod that mounts an image; start without --pod-mount-program: %w", err)
	}
	return nil
}

// elsewhere reports whether the API names the fields that it refuses, and none of them seals the Pod.
func elsewhere(err error) bool {
	failed, _ := errors.AsType[*apiError](err)
	for _, cause := range failed.Details.Causes {
		for _, sealing := range []string{"hostUsers", "securityContext"} {
			if strings.Contains(cause.Field, sealing) {
				return false
			}
		}
	}
	return len(failed.Details.Causes) > 0
}
