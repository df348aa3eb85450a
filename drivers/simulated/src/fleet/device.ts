import type { DeviceAttribute, DeviceCapacity } from "@dray/api/resource/v1";
import { CdiError, type ContainerEdits, validateSpec } from "@dray/cdi";
import { substitute, type Variables } from "../source/template.ts";
import { FleetError, shown, type Value } from "../source/value.ts";
import { type Behaviour, healths } from "./fleet.ts";

/** A device as a template gives it, before the rules of ResourceSlices are applied. */
export interface DeviceDraft {
  readonly name: string;
  /** In the form of `resource.k8s.io/v1`. */
  readonly tree: Record<string, unknown>;
  readonly behaviour: Behaviour;
  readonly partitionOf?: string;
  /** The template. */
  readonly value: Value;
}

export interface CounterSetDraft {
  readonly tree: { readonly name: string; readonly counters: Record<string, { readonly value: string }> };
  readonly value: Value;
}

/** Most devices that one template makes. */
const maxCount = 10_000;

/** Fields that a device has in a ResourceSlice, in the same form there and here. */
const apiFields = [
  "allowMultipleAllocations",
  "bindingConditions",
  "bindingFailureConditions",
  "bindsToNode",
  "consumesCounters",
  "nodeAllocatableResourceMappings",
  "nodeAllocatableResources",
  "taints",
] as const;
const sharedFields = [
  ...apiFields,
  "attributes",
  "binds",
  "capacity",
  "cdi",
  "cleanUp",
  "count",
  "counters",
  "env",
  "health",
  "name",
  "numaNode",
  "pciBusID",
  "pcieRoot",
  "prepareDelay",
  "prepareFails",
  "unhealthyTaint",
] as const;
const deviceFields = [...sharedFields, "partitions"] as const;

/** Devices and counter sets of a list of templates. */
export interface Expanded {
  readonly devices: readonly DeviceDraft[];
  readonly counterSets: readonly CounterSetDraft[];
}

/** The devices of one template: `count` of them, each with its partitions behind it. */
export function expandDevice(template: Value, variables: Variables): Expanded {
  const { count, partitions } = template.fields(deviceFields);
  const total = count.optional((value) => value.integer(0, maxCount)) ?? 1;
  const devices: DeviceDraft[] = [];
  const counterSets: CounterSetDraft[] = [];
  for (let index = 0; index < total; index++) {
    const own = named(template, { ...variables, index });
    const device = readDevice(own.value, own.name, driverOf(variables));
    devices.push(device);
    if (devices.length > maxCount)
      template.fail(`makes more than ${maxCount} devices with its partitions: split it over several nodes`);
    const counters = own.value.at("counters");
    const set = `${own.name}-counters`;
    if (counters.isSet) {
      const all = readCounters(counters);
      counterSets.push({ tree: { name: set, counters: all }, value: counters });
      consume(device, set, all);
    }
    if (!partitions.isSet) continue;
    if (!counters.isSet)
      partitions.fail("partitions share the counters of their device, which has none: add counters");
    const parts = { ...variables, device: own.name, deviceIndex: index };
    for (const part of partitions.list((each) => expandPartition(each, parts, device, set)))
      for (const one of part) devices.push(one);
  }
  return { devices, counterSets };
}

function expandPartition(
  template: Value,
  variables: Variables,
  parent: DeviceDraft,
  set: string,
): DeviceDraft[] {
  const { count, counters } = template.fields(sharedFields);
  const total = count.optional((value) => value.integer(0, maxCount)) ?? 1;
  if (!counters.isSet) template.fail("counters is missing: what the partition takes of its device");
  return Array.from({ length: total }, (_, index) => {
    const own = named(template, { ...variables, index });
    const device = readDevice(own.value, own.name, driverOf(variables), parent);
    consume(device, set, readCounters(own.value.at("counters")));
    return device;
  });
}

const driverOf = (variables: Variables): string => String(variables["driver"]);

/** The template of one device without names in braces: first its name, by which the rest may call it. */
function named(template: Value, variables: Variables): { name: string; value: Value } {
  const { partitions: _, ...rest } = template.object();
  const name = substitute(template.at("name"), variables).text("the name of a device, such as gpu-{index}");
  const own = "device" in variables ? {} : { device: name };
  return { name, value: substitute(template.with(rest), { ...variables, ...own }) };
}

function readCounters(value: Value): Record<string, { value: string }> {
  return value.map((each) => ({ value: each.quantity() }));
}

