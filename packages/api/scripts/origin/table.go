package main

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// row is a field as the tables have it: name in JSON, number in protobuf, type, marks.
type row struct {
	name   string
	number int
	typ    string
	marks  object
}

// scalars of the tables by the import path and name of their Go type.
var scalars = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   "Quantity",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       "Time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  "MicroTime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":   "Duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":   "FieldsV1",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "IntOrString",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":    "RawExtension",
	"k8s.io/apimachinery/pkg/runtime.Object":          "RawExtension",
	"k8s.io/apimachinery/pkg/types.UID":               "string",
	"k8s.io/apimachinery/pkg/types.NodeName":          "string",
	"k8s.io/apimachinery/pkg/types.NamespacedName":    "string",
}

var builtin = map[string]string{
	"string": "string", "bool": "bool", "int32": "int32", "int64": "int64", "int": "int64",
	"float64": "double", "float32": "double", "any": "any",
}

var versioned = regexp.MustCompile(`^k8s\.io/(?:api|apimachinery/pkg/apis|apiextensions-apiserver/pkg/apis|kube-aggregator/pkg/apis|metrics/pkg/apis)/(\w+)/(\w+)$`)

// rowsOf gives the fields of a struct in the order of its source; ok is false if the release lacks the type.
func rowsOf(group, version, name, release string) (rows []row, ok bool) {
	pkg := load(group, version, release)
	if pkg == nil || pkg.types[name] == nil {
		return nil, false
	}
	fields, isStruct := pkg.types[name].expr.(*ast.StructType)
	if !isStruct {
		return nil, true
	}
	for _, field := range fields.Fields.List {
		if made, ok := pkg.row(field, release); ok {
			rows = append(rows, made)
		}
	}
	return rows, true
}

// merged gives the fields that a type has in any release, with the first and the last release of those that not all have.
// The newest form of a field counts; a field that is gone is among the last ones.
func merged(group, version, name string) (rows []row, ok bool) {
	type span struct{ first, last int }
	spans := map[string]*span{}
	first, last := -1, -1
	for i, release := range releases {
		older, known := rowsOf(group, version, name, release.version)
		if !known {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		for _, each := range older {
			key := each.name + each.typ
			if each.name != "" {
				key = each.name
			}
			if spans[key] == nil {
				spans[key] = &span{i, i}
			}
			spans[key].last = i
		}
		rows = union(rows, older)
	}
	for i := range rows {
		key := rows[i].name
		if key == "" {
			key = rows[i].typ
		}
		if at := spans[key]; at.first > first {
			rows[i].marks.set("since", releases[at.first].name)
		}
		if at := spans[key]; at.last < last {
			rows[i].marks.set("until", releases[at.last].name)
		}
	}
	return rows, first >= 0
}

// union adds to rows the fields that only older rows have.
func union(older, rows []row) []row {
	same := func(a, b row) bool { return a.name == b.name && (a.name != "" || a.typ == b.typ) }
	made := slices.Clone(rows)
	for _, each := range older {
		if !slices.ContainsFunc(rows, func(r row) bool { return same(r, each) }) {
			made = append(made, each)
		}
	}
	return made
}

func (p *goPackage) row(field *ast.Field, release string) (made row, ok bool) {
	tags := tagsOf(field)
	json := strings.Split(tags.Get("json"), ",")
	name, options := json[0], json[1:]
	expr, pointer := field.Type, false
	if star, ok := expr.(*ast.StarExpr); ok {
		expr, pointer = star.X, true
	}
	inline := slices.Contains(options, "inline") || (name == "" && len(field.Names) == 0)
	typ, values, isStruct := p.typeOf(expr, release)
	if name == "-" || typ == "meta/v1.TypeMeta" {
		return row{}, false
	}
	marks := object{}
	for _, marker := range markersOf(field.Doc) {
		marks.mark(marker)
	}
	p.resolveDefault(&marks)
	omittable := slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
	if omittable && marks.get("optional") == nil {
		marks.set("optional", true)
	}
	if inline {
		marks = object{{"inline", true}}
	}
	for _, key := range []string{"patchStrategy", "patchMergeKey"} {
		if value := tags.Get(key); value != "" {
			marks.set(key, value)
		}
	}
	if values != "" {
		marks.set("values", values)
	}
	if pointer {
		marks.set("pointer", true)
	}
	if !inline && !slices.Contains(options, "omitempty") {
		if slices.Contains(options, "omitzero") {
			if isStruct {
				marks.set("omit", "zero")
			}
		} else {
			marks.set("omit", "never")
		}
	}
	return row{name, protobufNumber(tags.Get("protobuf")), typ, marks}, true
}

func protobufNumber(tag string) int {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return 0
	}
	number, _ := strconv.Atoi(parts[1])
	return number
}

