package run_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// An artifact's name is a plain file name, whatever the agent calls it.
func TestArtifactNamesLoseInvalidParts(t *testing.T) {
	worlds(t, nil, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		w.Work()
		for name, want := range map[string]string{
			"report.txt": "report.txt", "../../etc/passwd": "passwd", "a/b.txt": "b.txt", `C:\a\b.txt`: "b.txt", "..": "file",
			"/":                    "file",
			"invoice\u202Etxt.exe": "invoicetxt.exe", "a\u2066b\u200F.txt": "ab.txt",
			"a\r\nSet-Cookie: x.txt": "aSet-Cookie: x.txt", "a\x1b[31m.txt": "a[31m.txt",
			"\u202E": "file", "Bericht für März.pdf": "Bericht für März.pdf",
			strings.Repeat("ä", 300) + ".tar": strings.Repeat("ä", 98) + ".tar",
		} {
			for _, data := range []penstock.ArtifactData{
				{Filename: name, MimeType: "text/plain"}, {Filepath: name, MimeType: "text/plain"},
			} {
				made, err := w.Files.AddArtifact(
					w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{Type: penstock.ArtifactFile, Data: data},
					strings.NewReader("x"),
				)
				if err != nil {
					w.T.Errorf("%q: %v", name, err)
					continue
				}
				var got penstock.ArtifactData
				if err := json.Unmarshal(made.Data, &got); err != nil {
					w.T.Fatal(err)
				}
				if got.Filename != want || strings.ContainsAny(got.Filepath, "\r\n\u202E\u2066\u200F\x1b") {
					w.T.Errorf("%q became the name %q at %q, want %q", name, got.Filename, got.Filepath, want)
				}
				link, err := w.Files.ArtifactLink(w.T.Context(), w.Admin, made.UID)
				if err != nil {
					w.T.Fatal(err)
				}
				file, err := w.Files.Download(w.T.Context(), link[strings.LastIndex(link, "/")+1:])
				if err != nil || file.Name != want {
					w.T.Errorf("%q is downloaded as %q, %v", name, file.Name, err)
				}
				_ = file.Content.Close()
			}
		}
		for _, name := range []string{"a/b", "..", "a\nb", "a\x00b", "a\u202Eb", "a\x1bb", ""} {
			req := penstock.RunRequest{
				Prompt: "p", Attachments: []penstock.Attachment{{FileName: name, MimeType: "text/plain", Data: []byte("x")}},
			}
			_, err := w.Runs.Create(w.T.Context(), w.Admin, req, run.SourceAPI)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/attachments/0/file_name")
		}
	})
}

// An artifact's path never leads out of its folder, whatever the agent says.
func TestArtifactsLoseStepsAboveTheirFolder(t *testing.T) {
	worlds(t, nil, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		w.Work()
		for name, want := range map[string]string{
			"out/report.txt": "out/report.txt", "/work/out/report.txt": "/work/out/report.txt", "../../etc/passwd": "etc/passwd",
			"a/../../b.txt": "b.txt", "/../../etc/passwd": "/etc/passwd", `..\..\a\b.txt`: "a/b.txt", "./a//b.txt": "a/b.txt",
			"a/\u202E../x.txt": "x.txt", ".\u200F./.\x1b./x.txt": "x.txt", "..": "", "a/..": "",
		} {
			data := penstock.ArtifactData{Filepath: name, MimeType: "text/plain"}
			made, err := w.Files.AddArtifact(
				w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{Type: penstock.ArtifactFile, Data: data},
				strings.NewReader("x"),
			)
			if err != nil {
				w.T.Errorf("%q: %v", name, err)
				continue
			}
			var got penstock.ArtifactData
			if err := json.Unmarshal(made.Data, &got); err != nil {
				w.T.Fatal(err)
			}
			if got.Filepath != want {
				w.T.Errorf("%q became %q, want %q", name, got.Filepath, want)
			}
		}
	})
}
