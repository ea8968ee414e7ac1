package launch

import (
	"strings"
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

// Where the cluster can mount images, a Pod starts without a copy. Elsewhere, and where the operator
// says so, it copies.
func TestPodMountsTheProgramWhereTheClusterCan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*fakeCluster, *Options)
		mounts bool
	}{
		"with volumes of images":    {func(*fakeCluster, *Options) {}, true},
		"without volumes of images": {func(f *fakeCluster, _ *Options) { f.noImages = true }, false},
		"as the operator says":      {func(_ *fakeCluster, o *Options) { o.CopyProgram = true }, false},
		"unsealed":                  {func(_ *fakeCluster, o *Options) { o.Unsealed = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			o := options(f, newPlane())
			test.change(f, &o)
			l, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Preflight(t.Context()); err != nil {
				t.Fatal(err)
			}
			spec := l.newJob(penstock.Assignment{
				Lease: penstock.Lease{RunID: "r", ExecutionID: 1}, Runner: &penstock.RunnerSpec{Image: "other:1"},
			}).Spec.Template.Spec
			mounts := strings.Contains(marshalled(t, spec.Volumes), `"image":{"reference":"penstock:1"}`)
			if mounts != test.mounts || (len(spec.InitContainers) == 0) != test.mounts {
				t.Errorf("got volumes %v and init containers %v", spec.Volumes, spec.InitContainers)
			}
		})
	}
}
