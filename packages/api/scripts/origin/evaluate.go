package main

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// evaluated is a Go package whose functions and variables are evaluated from its source, without building it: what the
// packages of bootstrap objects use of Go, and no more. Structs and maps become objects, with the names that Go has.
type evaluated struct {
	imports   map[string]string
	functions map[string]*ast.FuncDecl
	values    map[string]ast.Expr
	// Functions that replace those of the source or of its imports (rbacv1helpers.NewRule).
	builtins map[string]func(p *evaluated, args []any) any
	methods  map[string]func(receiver any, args []any) any
	// The feature gates of the `if` statements around the current statement.
	gates []string
}

// gated is an element of a list that some feature gates have to be on for.
type gated struct {
	value any
	gates []string
}

// pointer is the result of ptr.To and of new structs: its zero value is written.
type pointer struct{ value any }

type scope struct {
	values map[string]any
	outer  *scope
}

func (s *scope) find(name string) *scope {
	for ; s != nil; s = s.outer {
		if _, ok := s.values[name]; ok {
			return s
		}
	}
	return nil
}

// Modules by the prefix of their import paths.
var modules = []struct{ prefix, module string }{
	{"k8s.io/api/", "k8s.io/api@" + newest.version},
	{"k8s.io/apimachinery/", "k8s.io/apimachinery@" + newest.version},
	{"k8s.io/apiserver/", apiserverModule},
	{"k8s.io/kubernetes/", kubernetesModule},
}

var evaluatedPackages = map[string]*evaluated{}

func evaluatedPackage(path string) *evaluated {
	if known, ok := evaluatedPackages[path]; ok {
		return known
	}
	dir := ""
	for _, each := range modules {
		if below, ok := strings.CutPrefix(path, each.prefix); ok {
			dir = filepath.Join(moduleDir(each.module), below)
		}
	}
	made := &evaluated{imports: map[string]string{}, functions: map[string]*ast.FuncDecl{}, values: map[string]ast.Expr{}}
	for _, file := range sourceFiles(dir, func(string) bool { return true }) {
		made.add(file)
	}
	evaluatedPackages[path] = made
	return made
}

func (p *evaluated) add(file *ast.File) {
	addImports(p.imports, file)
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				p.functions[decl.Name.Name] = decl
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok && len(spec.Values) == len(spec.Names) {
					for i, name := range spec.Names {
						p.values[name.Name] = spec.Values[i]
					}
				}
			}
		}
	}
}

// call evaluates a function of the package.
func (p *evaluated) call(name string, args ...any) any {
	if builtin, ok := p.builtins[name]; ok {
		return builtin(p, args)
	}
	function, ok := p.functions[name]
	if !ok {
		fail("no function %s", name)
	}
	return p.body(function.Type, function.Body, args, nil)
}

func (p *evaluated) body(of *ast.FuncType, body *ast.BlockStmt, args []any, outer *scope) any {
	inner := &scope{map[string]any{}, outer}
	for _, field := range of.Params.List {
		for _, name := range field.Names {
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				inner.values[name.Name] = args
				continue
			}
			inner.values[name.Name], args = args[0], args[1:]
		}
	}
	result, _ := p.block(body.List, inner)
	return result
}

func (p *evaluated) block(statements []ast.Stmt, in *scope) (result any, returned bool) {
	for _, each := range statements {
		if result, returned = p.statement(each, in); returned {
			return result, true
		}
	}
	return nil, false
}

func (p *evaluated) statement(statement ast.Stmt, in *scope) (result any, returned bool) {
	switch statement := statement.(type) {
	case *ast.ExprStmt:
		p.eval(statement.X, in)
	case *ast.DeclStmt:
		for _, spec := range statement.Decl.(*ast.GenDecl).Specs {
			in.values[spec.(*ast.ValueSpec).Names[0].Name] = nil
		}
	case *ast.AssignStmt:
		p.assign(statement, in)
	case *ast.ReturnStmt:
		if len(statement.Results) > 0 {
			return p.eval(statement.Results[0], in), true
		}
		return nil, true
	case *ast.IfStmt:
		return p.condition(statement, in)
	case *ast.RangeStmt:
		for i, each := range p.eval(statement.X, in).([]any) {
			inner := &scope{map[string]any{}, in}
			for name, value := range map[ast.Expr]any{statement.Key: i, statement.Value: each} {
				if ident, ok := name.(*ast.Ident); ok {
					inner.values[ident.Name] = value
				}
			}
			if result, returned = p.block(statement.Body.List, inner); returned {
				return result, true
			}
		}
	default:
		fail("%T is not evaluated", statement)
	}
	return nil, false
}

// condition runs the body of `if Enabled(gate)` with the gates, and of any other `if` where the condition is true.
func (p *evaluated) condition(statement *ast.IfStmt, in *scope) (result any, returned bool) {
	inner := &scope{map[string]any{}, in}
	if gates := gatesOf(statement.Cond); len(gates) > 0 {
		before := p.gates
		p.gates = append(before[:len(before):len(before)], gates...)
		result, returned = p.block(statement.Body.List, inner)
		p.gates = before
		if returned {
			fail("a return below the gates %v", gates)
		}
		return nil, false
	}
	if p.eval(statement.Cond, in) == true {
		return p.block(statement.Body.List, inner)
	}
	return nil, false
}

