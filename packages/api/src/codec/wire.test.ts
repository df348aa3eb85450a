import assert from "node:assert/strict";
import { test } from "node:test";
import type { SubjectAccessReviewSpec } from "../generated/authorization/v1.ts";
import type { Event, Pod, PodSpec, Secret } from "../generated/core/v1.ts";
import { assertKubeObject, type Wire } from "../objects/wire.ts";
import { kindRows, typeRows } from "../schema/table.ts";
import { type FieldType, structType } from "../schema/types.ts";
import { decodeBody } from "./body.ts";
import { writtenForm, zeroOf } from "./written.ts";

test("Wire makes fields optional and nullable, at any depth", () => {
  const decoded: Wire<Pod>[] = [
    {},
    { spec: null },
    { spec: {} },
    { spec: { containers: null } },
    { spec: { containers: [{}] } },
    { spec: { containers: [{ name: null, ports: [{ containerPort: null }] }] } },
    { metadata: { labels: { app: "web" }, creationTimestamp: null } },
  ];
  assert.equal(decoded.length, 7);
  const event: Wire<Event> = { eventTime: null };
  assert.equal(event.eventTime, null);
  const review: Wire<SubjectAccessReviewSpec> = { extra: { groups: null } };
  assert.equal(review.extra?.["groups"], null);
});

test("Wire rejects null elements and scalars, other types and unknown fields", () => {
  // @ts-expect-error A required list may be absent.
  const required: PodSpec = {} as Wire<PodSpec>;
  // @ts-expect-error Null in place of an element is read as its zero value.
  const element: Wire<Pod> = { spec: { containers: [null] } };
  // @ts-expect-error A boolean is never null.
  const truth: Wire<PodSpec> = { hostNetwork: null };
  // @ts-expect-error Texts in a map are never null.
  const text: Wire<Secret> = { stringData: { a: null } };
  // @ts-expect-error Types stay.
  const type: Wire<PodSpec> = { priority: "1" };
  // @ts-expect-error Unknown fields are dropped.
  const unknown: Wire<PodSpec> = { unknown: 1 };
  const pod: Wire<Pod> = { spec: { containers: null } };
  // @ts-expect-error Containers may be null.
  assert.throws(() => pod.spec.containers.map(({ name }) => name), TypeError);
  assert.equal([required, element, truth, text, type, unknown].length, 6);
});

const never = (type: FieldType): boolean => type.form === "scalar" && type.name === "bool";
const hasStrings = ({ form, ...type }: FieldType): boolean =>
  form === "scalar" && "name" in type && /^(string|bytes|Time|MicroTime|Quantity|Duration)$/.test(type.name);

test("the decoder leaves null only where Wire has it", () => {
  const odd: string[] = [];
  for (const name of typeRows.keys()) {
    for (const { field, isAlwaysWritten } of writtenForm(structType(name), undefined).fields) {
      const { type, marks } = field;
      if (isAlwaysWritten && never(type) && marks.pointer) odd.push(field.id);
      const element = type.form === "list" ? type.element : type.form === "map" ? type.value : undefined;
      if (element && hasStrings(element) && zeroOf(element) === null) odd.push(field.id);
    }
  }
  // The exceptions that the comment on Wire names.
  assert.deepEqual(odd.sort(), [
    "core/v1.ConfigMap.binaryData",
    "core/v1.Secret.data",
    "policy/v1.PodDisruptionBudgetStatus.disruptedPods",
  ]);
});

test("an empty body of any kind has the fields that all kinds share", () => {
  for (const row of kindRows) {
    const { object } = decodeBody({ tree: {}, duplicates: [], typed: false }, row);
    assert.doesNotThrow(() => assertKubeObject(object), row.kind);
  }
  assert.throws(() => assertKubeObject({ apiVersion: "v1", kind: "Pod", metadata: null }), TypeError);
});
