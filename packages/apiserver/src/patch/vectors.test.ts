/** Replays recorded sequences of a real kube-apiserver through the pure functions of this folder. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { StatusError } from "@dray/api";
import { isObject, type JsonObject, jsonEqual } from "../json/values.ts";
import {
  apply,
  builtInType,
  jsonPatch,
  jsonPatchWarnings,
  mergePatch,
  type ObjectType,
  strategicMergePatch,
  trackUpdate,
} from "./index.ts";

interface Step {
  readonly id?: string;
  readonly method: string;
  readonly path: string;
  readonly contentType?: string;
  readonly body?: JsonObject;
  readonly rawBody?: string;
  readonly user?: unknown;
  readonly pick?: unknown;
  readonly drop?: unknown;
  readonly managedFields?: boolean;
  readonly expect: {
    readonly status: number;
    readonly warnings?: readonly string[];
    readonly body?: JsonObject;
  };
}
interface Scenario {
  readonly name: string;
  readonly managedFields?: boolean;
  readonly drop?: unknown;
  readonly steps: readonly Step[];
}

const folder = join(import.meta.dirname, "../../../../conformance/api");
const groups = ["apply", "patch", "crud", "subresources", "status", "lifecycle"];
const now = "2026-01-02T03:04:05Z";

describe("recorded answers of a kube-apiserver", () => {
  for (const group of groups) {
    const text = gunzipSync(readFileSync(join(folder, `${group}.jsonl.gz`))).toString();
    for (const line of text.split("\n")) {
      if (line === "") continue;
      const scenario = JSON.parse(line) as Scenario;
      if (scenario.drop !== undefined) continue;
      test(scenario.name, () => follow(scenario));
    }
  }
});

/** A status write of a CSINode resets its metadata; that of other kinds keeps it. */
function resetsMetadata(subresource: string, path: string): boolean {
  return subresource === "status" && path.includes("/csinodes/");
}

/** Tracks objects by path, as far as the recording contains them. */
function follow(scenario: Scenario): void {
  const objects = new Map<string, JsonObject>();
  scenario.steps.forEach((step, i) => {
    try {
      takeStep(step, objects, step.managedFields ?? scenario.managedFields ?? false);
    } catch (error) {
      (error as Error).message = `step ${i} ${step.method} ${step.path}: ${(error as Error).message}`;
      throw error;
    }
  });
}

/** A step with what is known of its object. */
interface Known {
  readonly step: Step;
  readonly objects: Map<string, JsonObject>;
  readonly objectPath: string;
  readonly subresource: string;
  readonly recorded: JsonObject | undefined;
  /** The object in any version. */
  readonly known: JsonObject | undefined;
  /** The object in the version of the step. */
  readonly live: JsonObject | undefined;
  readonly type: ObjectType | undefined;
  readonly manager: string;
  readonly force: boolean;
  readonly compareManaged: boolean;
}

function takeStep(step: Step, objects: Map<string, JsonObject>, compareManaged: boolean): void {
  if (step.method === "GET") return;
  const [path = "", query = ""] = step.path.split("?");
  const options = new URLSearchParams(query);
  const { path: objectPath, subresource } = address(path, step);
  const recorded = step.expect.body;
  if (step.method === "DELETE") {
    objects.delete(objectPath);
    return;
  }
  const known = objects.get(objectPath);
  const live = known?.["apiVersion"] === apiVersionOf(path) ? known : undefined;
  if (
    subresource === "scale" ||
    resetsMetadata(subresource, path) ||
    step.user !== undefined ||
    step.pick !== undefined ||
    step.drop !== undefined
  ) {
    // The scaled object, and parts that a picked response omits, are not in the recording; and these
    // functions do not apply the strategies of kinds.
    if (step.expect.status < 300) objects.delete(objectPath);
    return;
  }
  const kind = String(recorded?.["kind"] === "Status" ? known?.["kind"] : recorded?.["kind"]);
  const type = builtInType(apiVersionOf(path), kind);
  const manager = options.get("fieldManager") ?? "vectors";
  const force = options.get("force") === "true";
  const found = { step, objects, objectPath, subresource, recorded, known, live, type };
  const take =
    step.contentType === "application/apply-patch+yaml"
      ? takeApply
      : step.method === "PATCH" && step.contentType?.endsWith("-patch+json")
        ? takePatch
        : takeWrite;
  take({ ...found, manager, force, compareManaged });
}

