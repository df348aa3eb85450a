package main

import (
	"go/ast"
	"strings"
)

const flowControlBootstrap = "k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

// flowControl gives the specs of the objects of priority and fairness by name, in the order of the source. `prefix`: Mandatory
// or Suggested.
func flowControl(prefix string) object {
	bootstrap := evaluatedPackage(flowControlBootstrap)
	made := object{}
	for _, kind := range []string{"FlowSchema", "PriorityLevelConfiguration"} {
		specs := object{}
		for _, each := range bootstrap.named(prefix+kind+"s", nil).([]any) {
			metadata := each.(object).get("ObjectMeta").(object)
			spec := load("flowcontrol", "v1", newest.version).jsonOf(&ast.Ident{Name: kind + "Spec"}, each.(object).get("Spec"))
			specs.set(metadata.get("Name").(string), spec)
		}
		made.set(map[string]string{
			"FlowSchema":                 "flowSchemas",
			"PriorityLevelConfiguration": "priorityLevelConfigurations",
		}[kind], specs)
	}
	return made
}

// jsonOf gives an evaluated value of a type as JSON has it, without zero values that no pointer refers to.
func (p *goPackage) jsonOf(typ ast.Expr, value any) any {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return p.jsonOf(typ.X, value)
	case *ast.ArrayType:
		made := []any{}
		for _, each := range value.([]any) {
			made = append(made, p.jsonOf(typ.Elt, each))
		}
		return made
	case *ast.Ident:
		if declared, ok := p.types[typ.Name]; ok {
			return p.jsonOf(declared.expr, value)
		}
	case *ast.StructType:
		made := object{}
		for _, field := range typ.Fields.List {
			for _, name := range field.Names {
				if given := value.(object).get(name.Name); given != nil && given != false && given != 0 && given != "" {
					made.set(strings.Split(tagsOf(field).Get("json"), ",")[0], p.jsonOf(field.Type, given))
				}
			}
		}
		return made
	}
	if to, ok := value.(pointer); ok {
		return to.value
	}
	return value
}
