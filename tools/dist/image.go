package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The user of the image has no rights, and a directory for the configuration and the journal. Others may read
// it. The group of root may write to it too, because that is the group of a user that the image does not
// know: of docker run --user 1000, and in OpenShift.
const (
	imageUser     = 65532
	imageHome     = "home/till"
	imageHomeMode = os.ModeDir | 0o775
)

func (f file) owner() int {
	if f.Name == imageHome {
		return imageUser
	}
	return 0
}

// image writes one image for all builds for Linux, as an archive of the layout that the OCI image
// specification describes. Its manifest.json is for Docker where it does not keep images in containerd: that
// knows one platform for each name.
func (s *stage) image(builds []build, out string) {
	platforms := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var manifest tarball.Manifest
	for _, b := range builds {
		if b.OS != "linux" {
			continue
		}
		image := s.imageFor(b)
		platforms = mutate.AppendManifests(platforms, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: b.OS, Architecture: b.Arch},
		}})
		parts := checked(image.Manifest())
		one := tarball.Descriptor{Config: blob(parts.Config.Digest), RepoTags: []string{"till:" + s.version + "-" + b.Arch}}
		for _, layer := range parts.Layers {
			one.Layers = append(one.Layers, blob(layer.Digest))
		}
		manifest = append(manifest, one)
	}
	// Programs that load an image want one entry, which may be for several platforms.
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: platforms, Descriptor: v1.Descriptor{MediaType: types.OCIImageIndex, Annotations: map[string]string{
			"org.opencontainers.image.ref.name": s.version,
			"io.containerd.image.name":          "docker.io/library/till:" + s.version,
		}},
	})
	dir := filepath.Join(s.dir, "image")
	checked(layout.Write(dir, index))
	files := []file{{"manifest.json", 0o644, checked(json.Marshal(manifest))}}
	tree := os.DirFS(dir)
	check(fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, file{name, 0o644, checked(fs.ReadFile(tree, name))})
		}
		return err
	}))
	check(os.WriteFile(filepath.Join(out, s.name("image.tar")), s.tar("", files), 0o644))
}

// blob returns the name of a part of the image in its archive.
func blob(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

// imageFor returns the image for one platform, of one layer.
func (s *stage) imageFor(b build) v1.Image {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot say when one counts
			pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	everything := append(s.linked[:len(s.linked):len(s.linked)], s.authorities)
	layer := s.tar("", []file{
		{"etc", os.ModeDir | 0o755, nil},
		{"etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\ntill:x:%d:\n", imageUser)},
		{"etc/passwd", 0o644,
			fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\ntill:x:%d:%[1]d:till:/%s:/sbin/nologin\n",
				imageUser, imageHome)},
		{"etc/ssl", os.ModeDir | 0o755, nil},
		{"etc/ssl/certs", os.ModeDir | 0o755, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots.Bytes()},
		{"home", os.ModeDir | 0o755, nil},
		{imageHome, imageHomeMode, nil},
		{"tmp", os.ModeDir | os.ModeSticky | 0o777, nil},
		{"usr", os.ModeDir | 0o755, nil},
		{"usr/bin", os.ModeDir | 0o755, nil},
		{"usr/bin/till", 0o755, checked(os.ReadFile(b.Path))},
		{"usr/share", os.ModeDir | 0o755, nil},
		{"usr/share/doc", os.ModeDir | 0o755, nil},
		{"usr/share/doc/till", os.ModeDir | 0o755, nil},
		{"usr/share/doc/till/LICENSE", 0o644, s.licence},
		{"usr/share/doc/till/THIRD_PARTY_NOTICES", 0o644, noticeText(everything)},
	})
	opened := checked(tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer)), nil
	}, tarball.WithMediaType(types.OCILayer)))
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image = checked(mutate.Append(image, mutate.Addendum{Layer: opened,
		History: v1.History{Created: v1.Time{Time: s.time}, CreatedBy: "till " + s.version}}))
	config := checked(image.ConfigFile()).DeepCopy()
	config.OS, config.Architecture, config.Created = b.OS, b.Arch, v1.Time{Time: s.time}
	home := path.Join("/", imageHome)
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/till"},
		// without arguments, it is the service of a test, as a pipeline starts it
		Cmd: []string{"sandbox", "serve", "--listen", "0.0.0.0:8080", "--expose"}, ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		User: fmt.Sprintf("%d:%[1]d", imageUser), WorkingDir: home,
		Env: []string{"PATH=/usr/bin", "HOME=" + home},
		Labels: map[string]string{
			"org.opencontainers.image.title": "till", "org.opencontainers.image.version": s.version,
			"org.opencontainers.image.licenses":    expression(everything),
			"org.opencontainers.image.revision":    b.Commit,
			"org.opencontainers.image.description": "command line of a merchant payment service",
		},
	}
	return checked(mutate.ConfigFile(image, config))
}
