package launch

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

// A Pod copies penstock and bubblewrap only into an image that need not have them: the copy takes
// longer than everything else.
func TestPodCopiesTheProgramIntoOtherImages(t *testing.T) {
	t.Parallel()
	o := options(nil, newPlane())
	o.Image = o.WorkerImage
	a := penstock.Assignment{Lease: penstock.Lease{RunID: "r", ExecutionID: 1}}
	spec := o.newJob(a).Spec.Template.Spec
	if len(spec.InitContainers) != 0 || spec.Containers[0].Command[0] != "penstock" {
		t.Errorf("in the image of the worker: got init containers %v and command %v", spec.InitContainers,
			spec.Containers[0].Command)
	}
	a.Runner = &penstock.RunnerSpec{Image: "other:1"}
	spec = o.newJob(a).Spec.Template.Spec
	if len(spec.InitContainers) != 1 || spec.InitContainers[0].Image != o.WorkerImage ||
		spec.Containers[0].Image != "other:1" || spec.Containers[0].Command[0] != programDir+"/penstock" {
		t.Errorf("in another image: got %+v and %+v", spec.InitContainers, spec.Containers)
	}
}
