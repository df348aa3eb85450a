import { isDeepStrictEqual } from "node:util";
import { type AllocateResult, createAllocator, type Features } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type {
  AllocationResult,
  DeviceClass,
  DeviceRequestAllocationResult,
  ResourceClaim,
  ResourceSlice,
} from "@dray/api/resource/v1";
import { deviceEnvironment } from "@dray/cel";
import {
  type Difference,
  type Fields,
  type Format,
  json,
  MalformedLine,
  type Outcome,
  optional,
  required,
  requiredList,
} from "../format.ts";

/** The fields of structured.Features, and what they are to us. */
const featureNames: Readonly<Record<string, keyof Features>> = {
  AdminAccess: "adminAccess",
  PrioritizedList: "prioritizedList",
  PartitionableDevices: "partitionableDevices",
  DeviceTaints: "deviceTaints",
  ConsumableCapacity: "consumableCapacity",
  DeviceBindingAndStatus: "deviceBindingAndStatus",
  FractionalCapacityRange: "fractionalCapacityRange",
  ListTypeAttributes: "listTypeAttributes",
  DerivedAttributes: "derivedAttributes",
  CompatibilityGroups: "compatibilityGroups",
  OptionalNodeOperations: "optionalNodeOperations",
};

/** How often a search may ask whether to stop before the case has failed; no recorded one comes near it. */
const maxTurns = 1_000_000;

interface Question {
  readonly features: Features;
  readonly node: Node;
  readonly claims: readonly ResourceClaim[];
  readonly classes: readonly DeviceClass[];
  readonly slices: readonly ResourceSlice[];
  readonly holders: readonly ResourceClaim[];
}

type Answer = { readonly allocations: unknown } | { readonly nodeError: string } | { readonly error: string };

/** Questions to a structured allocator: which devices claims get on a node, and why not. */
export const allocatorFormat: Format = {
  name: "allocator",

  recognises: (line) => "claims" in line && "slices" in line,

  read(line) {
    const question: Question = {
      features: readFeatures(requiredList(line, "features", "string")),
      node: required(line, "node", "object") as unknown as Node,
      claims: requiredList(line, "claims", "object") as unknown as readonly ResourceClaim[],
      classes: requiredList(line, "classes", "object") as unknown as readonly DeviceClass[],
      slices: requiredList(line, "slices", "object") as unknown as readonly ResourceSlice[],
      holders: readHolders(optional(line, "allocated", "object") ?? {}),
    };
    const expected = readAnswer(required(line, "expect", "object"));
    const group = required(line, "group", "string");
    return {
      id: `${group}/${required(line, "name", "string")}`,
      question: optional(line, "note", "string") ?? "",
      replay: () => replay(question, expected),
    };
  },
};

function readFeatures(names: readonly string[]): Features {
  const unknown = names.find((name) => featureNames[name] === undefined);
  if (unknown !== undefined) {
    throw new MalformedLine(`features has ${unknown}: known are ${Object.keys(featureNames).join(", ")}`);
  }
  const features = Object.entries(featureNames).map(([name, ours]) => [ours, names.includes(name)]);
  return Object.fromEntries(features) as Features;
}

/**
 * Returns the allocated devices as claims, the only form that the allocator accepts. Upstream's allocator
 * receives devices, shares, and the sum that the shares of a device consume, so that sum goes to one share of
 * the device.
 */
function readHolders(allocated: Fields): ResourceClaim[] {
  const listed = (name: string): readonly string[] =>
    allocated[name] === undefined ? [] : requiredList(allocated, name, "string", "allocated.");
  const capacity = optional(allocated, "capacity", "object", "allocated.") ?? {};
  const consumed = new Map(
    Object.keys(capacity).map((id) => [id, required(capacity, id, "object", "allocated.capacity.")]),
  );
  const results: DeviceRequestAllocationResult[] = listed("devices").map((id) =>
    deviceOf(id, "allocated.devices"),
  );
  for (const id of listed("shared")) {
    const { shareID, ...device } = deviceOf(id, "allocated.shared");
    if (shareID === undefined) {
      throw new MalformedLine(`allocated.shared has ${id}: it must be driver/pool/device/shareID`);
    }
    const key = `${device.driver}/${device.pool}/${device.device}`;
    const consumedCapacity = consumed.get(key) as Record<string, string> | undefined;
    consumed.delete(key);
    results.push({ ...device, shareID, ...(consumedCapacity && { consumedCapacity }) });
  }
  for (const [id, sum] of consumed) {
    const consumedCapacity = sum as Record<string, string>;
    results.push({ ...deviceOf(id, "allocated.capacity"), shareID: `share of ${id}`, consumedCapacity });
  }
  return results.map((result, i) => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      name: `holder-${i}`,
      namespace: "holders",
      uid: `holder-${i}`,
      resourceVersion: "1",
      creationTimestamp: "",
    },
    spec: {},
    status: { allocation: { devices: { results: [result] } } },
  }));
}

