package sandbox

import (
	_ "embed"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// description is the OpenAPI description of every route. It is kept in YAML, for
// people, and becomes JSON only when somebody asks for it.
//
//go:embed openapi.yaml
var description []byte

// describe answers with the description. Its server is the address of the
// sandbox or of its proxy.
func (s *Server) describe(r *request) (any, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(description, &doc); err != nil {
		return nil, fmt.Errorf("the description of the sandbox cannot be read: %w", err)
	}
	doc["servers"] = []map[string]string{{"url": s.base(r.http)}}
	return doc, nil
}
