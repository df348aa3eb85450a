import assert from "node:assert/strict";
import test from "node:test";
import { APIService } from "@dray/api/apiregistration/v1";
import { setDefaults } from "../../../defaults/index.ts";
import { featuresOf, fieldErrorText, type KubeObject } from "../../../index.ts";
import { validateCreate, validateStatusUpdate, validateUpdate } from "../../../validation/index.ts";

const context = { features: featuresOf(), compileSelector: () => ({ ok: true, maxCost: 1 }) as const };
const now = "2026-01-01T00:00:00Z";
const good = {
  group: "wardle.example.com",
  version: "v1alpha1",
  service: { namespace: "n", name: "s" },
  groupPriorityMinimum: 2000,
  versionPriority: 15,
};

function service(spec: object, name = "v1alpha1.wardle.example.com"): KubeObject {
  const object = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name, uid: "u", resourceVersion: "1", creationTimestamp: now },
    spec: structuredClone(spec),
  } as unknown as KubeObject;
  setDefaults(APIService, object, { now });
  return object;
}

const problems = (spec: object, name?: string): string[] =>
  validateCreate(APIService, service(spec, name), context).map((error) => fieldErrorText(error));

test("the port of an APIService's Service defaults to 443", () => {
  const { spec } = service(good) as APIService;
  assert.equal(spec.service?.port, 443);
  assert.deepEqual(problems(good), []);
});

test("an APIService is named after its version and group", () => {
  assert.deepEqual(problems(good, "x"), [
    'metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1alpha1.wardle.example.com"',
  ]);
  const legacy = { version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  assert.deepEqual(problems(legacy, "v1."), []);
  assert.deepEqual(problems({ ...legacy, version: "v2" }, "v2."), [
    "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
  ]);
});

test("the fields of an APIService are within their bounds", () => {
  assert.deepEqual(problems({ ...good, groupPriorityMinimum: 20_001, versionPriority: 0 }), [
    "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
    "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
  ]);
  assert.deepEqual(problems({ ...good, service: { port: 0 } }), [
    "spec.service.namespace: Required value",
    "spec.service.name: Required value",
    "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
  ]);
  const version = problems({ ...good, version: "1" }, "1.wardle.example.com");
  assert.match(version[0]!, /^spec.version: Invalid value: "1": a DNS-1035 label must consist of/);
});

test("a certificate is for another server, and is verified or not", () => {
  const caBundle = Buffer.from("ca").toString("base64");
  assert.deepEqual(problems({ ...good, caBundle, insecureSkipTLSVerify: true }), [
    "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
  ]);
  const { service: _, ...local } = good;
  assert.deepEqual(problems({ ...local, caBundle, insecureSkipTLSVerify: true }), [
    'spec.caBundle: Invalid value: "2 bytes": local APIServices may not have a caBundle',
    "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
  ]);
});

test("an update keeps to the same rules, and a status to its own", () => {
  const texts = (errors: readonly Parameters<typeof fieldErrorText>[0][]): string[] =>
    errors.map((error) => fieldErrorText(error));
  const changed = service({ ...good, versionPriority: -1 });
  assert.deepEqual(texts(validateUpdate(APIService, changed, service(good), context)), [
    "spec.versionPriority: Invalid value: -1: must be positive and less than 1000",
  ]);
  const status = { conditions: [{ type: "Available", status: "Maybe" }] };
  const reported = { ...service(good), status } as KubeObject;
  assert.deepEqual(texts(validateStatusUpdate(APIService, reported, service(good), context)), [
    'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
  ]);
});