/** Returns the result of a patch; undefined if it fails with the recorded error. */
function resultOf({ recorded }: Known, patch: () => JsonObject): JsonObject | undefined {
  try {
    return patch();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    assert.deepEqual(pickError(error.status), pickError(recorded ?? {}));
    return undefined;
  }
}

function takeApply(found: Known): void {
  const { step, subresource, recorded, known, live, type, manager, force } = found;
  const { body: applied, expect } = step;
  if (type === undefined || applied === undefined) return;
  if (known === undefined && expect.status === 200) return;
  const result = resultOf(found, () => apply({ live, applied, manager, force, type, subresource, now }));
  if (result === undefined) return;
  if (expect.status >= 400) {
    // Only validation or the store can reject it.
    const elsewhere = !String(recorded?.["message"]).startsWith("Apply failed");
    assert.ok([422, 404, 409].includes(expect.status) && elsewhere, `expected ${JSON.stringify(recorded)}`);
    return;
  }
  assert.ok(recorded);
  assertContains(recorded, result, found.compareManaged);
  remember(found, recorded, result);
}

function takePatch(found: Known): void {
  const { step, objects, objectPath, recorded, live, type } = found;
  const { contentType, expect } = step;
  const body = step.body ?? (step.rawBody === undefined ? undefined : tryParse(step.rawBody));
  if (live === undefined || body === undefined || type === undefined) {
    if (expect.status < 300) objects.delete(objectPath);
    return;
  }
  const isJsonPatch = contentType === "application/json-patch+json";
  const result = resultOf(found, () => {
    if (isJsonPatch) return jsonPatch(live, body);
    if (contentType === "application/merge-patch+json") return mergePatch(live, body);
    return strategicMergePatch(live, body, type);
  });
  if (result === undefined || expect.status >= 300 || recorded === undefined) return;
  if (isJsonPatch) {
    for (const warning of jsonPatchWarnings(body)) assert.ok(expect.warnings?.includes(warning), warning);
  }
  assertContains(recorded, withoutManaged(result), false, expect.warnings !== undefined);
  track(found, recorded, type);
}

function takeWrite(found: Known): void {
  const { step, objects, objectPath, recorded, known, live, type } = found;
  if (step.expect.status >= 300 || recorded === undefined || type === undefined) return;
  if (recorded["kind"] === "Status") return;
  if (known !== undefined && live === undefined) {
    objects.delete(objectPath);
    return;
  }
  if (step.method === "PUT" && live === undefined && step.expect.status !== 201) return;
  track(found, recorded, type);
}

/** Computes the managedFields after a write, and compares them with the recorded ones. */
function track(found: Known, recorded: JsonObject, type: ObjectType): void {
  const { subresource, live, manager } = found;
  const tracked = trackUpdate({ live, updated: decoded(recorded, live), manager, type, subresource, now });
  if (found.compareManaged) assertManaged(recorded, tracked);
  remember(found, recorded, tracked);
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Fields that the server sets after it has written the entries (strategies, admission), so that they have no
 * owner.
 */
const filledInLater: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Namespace: [["spec", "finalizers"]],
  Node: [["spec", "taints"]],
  Job: [
    ["spec", "selector"],
    ["spec", "template", "metadata", "labels"],
  ],
};

function without(object: JsonObject, path: readonly string[]): JsonObject {
  const [key = "", ...rest] = path;
  const { [key]: value, ...others } = object;
  return rest.length === 0 || !isObject(value) ? others : { ...others, [key]: without(value, rest) };
}

/** Returns the object before the server wrote the entries: the response, with the live entries. */
function decoded(answer: JsonObject, live: JsonObject | undefined): JsonObject {
  const later = live === undefined ? (filledInLater[String(answer["kind"])] ?? []) : [];
  const recorded = later.reduce(without, answer);
  const metadata = { ...(recorded["metadata"] as JsonObject) } as { [key: string]: unknown };
  delete metadata["managedFields"];
  const entries = live === undefined ? undefined : (live["metadata"] as JsonObject)["managedFields"];
  if (entries !== undefined) metadata["managedFields"] = entries;
  return { ...recorded, metadata };
}

function remember({ objects, objectPath, step }: Known, recorded: JsonObject, ours: JsonObject): void {
  if (step.path.includes("dryRun")) return;
  const managedFields = (ours["metadata"] as JsonObject)["managedFields"];
  const metadata = {
    ...(recorded["metadata"] as JsonObject),
    ...(managedFields === undefined ? {} : { managedFields }),
  };
  objects.set(objectPath, deepFreeze({ ...recorded, metadata }));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}

