import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeProtobuf, encodeProtobuf } from "./envelope.ts";

const configMap = (name: string, text: string): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { text },
});

test("objects larger than any buffer round-trip, and small ones after them", () => {
  const texts = [
    "a".repeat(3_000_000),
    "ü".repeat(40_000),
    "",
    ...Array.from({ length: 3000 }, (_, i) => `é${i}`),
  ];
  for (const text of texts) {
    const { object } = decodeProtobuf(encodeProtobuf(configMap("a", text)));
    assert.deepEqual(object["data"], { text });
  }
  const items = texts.map((text, i) => configMap(`n${i}`, text));
  const { object: list } = decodeProtobuf(
    encodeProtobuf({ apiVersion: "v1", kind: "ConfigMapList", metadata: {}, items }),
  );
  assert.deepEqual(
    (list["items"] as { data: object }[]).map(({ data }) => data),
    texts.map((text) => ({ text })),
  );
});

test("a duration is its nanoseconds, as in Go", () => {
  const metrics = (window: string): object => ({
    apiVersion: "metrics.k8s.io/v1beta1",
    kind: "NodeMetrics",
    metadata: { name: "n" },
    timestamp: "2026-01-02T03:04:05Z",
    window,
    usage: { cpu: "1500m", memory: "3Gi" },
  });
  for (const window of ["0s", "1ns", "15.013s", "1m0s", "-2h45m0.5s"])
    assert.deepEqual(decodeProtobuf(encodeProtobuf(metrics(window))).object, metrics(window));
  // Message 3 of the object is `{1: 1000000000}`: 1 s.
  assert.ok(Buffer.from(encodeProtobuf(metrics("1s"))).includes(Buffer.from("1a06088094ebdc03", "hex")));
  assert.throws(() => encodeProtobuf(metrics("soon")), /soon/);
});

test("a failed write leaves no bytes for the next object", () => {
  const whole = encodeProtobuf(configMap("a", "b"));
  const wrong = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", creationTimestamp: "never" } };
  assert.throws(() => encodeProtobuf(wrong), /"never" is no time of RFC 3339/);
  assert.deepEqual(encodeProtobuf(configMap("a", "b")), whole);
});
