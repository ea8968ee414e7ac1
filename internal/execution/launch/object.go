package launch

import "time"

// The objects of the Kubernetes API, as far as a launcher writes or reads them. Each is in JSON as
// the API has it. A field that the launcher does not know is absent.

type meta struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	OwnerReferences   []owner           `json:"ownerReferences,omitempty"`
	CreationTimestamp *time.Time        `json:"creationTimestamp,omitempty"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp,omitempty"` // the end of the grace period
	// DeletionGracePeriodSeconds is the length of that period, from the call that deleted the object.
	DeletionGracePeriodSeconds int64 `json:"deletionGracePeriodSeconds,omitempty"`
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type job struct {
	APIVersion string    `json:"apiVersion,omitempty"`
	Kind       string    `json:"kind,omitempty"`
	Meta       meta      `json:"metadata"`
	Spec       jobSpec   `json:"spec"`
	Status     jobStatus `json:"status,omitzero"`
}

type jobSpec struct {
	BackoffLimit            int         `json:"backoffLimit"`
	Completions             int         `json:"completions"`
	Parallelism             int         `json:"parallelism"`
	ActiveDeadlineSeconds   int64       `json:"activeDeadlineSeconds,omitempty"`
	TTLSecondsAfterFinished int         `json:"ttlSecondsAfterFinished"`
	PodReplacementPolicy    string      `json:"podReplacementPolicy,omitempty"`
	Template                podTemplate `json:"template"`
}

type jobStatus struct {
	Conditions []condition `json:"conditions,omitempty"`
}

type podTemplate struct {
	Meta meta    `json:"metadata"`
	Spec podSpec `json:"spec"`
}

type podSpec struct {
	RestartPolicy                 string            `json:"restartPolicy,omitempty"`
	AutomountServiceAccountToken  *bool             `json:"automountServiceAccountToken,omitempty"`
	EnableServiceLinks            *bool             `json:"enableServiceLinks,omitempty"`
	HostUsers                     *bool             `json:"hostUsers,omitempty"`
	TerminationGracePeriodSeconds int               `json:"terminationGracePeriodSeconds,omitempty"`
	SecurityContext               map[string]any    `json:"securityContext,omitempty"`
	InitContainers                []container       `json:"initContainers,omitempty"`
	Containers                    []container       `json:"containers"`
	Volumes                       []map[string]any  `json:"volumes,omitempty"`
	ImagePullSecrets              []named           `json:"imagePullSecrets,omitempty"`
	NodeSelector                  map[string]string `json:"nodeSelector,omitempty"`
	Tolerations                   []Toleration      `json:"tolerations,omitempty"`
	RuntimeClassName              string            `json:"runtimeClassName,omitempty"`
	PriorityClassName             string            `json:"priorityClassName,omitempty"`
	NodeName                      string            `json:"nodeName,omitempty"`
}

// Toleration lets Pods run on nodes with a taint.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator"` // Equal or Exists
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"` // "": all
}

type named struct {
	Name string `json:"name"`
}

type container struct {
	Name                     string           `json:"name"`
	Image                    string           `json:"image"`
	ImagePullPolicy          string           `json:"imagePullPolicy,omitempty"`
	Command                  []string         `json:"command,omitempty"`
	WorkingDir               string           `json:"workingDir,omitempty"`
	Env                      []map[string]any `json:"env,omitempty"`
	EnvFrom                  []map[string]any `json:"envFrom,omitempty"`
	Resources                map[string]any   `json:"resources,omitempty"`
	VolumeMounts             []map[string]any `json:"volumeMounts,omitempty"`
	SecurityContext          map[string]any   `json:"securityContext,omitempty"`
	TerminationMessagePolicy string           `json:"terminationMessagePolicy,omitempty"`
}

type pod struct {
	Meta   meta      `json:"metadata"`
	Spec   podSpec   `json:"spec"`
	Status podStatus `json:"status"`
}

type podStatus struct {
	Phase      string            `json:"phase"`
	Reason     string            `json:"reason,omitempty"`
	Message    string            `json:"message,omitempty"`
	Conditions []condition       `json:"conditions,omitempty"`
	Init       []containerStatus `json:"initContainerStatuses,omitempty"`
	Containers []containerStatus `json:"containerStatuses,omitempty"`
}

type containerStatus struct {
	Name  string         `json:"name"`
	State containerState `json:"state"`
}

type containerState struct {
	Waiting *struct {
		Reason  string `json:"reason"`
		Message string `json:"message,omitempty"`
	} `json:"waiting,omitempty"`
	Running    *struct{}        `json:"running,omitempty"`
	Terminated *terminatedState `json:"terminated,omitempty"`
}

type terminatedState struct {
	ExitCode   int        `json:"exitCode"`
	Reason     string     `json:"reason,omitempty"`
	Message    string     `json:"message,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
}

type secret struct {
	APIVersion string            `json:"apiVersion,omitempty"`
	Kind       string            `json:"kind,omitempty"`
	Meta       meta              `json:"metadata"`
	Type       string            `json:"type,omitempty"`
	Data       map[string][]byte `json:"data,omitempty"`
}

type event struct {
	Meta     meta   `json:"metadata"`
	Type     string `json:"type,omitempty"`
	Reason   string `json:"reason"`
	Message  string `json:"message"`
	Involved struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"involvedObject"`
}

// status is the answer of the API to a call that fails, and to a watch that has expired.
type status struct {
	Code    int    `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Details struct {
		Causes []struct {
			Field string `json:"field"`
		} `json:"causes"`
	} `json:"details"`
}

type list[T any] struct {
	Meta  meta `json:"metadata"`
	Items []T  `json:"items"`
}

// holds reports whether the condition has the status True, and returns it.
func holds(conditions []condition, kind string) (condition, bool) {
	for _, c := range conditions {
		if c.Type == kind && c.Status == "True" {
			return c, true
		}
	}
	return condition{}, false
}
