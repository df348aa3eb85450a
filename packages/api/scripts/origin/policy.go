package main

import (
	"os"
	"slices"
	"strings"
)

const (
	policyBootstrap  = "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	controllerPrefix = "system:controller:"
	aggregationLabel = "rbac.authorization.k8s.io/aggregate-to-"
)

// policy collects the roles and bindings of a new cluster from upstream's bootstrappolicy.
type policy struct {
	adjusted                                      *adjusted
	controllers                                   object
	clusterRoles, bindings, roles, namespaceBinds []object
}

// bootstrapPolicy gives the roles and bindings that upstream creates, and those of the file with the mark
// `"upstream": false`; in the order of the file, with new ones last.
func bootstrapPolicy(file string, adjusted *adjusted) object {
	data, err := os.ReadFile(file)
	if err != nil {
		fail("%v", err)
	}
	before := read(data).(object)
	p := &policy{adjusted: adjusted}
	p.collect(evaluatedPackage(policyBootstrap))
	controllers := object{}
	for _, each := range before.get("controllers").(object) {
		if rules := p.controllers.get(each.key); rules != nil {
			controllers.set(each.key, rules)
		}
	}
	for _, each := range p.controllers {
		controllers.set(each.key, each.value)
	}
	return object{
		{"clusterRoles", inOrderOf(before.get("clusterRoles"), p.clusterRoles)},
		{"controllers", controllers},
		{"clusterRoleBindings", inOrderOf(before.get("clusterRoleBindings"), p.bindings)},
		{"roles", inOrderOf(before.get("roles"), p.roles)},
		{"roleBindings", inOrderOf(before.get("roleBindings"), p.namespaceBinds)},
	}
}

func (p *policy) collect(upstream *evaluated) {
	upstream.builtins = map[string]func(*evaluated, []any) any{
		"addClusterRoleLabel":        func(*evaluated, []any) any { return nil },
		"addClusterRoleBindingLabel": func(*evaluated, []any) any { return nil },
		"addControllerRole":          p.addController,
		"addNamespaceRole": func(_ *evaluated, args []any) any {
			p.roles = append(p.roles, p.role(args[1].(object), args[0].(string)))
			return nil
		},
		"addNamespaceRoleBinding": func(_ *evaluated, args []any) any {
			p.namespaceBinds = append(p.namespaceBinds, p.binding(args[1].(object), args[0].(string)))
			return nil
		},
		"rbacv1helpers.NewRule": func(_ *evaluated, verbs []any) any { return object{{"verbs", verbs}} },
		"rbacv1helpers.NewClusterBinding": func(_ *evaluated, args []any) any {
			return object{{"role", args[0]}}
		},
		"rbacv1helpers.NewRoleBinding": func(_ *evaluated, args []any) any { return object{{"role", args[0]}} },
	}
	with := func(member string) func(any, []any) any {
		return func(receiver any, args []any) any {
			made := slices.Clone(receiver.(object))
			before, _ := made.get(member).([]any)
			made.set(member, slices.Concat(before, args))
			return made
		}
	}
	done := func(receiver any, _ []any) any { return receiver }
	upstream.methods = map[string]func(any, []any) any{
		"Groups": with("groups"), "Resources": with("resources"), "Names": with("resourceNames"),
		"URLs": with("nonResourceURLs"), "Users": with("users"), "RuleOrDie": done, "BindingOrDie": done,
		"SAs": func(receiver any, args []any) any {
			made := slices.Clone(receiver.(object))
			accounts := []any{}
			for _, name := range args[1:] {
				accounts = append(accounts, args[0].(string)+"/"+name.(string))
			}
			made.set("serviceAccounts", accounts)
			return made
		},
	}
	for _, each := range upstream.call("ClusterRoles").([]any) {
		p.clusterRoles = p.appendGated(p.clusterRoles, each, p.role)
	}
	upstream.call("buildControllerRoles")
	for _, each := range upstream.call("ClusterRoleBindings").([]any) {
		p.bindings = p.appendGated(p.bindings, each, p.binding)
	}
	upstream.call("init")
}

// appendGated appends what `form` gives for an element of the cluster, with its gate, unless that is never on.
func (p *policy) appendGated(list []object, element any, form func(value object, namespace string) object) []object {
	value, gate, ok := p.inForce(element)
	if !ok {
		return list
	}
	made := form(value.(object), "")
	if gate != "" {
		made.set("gate", gate)
	}
	return append(list, made)
}

// addController has the parameters of addControllerRole. The gates around the call are those of each rule.
func (p *policy) addController(upstream *evaluated, args []any) any {
	role := args[2].(object)
	name := role.get("ObjectMeta").(object).get("Name").(string)
	rules := []any{}
	for _, rule := range role.get("Rules").([]any) {
		rules = append(rules, gated{rule, upstream.gates})
	}
	if made := p.rules(rules); len(made) > 0 {
		p.controllers.set(strings.TrimPrefix(name, controllerPrefix), made)
	}
	return nil
}