const resources =
  /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(\/namespaces\/[^/]+(?=\/.+\/))?\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/;

function address(path: string, step: Step): { path: string; subresource: string } {
  const match = resources.exec(path);
  let [, , namespace = "", resource = "", name = "", subresource = ""] = match ?? [];
  const inNamespace = /\/namespaces\/([^/]+)\/([^/]+)(?:\/([^/]+))?(?:\/(.+))?$/.exec(path);
  const isNamespacePart = ["status", "finalize"].includes(inNamespace?.[2] ?? "");
  if (inNamespace !== null && !isNamespacePart) {
    [, namespace = "", resource = "", name = "", subresource = ""] = inNamespace;
  }
  if (step.method === "POST" && name === "") {
    name = String((step.expect.body?.["metadata"] as JsonObject | undefined)?.["name"]);
  }
  return { path: `${namespace} ${resource} ${name}`, subresource };
}

function apiVersionOf(path: string): string {
  const [, , groupOrVersion = "", version = ""] = path.split("/");
  return path.startsWith("/api/") ? groupOrVersion : `${groupOrVersion}/${version}`;
}

function pickError(status: unknown): unknown {
  const { message, code, reason, details } = status as JsonObject;
  return { message, code, reason, details };
}

function withoutManaged(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = object["metadata"] as JsonObject;
  return { ...object, metadata };
}

/** Asserts that our result is contained in the response, which also has defaults. */
function assertContains(
  recorded: JsonObject,
  ours: JsonObject,
  managed: boolean,
  unknownFields = false,
): void {
  if (managed) assertManaged(recorded, ours);
  const check = (actual: unknown, expected: unknown, path: string): void => {
    if (actual === null || actual === undefined) return;
    if (/^\.metadata\.(managedFields|resourceVersion|generation|uid|creationTimestamp)/.test(path)) return;
    if (isObject(actual)) {
      if (expected === undefined && Object.keys(actual).length === 0) return;
      if (expected === undefined && path === ".status") return;
      if (expected === undefined && unknownFields) return;
      assert.ok(isObject(expected), `${path} is ${JSON.stringify(expected)}, ours ${JSON.stringify(actual)}`);
      for (const key of Object.keys(actual)) check(actual[key], expected[key], `${path}.${key}`);
    } else if (Array.isArray(actual)) {
      if (actual.length === 0 && expected === undefined) return;
      assert.ok(
        Array.isArray(expected),
        `${path} is ${JSON.stringify(expected)}, ours ${JSON.stringify(actual)}`,
      );
      assert.equal(actual.length, expected.length, path);
      actual.forEach((item, i) => {
        check(item, expected[i], `${path}[${i}]`);
      });
    } else if ((actual === "" || actual === 0 || actual === false) && expected === undefined) {
      return;
    } else if (expected === undefined && unknownFields) {
      return;
    } else {
      assert.ok(
        jsonEqual(actual, expected),
        `${path} is ${JSON.stringify(expected)}, ours ${JSON.stringify(actual)}`,
      );
    }
  };
  check(ours, recorded, "");
  for (const key of Object.keys(recorded)) {
    if (key === "data" || key === "metadata") {
      for (const field of Object.keys(recorded[key] as JsonObject)) {
        if (
          ![
            "managedFields",
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "namespace",
            "generation",
          ].includes(field)
        ) {
          assert.ok(Object.hasOwn((ours[key] ?? {}) as JsonObject, field), `${key}.${field} is missing`);
        }
      }
    }
  }
}

/** Asserts equal managedFields, text for text except for the times. */
function assertManaged(recorded: JsonObject, ours: JsonObject): void {
  assert.deepEqual(entriesOf(ours), entriesOf(recorded));
}

function entriesOf(object: JsonObject): unknown {
  const entries = (object["metadata"] as JsonObject)["managedFields"] as readonly JsonObject[] | undefined;
  const sortKey = (entry: JsonObject): string =>
    [entry["operation"], entry["manager"], entry["subresource"] ?? "", entry["apiVersion"]].join(" ");
  return (entries ?? [])
    .map((entry): JsonObject => ("time" in entry ? { ...entry, time: "<time>" } : entry))
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}
