package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// internalField is a field of one of the server's own structs.
type internalField struct {
	goName string
	expr   ast.Expr
	pkg    *goPackage
}

// internalPackage parses the types of a group that have no version, as one release of kubernetes has them; nil if it
// lacks the group.
func internalPackage(group, kubernetes string) *goPackage {
	key := group + "/internal@" + kubernetes
	if known, ok := packages[key]; ok {
		return known
	}
	dir := filepath.Join(moduleDir("k8s.io/kubernetes@"+kubernetes), "pkg/apis", group)
	var made *goPackage
	if _, err := os.Stat(dir); err == nil {
		made = parse(dir, group, "", "")
	}
	packages[key] = made
	return made
}

// flatFields gives the fields of a struct as JSON has them, those of embedded structs of the package in their place.
func flatFields(pkg *goPackage, name string) []internalField {
	declared := pkg.types[name]
	if declared == nil {
		return nil
	}
	fields, ok := declared.expr.(*ast.StructType)
	if !ok {
		return nil
	}
	var made []internalField
	for _, field := range fields.Fields.List {
		if len(field.Names) > 0 {
			for _, each := range field.Names {
				made = append(made, internalField{each.Name, field.Type, pkg})
			}
			continue
		}
		switch embedded := field.Type.(type) {
		case *ast.Ident:
			made = append(made, flatFields(pkg, embedded.Name)...)
		case *ast.SelectorExpr:
			if embedded.Sel.Name == "ObjectMeta" {
				made = append(made, internalField{"ObjectMeta", field.Type, pkg})
			}
		}
	}
	return made
}

// jsonNames gives the names in JSON of the fields of a versioned struct by their names in Go, and whether they are pointers.
func jsonNames(group, version, name, release string) (names map[string]string, pointers map[string]bool) {
	names, pointers = map[string]string{}, map[string]bool{}
	pkg := load(group, version, release)
	if pkg == nil || pkg.types[name] == nil {
		return names, pointers
	}
	fields, ok := pkg.types[name].expr.(*ast.StructType)
	if !ok {
		return names, pointers
	}
	for _, field := range fields.Fields.List {
		json := strings.Split(tagsOf(field).Get("json"), ",")[0]
		expr, pointer := field.Type, false
		if star, ok := expr.(*ast.StarExpr); ok {
			expr, pointer = star.X, true
		}
		if len(field.Names) > 0 {
			names[field.Names[0].Name], pointers[field.Names[0].Name] = json, pointer
		} else if ident, ok := expr.(*ast.Ident); ok && json == "" {
			below, belowPointers := jsonNames(group, version, ident.Name, release)
			for goName, json := range below {
				names[goName], pointers[goName] = json, belowPointers[goName]
			}
		} else if selector, ok := expr.(*ast.SelectorExpr); ok && selector.Sel.Name == "ObjectMeta" {
			names["ObjectMeta"] = "metadata"
		}
	}
	return names, pointers
}

// zeroText is the zero value of a type of Go, as JSON; ok is false for a struct.
func (p *goPackage) zeroText(expr ast.Expr) (zero string, ok bool) {
	switch expr := expr.(type) {
	case *ast.StarExpr, *ast.ArrayType, *ast.MapType, *ast.InterfaceType:
		return "null", true
	case *ast.SelectorExpr:
		switch expr.Sel.Name {
		case "IntOrString":
			return "0", true
		case "UID", "NodeName":
			return `""`, true
		}
		return "", false
	case *ast.Ident:
		switch expr.Name {
		case "string":
			return `""`, true
		case "bool":
			return "false", true
		case "int32", "int64", "int", "float64":
			return "0", true
		}
		if own := p.types[expr.Name]; own != nil {
			if _, isStruct := own.expr.(*ast.StructType); !isStruct {
				return p.zeroText(own.expr)
			}
		}
	}
	return "", false
}

// internalOrder describes the server's own struct: the names in JSON of its fields in order, `name:Go` where the name in Go is
// not that name with a capital, `=zero` where an unset field has a value, `:Go` for a struct that the API inlines. Empty if the release lacks the struct.
func internalOrder(typ string, release int, capitals map[string]string) string {
	group, version, name := split(typ)
	pkg := internalPackage(group, kubernetesReleases[release])
	if pkg == nil {
		return ""
	}
	names, pointers := jsonNames(group, version, name, releases[release].version)
	if len(names) == 0 {
		return ""
	}
	var made []string
	for _, field := range flatFields(pkg, name) {
		json, known := names[field.goName]
		_, isPointer := field.expr.(*ast.StarExpr)
		zero, hasZero := field.pkg.zeroText(field.expr)
		switch {
		case known:
			text := json
			if field.goName != "ObjectMeta" && goNameOf(json, capitals) != field.goName {
				text += ":" + field.goName
			}
			if pointers[field.goName] && !isPointer && hasZero && zero != "null" {
				text = json + ":" + field.goName + "=" + zero
			}
			made = append(made, text)
		case inlines(group, version, name, releases[release].version)[field.goName]:
			made = append(made, ":"+field.goName)
		case !known:
			if !hasZero {
				zero = "null"
			}
			made = append(made, movedName(group, version, field.goName, release)+":"+field.goName+"="+zero)
		}
	}
	return strings.Join(made, " ")
}

