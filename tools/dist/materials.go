package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// materials writes the bill of materials: a CycloneDX document with every module that is linked into the
// program.
func (s *stage) materials(out string) {
	bom := cyclonedx.NewBOM()
	seed := sha256.Sum256([]byte("till " + s.version))
	seed[6], seed[8] = seed[6]&0x0f|0x80, seed[8]&0x3f|0x80 // a UUID of version 8: made from other data
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", seed[:4], seed[4:6], seed[6:8], seed[8:10], seed[10:16])
	program := "pkg:golang/example.com/till@v" + s.version
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: s.time.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			BOMRef: program, Type: cyclonedx.ComponentTypeApplication, Name: "till", Version: s.version,
			PackageURL: program,
			Licenses:   licences([]string{"MIT"}),
		},
		Tools: &cyclonedx.ToolsChoice{Components: &[]cyclonedx.Component{
			{Type: cyclonedx.ComponentTypeApplication, Name: "example.com/till/tools/dist", Version: s.version},
			{Type: cyclonedx.ComponentTypeApplication, Name: "go", Version: s.linked[0].Version},
		}},
	}
	var components []cyclonedx.Component
	var refs []string
	for _, n := range s.linked {
		c := component(n)
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	c := component(s.authorities)
	c.Description = "the certificate authorities in the image for containers; not in the program"
	components = append(components, c)
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program, Dependencies: &refs}}
	to := checked(os.Create(filepath.Join(out, s.name("sbom.cdx.json"))))
	check(cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom))
	check(to.Close())
}

// component returns a module for the bill. The sum of go.sum is no hash of a file, which could be looked up, but one
// of the names and hashes of all its files, so it has a name of its own.
func component(n notice) cyclonedx.Component {
	url := "pkg:golang/" + n.Path + "@" + n.Version
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: n.Path, Version: n.Version,
		PackageURL: url, Licenses: licences(n.Kinds)}
	if n.Sum == "" {
		return c
	}
	if !strings.HasPrefix(n.Sum, "h1:") {
		check(fmt.Errorf("the sum of %s is %q", n.Path, n.Sum))
	}
	c.Properties = &[]cyclonedx.Property{{Name: "till:go.sum", Value: n.Sum}}
	return c
}

func licences(kinds []string) *cyclonedx.Licenses {
	var all cyclonedx.Licenses
	for _, kind := range kinds {
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: kind}})
	}
	return &all
}
