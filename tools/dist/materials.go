package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// materials writes the bill of materials: a CycloneDX document with every module that is linked into the program.
func (s *stage) materials(out string) error {
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
	}
	var components []cyclonedx.Component
	var refs []string
	for _, n := range s.linked {
		url := "pkg:golang/" + n.Path + "@" + n.Version
		components = append(components, cyclonedx.Component{
			BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: n.Path, Version: n.Version,
			PackageURL: url,
			Licenses:   licences(n.Kinds),
		})
		refs = append(refs, url)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program, Dependencies: &refs}}
	to, err := os.Create(filepath.Join(out, s.name("sbom.cdx.json")))
	if err != nil {
		return err
	}
	if err := cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return to.Close()
}

func licences(kinds []string) *cyclonedx.Licenses {
	var all cyclonedx.Licenses
	for _, kind := range kinds {
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: kind}})
	}
	return &all
}
