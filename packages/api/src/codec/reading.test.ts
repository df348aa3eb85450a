import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { parseYAML, parseYAMLDocuments, YAMLError } from "../yaml/yaml.ts";
import { DecodeError, decodeAs, encodeJSON, JSONError, parseJSON, parseJSONTree } from "./index.ts";

const folder = new URL("../../../../conformance/codec/", import.meta.url);

interface Case {
  readonly form: "object" | "yaml" | "json";
  readonly input: string;
  readonly type?: string;
  /** Go's result: the error, or the text that it writes and the problems that strict reading rejects. */
  readonly error?: string;
  readonly text?: string;
  readonly problems?: readonly string[];
}

const cases = gunzipSync(readFileSync(new URL("reading.jsonl.gz", folder)))
  .toString()
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

/** Inputs for which this package differs from Go, with the reason. */
const differences = new Map(
  (
    JSON.parse(readFileSync(new URL("differences.json", folder), "utf8")) as {
      why: string;
      inputs: string[];
    }[]
  ).flatMap(({ why, inputs }) => inputs.map((input) => [input, why] as const)),
);

/** Compares all cases of a form; exactly the listed differences must occur. */
function compare(form: Case["form"], ours: (input: Case) => Partial<Case>): void {
  const found = cases.filter((input) => input.form === form);
  assert.ok(found.length > 200, `${found.length} cases`);
  for (const input of found) {
    const { error, text, problems = [] } = input;
    const got = ours(input);
    const read = (json: string | undefined): unknown => (json === undefined ? undefined : parseJSON(json));
    const same = (): void => {
      assert.equal(got.error, error, input.input);
      assert.deepEqual(read(got.text), read(text), input.input);
      assert.deepEqual(got.problems ?? [], problems, input.input);
    };
    const why = differences.get(input.input);
    if (why === undefined) same();
    else assert.throws(same, assert.AssertionError, `no longer differs: ${input.input} (${why})`);
  }
}

test("objects are read as Go reads them: types, unknown and duplicate fields, canonical forms", () => {
  compare("object", ({ input, type = "" }) => {
    try {
      const { value, notes } = parseJSONTree(input);
      const { object, problems } = decodeAs(value, type, "1.37", { notes });
      return { text: encodeJSON(object), problems };
    } catch (error) {
      if (error instanceof DecodeError || error instanceof JSONError) return { error: error.message };
      throw error;
    }
  });
});

test("rejects malformed JSON with Go's messages", () => {
  compare("json", ({ input }) => {
    try {
      parseJSON(input);
      return {};
    } catch (error) {
      if (error instanceof JSONError) return { error: error.message };
      throw error;
    }
  });
});

test("decodes YAML as Kubernetes does", () => {
  compare("yaml", ({ input }) => {
    try {
      const { value, duplicates } = parseYAML(input);
      const problems = duplicates.length > 0 ? [`yaml: unmarshal errors:\n  ${duplicates.join("\n  ")}`] : [];
      return { text: encodeJSON(value), problems };
    } catch (error) {
      if (error instanceof YAMLError) return { error: error.message };
      throw error;
    }
  });
});

test("rejects the most common mistake in YAML with Go's message", () => {
  assert.throws(() => parseYAML("a: b: c: ["), {
    message: "yaml: mapping values are not allowed in this context",
  });
});

test("rejects aliases that expand too far or refer to themselves", () => {
  const lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"];
  for (let i = 1; i < 12; i++)
    lines.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(", ")}]`,
    );
  assert.throws(() => parseYAML(lines.join("\n")), /excessive aliasing/);
  const merges = ["m0: &m0 {a: b}"];
  for (let i = 1; i < 40; i++) merges.push(`m${i}: &m${i} {<<: [*m${i - 1}, *m${i - 1}]}`);
  assert.throws(() => parseYAML(merges.join("\n")), /excessive aliasing/);
  // Without aliases a text may be as long as it likes.
  const list = parseYAML("- a\n".repeat(20_000)).value;
  assert.equal((list as string[]).length, 20_000);
  assert.throws(() => parseYAML("a: &a [*a]"), /anchor 'a' value contains itself/);
});

test("YAML that nests too deeply is refused", () => {
  for (const open of ["[", "{a: ", "- "]) assert.throws(() => parseYAML(open.repeat(20_000)), YAMLError);
});

test("a stream of documents is read one by one, and empty ones are left out", () => {
  const text = "# nothing\n---\na: 1\n---\n---\nb: yes\n...\n";
  assert.deepEqual(
    parseYAMLDocuments(text).map(({ value }) => value),
    [{ a: 1 }, { b: true }],
  );
});

test("a key that overrides a merged one is a duplicate for kube-apiserver, but not in a stream of documents", () => {
  const text = "a: &a {x: 1, z: 1}\nb: {<<: *a, x: 2}\nc: {<<: [*a, {x: 3}], z: 4, z: 5}\n";
  assert.deepEqual(parseYAML(text).duplicates.length, 4);
  const [document] = parseYAMLDocuments(text);
  assert.deepEqual(document?.duplicates, ['line 3: key "z" already set in map']);
  assert.deepEqual(document?.value, { a: { x: 1, z: 1 }, b: { x: 2, z: 1 }, c: { x: 1, z: 5 } });
});

test("reports the first 10,000 of many repeated keys", () => {
  const { duplicates } = parseYAML("a: 1\n".repeat(50_000));
  assert.equal(duplicates.length, 10_000);
  assert.equal(duplicates[0], 'line 2: key "a" already set in map');
});

test("whole numbers of very many digits are floats, and those that 64 bits hold are whole with zeros before them", () => {
  assert.deepEqual(parseYAML(`[${"9".repeat(300)}, 0x${"0".repeat(100)}ff, 0b${"0".repeat(100)}11]`).value, [
    Number("9".repeat(300)),
    255,
    3,
  ]);
});
