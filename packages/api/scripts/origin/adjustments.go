package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// adjusted holds adjustments.json: marks of a field (core/v1.Pod.spec), or the values of a type, that the table has in place of
// those of the sources.
type adjusted struct {
	instead map[string]any
	used    map[string]bool
}

func adjustments() *adjusted {
	data, err := os.ReadFile("adjustments.json")
	if err != nil {
		fail("%v", err)
	}
	made := &adjusted{map[string]any{}, map[string]bool{}}
	for _, group := range read(data).([]any) {
		for _, each := range group.(object).get("instead").(object) {
			made.instead[each.key] = each.value
			made.used[each.key] = false
		}
	}
	return made
}

func (a *adjusted) take(name string) (any, bool) {
	value, ok := a.instead[name]
	if ok {
		a.used[name] = true
	}
	return value, ok
}

// rows gives the fields that upstream has for a type of the table, with their adjustments.
func (a *adjusted) rows(typ member) []row {
	group, version, name := split(typ.key)
	if by, ok := a.take(typ.key); ok {
		return rowsFrom(by.([]any))
	}
	rows, ok := merged(group, version, name)
	if !ok && !isOwn(typ) {
		fail("no release has the type %s", typ.key)
	}
	for i := range rows {
		if marks, ok := a.take(typ.key + "." + rows[i].name); ok {
			rows[i].marks = marks.(object)
		}
	}
	return rows
}

// isOwn reports whether each field of a type has the mark `"upstream": false`, so that upstream may lack the type.
func isOwn(typ member) bool {
	rows := rowsFrom(typ.value.([]any))
	upstreams := func(each row) bool { return each.marks.get("upstream") != false }
	return len(rows) > 0 && !slices.ContainsFunc(rows, upstreams)
}

// withOwn adds to rows those that a type of the table has with the mark `"upstream": false`, in their places: fields that no
// release of upstream has yet.
func withOwn(rows []row, typ member) []row {
	for i, own := range rowsFrom(typ.value.([]any)) {
		if own.marks.get("upstream") != false {
			continue
		}
		if slices.ContainsFunc(rows, func(each row) bool { return each.name == own.name }) {
			fail("%s.%s: upstream has the field: take its mark `upstream` away", typ.key, own.name)
		}
		rows = slices.Insert(rows, min(i, len(rows)), own)
	}
	return rows
}

// rowsFrom reads rows as the tables have them.
func rowsFrom(lines []any) []row {
	rows := make([]row, len(lines))
	for i, line := range lines {
		parts := line.([]any)
		rows[i] = row{parts[0].(string), parts[1].(int), parts[2].(string), nil}
		if len(parts) > 3 {
			rows[i].marks = parts[3].(object)
		}
	}
	return rows
}

// members gives the members of a file in the order that it has, with those adjusted: null removes a member.
func (a *adjusted) members(file string, made object) []byte {
	before, err := os.ReadFile(file)
	if err != nil {
		fail("%v", err)
	}
	name := filepath.Base(file) + " "
	for adjusted, value := range a.instead {
		if key, ok := strings.CutPrefix(adjusted, name); ok {
			a.used[adjusted] = true
			made.set(key, value)
		}
	}
	var ordered object
	for _, each := range read(before).(object) {
		if value := made.get(each.key); value != nil {
			ordered = append(ordered, member{each.key, value})
		}
	}
	for _, each := range made {
		if each.value != nil && ordered.get(each.key) == nil {
			ordered = append(ordered, each)
		}
	}
	return []byte(text(ordered))
}