var marker = regexp.MustCompile(`^(\w+)(?:=(.*))?$`)

// mark adds a marker of a comment: `+listType=map`.
func (o *object) mark(text string) {
	found := marker.FindStringSubmatch(text)
	if found == nil {
		return
	}
	switch key, value := found[1], found[2]; key {
	case "optional":
		o.set("optional", true)
	case "listType", "mapType", "structType", "featureGate", "default":
		o.set(key, value)
	case "listMapKey":
		keys, _ := o.get("listMapKeys").([]any)
		o.set("listMapKeys", append(keys, value))
	}
}

var reference = regexp.MustCompile(`^ref\((\w+)\)$`)

// resolveDefault replaces the name of a constant by its value: `+default=ref(AzureSharedBlobDisk)`.
func (p *goPackage) resolveDefault(marks *object) {
	by, _ := marks.get("default").(string)
	found := reference.FindStringSubmatch(by)
	if found == nil {
		return
	}
	value, ok := p.values[found[1]]
	if !ok {
		fail("%s/%s: the constant %s is not known", p.group, p.version, found[1])
	}
	marks.set("default", text(value))
}

// typeOf names a type as the tables do, with the name of its list of known values; isStruct is true for a type of its own.
func (p *goPackage) typeOf(expr ast.Expr, release string) (typ, values string, isStruct bool) {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return p.typeOf(expr.X, release)
	case *ast.ArrayType:
		if element, ok := expr.Elt.(*ast.Ident); ok && element.Name == "byte" {
			return "bytes", "", false
		}
		element, values, _ := p.typeOf(expr.Elt, release)
		return "[]" + element, values, false
	case *ast.MapType:
		value, values, _ := p.typeOf(expr.Value, release)
		return "map<" + value + ">", values, false
	case *ast.InterfaceType:
		return "any", "", false
	case *ast.SelectorExpr:
		path := p.imports[expr.X.(*ast.Ident).Name]
		if scalar, ok := scalars[path+"."+expr.Sel.Name]; ok {
			return scalar, "", false
		}
		found := versioned.FindStringSubmatch(path)
		if found == nil {
			fail("%s/%s: the type %s of %s is not known", p.group, p.version, expr.Sel.Name, path)
		}
		other := load(found[1], found[2], release)
		if other == nil {
			fail("%s/%s: %s is missing", p.group, p.version, path)
		}
		return other.typeOf(expr.Sel, release)
	case *ast.Ident:
		if known, ok := builtin[expr.Name]; ok {
			return known, "", false
		}
		full := p.group + "/" + p.version + "." + expr.Name
		if scalar, ok := scalars["k8s.io/apimachinery/pkg/apis/"+full]; ok {
			return scalar, "", false
		}
		own := p.types[expr.Name]
		if own == nil {
			fail("%s has no type %s", p.group+"/"+p.version, expr.Name)
		}
		if _, ok := own.expr.(*ast.StructType); ok {
			return full, "", true
		}
		typ, values, isStruct = p.typeOf(own.expr, release)
		if typ == "string" && len(p.constants[expr.Name]) > 0 {
			values = full
		}
		return typ, values, isStruct
	}
	fail("%s/%s: a type of form %T", p.group, p.version, expr)
	return "", "", false
}
