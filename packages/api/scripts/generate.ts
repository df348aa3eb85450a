/**
 * Writes `src/generated/`: one module of TypeScript types a group and version, from the schema table.
 * With `--check` it writes nothing and fails where a module is not what the table gives.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FieldRow, kindRows, typeRows } from "../src/schema/table.ts";

const out = join(import.meta.dirname, "..", "src", "generated");
const primitives: Record<string, string> = {
  string: "string",
  bool: "boolean",
  int32: "number",
  int64: "Int64",
  double: "number",
  bytes: "string",
  any: "unknown",
  Quantity: "QuantityText",
  Time: "Time",
  MicroTime: "MicroTime",
  Duration: "string",
  IntOrString: "IntOrString",
  RawExtension: "unknown",
  FieldsV1: "Record<string, unknown>",
};
const aliases = new Set(["Int64", "QuantityText", "Time", "MicroTime", "IntOrString"]);

const kindOfType = new Map(kindRows.map((kind) => [kind.type, kind]));
const modules = new Map<string, string[]>();
for (const name of typeRows.keys()) {
  const module = name.slice(0, name.lastIndexOf("."));
  modules.set(module, [...(modules.get(module) ?? []), name]);
}

const check = process.argv.includes("--check");
if (!check) rmSync(out, { recursive: true, force: true });
for (const [module, names] of modules) {
  const imports = new Map<string, Set<string>>();
  const use = (from: string, name: string): void => {
    imports.set(from, (imports.get(from) ?? new Set()).add(name));
  };
  const reference = (name: string): string => {
    const other = name.slice(0, name.lastIndexOf("."));
    const short = name.slice(name.lastIndexOf(".") + 1);
    if (other === module) return short;
    use(`../${other}.ts`, short);
    return short;
  };
  const typescript = (type: string): string => {
    if (type.startsWith("[]")) {
      const element = typescript(type.slice(2));
      return /[ |]/.test(element) ? `(${element})[]` : `${element}[]`;
    }
    if (type.startsWith("map<")) return `Record<string, ${typescript(type.slice(4, -1))}>`;
    const primitive = primitives[type];
    if (primitive === undefined) return reference(type);
    if (aliases.has(primitive)) use("../../objects/object.ts", primitive);
    return primitive;
  };
  const property = (owner: string, row: FieldRow): string => {
    const [name, , type, marks = {}] = row;
    const kind = kindOfType.get(owner);
    if (name === "metadata" && kind !== undefined && type === "meta/v1.ObjectMeta") {
      const meta = kind.namespaced ? "NamespacedMeta" : "StoredMeta";
      use("../../objects/object.ts", meta);
      return `  metadata: ${meta};`;
    }
    const always =
      (marks.omit === "never" && marks.optional === undefined && marks.pointer === undefined) ||
      (typeRows.has(type) &&
        marks.pointer === undefined &&
        (name === "spec" || (name === "status" && kind !== undefined)));
    // A status is written by the server side; drafts leave it out.
    const quoted = /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
    return `  ${quoted}${always && name !== "status" ? "" : "?"}: ${typescript(type)};`;
  };

  const body: string[] = [];
  for (const name of names) {
    const short = name.slice(name.lastIndexOf(".") + 1);
    const kind = kindOfType.get(name);
    const rows = typeRows.get(name) as readonly FieldRow[];
    // Rows without a name are the alternatives of a union; a type without rows is any JSON value.
    const alternatives = rows.filter((row) => row[0] === "" && !row[3]?.inline);
    if (alternatives.length > 0 || rows.length === 0) {
      const union = alternatives.map((row) => typescript(row[2])).join(" | ") || "unknown";
      body.push(`export type ${short} = ${union};`);
      continue;
    }
    const inlined = rows.filter((row) => row[3]?.inline).map((row) => reference(row[2]));
    const heading = inlined.length > 0 ? ` extends ${inlined.join(", ")}` : "";
    const fields = rows.filter((row) => !row[3]?.inline).map((row) => property(name, row));
    if (kind !== undefined) {
      fields.unshift("  apiVersion: string;", "  kind: string;");
      if (!rows.some((row) => row[0] === "metadata")) {
        use("../../objects/object.ts", "StoredMeta");
        fields.push("  metadata: StoredMeta;");
      }
    }
    body.push(`export interface ${short}${heading} {\n${fields.join("\n")}\n}`);
    if (kind !== undefined) {
      use("../../objects/object.ts", "Kind");
      const { group, version, kind: kindName, resource, namespaced } = kind;
      body.push(
        `export const ${short}: Kind<${short}> = ${JSON.stringify({ group, version, kind: kindName, resource, namespaced })};`,
      );
    }
  }
  const head = [...imports]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([from, names]) => `import type { ${[...names].sort().join(", ")} } from ${JSON.stringify(from)};`);

  const file = join(out, `${module}.ts`);
  const text = `// Generated from src/schema/table by scripts/generate.ts: do not edit.\n${head.join("\n")}\n\n${body.join("\n\n")}\n`;
  if (check) {
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
      process.stderr.write(`${file} is not what the schema table gives: run \`npm run generate\`\n`);
      process.exitCode = 1;
    }
    continue;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
