import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { MessageType, ServiceDefinition } from "./index.ts";

/**
 * Go's encodings of messages in which every field is set, and the methods of the services: k8s.io/cri-api
 * 0.37.1 and github.com/containerd/nri 0.12.2. Numbers of 64 bits are larger than 2^53.
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

const file = join(import.meta.dirname, "..", "testdata", "runtime-wire.jsonl");
const cases = readFileSync(file, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

const load = (name: string) =>
  import(`./generated/${name}.ts`) as Promise<Record<string, MessageType<object> | ServiceDefinition>>;

/**
 * Compares in the form of Go's JSON: 64-bit numbers are strings, bytes base64; absent messages are left out.
 */
function comparable(value: unknown): unknown {
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(comparable);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined && one !== null);
  return Object.fromEntries(entries.map(([key, one]) => [key, comparable(one)]));
}

/** Returns `theirs` without the members that `ours` lacks. */
function known(theirs: unknown, ours: unknown): unknown {
  if (typeof ours !== "object" || ours === null || typeof theirs !== "object" || theirs === null)
    return theirs;
  if (Array.isArray(ours)) return (theirs as unknown[]).map((each, index) => known(each, ours[index]));
  const has = Object.keys(ours);
  return Object.fromEntries(
    Object.entries(theirs)
      .filter(([key]) => has.includes(key))
      .map(([key, one]) => [key, known(one, (ours as Record<string, unknown>)[key])]),
  );
}

for (const one of cases) {
  if ("methods" in one) {
    test(`${one.file}: each method is one of Go's`, async () => {
      const module = await load(one.file);
      const definitions = Object.values(module).filter(
        (value): value is ServiceDefinition => "methods" in value,
      );
      assert.notEqual(definitions.length, 0);
      const nameOf = (type: unknown) => Object.keys(module).find((key) => module[key] === type);
      for (const { fullName, methods } of definitions) {
        for (const { name, requestType, responseType, responseStream } of Object.values(methods)) {
          const path = `/${fullName}/${name}`;
          assert.deepEqual(
            { path, request: nameOf(requestType), response: nameOf(responseType), stream: responseStream },
            one.methods.find((each) => each.path === path),
          );
        }
      }
    });
  } else {
    test(`${one.file} ${one.message}: known fields are encoded and decoded as in Go`, async () => {
      const type = (await load(one.file))[one.message] as MessageType<object>;
      const bytes = Buffer.from(one.protobuf, "base64");
      const message = type.decode(bytes);
      const ours = comparable(message);
      assert.deepEqual(ours, known(comparable(one.json), ours));
      const written = Buffer.from(type.encode(message).finish());
      assert.deepEqual(comparable(type.decode(written)), ours);
      // NRI's messages are complete; unused fields of CRI's messages are ignored.
      if (one.file.startsWith("nri/")) assert.deepEqual(written, bytes);
    });
  }
}
