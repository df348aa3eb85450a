import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { kindRows } from "../schema/table.ts";
import {
  DecodeError,
  decodeAs,
  decodeProtobuf,
  encodeProtobuf,
  kindOf,
  parseJSON,
  protobufWatchFrame,
} from "./index.ts";
import { envelopeType } from "./protobuf/message.ts";

/** The release whose libraries gave the recorded results. */
const release = "1.37";
const folder = new URL("../../../../conformance/codec/", import.meta.url);

interface Case {
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly input: unknown;
  /** Go's JSON of the input. */
  readonly json: Record<string, unknown>;
  /** Go's protobuf of that JSON. */
  readonly protobuf: Buffer;
  /** Go's JSON of that protobuf. */
  readonly back: Record<string, unknown>;
}

const cases: Case[] = gunzipSync(readFileSync(new URL("objects.jsonl.gz", folder)))
  .toString()
  .trimEnd()
  .split("\n")
  .map((line, i) => {
    const entry = JSON.parse(line) as Record<"input" | "protobuf", string> & { json?: string; back?: string };
    const json = parseJSON(entry.json ?? entry.input) as Case["json"];
    const [apiVersion, kind] = [String(json["apiVersion"]), String(json["kind"])];
    return {
      name: `line ${i + 1}, ${apiVersion} ${kind}`,
      apiVersion,
      kind,
      input: parseJSON(entry.input),
      json,
      protobuf: Buffer.from(entry.protobuf, "base64"),
      back: entry.back === undefined ? json : (parseJSON(entry.back) as Case["json"]),
    };
  });

test("every kind of the schema is among the recorded objects, or has a reason", () => {
  const leftOut = JSON.parse(readFileSync(new URL("left-out.json", folder), "utf8")) as {
    apiVersion: string;
    kind: string;
    why: string;
  }[];
  const listed = new Set([...cases, ...leftOut].map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  const missing = kindRows
    .map(({ group, version, kind }) => {
      const sent = group === "meta" ? "meta.k8s.io" : group;
      return `${sent === "" ? version : `${sent}/${version}`} ${kind}`;
    })
    .filter((name) => !listed.has(name));
  assert.deepEqual(missing, []);
  assert.deepEqual(
    leftOut.filter(({ why }) => why === ""),
    [],
  );
});

test("JSON becomes what Go makes of it", () => {
  for (const { name, apiVersion, kind, input, json } of cases) {
    const { object, problems } = decodeAs(input, envelopeType(apiVersion, kind), release);
    assert.deepStrictEqual(object, json, name);
    assert.deepEqual(problems, [], name);
  }
});

test("objects become Go's protobuf, byte for byte", () => {
  for (const { name, json, protobuf } of cases) {
    const bytes = encodeProtobuf(json);
    const difference = protobuf.findIndex((byte, i) => byte !== bytes[i]);
    assert.equal(difference, -1, `${name}: differs at byte ${difference} of ${protobuf.length}`);
    assert.equal(bytes.length, protobuf.length, name);
  }
});

test("Go's protobuf becomes Go's JSON", () => {
  for (const { name, protobuf, back } of cases) {
    assert.deepStrictEqual(decodeProtobuf(protobuf, release).object, back, name);
  }
});

test("kinds that Go's libraries no longer have go forth and back", () => {
  const spec = { podGroups: [{ name: "a", policy: { gang: { minCount: 2 } } }] };
  const metadata = { name: "w", namespace: "n", creationTimestamp: "2026-01-02T03:04:05Z" };
  for (const object of [
    { apiVersion: "scheduling.k8s.io/v1alpha1", kind: "Workload", metadata, spec },
    {
      apiVersion: "scheduling.k8s.io/v1alpha1",
      kind: "WorkloadList",
      metadata: { resourceVersion: "7" },
      items: [{ metadata, spec }],
    },
    { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata },
  ]) {
    assert.deepStrictEqual(decodeProtobuf(encodeProtobuf(object)).object, object);
  }
});

test("a watch frame is a length and a WatchEvent with the object in its envelope", () => {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c" },
    data: { a: "x".repeat(300) },
  };
  const frame = Buffer.from(protobufWatchFrame("MODIFIED", object));
  const inner = Buffer.from(encodeProtobuf(object));
  assert.equal(frame.readUInt32BE(0), frame.length - 4);
  const head = Buffer.concat([Buffer.of(0x0a, 8), Buffer.from("MODIFIED")]);
  assert.deepEqual(frame.subarray(4, 14), head);
  assert.deepEqual(frame.subarray(frame.length - inner.length), inner);
  // Tag 2, the length of the RawExtension, its tag 1, the length of the object: lengths of two bytes each.
  assert.equal(frame.length, 4 + head.length + 3 + 3 + inner.length);
});

const envelope = (apiVersion: string, kind: string, raw: readonly number[]): Uint8Array => {
  const text = (number: number, value: string): number[] => [
    number * 8 + 2,
    value.length,
    ...Buffer.from(value),
  ];
  const meta = [...text(1, apiVersion), ...text(2, kind)];
  return Uint8Array.of(0x6b, 0x38, 0x73, 0, 0x0a, meta.length, ...meta, 0x12, raw.length, ...raw);
};