function consume(device: DeviceDraft, counterSet: string, counters: object): void {
  const others = (device.tree["consumesCounters"] as readonly unknown[] | undefined) ?? [];
  device.tree["consumesCounters"] = [...others, { counterSet, counters }];
}

function readDevice(value: Value, name: string, driver: string, parent?: DeviceDraft): DeviceDraft {
  const tree: Record<string, unknown> = { name };
  for (const field of apiFields) {
    const { isSet, raw } = value.at(field);
    if (isSet) tree[field] = raw;
  }
  const attributes = {
    // A partition sits where its device does.
    ...placeOf(parent),
    ...value.at("attributes").map(readAttribute),
    ...readPlace(value),
  };
  if (Object.keys(attributes).length > 0) tree["attributes"] = attributes;
  const capacity = value.at("capacity").map(readCapacity);
  if (Object.keys(capacity).length > 0) tree["capacity"] = capacity;
  const behaviour = readBehaviour(value, driver, parent?.behaviour);
  return { name, tree, behaviour, value, ...(parent && { partitionOf: parent.name }) };
}

/** `80`, `true`, `H100`, a list of one kind of them, or as the API has it: `{version: 1.2.3}`. */
function readAttribute(value: Value): DeviceAttribute {
  const { raw } = value;
  switch (typeof raw) {
    case "boolean":
      return { bool: raw };
    case "bigint":
      return { int: raw };
    case "number":
      if (!Number.isInteger(raw)) value.fail(`${shown(raw)} must be a whole number: put others in quotes`);
      return { int: raw };
    case "string":
      return { string: raw };
    case "object":
      break;
    default:
      value.fail(
        `${shown(raw)} must be a number, true, false, a text, a list of these, or as in {version: 1.2.3}`,
      );
  }
  if (Array.isArray(raw)) {
    const kinds = { number: "ints", boolean: "bools", string: "strings" } as const;
    const kind = kinds[typeof raw[0] as keyof typeof kinds];
    if (kind === undefined || raw.some((one) => typeof one !== typeof raw[0]))
      value.fail(
        `${shown(raw)} must have numbers only, texts only, or true and false only, and one at least`,
      );
    return { [kind as string]: raw };
  }
  const fields = value.fields(["int", "bool", "string", "version", "ints", "bools", "strings", "versions"]);
  const { int } = fields;
  // A template gives a text.
  if (int.isSet && typeof int.raw === "string")
    return { int: int.integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) };
  return raw as DeviceAttribute;
}

/** `80Gi`, or as the API has it: `{value: 80Gi, requestPolicy: ...}`. */
function readCapacity(value: Value): DeviceCapacity {
  if (typeof value.raw !== "object" || value.raw === null) return { value: value.quantity() };
  const { value: amount } = value.fields(["value", "requestPolicy"]);
  return { ...(value.raw as DeviceCapacity), value: amount.quantity() };
}

/** Attributes that every driver names alike (KEP-4381, KEP-6072). */
const standard = {
  numaNode: "resource.kubernetes.io/numaNode",
  pcieRoot: "resource.kubernetes.io/pcieRoot",
  pciBusID: "resource.kubernetes.io/pciBusID",
} as const;

function readPlace(value: Value): Record<string, DeviceAttribute> {
  const pattern = (field: "pcieRoot" | "pciBusID", accepted: RegExp, example: string) => {
    const text = value.at(field).optional((one) => {
      const found = one.text();
      if (!accepted.test(found)) one.fail(`${shown(found)} must be of the form ${example}`);
      return found;
    });
    return text === undefined ? {} : { [standard[field]]: { string: text } };
  };
  const numaNode = value.at("numaNode").optional((one) => one.integer(0, 1023));
  return {
    ...(numaNode === undefined ? {} : { [standard.numaNode]: { int: numaNode } }),
    ...pattern("pcieRoot", /^pci[0-9a-f]{4}:[0-9a-f]{2}$/, "pci0000:40"),
    ...pattern("pciBusID", /^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$/, "0000:41:00.0"),
  };
}

function placeOf(parent: DeviceDraft | undefined): Record<string, DeviceAttribute> {
  const attributes = (parent?.tree["attributes"] ?? {}) as Record<string, DeviceAttribute>;
  const names: readonly string[] = Object.values(standard);
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => names.includes(name)));
}

/** A device that does nothing by itself. */
export function plainBehaviour(driver: string): Behaviour {
  const unhealthyTaint = { key: `${driver}/unhealthy`, value: "true", effect: "NoSchedule" };
  return { prepareDelay: 0, binds: { after: 0 }, health: [], unhealthyTaint, edits: {} };
}

