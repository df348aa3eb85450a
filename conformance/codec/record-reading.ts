/**
 * Records how Go reads what is wrong or unusual, for packages/api/src/codec/reading.test.ts:
 *   node scripts/node24.js conformance/codec/record-reading.ts ORACLE
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { kindRows } from "../../packages/api/src/schema/table.ts";
import { type FieldType, type StructType, structType } from "../../packages/api/src/schema/types.ts";

interface Inputs {
  /** JSON values to try for fields of a scalar type: wrong ones, and right ones that Go rewrites. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  readonly configMaps: readonly string[];
  readonly scalars: readonly string[];
  readonly yaml: readonly string[];
  readonly json: readonly string[];
}

interface Question {
  readonly form: "object" | "yaml" | "json";
  readonly input: string;
  /** The type of an object in the schema. */
  readonly type?: string;
}

const folder = new URL(".", import.meta.url);
const inputs = JSON.parse(readFileSync(new URL("inputs.json", folder), "utf8")) as Inputs;

/**
 * Puts values into every field of every kind: all of them for the first few fields of a scalar type, then
 * one.
 */
function objects(): Question[] {
  const questions: Question[] = [];
  const met = new Map<string, number>();
  const done = new Set<string>();
  const visit = (type: string, struct: StructType, wrap: (value: string) => string): void => {
    if (done.has(struct.name)) return;
    done.add(struct.name);
    for (const [name, field] of struct.fields) {
      put(type, field.type, (value) => wrap(`{${JSON.stringify(name)}:${value}}`));
    }
  };
  const put = (type: string, field: FieldType, wrap: (value: string) => string): void => {
    const ask = (...values: string[]): void => {
      for (const value of values) questions.push({ form: "object", input: wrap(value), type });
    };
    switch (field.form) {
      case "scalar": {
        const times = met.get(field.name) ?? 0;
        met.set(field.name, times + 1);
        const values = inputs.values[field.name] ?? [];
        ask(...(times < 3 ? [...values, "null"] : values.slice(0, 1)));
        break;
      }
      case "list":
        ask('"x"', "[null]");
        put(type, field.element, (value) => wrap(`[${value}]`));
        break;
      case "map":
        ask('"x"', '{"k":null}');
        put(type, field.value, (value) => wrap(`{"k":${value}}`));
        break;
      case "struct":
        if (done.has(field.struct.name)) break;
        ask('"x"', "[]", "null", '{"nosuch":1}');
        if (field.struct.anyJSON || field.struct.alternatives) {
          ask("true", "5", "[]", "{}", '[{"nosuch":1}]', '["a"]');
        } else visit(type, field.struct, wrap);
    }
  };
  for (const { group, version, kind, type } of kindRows) {
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const head = `{"apiVersion":"${apiVersion}","kind":"${kind}",`;
    visit(type, structType(type), (inner) => head + inner.slice(1));
  }
  for (const text of inputs.configMaps) {
    const input = `{"apiVersion":"v1","kind":"ConfigMap",${text}}`;
    questions.push({ form: "object", input, type: "core/v1.ConfigMap" });
  }
  return questions;
}

/** The texts of `inputs.json`, and each with one character changed, left out or put in. */
function jsonTexts(): string[] {
  const characters = [..."{}[]\":,\\u01-.etn\t\n é\u0001'x\u007f+/"];
  const texts = new Set(inputs.json);
  inputs.json.forEach((text, i) => {
    for (let at = 0; at <= text.length; at++) {
      const character = characters[(at * 7 + i * 3) % characters.length] ?? "";
      const how = (at + i) % 3;
      texts.add(text.slice(0, at) + (how === 0 ? "" : character) + text.slice(how === 1 ? at : at + 1));
    }
  });
  return [...texts];
}

const questions: Question[] = [
  ...objects(),
  ...inputs.scalars
    .flatMap((scalar) => [`k: ${scalar}\n`, `- ${scalar}\n`, `${scalar}: v\n`])
    .concat(inputs.yaml)
    .map((input) => ({ form: "yaml" as const, input })),
  ...jsonTexts().map((input) => ({ form: "json" as const, input })),
];

const asked = questions.map(({ form, input }) =>
  JSON.stringify(
    form === "json"
      ? { op: "json", bytes: Buffer.from(input).toString("base64") }
      : { op: form === "object" ? "decode" : "yaml", text: input },
  ),
);
const oracle = spawnSync(process.argv[2] ?? "", { input: `${asked.join("\n")}\n`, maxBuffer: 2 ** 30 });
if (oracle.status !== 0) throw new Error(`the oracle failed: ${oracle.error ?? oracle.stderr}`);
const answers = oracle.stdout.toString().trimEnd().split("\n");
const recorded = questions.flatMap((question, i) => {
  const { answer } = JSON.parse(answers[i] ?? "{}") as { answer?: { error?: string } };
  // A kind that Go's libraries do not have, or no longer.
  if (answer === undefined || answer.error?.startsWith("no kind")) return [];
  return [JSON.stringify({ ...question, ...answer })];
});
writeFileSync(new URL("reading.jsonl.gz", folder), gzipSync(`${recorded.join("\n")}\n`, { level: 9 }));
process.stdout.write(`${recorded.length} of ${questions.length} recorded\n`);
