package main

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
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
func (s *stage) image(builds []build, out string) error {
	platforms := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var manifest tarball.Manifest
	for _, b := range builds {
		if b.OS != "linux" {
			continue
		}
		image, err := s.imageFor(b)
		if err != nil {
			return err
		}
		platforms = mutate.AppendManifests(platforms, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: b.OS, Architecture: b.Arch},
		}})
		parts, err := image.Manifest()
		if err != nil {
			return err
		}
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
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	files := []file{{"manifest.json", 0o644, text}}
	err = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		inside, _ := filepath.Rel(dir, name)
		files = append(files, file{filepath.ToSlash(inside), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	data, err := s.tar("", files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, s.name("image.tar")), data, 0o644)
}

// blob returns the name of a part of the image in its archive.
func blob(digest v1.Hash) string { return path.Join("blobs", digest.Algorithm, digest.Hex) }

// imageFor returns the image for one platform, of one layer.
func (s *stage) imageFor(b build) (v1.Image, error) {
	binary, err := os.ReadFile(b.Path)
	if err != nil {
		return nil, err
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil { // a file of certificates cannot say when one counts
			pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	everything := append(s.linked[:len(s.linked):len(s.linked)], s.authorities)
	layer, err := s.tar("", []file{
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
		{"usr/bin/till", 0o755, binary},
		{"usr/share", os.ModeDir | 0o755, nil},
		{"usr/share/doc", os.ModeDir | 0o755, nil},
		{"usr/share/doc/till", os.ModeDir | 0o755, nil},
		{"usr/share/doc/till/LICENSE", 0o644, s.licence},
		{"usr/share/doc/till/THIRD_PARTY_NOTICES", 0o644, noticeText(everything)},
	})
	if err != nil {
		return nil, err
	}
	opened, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: opened,
		History: v1.History{Created: v1.Time{Time: s.time}, CreatedBy: "till " + s.version}}); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
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
			"org.opencontainers.image.revision":    revision(b),
			"org.opencontainers.image.description": "command line of a merchant payment service",
		},
	}
	return mutate.ConfigFile(image, config)
}

func revision(b build) string {
	for _, setting := range b.Info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
