package launch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// The labels and names of what a launcher creates.
const (
	labelManaged   = "app.kubernetes.io/managed-by"
	labelLauncher  = "penstock.dev/launcher"
	labelRun       = "penstock.dev/run"
	labelExecution = "penstock.dev/execution"
	managedBy      = "penstock"

	initContainer = "penstock"
	mainContainer = "worker"

	programDir = "/penstock/bin"
	imageDir   = "/penstock/image"
	dataDir    = "/penstock/data"
	accessDir  = "/penstock/access"
)

// exitNotAdopted is the exit code of a worker whose execution is no longer waiting for it.
const exitNotAdopted = 65

// graceTime is how long a Pod has, when it is stopped, to save the agent's session.
const graceTime = 60 * time.Second

// spareTime is what the deadline of a Job allows beyond the limits of the run.
const spareTime = 5 * time.Minute

// jobName is the name of the Job of an execution and of its Secret. It is always the same, so that a
// repeated creation finds the first one.
func jobName(l penstock.Lease) string {
	return fmt.Sprintf("penstock-%s-%d", l.RunID, l.ExecutionID)
}

// podImage is the image that the run names, or the one of the settings. A runner's image takes
// precedence over the environment's.
func (o Options) podImage(a penstock.Assignment) string {
	return cmp.Or(penstock.ImageOf(a.Runner, a.Environment).Reference, o.Image)
}

// memory is the memory limit of a Pod in the form of its resources; "": none.
func (o Options) memory(a penstock.Assignment) string {
	if a.Runner != nil && a.Runner.MemoryGB > 0 {
		return strconv.FormatInt(int64(a.Runner.MemoryGB*1000), 10) + "M"
	}
	return o.Memory
}

func (o Options) cpus(a penstock.Assignment) string {
	if a.Runner != nil && a.Runner.VCPUs > 0 {
		return strconv.Itoa(a.Runner.VCPUs)
	}
	return o.CPUs
}

// newJob returns the Job of an execution. Its Pod runs one worker, which adopts the lease in the
// Secret of the same name.
func (o Options) newJob(a penstock.Assignment) job {
	name := jobName(a.Lease)
	labels := map[string]string{
		labelManaged: managedBy, labelLauncher: o.Name, labelRun: a.Lease.RunID,
		labelExecution: strconv.Itoa(a.Lease.ExecutionID),
	}
	limit := cmp.Or(a.TimeLimit, o.LongestRun)
	return job{
		APIVersion: "batch/v1", Kind: "Job", Meta: meta{Name: name, Labels: labels},
		Spec: jobSpec{
			Completions: 1, Parallelism: 1, TTLSecondsAfterFinished: int(o.KeepJobs / time.Second),
			ActiveDeadlineSeconds: int64((limit + o.StartTimeout + spareTime) / time.Second),
			PodReplacementPolicy:  "Failed",
			Template:              podTemplate{Meta: meta{Labels: labels}, Spec: o.podSpec(a, name)},
		},
	}
}

func (o Options) podSpec(a penstock.Assignment, secretName string) podSpec {
	no := false
	spec := podSpec{
		RestartPolicy: "Never", AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		TerminationGracePeriodSeconds: int(graceTime / time.Second),
		SecurityContext:               o.podSecurity(),
		Containers: []container{{
			Name: mainContainer, Image: o.podImage(a), ImagePullPolicy: o.PullPolicy,
			Command: o.command("penstock"), WorkingDir: dataDir,
			Env: []map[string]any{
				{"name": "PENSTOCK_HOST", "valueFrom": map[string]any{
					"fieldRef": map[string]any{"fieldPath": "metadata.name"},
				}},
				{"name": "HOME", "value": dataDir},
			},
			EnvFrom:   o.envFrom(),
			Resources: resources(o.cpus(a), o.memory(a)),
			VolumeMounts: []map[string]any{
				{"name": "access", "mountPath": accessDir, "readOnly": true},
				{"name": "data", "mountPath": dataDir},
				{"name": "tmp", "mountPath": "/tmp"},
			},
			SecurityContext:          containerSecurity(!o.Unsealed),
			TerminationMessagePolicy: "FallbackToLogsOnError",
		}},
		Volumes: []map[string]any{
			{"name": "access", "secret": map[string]any{"secretName": secretName, "defaultMode": 0o440}},
			{"name": "data", "emptyDir": map[string]any{"sizeLimit": o.Disk}},
			{"name": "tmp", "emptyDir": map[string]any{"sizeLimit": o.Disk}},
		},
		NodeSelector: maps.Clone(o.NodeSelector), Tolerations: o.Tolerations,
		RuntimeClassName: o.RuntimeClass, PriorityClassName: o.PriorityClass,
	}
	if !o.Unsealed {
		spec.HostUsers = &no
	}
	for _, name := range o.PullSecrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, named{name})
	}
	if a.RegistryLogin != "" {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, named{secretName + "-pull"})
	}
	if o.podImage(a) != o.WorkerImage {
		o.addProgram(&spec)
	}
	o.place(&spec, a)
	return spec
}

