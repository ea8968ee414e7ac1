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

// A Pod with another image mounts the worker's only if the operator says so, and it is sealed. A
// launcher whose cluster refuses such Pods does not start.
func TestPodMountsTheProgramIfTheOperatorSaysSo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  func(*fakeCluster, *Options)
		mounts  bool
		refused string
	}{
		"by default":             {func(*fakeCluster, *Options) {}, false, ""},
		"as the operator says":   {func(_ *fakeCluster, o *Options) { o.MountProgram = true }, true, ""},
		"unsealed":               {func(_ *fakeCluster, o *Options) { o.MountProgram, o.Unsealed = true, true }, false, ""},
		"copied by an older API": {func(f *fakeCluster, _ *Options) { f.noImages = true }, false, ""},
		"refused by an older API": {
			func(f *fakeCluster, o *Options) { f.noImages, o.MountProgram = true, true },
			true, "start without --pod-mount-program",
		},
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
			err = l.Preflight(t.Context())
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Fatalf("got %v, want %q", err, test.refused)
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
