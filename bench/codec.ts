/**
 * How fast bodies become objects: JSON and protobuf of objects of every kind, against JSON.parse of the same
 * text.
 */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { decodeAs, decodeProtobuf, encodeProtobuf, kindOf, parseJSON } from "@dray/api/codec";
import { duration, machine, markdown, median, ratio, timed } from "./allocator/clock.ts";

interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly text: string;
}

/** Objects that clients send, and the random objects of conformance/codec as one. */
const named: readonly Record<string, unknown>[] = [
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web-0", namespace: "default", labels: { app: "web", tier: "front" } },
    spec: {
      containers: Array.from({ length: 3 }, (_, i) => ({
        name: `c${i}`,
        image: "registry.example/web:1.2.3",
        command: ["serve", "--port", "8080"],
        env: Array.from({ length: 8 }, (_, j) => ({ name: `KEY_${j}`, value: `value-${j}` })),
        ports: [{ containerPort: 8080, protocol: "TCP" }],
        resources: { requests: { cpu: "250m", memory: "64Mi" }, limits: { memory: "128Mi" } },
        volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
      })),
      volumes: [{ name: "data", emptyDir: {} }],
      resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpu" }],
    },
  },
  {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: "node-0-gpu" },
    spec: {
      driver: "gpu.example.com",
      nodeName: "node-0",
      pool: { name: "node-0", generation: 1, resourceSliceCount: 1 },
      devices: Array.from({ length: 128 }, (_, i) => ({
        name: `gpu-${i}`,
        attributes: {
          model: { string: "A100" },
          index: { int: i },
          driverVersion: { version: "1.0.0" },
          shared: { bool: false },
        },
        capacity: { memory: { value: "80Gi" } },
      })),
    },
  },
];

/** Gives a table in Markdown. */
export function codecBench(): string {
  const rows = named.map((object) =>
    row(`${object["kind"]}`, [
      { apiVersion: `${object["apiVersion"]}`, kind: `${object["kind"]}`, text: JSON.stringify(object) },
    ]),
  );
  rows.push(row("random objects of all kinds", randomSamples()));
  const head = [
    "objects",
    "JSON.parse",
    "parse",
    "decode the tree",
    "to JSON.parse",
    "protobuf",
    "to JSON.parse",
  ];
  return `Times for all the objects of a row, measured on ${machine}.\n\n${markdown(head, rows)}`;
}

function randomSamples(): Sample[] {
  const file = new URL("../conformance/codec/objects.jsonl.gz", import.meta.url);
  const lines = gunzipSync(readFileSync(file)).toString().trim().split("\n");
  return lines.flatMap((line) => {
    const { input: text } = JSON.parse(line) as { input: string };
    const { apiVersion, kind } = JSON.parse(text) as { apiVersion?: string; kind?: string };
    if (apiVersion === undefined || kind === undefined || typeOf(apiVersion, kind) === undefined) return [];
    return [{ apiVersion, kind, text }];
  });
}

function typeOf(apiVersion: string, kind: string): string | undefined {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return kindOf(group, version, kind)?.type;
}

function row(name: string, samples: readonly Sample[]): string[] {
  const texts = samples.map(({ text }) => text);
  const types = samples.map(({ apiVersion, kind }) => typeOf(apiVersion, kind)!);
  const trees = texts.map(parseJSON);
  const messages = trees.map((tree, i) => encodeProtobuf(decodeAs(tree, types[i]!).object));
  const us = (run: () => void): number => median(timed(run));
  const native = us(() => {
    for (const text of texts) JSON.parse(text);
  });
  const parse = us(() => {
    for (const text of texts) parseJSON(text);
  });
  const decode = us(() => {
    for (const [i, tree] of trees.entries()) decodeAs(tree, types[i]!, "1.37", { stored: true });
  });
  const protobuf = us(() => {
    for (const message of messages) decodeProtobuf(message, "1.37");
  });
  const times = (value: number): string => ratio(value, native);
  return [
    name,
    duration(native),
    duration(parse),
    duration(decode),
    times(decode),
    duration(protobuf),
    times(protobuf),
  ];
}