// inlines names the structs that a versioned struct embeds, and whose fields are among its own in JSON.
func inlines(group, version, name, release string) map[string]bool {
	made := map[string]bool{}
	pkg := load(group, version, release)
	if pkg == nil || pkg.types[name] == nil {
		return made
	}
	fields, _ := pkg.types[name].expr.(*ast.StructType)
	for _, field := range fields.Fields.List {
		if ident, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 {
			made[ident.Name] = true
		}
	}
	return made
}

// movedName is the name in JSON of a field of the pod's security context that versioned types have in the pod's spec.
func movedName(group, version, goName string, release int) string {
	if group != "core" {
		return ""
	}
	names, _ := jsonNames(group, version, "PodSpec", releases[release].version)
	return names[goName]
}

func goNameOf(json string, capitals map[string]string) string {
	if name, ok := capitals[json]; ok {
		return name
	}
	if json == "" {
		return ""
	}
	return strings.ToUpper(json[:1]) + json[1:]
}

// capitalNames gives the names in Go that are not the names in JSON with a capital, of those that have one name in Go.
func capitalNames(types []string) map[string]string {
	all := map[string]map[string]bool{}
	for _, typ := range types {
		group, version, name := split(typ)
		for i := range releases {
			pkg := internalPackage(group, kubernetesReleases[i])
			if pkg == nil {
				continue
			}
			names, _ := jsonNames(group, version, name, releases[i].version)
			for _, field := range flatFields(pkg, name) {
				if json, ok := names[field.goName]; ok && json != "" && field.goName != "ObjectMeta" {
					if all[json] == nil {
						all[json] = map[string]bool{}
					}
					all[json][field.goName] = true
				}
			}
		}
	}
	made := map[string]string{}
	for json, names := range all {
		if len(names) != 1 {
			continue
		}
		for name := range names {
			if strings.ToUpper(json[:1])+json[1:] != name && strings.EqualFold(json, name) {
				made[json] = name
			}
		}
	}
	return made
}

// internalForms describes the server's own structs by release, without those that follow from the tables.
func internalForms(types []string) object {
	capitals := capitalNames(types)
	shared := object{}
	for _, json := range sortedKeys(capitals) {
		shared.set(json, capitals[json])
	}
	byRelease := object{}
	written := map[string]string{}
	for i, release := range releases {
		changed := object{}
		for _, typ := range storedTypes(types) {
			order := internalOrder(typ, i, capitals)
			before, ok := written[typ]
			if !ok {
				before = tableOrder(typ, i)
			}
			if order != "" && order != before {
				changed.set(typ, order)
				written[typ] = order
			}
		}
		if len(changed) > 0 {
			byRelease.set(release.name, changed)
		}
	}
	return object{{"capitals", shared}, {"types", byRelease}}
}

// storedTypes gives the types of each group in its most stable version, sorted, without lists: objects are validated in it.
func storedTypes(types []string) []string {
	// v1beta1 comes after v1alpha1, v1 and v2 after both.
	rank := func(version string) string {
		return strings.NewReplacer("alpha", "a", "beta", "b").Replace(version + "~")
	}
	best := map[string]string{}
	for _, typ := range types {
		group, version, name := split(typ)
		if strings.HasSuffix(name, "List") {
			continue
		}
		key := group + "." + name
		if known, ok := best[key]; ok {
			if _, other, _ := split(known); rank(other) > rank(version) {
				continue
			}
		}
		best[key] = typ
	}
	var made []string
	for _, key := range sortedKeys(best) {
		made = append(made, best[key])
	}
	slices.Sort(made)
	return made
}

// tableOrder is the order of a struct's fields in the tables, without those that the release lacks.
func tableOrder(typ string, release int) string {
	group, version, name := split(typ)
	rows, _ := merged(group, version, name)
	var made []string
	for _, each := range rows {
		since, _ := each.marks.get("since").(string)
		until, _ := each.marks.get("until").(string)
		if (since != "" && since > releases[release].name) || (until != "" && until < releases[release].name) {
			continue
		}
		if each.marks.get("inline") == true {
			made = append(made, tableOrder(each.typ, release))
			continue
		}
		made = append(made, each.name)
	}
	return strings.Join(made, " ")
}
