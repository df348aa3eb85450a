/**
 * Records how Go writes random objects of every kind, for packages/api/src/codec/roundtrip.test.ts:
 *   node conformance/codec/record.ts ORACLE
 */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { envelopeType } from "../../packages/api/src/codec/protobuf/message.ts";
import { encodeJSON } from "../../packages/api/src/json/json.ts";
import { type KindRow, kindRows, typeRows } from "../../packages/api/src/schema/table.ts";
import { RandomObjects, release } from "./random.ts";

/** Go's encodings of an object. `json` is absent if it equals `input`, `back` if it equals `json`. */
interface Recorded {
  /** The object that was sent, as text. */
  input: string;
  /** Go's JSON of it. */
  json?: string;
  /** Go's protobuf of its JSON, in base64. */
  protobuf: string;
  /** Go's JSON of that protobuf. */
  back?: string;
}

interface Answer {
  readonly fault?: string;
  readonly answer?: { readonly error?: string; readonly json?: unknown; readonly protobuf?: string };
}

/** Asks the oracle one line at a time; answers come in order, their JSON as the text that Go wrote. */
class Oracle {
  readonly #child;
  readonly #lines;

  constructor(path: string) {
    this.#child = spawn(path, { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async ask(question: string): Promise<{ json: string; protobuf: string } | { why: string }> {
    this.#child.stdin.write(`{"op":"codec",${question}}\n`);
    const line = String((await this.#lines.next()).value);
    const { fault, answer } = JSON.parse(line) as Answer;
    const why = fault ?? answer?.error;
    if (why !== undefined || answer?.protobuf === undefined) return { why: why ?? "no protobuf" };
    // The text between the two known ends: parsing would lose digits.
    const start = line.indexOf('"json":') + '"json":'.length;
    return { json: line.slice(start, line.lastIndexOf(',"protobuf":"')), protobuf: answer.protobuf };
  }

  close(): void {
    this.#child.stdin.end();
  }
}

const apiVersion = ({ group, version }: KindRow): string =>
  group === "" ? version : `${group === "meta" ? "meta.k8s.io" : group}/${version}`;

const wanted = [
  ...kindRows.map((row) => ({
    apiVersion: apiVersion(row),
    kind: row.kind,
    rounds: row.group === "resource.k8s.io" ? 120 : 36,
  })),
  // Not every kind has a list: nobody lists reviews.
  ...kindRows
    .filter((row) => typeRows.has(`${row.type}List`))
    .map((row) => ({ apiVersion: apiVersion(row), kind: `${row.kind}List`, rounds: 5 })),
  { apiVersion: "v1", kind: "Status", rounds: 5 },
  { apiVersion: "v1", kind: "List", rounds: 2 },
  ...["v1", "apps/v1", "resource.k8s.io/v1"].flatMap((version) =>
    ["DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "GetOptions", "ListOptions"].map(
      (kind) => ({ apiVersion: version, kind, rounds: 2 }),
    ),
  ),
];

const densities = [0.9, 0.6, 0.3, 0.8, 0.2];

const oracle = new Oracle(process.argv[2] ?? "oracle");
const random = new RandomObjects(20260128);
const recorded: string[] = [];
const leftOut: { apiVersion: string; kind: string; why: string }[] = [];
for (const { apiVersion, kind, rounds } of wanted) {
  const struct = envelopeType(apiVersion, kind);
  for (let round = 0; round < rounds; round++) {
    // The first sets nothing; each of the others sets a part of the fields.
    const density = round === 0 ? 0 : densities[round % densities.length]!;
    const object = random.struct(struct, 0, density) as object;
    const input = encodeJSON({ ...object, apiVersion, kind });
    const first = await oracle.ask(`"json":${input}`);
    const second = "why" in first ? first : await oracle.ask(`"json":${first.json}`);
    const third = "why" in second ? second : await oracle.ask(`"protobuf":"${second.protobuf}"`);
    if ("why" in first || "why" in second || "why" in third) {
      const why = [first, second, third].find((answer) => "why" in answer)!.why;
      if (round === 0 || !why.startsWith("no kind")) leftOut.push({ apiVersion, kind, why });
      if (round === 0 || why.startsWith("no kind")) break;
      continue;
    }
    const entry: Recorded = { input, protobuf: second.protobuf };
    if (first.json !== input) entry.json = first.json;
    if (third.json !== first.json) entry.back = third.json;
    recorded.push(JSON.stringify(entry));
  }
}
oracle.close();
const folder = new URL("./", import.meta.url);
const packed = gzipSync(`${recorded.join("\n")}\n`, { level: 9 });
writeFileSync(new URL("objects.jsonl.gz", folder), packed);
writeFileSync(new URL("left-out.json", folder), `${JSON.stringify(leftOut, null, 2)}\n`);
process.stdout.write(
  `Kubernetes ${release}: ${recorded.length} objects, ${random.covered.size} fields, ${packed.length} bytes; ${leftOut.length} left out\n`,
);
