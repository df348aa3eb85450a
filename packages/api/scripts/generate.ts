/**
 * Writes two modules per group and version from the schema table. `src/schema/generated/` has the TypeScript
 * types, with the descriptions that the OpenAPI documents have (src/openapi/descriptions) as doc comments.
 * `src/generated/`, the entry point, has the kinds as values, and exports the types: Node reads and strips no
 * long comments where it is loaded. With `--check` it writes nothing and fails where a module differs from
 * the table.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeField, describeType } from "../src/openapi/descriptions.ts";
import { type FieldRow, kindRows, typeRows } from "../src/schema/table.ts";
import { isRequired, readType } from "../src/schema/types.ts";

const source = join(import.meta.dirname, "..", "src");
const entryPoints = join(source, "generated");
const types = join(source, "schema", "generated");
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

/** Comment lines end here, as in the rest of the code. */
const lineWidth = 110;

/** A doc comment of that text with a line end after it; empty without a text. */
function docComment(text: string | undefined, indent = ""): string {
  if (text === undefined) return "";
  const safe = text.replaceAll("*/", "*\\/");
  const single = `${indent}/** ${safe} */\n`;
  if (single.length <= lineWidth + 1) return single;
  const lines: string[] = [];
  let line = `${indent} *`;
  for (const word of safe.split(" ")) {
    if (line.length + 1 + word.length > lineWidth) {
      lines.push(line);
      line = `${indent} *`;
    }
    line += ` ${word}`;
  }
  return `${indent}/**\n${[...lines, line].join("\n")}\n${indent} */\n`;
}

const kindOfType = new Map(kindRows.map((kind) => [kind.type, kind]));
const modules = new Map<string, string[]>();
for (const name of typeRows.keys()) {
  const module = name.slice(0, name.lastIndexOf("."));
  modules.set(module, [...(modules.get(module) ?? []), name]);
}

const check = process.argv.includes("--check");
if (!check) for (const folder of [entryPoints, types]) rmSync(folder, { recursive: true, force: true });
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
    if (aliases.has(primitive)) use("../../../objects/object.ts", primitive);
    return primitive;
  };
  const property = (owner: string, row: FieldRow): string => {
    const [name, , type, marks = {}] = row;
    const kind = kindOfType.get(owner);
    const doc = docComment(describeField(owner, name), "  ");
    if (name === "metadata" && kind !== undefined && type === "meta/v1.ObjectMeta") {
      const meta = kind.namespaced ? "NamespacedMeta" : "StoredMeta";
      use("../../../objects/object.ts", meta);
      return `${doc}  metadata: ${meta};`;
    }
    const quoted = /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
    return `${doc}  ${quoted}${isRequired({ name, marks, type: readType(type) }) ? "" : "?"}: ${typescript(type)};`;
  };

  const body: string[] = [];
  const kinds: string[] = [];
  for (const name of names) {
    const short = name.slice(name.lastIndexOf(".") + 1);
    const kind = kindOfType.get(name);
    const rows = typeRows.get(name) as readonly FieldRow[];
    const doc = docComment(describeType(name));
    // Rows without a name are the alternatives of a union; a type without rows is any JSON value.
    const alternatives = rows.filter((row) => row[0] === "" && !row[3]?.inline);
    if (alternatives.length > 0 || rows.length === 0) {
      const union = alternatives.map((row) => typescript(row[2])).join(" | ") || "unknown";
      body.push(`${doc}export type ${short} = ${union};`);
      continue;
    }
    const inlined = rows.filter((row) => row[3]?.inline).map((row) => reference(row[2]));
    const heading = inlined.length > 0 ? ` extends ${inlined.join(", ")}` : "";
    const fields = rows.filter((row) => !row[3]?.inline).map((row) => property(name, row));
    if (kind !== undefined) {
      fields.unshift("  apiVersion: string;", "  kind: string;");
      if (!rows.some((row) => row[0] === "metadata")) {
        use("../../../objects/object.ts", "StoredMeta");
        fields.push("  metadata: StoredMeta;");
      }
    }
    body.push(`${doc}export interface ${short}${heading} {\n${fields.join("\n")}\n}`);
    if (kind !== undefined) {
      const { group, version, kind: kindName, resource, namespaced } = kind;
      const value = JSON.stringify({ group, version, kind: kindName, resource, namespaced });
      kinds.push(
        `${doc}export interface ${short} extends types.${short} {}\n${doc}export const ${short}: Kind<${short}> = ${value};`,
      );
    }
  }
  const head = [...imports]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([from, names]) => `import type { ${[...names].sort().join(", ")} } from ${JSON.stringify(from)};`);

  write(join(types, `${module}.ts`), [head.join("\n"), ...body]);
  const from = JSON.stringify(`../../schema/generated/${module}.ts`);
  const typesOnly = `export type * from ${from};`;
  const withKinds = `import type { Kind } from "../../objects/object.ts";\nimport type * as types from ${from};\n\n${typesOnly}`;
  write(join(entryPoints, `${module}.ts`), [kinds.length > 0 ? withKinds : typesOnly, ...kinds]);
}

/** Writes a module, or compares it. */
function write(file: string, parts: readonly string[]): void {
  const text = `// Generated from src/schema/table by scripts/generate.ts: do not edit.\n${parts.join("\n\n")}\n`;
  if (!check) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    process.stderr.write(`${file} is not what the schema table gives: run \`npm run generate\`\n`);
    process.exitCode = 1;
  }
}