// addProgram brings penstock and bubblewrap, which the image of the run need not have, from the image of
// the launcher's settings.
func (o Options) addProgram(spec *podSpec) {
	if o.MountProgram && !o.Unsealed {
		o.mountProgram(spec)
	} else {
		o.copyProgram(spec)
	}
}

// startMounted starts penstock wherever the mounted image has it.
const startMounted = `for dir in /usr/local/bin /usr/bin /bin; do
  [ ! -e ` + imageDir + `$dir/penstock ] || exec ` + imageDir + `$dir/penstock "$@"
done
echo "the image of --worker-image has no penstock in /usr/local/bin, /usr/bin or /bin" >&2
exit 127`

// mountProgram mounts the image of the settings in the worker's container. That takes no time.
func (o Options) mountProgram(spec *podSpec) {
	image := map[string]any{"reference": o.WorkerImage}
	if o.PullPolicy != "" {
		image["pullPolicy"] = o.PullPolicy
	}
	spec.Volumes = append(spec.Volumes, map[string]any{"name": "program", "image": image})
	main := &spec.Containers[0]
	main.Command = append([]string{"/bin/sh", "-c", startMounted}, o.command("penstock")...)
	main.Command = append(main.Command, "--program-root", imageDir)
	main.VolumeMounts = append(main.VolumeMounts, map[string]any{
		"name": "program", "mountPath": imageDir, "readOnly": true,
	})
}

// copyProgram has an init container copy them, which works on every node.
func (o Options) copyProgram(spec *podSpec) {
	spec.Volumes = append(spec.Volumes, map[string]any{
		"name": "program", "emptyDir": map[string]any{"sizeLimit": "1Gi"},
	})
	spec.InitContainers = []container{{
		Name: initContainer, Image: o.WorkerImage, ImagePullPolicy: o.PullPolicy,
		Command:                  []string{"penstock", "copy-program", programDir},
		VolumeMounts:             []map[string]any{{"name": "program", "mountPath": programDir}},
		SecurityContext:          containerSecurity(false),
		Resources:                resources(o.CPUs, o.Memory),
		TerminationMessagePolicy: "FallbackToLogsOnError",
	}}
	main := &spec.Containers[0]
	main.Command = o.command(programDir + "/penstock")
	main.VolumeMounts = append(main.VolumeMounts, map[string]any{
		"name": "program", "mountPath": programDir, "readOnly": true,
	})
}

// place chooses the nodes that the runner allows, among the nodes that the settings select.
func (o Options) place(spec *podSpec, a penstock.Assignment) {
	if a.Runner == nil || a.Runner.Arch == "" {
		return
	}
	if spec.NodeSelector == nil {
		spec.NodeSelector = map[string]string{}
	}
	spec.NodeSelector["kubernetes.io/os"] = "linux"
	spec.NodeSelector["kubernetes.io/arch"] = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}[a.Runner.Arch]
}