function deviceOf(id: string, path: string): DeviceRequestAllocationResult {
  const [driver, pool, device, shareID, ...more] = id.split("/");
  if (driver === undefined || pool === undefined || device === undefined || more.length > 0) {
    throw new MalformedLine(`${path} has ${id}: it must be driver/pool/device`);
  }
  return { request: "r", driver, pool, device, ...(shareID !== undefined && { shareID }) };
}

function readAnswer(expect: Fields): Answer {
  const error = optional(expect, "error", "string", "expect.");
  if (error !== undefined) return { error };
  const nodeError = optional(expect, "nodeError", "string", "expect.");
  if (nodeError !== undefined) return { nodeError };
  const { allocations } = expect;
  if (allocations !== null && !Array.isArray(allocations)) {
    throw new MalformedLine(
      'expect must have one of "allocations" (a list or null), "error" and "nodeError"',
    );
  }
  return { allocations };
}

function replay(question: Question, expected: Answer): Outcome {
  const differences: Difference[] = [];
  const before = structuredClone(question);
  const wanted = describe(expected);
  const actual = ask(question, differences, false);
  if (!isDeepStrictEqual(question, before)) {
    differences.push({ kind: "inputs", expected: json(before), actual: json(question) });
  }
  if (cut(wanted) !== cut(actual)) {
    const kind = "allocations" in expected ? "allocation" : "error";
    return { differences: [...differences, { kind, expected: wanted, actual }] };
  }
  const resumed = ask(question, differences, true);
  if (resumed !== actual) {
    differences.push({ kind: "search stopped at every turn", expected: actual, actual: resumed });
  }
  return { differences, beyond: wanted === actual ? 0 : 1 };
}

/** Compiles each selector of a file once. */
const environment = deviceEnvironment({ stored: true });

/** Returns the allocator's answer. `stopping` stops the search at every step and resumes it. */
function ask(question: Question, differences: Difference[], stopping: boolean): string {
  const ids = new Set<string>();
  const allocator = createAllocator({
    features: question.features,
    environment,
    newId() {
      const id = `00000000-0000-4000-8000-${String(ids.size).padStart(12, "0")}`;
      ids.add(id);
      return id;
    },
  });
  for (const object of question.slices) allocator.update({ kind: "slice", object, deleted: false });
  for (const object of question.classes) allocator.update({ kind: "class", object, deleted: false });
  for (const object of question.holders) allocator.update({ kind: "claim", object, deleted: false });
  let turns = 0;
  const shouldStop = (): boolean => ++turns > maxTurns || stopping;
  let result = allocator.allocate(question.node, question.claims, { shouldStop });
  while (result.type === "stopped") {
    if (turns > maxTurns) return `no answer in ${maxTurns} turns`;
    result = result.resume();
  }
  return describe(answerOf(result, ids, differences));
}

function answerOf(
  result: Exclude<AllocateResult, { readonly type: "stopped" }>,
  ids: ReadonlySet<string>,
  differences: Difference[],
): Answer {
  switch (result.type) {
    case "allocated":
      return { allocations: withShareNumbers(result.allocations, ids, differences) };
    case "refused":
      return result.message === "cannot allocate all claims"
        ? { allocations: null }
        : { nodeError: result.message };
    case "error":
      return { error: result.message };
  }
}

/** Replaces ids of shares by their number in order of appearance; each must be one that was made for it. */
function withShareNumbers(
  allocations: readonly AllocationResult[],
  ids: ReadonlySet<string>,
  differences: Difference[],
): unknown {
  const seen = new Set<string>();
  const renamed = (result: DeviceRequestAllocationResult): DeviceRequestAllocationResult => {
    const { shareID } = result;
    if (shareID === undefined) return result;
    if (!ids.has(shareID) || seen.has(shareID)) {
      differences.push({ kind: "share id", expected: "a fresh id for each share", actual: shareID });
    }
    seen.add(shareID);
    return { ...result, shareID: `share-${seen.size - 1}` };
  };
  return allocations.map(({ devices, ...rest }) => ({
    ...rest,
    devices: devices && { ...devices, results: (devices.results ?? []).map(renamed) },
  }));
}

function describe(answer: Answer): string {
  if ("error" in answer) return `error: ${answer.error}`;
  if ("nodeError" in answer) return `error on this node: ${answer.nodeError}`;
  return answer.allocations === null ? "does not fit" : json(normal(answer.allocations, ""));
}

/** Removes the text after these prefixes: cel-go and Go's own libraries word it. */
const cut = (text: string): string =>
  text.replace(
    /(CEL (?:compile|runtime) error:|derived attribute \S+.*? failed:|failed to parse node selector).*/s,
    "$1",
  );

/** Absent, null, "", false, [] and {} are the same as fields of an object. */
function normal(value: unknown, key: string): unknown {
  // A driver's own data: every bit of it counts.
  if (key === "parameters") return value;
  if (Array.isArray(value)) return value.map((item) => normal(item, ""));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value)
    .map(([key, item]) => [key, normal(item, key)] as const)
    .filter(([, item]) => !isEmpty(item));
  return Object.fromEntries(fields);
}

function isEmpty(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === "" || value === false;
}
