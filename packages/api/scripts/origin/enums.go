package main

import (
	"slices"
	"strings"
)

// enums gives the values of the string types that OpenAPI documents list (the marker +enum), sorted, by the name of the type.
// A value that not every release has, or that is not listed in each, is an object with its first and last release.
func enums(all tableSet) object {
	made := object{}
	for _, name := range all.values {
		if list := enumOf(name); len(list) > 0 {
			made = append(made, member{name, list})
		}
	}
	slices.SortFunc(made, func(a, b member) int { return strings.Compare(a.key, b.key) })
	return made
}

func enumOf(typ string) []any {
	group, version, name := split(typ)
	first, last := map[string]int{}, map[string]int{}
	begin := -1
	for i, release := range releases {
		pkg := load(group, version, release.version)
		if pkg == nil || pkg.types[name] == nil {
			continue
		}
		if begin < 0 {
			begin = i
		}
		if !slices.Contains(pkg.types[name].doc, "enum") {
			continue
		}
		for _, value := range pkg.constants[name] {
			if _, known := first[value]; !known {
				first[value] = i
			}
			last[value] = i
		}
	}
	list := []any{}
	for _, value := range sortedKeys(first) {
		span := object{{"value", value}}
		if first[value] > begin {
			span.set("since", releases[first[value]].name)
		}
		if last[value] < len(releases)-1 {
			span.set("until", releases[last[value]].name)
		}
		if len(span) == 1 {
			list = append(list, value)
		} else {
			list = append(list, span)
		}
	}
	return list
}
