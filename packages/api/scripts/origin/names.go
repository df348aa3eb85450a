package main

import (
	"go/ast"
	"slices"
	"strings"
)

// goTypes gives the Go types of fields whose names do not follow from the tables: the fields by the name of their type. The
// newest release that has a field counts.
func goTypes(types []string) object {
	fields := map[string][]string{}
	for _, typ := range types {
		group, version, name := split(typ)
		seen := map[string]bool{}
		for i := len(releases) - 1; i >= 0; i-- {
			addGoTypes(group, version, name, releases[i].version, seen, fields)
		}
	}
	made := object{}
	for _, name := range sortedKeys(fields) {
		slices.Sort(fields[name])
		list := []any{}
		for _, each := range fields[name] {
			list = append(list, each)
		}
		made = append(made, member{name, list})
	}
	return made
}

// addGoTypes adds the fields of a struct in one release that are not among those seen.
func addGoTypes(group, version, name, release string, seen map[string]bool, fields map[string][]string) {
	pkg := load(group, version, release)
	if pkg == nil || pkg.types[name] == nil {
		return
	}
	declared, ok := pkg.types[name].expr.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range declared.Fields.List {
		made, ok := pkg.row(field, release)
		if !ok || made.name == "" || seen[made.name] {
			continue
		}
		seen[made.name] = true
		_, values, _ := pkg.typeOf(field.Type, release)
		if full := pkg.goName(field.Type); full != derivedName(made.typ, values) {
			fields[full] = append(fields[full], group+"/"+version+"."+name+"."+made.name)
		}
	}
}

// packageOf is the package of the newest release that has a type; nil for a type of our own.
func packageOf(group, version, name string) *goPackage {
	for _, release := range slices.Backward(releases) {
		if pkg := load(group, version, release.version); pkg != nil && pkg.types[name] != nil {
			return pkg
		}
	}
	return nil
}

// goName is the name of a type in Go's error messages.
func (p *goPackage) goName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return p.goName(expr.X)
	case *ast.ArrayType:
		return "[]" + p.goName(expr.Elt)
	case *ast.MapType:
		return "map[" + p.goName(expr.Key) + "]" + p.goName(expr.Value)
	case *ast.InterfaceType:
		return "interface {}"
	case *ast.SelectorExpr:
		path := p.imports[expr.X.(*ast.Ident).Name]
		return path[strings.LastIndex(path, "/")+1:] + "." + expr.Sel.Name
	case *ast.Ident:
		switch expr.Name {
		case "byte":
			return "uint8"
		case "any":
			return "interface {}"
		}
		if _, ok := builtin[expr.Name]; ok {
			return expr.Name
		}
		return p.version + "." + expr.Name
	}
	return ""
}

// derivedName is the name that src/schema/go-names.ts makes of a type of the tables.
func derivedName(typ, values string) string {
	name := tableName(typ)
	if values != "" {
		name = strings.Replace(name, "string", values[strings.Index(values, "/")+1:], 1)
	}
	return name
}

func tableName(typ string) string {
	if rest, ok := strings.CutPrefix(typ, "[]"); ok {
		return "[]" + tableName(rest)
	}
	if rest, ok := strings.CutPrefix(typ, "map<"); ok {
		return "map[string]" + tableName(strings.TrimSuffix(rest, ">"))
	}
	switch typ {
	case "double":
		return "float64"
	case "bytes":
		return "[]uint8"
	case "any":
		return "interface {}"
	case "Quantity":
		return "resource.Quantity"
	case "IntOrString":
		return "intstr.IntOrString"
	case "RawExtension":
		return "runtime.RawExtension"
	case "Time", "MicroTime", "Duration", "FieldsV1":
		return "v1." + typ
	}
	return typ[strings.Index(typ, "/")+1:]
}

// atomicTypes gives the struct types that server-side apply replaces as a whole wherever they occur.
func atomicTypes(types []string) []any {
	made := []any{}
	for _, typ := range slices.Sorted(slices.Values(types)) {
		group, version, name := split(typ)
		pkg := packageOf(group, version, name)
		if pkg != nil && slices.Contains(pkg.types[name].doc, "structType=atomic") {
			made = append(made, typ)
		}
	}
	return made
}
