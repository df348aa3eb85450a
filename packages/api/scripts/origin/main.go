// Command origin makes the tables of packages/api/src/schema/table from the Go sources of upstream's API modules, as the
// README beside it says. With -check it writes nothing, and fails if a table differs from the sources.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	source = "../../src"
	tables = source + "/schema/table/"
	server = "../../../apiserver/src"
)

func main() {
	check := flag.Bool("check", false, "compare the files, and write nothing")
	deprecations := flag.String("deprecations", "", "compare only the deprecations in this file")
	flag.Parse()
	if *deprecations != "" {
		problems := lifecycleProblems(*deprecations)
		for _, problem := range problems {
			fmt.Fprintln(os.Stderr, problem)
		}
		if len(problems) > 0 {
			os.Exit(1)
		}
		return
	}
	all := readTables()
	differs := false
	for file, data := range made(all) {
		before, _ := os.ReadFile(file)
		if bytes.Equal(before, data) || (!isTable(file) && text(read(before)) == text(read(data))) {
			continue
		}
		if !*check {
			if err := os.WriteFile(file, data, 0o644); err != nil {
				fail("%v", err)
			}
			continue
		}
		differs = true
		if !isTable(file) {
			before, data = lines(before), lines(data)
		}
		fmt.Fprintf(os.Stderr, "%s is not what the sources give:\n%s", file, firstDifference(before, data))
	}
	if differs {
		os.Exit(1)
	}
}

// tableSet holds the kinds that are served and the types that the tables have: both are chosen by hand.
type tableSet struct {
	byFile map[string]object
	types  []string
	// The types with known values.
	values []string
	// apps/v1 Deployment
	kinds map[string]bool
}

func readTables() tableSet {
	all := tableSet{map[string]object{}, nil, nil, map[string]bool{}}
	paths, _ := filepath.Glob(tables + "*.json")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			fail("%v", err)
		}
		table := read(data).(object)
		all.byFile[path] = table
		for _, each := range table.get("types").(object) {
			all.types = append(all.types, each.key)
		}
		for _, each := range table.get("values").(object) {
			all.values = append(all.values, each.key)
		}
		for _, each := range table.get("kinds").([]any) {
			kind := each.(object)
			apiVersion := strings.TrimPrefix(kind.get("group").(string)+"/"+kind.get("version").(string), "/")
			all.kinds[apiVersion+" "+kind.get("kind").(string)] = true
		}
	}
	return all
}

// isTable is false for files that Biome formats: of these the values are compared.
func isTable(file string) bool {
	return strings.HasPrefix(file, tables)
}

// made gives the text of every file by its path.
func made(all tableSet) map[string][]byte {
	files := map[string][]byte{}
	adjusted := adjustments()
	for path, table := range all.byFile {
		files[path] = tableText(table, adjusted)
	}
	add := func(file string, members object) { files[file] = adjusted.members(file, members) }
	add(source+"/schema/go-types.json", goTypes(all.types))
	files[source+"/checks/internal-forms.json"] = []byte(text(internalForms(all.types)))
	files[source+"/openapi/required.json"] = []byte(text(requiredFields(all.types)))
	files[source+"/openapi/enums.json"] = []byte(text(enums(all)))
	add(source+"/codec/registered-kinds.json", registeredKinds(all.kinds))
	add(server+"/aggregation/priorities.json", priorities())
	add(server+"/proxy/url-attributes.json", urlAttributes())
	files[source+"/kinds/flowcontrol/mandatory.json"] = []byte(text(flowControl("Mandatory")))
	files[server+"/flowcontrol/suggested.json"] = []byte(text(flowControl("Suggested")))
	policy := server + "/authorization/bootstrap-policy.json"
	files[policy] = []byte(text(bootstrapPolicy(policy, adjusted)))
	files[server+"/patch/atomic-types.json"] = []byte(text(atomicTypes(all.types)))
	for field, used := range adjusted.used {
		if !used {
			fail("adjustments.json: %s is not needed", field)
		}
	}
	return files
}

// lines writes the members of a JSON value one below the other, in any form.
func lines(data []byte) []byte {
	var out strings.Builder
	switch value := read(data).(type) {
	case object:
		for _, each := range value {
			out.WriteString(text(each.key) + ": " + text(each.value) + "\n")
		}
	case []any:
		for _, each := range value {
			out.WriteString(text(each) + "\n")
		}
	}
	return []byte(out.String())
}

func firstDifference(before, after []byte) string {
	old, made := strings.Split(string(before), "\n"), strings.Split(string(after), "\n")
	for i := range min(len(old), len(made)) {
		if old[i] != made[i] {
			return fmt.Sprintf("  line %d\n  is     %s\n  should %s\n", i+1, old[i], made[i])
		}
	}
	return fmt.Sprintf("  %d lines instead of %d\n", len(old), len(made))
}

// tableText writes a table again. Which kinds and types it has, and how the kinds are served, is chosen by hand.
func tableText(table object, adjusted *adjusted) []byte {
	var out strings.Builder
	out.WriteString("{\n\"kinds\": [\n")
	kinds := table.get("kinds").([]any)
	for i, kind := range kinds {
		out.WriteString(text(kind) + comma(i, len(kinds)))
	}
	out.WriteString("],\n\"values\": {\n")
	values := table.get("values").(object)
	for i, each := range values {
		out.WriteString(text(each.key) + ": " + text(valuesOf(each, adjusted)) + comma(i, len(values)))
	}
	out.WriteString("},\n\"types\": {\n")
	types := table.get("types").(object)
	for i, each := range types {
		out.WriteString(text(each.key) + ": [\n")
		rows := withOwn(adjusted.rows(each), each)
		for j, each := range rows {
			line := []any{each.name, each.number, each.typ}
			if len(each.marks) > 0 {
				line = append(line, each.marks)
			}
			out.WriteString("  " + text(line) + comma(j, len(rows)))
		}
		out.WriteString("]" + comma(i, len(types)))
	}
	out.WriteString("}\n}\n")
	return []byte(out.String())
}

func comma(i, count int) string {
	if i+1 < count {
		return ",\n"
	}
	return "\n"
}

// split takes `core/v1.Pod` apart.
func split(typ string) (group, version, name string) {
	slash, dot := strings.Index(typ, "/"), strings.LastIndex(typ, ".")
	return typ[:slash], typ[slash+1 : dot], typ[dot+1:]
}

// valuesOf gives the constants of a type in any release, sorted.
func valuesOf(list member, adjusted *adjusted) any {
	if by, ok := adjusted.take(list.key); ok {
		return by
	}
	group, version, name := split(list.key)
	var found []string
	for _, release := range releases {
		if pkg := load(group, version, release.version); pkg != nil {
			found = append(found, pkg.constants[name]...)
		}
	}
	slices.Sort(found)
	made := []any{}
	for _, value := range slices.Compact(found) {
		made = append(made, value)
	}
	return made
}
