package main

import (
	"go/ast"
	"slices"
	"strings"
)

// requiredFields gives the fields that OpenAPI documents name as required in other releases than the marks of their rows say,
// with the releases that do: core/v1.ContainerRestartRule.action.
//
// Upstream: k8s.io/kube-openapi/pkg/generators/openapi.go, isOptional
func requiredFields(types []string) object {
	made := object{}
	for _, typ := range types {
		group, version, name := split(typ)
		rows, _ := merged(group, version, name)
		for _, each := range rows {
			if each.marks.get("inline") != nil || each.name == "" {
				continue
			}
			said := each.marks.get("optional") == nil && each.marks.get("omit") == "never"
			names, differs := []any{}, false
			for _, release := range releases {
				required, known := isRequired(group, version, name, each.name, release.version)
				if required {
					names = append(names, release.name)
				}
				differs = differs || (known && required != said)
			}
			if differs {
				made = append(made, member{typ + "." + each.name, names})
			}
		}
	}
	slices.SortFunc(made, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return made
}

// isRequired is the marker of a field in one release, else whether it lacks omitempty; known is false if the release lacks it.
func isRequired(group, version, name, field, release string) (required, known bool) {
	pkg := load(group, version, release)
	if pkg == nil || pkg.types[name] == nil {
		return false, false
	}
	declared, ok := pkg.types[name].expr.(*ast.StructType)
	if !ok {
		return false, false
	}
	for _, each := range declared.Fields.List {
		json := strings.Split(tagsOf(each).Get("json"), ",")
		if json[0] != field {
			continue
		}
		markers := markersOf(each.Doc)
		if slices.Contains(markers, "required") {
			return true, true
		}
		return !slices.Contains(markers, "optional") && !slices.Contains(json[1:], "omitempty"), true
	}
	return false, false
}