// gatesOf gives the gates of `DefaultFeatureGate.Enabled(features.X) && ...`.
func gatesOf(condition ast.Expr) []string {
	switch condition := condition.(type) {
	case *ast.BinaryExpr:
		if condition.Op == token.LAND {
			return append(gatesOf(condition.X), gatesOf(condition.Y)...)
		}
	case *ast.CallExpr:
		if called, ok := condition.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Enabled" {
			return []string{condition.Args[0].(*ast.SelectorExpr).Sel.Name}
		}
	}
	return nil
}

func (p *evaluated) assign(statement *ast.AssignStmt, in *scope) {
	value := p.eval(statement.Rhs[0], in)
	switch target := statement.Lhs[0].(type) {
	case *ast.Ident:
		where := in.find(target.Name)
		if where == nil || statement.Tok == token.DEFINE {
			where = in
		}
		where.values[target.Name] = value
	case *ast.SelectorExpr:
		name := target.X.(*ast.Ident).Name
		where := in.find(name)
		changed := where.values[name].(object)
		changed.set(target.Sel.Name, value)
		where.values[name] = changed
	case *ast.IndexExpr:
		p.eval(target.X, in).([]any)[p.eval(target.Index, in).(int)] = value
	default:
		fail("an assignment to %T is not evaluated", target)
	}
}

func (p *evaluated) eval(expr ast.Expr, in *scope) any {
	switch expr := expr.(type) {
	case *ast.BasicLit:
		if expr.Kind == token.STRING {
			text, _ := strconv.Unquote(expr.Value)
			return text
		}
		number, _ := strconv.Atoi(expr.Value)
		return number
	case *ast.Ident:
		return p.named(expr.Name, in)
	case *ast.SelectorExpr:
		return p.member(expr, in)
	case *ast.UnaryExpr:
		return p.eval(expr.X, in)
	case *ast.CompositeLit:
		return p.literal(expr, in)
	case *ast.CallExpr:
		return p.invoke(expr, in)
	case *ast.BinaryExpr:
		left, right := p.eval(expr.X, in), p.eval(expr.Y, in)
		switch expr.Op {
		case token.ADD:
			return left.(string) + right.(string)
		case token.NEQ:
			return left != right
		}
	}
	fail("%T is not evaluated", expr)
	return nil
}

func (p *evaluated) named(name string, in *scope) any {
	if where := in.find(name); where != nil {
		return where.values[name]
	}
	if constant, ok := map[string]any{"true": true, "false": false, "nil": nil}[name]; ok {
		return constant
	}
	value, ok := p.values[name]
	if !ok {
		fail("no value %s", name)
	}
	return p.eval(value, nil)
}

// member gives a field of a variable, or a constant of another package.
func (p *evaluated) member(expr *ast.SelectorExpr, in *scope) any {
	name, ok := expr.X.(*ast.Ident)
	if !ok {
		fail("a selector of %T is not evaluated", expr.X)
	}
	if where := in.find(name.Name); where != nil {
		return where.values[name.Name].(object).get(expr.Sel.Name)
	}
	return evaluatedPackage(p.imports[name.Name]).named(expr.Sel.Name, nil)
}

func (p *evaluated) literal(expr *ast.CompositeLit, in *scope) any {
	list, members := []any{}, object{}
	for _, each := range expr.Elts {
		pair, ok := each.(*ast.KeyValueExpr)
		if !ok {
			list = append(list, p.eval(each, in))
			continue
		}
		_, isMap := expr.Type.(*ast.MapType)
		if field, ok := pair.Key.(*ast.Ident); ok && !isMap {
			members.set(field.Name, p.eval(pair.Value, in))
		} else {
			members.set(p.eval(pair.Key, in).(string), p.eval(pair.Value, in))
		}
	}
	if _, isList := expr.Type.(*ast.ArrayType); isList {
		return list
	}
	return members
}

func (p *evaluated) invoke(expr *ast.CallExpr, in *scope) any {
	called := ""
	switch function := expr.Fun.(type) {
	case *ast.FuncLit:
		return p.body(function.Type, function.Body, nil, in)
	case *ast.Ident:
		called = function.Name
	case *ast.SelectorExpr:
		name, ok := function.X.(*ast.Ident)
		if !ok || in.find(name.Name) != nil {
			method, ok := p.methods[function.Sel.Name]
			if !ok {
				fail("the method %s is not evaluated", function.Sel.Name)
			}
			return method(p.eval(function.X, in), p.arguments(expr, in))
		}
		called = name.Name + "." + function.Sel.Name
	}
	switch called {
	case "int32":
		return p.eval(expr.Args[0], in)
	case "make":
		return make([]any, p.eval(expr.Args[1], in).(int))
	case "len":
		return len(p.eval(expr.Args[0], in).([]any))
	case "ptr.To":
		return pointer{p.eval(expr.Args[0], in)}
	case "append":
		list := p.eval(expr.Args[0], in).([]any)
		made := list[:len(list):len(list)]
		for _, each := range p.arguments(&ast.CallExpr{Args: expr.Args[1:], Ellipsis: expr.Ellipsis}, in) {
			if len(p.gates) > 0 {
				each = gated{each, p.gates}
			}
			made = append(made, each)
		}
		return made
	}
	return p.call(called, p.arguments(expr, in)...)
}

// arguments evaluates those of a call, with the elements of `list...` one by one.
func (p *evaluated) arguments(expr *ast.CallExpr, in *scope) []any {
	var made []any
	for i, each := range expr.Args {
		value := p.eval(each, in)
		if expr.Ellipsis.IsValid() && i == len(expr.Args)-1 {
			made = append(made, value.([]any)...)
		} else {
			made = append(made, value)
		}
	}
	return made
}
