import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { MessageType, ServiceDefinition } from "./index.ts";

/**
 * Go's encodings (k8s.io/kubelet 0.37.2) of messages in which every field is set, and the methods of the
 * services.
 */
type Case =
  | { readonly file: string; readonly message: string; readonly json: object; readonly protobuf: string }
  | { readonly file: string; readonly methods: readonly Method[] };

interface Method {
  readonly path: string;
  readonly request: string;
  readonly response: string;
  readonly stream: boolean;
}

const file = join(import.meta.dirname, "..", "testdata", "wire.jsonl");
const cases = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

const load = (name: string) =>
  import(`./generated/${name}.ts`) as Promise<Record<string, MessageType<object> | ServiceDefinition>>;

/** Go's JSON has 64-bit numbers as strings. */
function comparable(value: unknown): unknown {
  if (typeof value === "number") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(comparable);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, comparable(one)]));
}

for (const one of cases) {
  if ("methods" in one) {
    test(`${one.file}: the methods of its services`, async () => {
      const module = await load(one.file);
      const ours: Method[] = Object.values(module)
        .filter((value): value is ServiceDefinition => "methods" in value)
        .flatMap((definition) =>
          Object.values(definition.methods).map((method) => ({
            path: `/${definition.fullName}/${method.name}`,
            request: Object.keys(module).find((key) => module[key] === method.requestType) ?? "",
            response: Object.keys(module).find((key) => module[key] === method.responseType) ?? "",
            stream: method.responseStream,
          })),
        );
      const sorted = (all: readonly Method[]) => [...all].sort((a, b) => (a.path < b.path ? -1 : 1));
      assert.deepEqual(sorted(ours), sorted(one.methods));
    });
  } else {
    test(`${one.file} ${one.message}: read and written as Go does`, async () => {
      const type = (await load(one.file))[one.message] as MessageType<object>;
      const bytes = Buffer.from(one.protobuf, "base64");
      const message = type.decode(bytes);
      assert.deepEqual(comparable(message), comparable(one.json));
      assert.deepEqual(Buffer.from(type.encode(message).finish()), bytes);
    });
  }
}
