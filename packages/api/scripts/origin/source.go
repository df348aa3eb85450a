package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strconv"
	"strings"
)

// goPackage holds the parts of one Go package of types that the tables need.
type goPackage struct {
	group, version, release string
	types                   map[string]*goType
	// Values of constants by the name of their type.
	constants map[string][]string
	// Values of constants by their own name.
	values map[string]string
	// Paths of imports by the name that the package uses.
	imports map[string]string
}

type goType struct {
	expr ast.Expr
	doc  []string
}

var packages = map[string]*goPackage{}

// load parses a package; nil if the release lacks it.
func load(group, version, release string) *goPackage {
	key := group + "/" + version + "@" + release
	if known, ok := packages[key]; ok {
		return known
	}
	var made *goPackage
	if dir := packageDir(group, version, release); dir != "" {
		made = parse(dir, group, version, release)
	}
	packages[key] = made
	return made
}

func parse(dir, group, version, release string) *goPackage {
	made := &goPackage{group, version, release, map[string]*goType{}, map[string][]string{}, map[string]string{}, map[string]string{}}
	isWritten := func(name string) bool {
		return !strings.HasPrefix(name, "generated.") && !strings.HasPrefix(name, "zz_generated.")
	}
	for _, file := range sourceFiles(dir, isWritten) {
		made.add(file)
	}
	return made
}

// sourceFiles parses the files of a folder whose names pass, without tests.
func sourceFiles(dir string, passes func(name string) bool) []*ast.File {
	isSource := func(info fs.FileInfo) bool {
		return !strings.HasSuffix(info.Name(), "_test.go") && passes(info.Name())
	}
	parsed, err := parser.ParseDir(token.NewFileSet(), dir, isSource, parser.ParseComments)
	if err != nil {
		fail("%v", err)
	}
	var files []*ast.File
	for _, pkg := range parsed {
		for _, file := range pkg.Files {
			files = append(files, file)
		}
	}
	return files
}

// addImports adds the paths of a file's imports by the names that the file uses.
func addImports(imports map[string]string, file *ast.File) {
	for _, each := range file.Imports {
		path, _ := strconv.Unquote(each.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if each.Name != nil {
			name = each.Name.Name
		}
		imports[name] = path
	}
}

func (p *goPackage) add(file *ast.File) {
	addImports(p.imports, file)
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				doc := spec.Doc
				if doc == nil {
					doc = general.Doc
				}
				p.types[spec.Name.Name] = &goType{spec.Type, markersOf(doc, commentBefore(file, general))}
			case *ast.ValueSpec:
				p.addConstant(general.Tok, spec)
			}
		}
	}
}

func (p *goPackage) addConstant(tok token.Token, spec *ast.ValueSpec) {
	if tok != token.CONST {
		return
	}
	for i, value := range spec.Values {
		name, _ := spec.Type.(*ast.Ident)
		if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 {
			// DeviceAllocationMode("All")
			name, _ = call.Fun.(*ast.Ident)
			value = call.Args[0]
		}
		if name == nil {
			continue
		}
		if text, ok := p.constant(value); ok {
			p.constants[name.Name] = append(p.constants[name.Name], text)
			p.values[spec.Names[i].Name] = text
		}
	}
}

// constant is the text of a constant: a literal, or a constant of another package (AddressType(v1.IPv4Protocol)).
func (p *goPackage) constant(value ast.Expr) (text string, ok bool) {
	switch value := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(value.Value)
		return text, err == nil && value.Kind == token.STRING
	case *ast.SelectorExpr:
		name, _ := value.X.(*ast.Ident)
		if name == nil {
			return "", false
		}
		found := versioned.FindStringSubmatch(p.imports[name.Name])
		if found == nil {
			return "", false
		}
		other := load(found[1], found[2], p.release)
		if other == nil {
			return "", false
		}
		text, ok = other.values[value.Sel.Name]
		return text, ok
	}
	return "", false
}

// commentBefore is the comment that a blank line separates from a declaration.
func commentBefore(file *ast.File, decl *ast.GenDecl) *ast.CommentGroup {
	start := decl.Pos()
	if decl.Doc != nil {
		start = decl.Doc.Pos()
	}
	var last *ast.CommentGroup
	for _, group := range file.Comments {
		if group.End() < start {
			last = group
		}
	}
	if last == nil || start-last.End() > 2 {
		return nil
	}
	return last
}

// markersOf gives the lines of comments that begin with a plus, without it.
func markersOf(groups ...*ast.CommentGroup) []string {
	var markers []string
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, line := range strings.Split(group.Text(), "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "+") {
				markers = append(markers, line[1:])
			}
		}
	}
	return markers
}

// tagsOf reads the tags of a field: json, protobuf, patchStrategy, patchMergeKey.
func tagsOf(field *ast.Field) reflect.StructTag {
	if field.Tag == nil {
		return ""
	}
	text, _ := strconv.Unquote(field.Tag.Value)
	return reflect.StructTag(text)
}