function readBehaviour(value: Value, driver: string, parent?: Behaviour): Behaviour {
  const otherwise = parent ?? plainBehaviour(driver);
  const fails = value.at("prepareFails");
  const cleanUp = value.at("cleanUp").optional((one) => one.duration()) ?? otherwise.cleanUp;
  return {
    prepareDelay: value.at("prepareDelay").optional((one) => one.duration()) ?? otherwise.prepareDelay,
    ...(fails.isSet
      ? { prepareFails: readFailure(fails) }
      : otherwise.prepareFails && { prepareFails: otherwise.prepareFails }),
    binds: value.at("binds").optional(readBinds) ?? otherwise.binds,
    ...(cleanUp !== undefined && { cleanUp }),
    health: value.at("health").isSet ? readHealth(value.at("health")) : otherwise.health,
    unhealthyTaint:
      value.at("unhealthyTaint").optional((one) => readTaint(one, driver)) ?? otherwise.unhealthyTaint,
    edits: readEdits(value, otherwise.edits),
  };
}

/** `true` (always), `2` (times), or `{times: 2, message: ...}`. */
function readFailure(value: Value): NonNullable<Behaviour["prepareFails"]> {
  const message = "simulated failure";
  if (value.raw === true) return { message };
  if (typeof value.raw !== "object") return { times: value.integer(1, 1_000_000), message };
  const fields = value.fields(["times", "message"]);
  const times = fields.times.optional((one) => one.integer(1, 1_000_000));
  return {
    ...(times !== undefined && { times }),
    message: fields.message.optional((one) => one.text()) ?? message,
  };
}

/** `{after: 5s}`, and `fails` with a text if it does. */
function readBinds(value: Value): Behaviour["binds"] {
  const { after, fails } = value.fields(["after", "fails"]);
  const text = fails.optional((one) => one.text());
  return {
    after: after.optional((one) => one.duration()) ?? 0,
    ...(text !== undefined && { fails: text }),
  };
}

function readHealth(value: Value): Behaviour["health"] {
  const changes = value.list((item) => {
    const { after, health, message } = item.fields(["after", "health", "message"]);
    if (!after.isSet) item.fail("after is missing: how long after the driver's start, such as 30s");
    const text = message.optional((one) => one.text());
    return {
      after: after.duration(),
      health: health.oneOf(healths),
      ...(text !== undefined && { message: text }),
    };
  });
  for (const [i, { after }] of changes.entries())
    if (i > 0 && after < changes[i - 1]!.after)
      value.fail(`item ${i} is ${after / 1000} s after the start, before item ${i - 1}: put them in order`);
  return changes;
}

const effects = ["NoSchedule", "NoExecute", "None"] as const;

function readTaint(value: Value, driver: string): Behaviour["unhealthyTaint"] {
  const { key, value: text, effect } = value.fields(["key", "value", "effect"]);
  const own = plainBehaviour(driver).unhealthyTaint;
  const given = text.optional((one) => one.anyText());
  return {
    key: key.optional((one) => one.text()) ?? own.key,
    ...(given === undefined ? (key.isSet ? {} : { value: "true" }) : { value: given }),
    effect: effect.optional((one) => one.oneOf(effects)) ?? own.effect,
  };
}

/** `env` is short for that part of `cdi`. */
function readEdits(value: Value, otherwise: ContainerEdits): ContainerEdits {
  const [env, cdi] = [value.at("env"), value.at("cdi")];
  if (!env.isSet && !cdi.isSet) return otherwise;
  const variables = Object.entries(env.map((one) => one.anyText())).map(([name, text]) => `${name}=${text}`);
  const own = (cdi.isSet ? cdi.object() : {}) as ContainerEdits;
  const edits = variables.length === 0 ? own : { ...own, env: [...(own.env ?? []), ...variables] };
  if (Object.keys(edits).length === 0) return edits;
  try {
    const device = { name: "device", containerEdits: edits };
    validateSpec({ cdiVersion: "1.1.0", kind: "example.com/device", devices: [device] });
  } catch (error) {
    if (!(error instanceof CdiError)) throw error;
    const [, path = "", message = error.message] =
      /^devices\[0\]\.containerEdits\.?([^:]*): (.*)$/s.exec(error.message) ?? [];
    const at = (cdi.isSet ? cdi : env).path;
    throw new FleetError([cdi.problem(message, path === "" ? at : `${at}.${path}`)]);
  }
  return edits;
}