func (p *policy) role(role object, namespace string) object {
	metadata := role.get("ObjectMeta").(object)
	made := object{}
	if namespace != "" {
		made.set("namespace", namespace)
	}
	made.set("name", metadata.get("Name"))
	if labels, ok := metadata.get("Labels").(object); ok {
		made.set("labels", aggregations(labels))
	}
	if rule, ok := role.get("AggregationRule").(object); ok {
		selector := rule.get("ClusterRoleSelectors").([]any)[0].(object)
		made.set("aggregate", aggregations(selector.get("MatchLabels").(object)))
	}
	rules, _ := role.get("Rules").([]any)
	made.set("rules", p.rules(rules))
	return made
}

// aggregations gives the names of the roles that labels aggregate to.
func aggregations(labels object) []any {
	made := []any{}
	for _, each := range labels {
		made = append(made, strings.TrimPrefix(each.key, aggregationLabel))
	}
	return made
}

func (p *policy) binding(binding object, namespace string) object {
	made := object{}
	if namespace != "" {
		made.set("namespace", namespace)
	}
	if name := binding.get("Name"); name != nil {
		made.set("name", name)
	}
	role := binding.get("role")
	if reference, ok := binding.get("RoleRef").(object); ok {
		role = reference.get("Name")
	}
	made.set("role", role)
	for _, subjects := range []string{"groups", "users", "serviceAccounts"} {
		if names := binding.get(subjects); names != nil {
			made.set(subjects, names)
		}
	}
	return made
}

func (p *policy) rules(list []any) []any {
	made := []any{}
	for _, each := range list {
		if value, gate, ok := p.inForce(each); ok {
			made = append(made, p.rule(value.(object), gate))
		}
	}
	return made
}

// rule writes a rule as the file has it: a row of groups, resources, verbs, gate, or a PolicyRule.
func (p *policy) rule(rule object, gate string) any {
	if rule.get("resourceNames") == nil && rule.get("nonResourceURLs") == nil {
		row := []any{p.joined(rule, "groups"), p.joined(rule, "resources"), p.joined(rule, "verbs")}
		if gate != "" {
			row = append(row, gate)
		}
		return row
	}
	made := object{}
	for _, each := range []member{
		{"nonResourceURLs", "nonResourceURLs"}, {"apiGroups", "groups"}, {"resourceNames", "resourceNames"},
		{"resources", "resources"}, {"verbs", "verbs"},
	} {
		if rule.get(each.value.(string)) != nil {
			made.set(each.key, p.sorted(rule, each.value.(string)))
		}
	}
	if gate != "" {
		made.set("gate", gate)
	}
	return made
}

func (p *policy) joined(rule object, name string) string {
	var made []string
	for _, each := range p.sorted(rule, name) {
		made = append(made, each.(string))
	}
	return strings.Join(made, ",")
}

// sorted gives the strings of a list in the order that upstream's builders sort them in.
func (p *policy) sorted(rule object, name string) []any {
	made := []any{}
	for _, each := range rule.get(name).([]any) {
		value, gate, ok := p.inForce(each)
		if gate != "" {
			fail("bootstrap-policy.json: %v needs the gate %s in a list of %s", value, gate, name)
		}
		if ok {
			made = append(made, value)
		}
	}
	slices.SortFunc(made, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return made
}

// inForce gives an element of a list and the gate that it needs. An adjustment says which gates are always on (an empty
// gate) or never (null), and which gate stands for several.
func (p *policy) inForce(element any) (value any, gate string, ok bool) {
	var gates []string
	for {
		each, isGated := element.(gated)
		if !isGated {
			break
		}
		element = each.value
		for _, gate := range each.gates {
			by, isAdjusted := p.adjusted.take("bootstrap-policy.json gate " + gate)
			if isAdjusted && by == nil {
				return nil, "", false
			}
			if !isAdjusted && !slices.Contains(gates, gate) {
				gates = append(gates, gate)
			}
		}
	}
	slices.Sort(gates)
	if by, isAdjusted := p.adjusted.take("bootstrap-policy.json gate " + strings.Join(gates, " ")); isAdjusted {
		return element, by.(string), true
	}
	if len(gates) > 1 {
		fail("bootstrap-policy.json: a rule needs the gates %v", gates)
	}
	return element, strings.Join(gates, ""), true
}

// inOrderOf gives the rows that upstream has, in the order of the file, with the file's own rows in their places.
func inOrderOf(before any, made []object) []any {
	key := func(row object) string {
		namespace, _ := row.get("namespace").(string)
		name, named := row.get("name").(string)
		if !named {
			name, _ = row.get("role").(string)
		}
		return namespace + "/" + name
	}
	rows := []any{}
	written := map[string]bool{}
	for _, each := range before.([]any) {
		row := each.(object)
		at := slices.IndexFunc(made, func(other object) bool { return key(other) == key(row) })
		switch {
		case row.get("upstream") == false && at >= 0:
			fail("bootstrap-policy.json: upstream has %s: take its mark `upstream` away", key(row))
		case row.get("upstream") == false:
			rows = append(rows, row)
		case at >= 0:
			rows = append(rows, made[at])
			written[key(row)] = true
		}
	}
	for _, row := range made {
		if !written[key(row)] {
			rows = append(rows, row)
		}
	}
	return rows
}