test("a message that comes in parts is one message, and the last scalar counts", () => {
  // metadata {name: "a"}, metadata {namespace: "b"}, metadata {name: "c"}
  const raw = [0x0a, 3, 0x0a, 1, 0x61, 0x0a, 3, 0x1a, 1, 0x62, 0x0a, 3, 0x0a, 1, 0x63];
  assert.deepEqual(decodeProtobuf(envelope("v1", "ConfigMap", raw)).object, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", namespace: "b" },
  });
});

test("unknown fields and those of other releases are skipped", () => {
  // Field 100 as varint, fixed64, block, group (with a field within) and fixed32; then metadata.
  const unknown = [
    ...[0xa0, 6, 0x96, 1],
    ...[0xa1, 6, 1, 2, 3, 4, 5, 6, 7, 8],
    ...[0xa2, 6, 2, 9, 9],
    ...[0xa3, 6, 0x08, 1, 0xa4, 6],
    ...[0xa5, 6, 1, 2, 3, 4],
  ];
  const decoded = decodeProtobuf(envelope("v1", "ConfigMap", [...unknown, 0x0a, 3, 0x0a, 1, 0x61])).object;
  assert.deepEqual(decoded["metadata"], { name: "a" });
  // PodStatus.allocatedResources (19) exists since 1.35.
  const status = { podIP: "10.0.0.1", allocatedResources: { cpu: "1" } };
  const pod = encodeProtobuf({ apiVersion: "v1", kind: "Pod", status });
  assert.deepEqual(decodeProtobuf(pod).object["status"], {
    podIP: "10.0.0.1",
    allocatedResources: { cpu: "1" },
  });
  assert.deepEqual(decodeProtobuf(pod, "1.34").object["status"], { podIP: "10.0.0.1" });
});

test("packed numbers are read", () => {
  // spec.securityContext.supplementalGroups: [5, 300], packed.
  const raw = [0x12, 8, 0x72, 6, 0x22, 4, 5, 0xac, 2, 7];
  const pod = decodeProtobuf(envelope("v1", "Pod", raw)).object;
  assert.deepEqual((pod["spec"] as { securityContext: unknown }).securityContext, {
    supplementalGroups: [5, 300, 7],
  });
});

test("rejects bytes that are not an object, with the cause and the place", () => {
  const bad: [bytes: Uint8Array, message: RegExp][] = [
    [Uint8Array.of(), /^empty data$/],
    [Buffer.from("k8s\0"), /^empty body$/],
    [Buffer.from('{"kind":"Pod"}'), /prefix/],
    [envelope("v1", "Nothing", []), /no kind "Nothing" is registered for version "v1"/],
    [envelope("apps/v1", "Pod", []), /no kind "Pod" is registered for version "apps\/v1"/],
    [
      envelope("v1", "ConfigMap", [0x08, 1]),
      /wrong wire type 0 for field core\/v1.ConfigMap.metadata, expected 2/,
    ],
    [envelope("v1", "ConfigMap", [0x0a, 9, 1]), /unexpected EOF: 9 bytes are announced, 1 are left/],
    [envelope("v1", "ConfigMap", [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]), /4294967295 bytes are announced/],
    [
      envelope("v1", "ConfigMap", [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
      /negative length/,
    ],
    [envelope("v1", "ConfigMap", Array<number>(11).fill(0xff)), /integer overflow/],
    [envelope("v1", "ConfigMap", [0x00]), /illegal tag 0/],
    [envelope("v1", "ConfigMap", [0xa4, 6]), /end of a group/],
    [envelope("v1", "ConfigMap", [0xa3, 6, 0x08]), /unexpected EOF/],
    [envelope("v1", "ConfigMap", [0xa6, 6]), /illegal wire type 6/],
    // spec.tolerationSeconds and the like are fine; a Quantity must be one.
    [
      envelope(
        "v1",
        "ResourceQuota",
        [0x12, 12, 0x0a, 10, 0x0a, 1, 0x61, 0x12, 5, 0x0a, 3, 0x31, 0x58, 0x59],
      ),
      /core\/v1.ResourceQuotaSpec.hard: /,
    ],
  ];
  for (const [bytes, message] of bad) {
    assert.throws(
      () => decodeProtobuf(bytes),
      (error) => error instanceof DecodeError && message.test(error.message),
      String(message),
    );
  }
});

test("messages nest as deep as schemas may, and no deeper", () => {
  const crd = (depth: number): Record<string, unknown> => {
    let schema: Record<string, unknown> = { type: "object" };
    for (let i = 0; i < depth; i++) schema = { type: "object", not: schema };
    const spec = { versions: [{ name: "v1", schema: { openAPIV3Schema: schema } }] };
    return { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", spec };
  };
  const deep = decodeProtobuf(encodeProtobuf(crd(100))).object;
  assert.equal(JSON.stringify(deep).split('"not":').length, 101);
  assert.throws(() => decodeProtobuf(encodeProtobuf(crd(1000))), /messages within each other/);
});

test("encoding a Table as protobuf is an error", () => {
  assert.equal(kindOf("meta", "v1", "Table"), undefined);
  assert.throws(() => encodeProtobuf({ apiVersion: "meta.k8s.io/v1", kind: "Table" }), DecodeError);
});