// command returns the command of the worker in the Pod. program is the path of the worker's
// program.
func (o Options) command(program string) []string {
	command := []string{
		program, "worker", "--once", "--lease-file", accessDir + "/lease", "--key-file", accessDir + "/key",
		"--server", o.Server, "--data", dataDir + "/worker", "--own-image", "--keep-workspaces", "0",
	}
	if o.Unsealed {
		command = append(command, "--sandbox", "process", "--allow-open-network")
	}
	return append(command, o.WorkerArgs...)
}

func (o Options) envFrom() (list []map[string]any) {
	for _, name := range o.Secrets {
		list = append(list, map[string]any{"secretRef": map[string]any{"name": name}})
	}
	return list
}

// podSecurity is what the sandbox of a sealed run needs: an unprivileged process that may create user
// namespaces. Without sealing, it is the profile "restricted" of Pod Security.
func (o Options) podSecurity() map[string]any {
	seccomp := "RuntimeDefault"
	if !o.Unsealed {
		seccomp = "Unconfined"
	}
	return map[string]any{
		"runAsNonRoot": true, "runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001,
		"seccompProfile": map[string]any{"type": seccomp},
	}
}

// containerSecurity drops everything. unmasked lets bubblewrap mount a /proc of its own, which is
// only accepted in a user namespace.
func containerSecurity(unmasked bool) map[string]any {
	c := map[string]any{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"capabilities": map[string]any{"drop": []string{"ALL"}},
	}
	if unmasked {
		c["procMount"] = "Unmasked"
	}
	return c
}

// resources are requests and limits alike, so that the scheduler knows what a Pod may use.
func resources(cpus, memory string) map[string]any {
	amounts := map[string]any{}
	if cpus != "" {
		amounts["cpu"] = cpus
	}
	if memory != "" {
		amounts["memory"] = memory
	}
	if len(amounts) == 0 {
		return nil
	}
	return map[string]any{"requests": amounts, "limits": amounts}
}

// newSecret returns the Secret of an execution, which goes with its Job: the lease, and the key with
// which the worker calls the server.
func (o Options) newSecret(l penstock.Lease, of job) (secret, error) {
	lease, err := json.Marshal(l)
	if err != nil {
		return secret{}, fmt.Errorf("write the lease of run %s: %w", l.RunID, err)
	}
	return secret{
		APIVersion: "v1", Kind: "Secret", Type: "Opaque", Meta: owned(of, of.Meta.Name),
		Data: map[string][]byte{"lease": lease, "key": []byte(o.Key)},
	}, nil
}

// owned is the metadata of an object that goes with a Job.
func owned(of job, name string) meta {
	return meta{
		Name: name, Labels: of.Meta.Labels,
		OwnerReferences: []owner{{APIVersion: "batch/v1", Kind: "Job", Name: of.Meta.Name, UID: of.Meta.UID}},
	}
}

// newPullSecret returns the Secret with which the node pulls the image of a run. The login is
// USER:PASSWORD.
func (o Options) newPullSecret(a penstock.Assignment, of job) (secret, error) {
	user, password, ok := strings.Cut(a.RegistryLogin, ":")
	if !ok {
		return secret{}, penstock.Errorf(
			penstock.CodeEnvironmentSetupFailed, "The secret for the registry of the run's image must be USER:PASSWORD.",
		)
	}
	access := map[string]any{"auths": map[string]any{
		registryOf(o.podImage(a)): map[string]string{"username": user, "password": password},
	}}
	content, err := json.Marshal(access)
	if err != nil {
		return secret{}, fmt.Errorf("write the pull secret of run %s: %w", a.Lease.RunID, err)
	}
	return secret{
		APIVersion: "v1", Kind: "Secret", Type: "kubernetes.io/dockerconfigjson", Meta: owned(of, of.Meta.Name+"-pull"),
		Data: map[string][]byte{".dockerconfigjson": content},
	}, nil
}

// registryOf is the registry of an image's name, as in Docker's configuration.
func registryOf(image string) string {
	registry := penstock.ImageRegistry(image)
	if registry == penstock.DockerHub {
		return "https://index.docker.io/v1/"
	}
	return registry
}
