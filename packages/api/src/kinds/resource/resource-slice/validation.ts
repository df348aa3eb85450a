/**
 * ResourceSlice (KEP-4381) with shared counters (KEP-4815), list attributes (KEP-5491), node resources
 * (KEP-5517).
 */

import type { ValidationContext } from "../../../checks/context.ts";
import { asTyped, checkImmutable, type FieldErrors, sameValue, seenBefore } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { checkNodeSelector } from "../../../checks/nodeselector.ts";
import type {
  CounterSet,
  Device,
  DeviceAttribute,
  DeviceCounterConsumption,
  ResourceSlice,
  ResourceSliceSpec,
} from "../../../generated/resource/v1.ts";
import { byteLength, dnsLabel, dnsSubdomain } from "../../../values/names.ts";
import { isSemanticVersion } from "../../../values/semver.ts";
import { checkBindingConditions } from "../binding.ts";
import {
  checkDeviceName,
  checkDriverName,
  checkFullyQualifiedName,
  checkPoolName,
  checkQualifiedName,
  limits,
} from "../names.ts";
import { checkTaint } from "../taints.ts";
import { checkCapacity } from "./capacity.ts";
import { checkNodeAllocatable } from "./node-allocatable.ts";

/** Longest key of a map of attributes that a path shows whole. */
const maxKeyLength = 63 + 1 + 32;

function shownKey(key: string, limit: number): string {
  if (key.length <= limit) return key;
  const rest = limit - 3;
  return `${key.slice(0, Math.ceil(rest / 2))}...${key.slice(key.length - Math.floor(rest / 2))}`;
}

function checkString(errors: FieldErrors, value: string): void {
  if (byteLength(value) > limits.attributeValue) errors.tooLong(limits.attributeValue);
}

function checkVersion(errors: FieldErrors, value: string): void {
  if (!isSemanticVersion(value)) {
    errors.invalid(value, "must be a string compatible with semver.org spec 2.0.0");
  }
  checkString(errors, value);
}

const valueFields = ["bool", "int", "string", "version", "bools", "ints", "strings", "versions"] as const;
const listFields = ["bools", "ints", "strings", "versions"] as const;

function checkAttribute(errors: FieldErrors, attribute: DeviceAttribute): void {
  if (attribute.string !== undefined) checkString(errors.at("string"), attribute.string);
  if (attribute.version !== undefined) checkVersion(errors.at("version"), attribute.version);
  for (const name of listFields) {
    const list = attribute[name];
    if (list !== undefined && list.length === 0) {
      errors.at(name).invalid(list, "must not be empty if specified");
    }
    if (name === "strings" || name === "versions") {
      (attribute[name] ?? []).forEach((item, index) => {
        const check = name === "strings" ? checkString : checkVersion;
        check(errors.at(name).index(index), item);
      });
    }
  }
  const set = valueFields.filter((name) => attribute[name] !== undefined && attribute[name] !== null);
  if (set.length === 1) return;
  const printed = set.length === 0 ? "" : internalForm("resource/v1.DeviceAttribute", attribute, errors);
  errors.invalid(printed, "exactly one value must be specified");
}

function checkCounters(
  errors: FieldErrors,
  counters: CounterSet["counters"] | DeviceCounterConsumption["counters"],
): void {
  const names = Object.keys(counters ?? {});
  if (names.length === 0) errors.required();
  else if (names.length > limits.countersPerSet) errors.tooMany(names.length, limits.countersPerSet);
  else for (const name of names) errors.check(dnsLabel, name);
}

function checkConsumption(errors: FieldErrors, consumption: DeviceCounterConsumption): void {
  errors.at("counterSet").checkRequired(dnsLabel, consumption.counterSet);
  checkCounters(errors.at("counters"), consumption.counters);
  const groups = consumption.compatibilityGroups;
  const check = (here: FieldErrors, group: string): void => here.check(dnsLabel, group);
  errors.at("compatibilityGroups").set(groups, limits.compatibilityGroups, check, (group) => group);
}

interface NodeChoice {
  readonly nodeName?: string;
  readonly nodeSelector?: Device["nodeSelector"];
  readonly allNodes?: boolean;
  readonly perDeviceNodeSelection?: boolean;
}

/** Checks the fields that choose nodes and answers which of them are set. */
function checkNodeFields(errors: FieldErrors, choice: NodeChoice, emptyName: string): string[] {
  const set: string[] = [];
  const { nodeName, nodeSelector } = choice;
  if (nodeName) {
    set.push("`nodeName`");
    errors.at("nodeName").check(dnsSubdomain, nodeName);
  } else if (nodeName !== undefined) errors.at("nodeName").invalid(nodeName, emptyName);
  if (nodeSelector) {
    set.push("`nodeSelector`");
    checkNodeSelector(errors.at("nodeSelector"), nodeSelector);
  }
  return set;
}

function checkFlag(errors: FieldErrors, name: string, value: boolean | undefined, set: string[]): void {
  if (value) set.push(`\`${name}\``);
  else if (value !== undefined) errors.at(name).invalid(value, "must be either unset or set to true");
}

function checkDeviceNodes(errors: FieldErrors, device: Device, choosesNodes: boolean): void {
  if (!choosesNodes) {
    if (device.nodeName === undefined && !device.nodeSelector && device.allNodes === undefined) return;
    const detail =
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    errors.invalid(null, detail);
    return;
  }
  const set = checkNodeFields(errors, device, "must not be empty");
  checkFlag(errors, "allNodes", device.allNodes, set);
  const detail =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  if (set.length === 0) errors.required(detail);
  else if (set.length > 1) errors.invalid(`{${set.join(", ")}}`, detail);
}

/** Values of the attributes, those in lists counted one by one. */
function attributeValues(device: Device): number {
  return Object.values(device.attributes ?? {}).reduce((sum, attribute) => {
    const listed = listFields.reduce((count, name) => count + (attribute[name]?.length ?? 0), 0);
    return sum + Math.max(1, listed);
  }, 0);
}

function checkMap<T>(
  errors: FieldErrors,
  map: Readonly<Record<string, T>> | undefined,
  check: (errors: FieldErrors, value: T) => void,
): void {
  for (const [key, value] of Object.entries(map ?? {})) {
    checkQualifiedName(errors, key);
    check(errors.key(shownKey(key, maxKeyLength)), value);
  }
}

interface DeviceOptions {
  readonly old: Device | undefined;
  /** Whether each device chooses its nodes itself (`perDeviceNodeSelection`). */
  readonly choosesNodes: boolean;
  readonly context: ValidationContext;
}

function checkDevice(
  errors: FieldErrors,
  device: Device,
  { old, choosesNodes, context }: DeviceOptions,
): void {
  checkDeviceName(errors.at("name"), device.name);
  const entries = Object.keys(device.attributes ?? {}).length + Object.keys(device.capacity ?? {}).length;
  if (entries > limits.attributesAndCapacity) {
    const detail = `the total number of attributes and capacities must not exceed ${limits.attributesAndCapacity}`;
    errors.invalid(entries, detail);
  }
  const values = attributeValues(device);
  if (values > limits.attributeValues) {
    errors.invalid(values, `the total number of attribute values must not exceed ${limits.attributeValues}`);
  }
  checkMap(errors.at("attributes"), device.attributes, (here, attribute) => checkAttribute(here, attribute));
  // From 1.37 on, later rules do not apply to what did not change.
  const judged = context.features.version < "1.37" || old === undefined;
  if (judged || !sameValue(old.capacity, device.capacity)) {
    checkMap(errors.at("capacity"), device.capacity, (here, capacity) =>
      checkCapacity(here, capacity, device.allowMultipleAllocations === true, context),
    );
  }
  if (old === undefined || !sameValue(old.taints, device.taints)) {
    errors.at("taints").items(device.taints, limits.taints, checkTaint);
  }
  errors
    .at("consumesCounters")
    .set(
      device.consumesCounters,
      limits.consumedSets,
      checkConsumption,
      (consumption) => consumption.counterSet ?? "",
    );
  checkDeviceNodes(errors, device, choosesNodes);
  checkBindingConditions(errors, device);
  checkNodeAllocatable(errors.at("nodeAllocatableResources"), device);
}

function checkNodes(errors: FieldErrors, spec: ResourceSliceSpec): void {
  const set = checkNodeFields(errors.at("spec"), spec, "must be either unset or set to a non-empty string");
  const terms = spec.nodeSelector?.nodeSelectorTerms;
  if (spec.nodeSelector && terms?.length !== 1) {
    // One term, so that selectors of several slices can be joined.
    const { NodeSelectorTerms } = internalForm("core/v1.NodeSelector", spec.nodeSelector, errors) as {
      NodeSelectorTerms: unknown;
    };
    errors
      .at("spec.nodeSelector.nodeSelectorTerms")
      .invalid(NodeSelectorTerms, "must have exactly one node selector term");
  }
  checkFlag(errors.at("spec"), "allNodes", spec.allNodes, set);
  checkFlag(errors.at("spec"), "perDeviceNodeSelection", spec.perDeviceNodeSelection, set);
  const wanted =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (set.length === 0) errors.at("spec").required(wanted);
  else if (set.length > 1) {
    errors.at("spec").invalid(`{${set.join(", ")}}`, `${wanted}, but multiple fields are set`);
  }
}

function checkPartitionType(errors: FieldErrors, spec: ResourceSliceSpec): void {
  const name = spec.partitionTypeAttribute;
  if (name === undefined) return;
  const here = errors.at("spec.partitionTypeAttribute");
  checkFullyQualifiedName(here, name);
  const devices = spec.devices ?? [];
  if (!devices.some((device) => (device.consumesCounters ?? []).length > 0)) {
    here.invalid(name, "may only be set on a slice which declares devices that consume counters");
    return;
  }
  const bare = name.startsWith(`${spec.driver}/`) ? name.slice(spec.driver.length + 1) : name;
  devices.forEach((device, index) => {
    if ((device.consumesCounters ?? []).length === 0) return;
    const here = errors.at("spec.devices").index(index).at("attributes").key(name);
    const { attributes = {} } = device;
    const key = Object.hasOwn(attributes, name) ? name : bare;
    const attribute = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
    if (attribute === undefined) {
      const detail =
        "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set";
      here.required(detail);
    } else if (attribute.string === undefined) {
      const printed = internalForm("resource/v1.DeviceAttribute", attribute, errors);
      here.invalid(printed, "must be a string value because `partitionTypeAttribute` names this attribute");
    }
  });
}

const nodeOperations = ["NodePrepareResources", "NodeUnprepareResources", "*"];

function checkSkippedOperations(errors: FieldErrors, operations: readonly string[] | undefined): void {
  const skipped = operations ?? [];
  const repeated = seenBefore();
  skipped.forEach((operation, index) => {
    if (!nodeOperations.includes(operation)) errors.index(index).notSupported(operation, nodeOperations);
    if (repeated(operation)) errors.index(index).duplicate(operation);
  });
  const [prepare = "", unprepare = "", all = ""] = nodeOperations;
  if (skipped.includes(prepare) && !skipped.includes(unprepare) && !skipped.includes(all)) {
    const detail = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped";
    errors.invalid(skipped, detail);
  }
}

/** A slice whose devices have more to them may hold fewer. */
function deviceLimit(devices: readonly Device[]): number {
  const advanced = devices.some(
    (device) =>
      (device.taints ?? []).length > 0 ||
      (device.consumesCounters ?? []).length > 0 ||
      Object.values(device.attributes ?? {}).some((attribute) => listFields.some((name) => attribute[name])),
  );
  return advanced ? limits.devicesWithAdvancedFeatures : limits.devices;
}

function checkSpec(
  errors: FieldErrors,
  spec: ResourceSliceSpec,
  old: ResourceSliceSpec | undefined,
  context: ValidationContext,
): void {
  checkDriverName(errors.at("spec.driver"), spec.driver);
  checkPoolName(errors.at("spec.pool.name"), spec.pool?.name);
  const { resourceSliceCount = 0, generation = 0 } = spec.pool ?? {};
  if (resourceSliceCount <= 0) {
    errors.at("spec.pool.resourceSliceCount").invalid(resourceSliceCount, "must be greater than zero");
  }
  if (generation < 0) {
    errors.at("spec.pool.generation").invalid(generation, "must be greater than or equal to zero");
  }
  if (old !== undefined) {
    checkImmutable(errors.at("spec.pool.name"), spec.pool?.name, old.pool?.name);
    checkImmutable(errors.at("spec.driver"), spec.driver, old.driver);
    checkImmutable(errors.at("spec.nodeName"), spec.nodeName, old.nodeName, () => asTyped(spec.nodeName));
  }
  checkNodes(errors, spec);
  const given = (name: "sharedCounters" | "devices"): boolean =>
    !!spec[name] || errors.provenance.cameEmpty(spec, name);
  if (given("sharedCounters") && given("devices")) {
    errors.at("spec").invalid("", "only one of `sharedCounters` or `devices` is allowed");
  }
  const devices = spec.devices ?? [];
  errors.at("spec.devices").set(
    devices,
    deviceLimit(devices),
    (here, device) => {
      checkDevice(here, device, {
        old: old?.devices?.find(({ name }) => name === device.name),
        choosesNodes: spec.perDeviceNodeSelection === true,
        context,
      });
    },
    (device) => device.name ?? "",
  );
  errors.at("spec.sharedCounters").set(
    spec.sharedCounters,
    limits.counterSets,
    (here, set) => {
      here.at("name").checkRequired(dnsLabel, set.name);
      checkCounters(here.at("counters"), set.counters);
    },
    (set) => set.name ?? "",
  );
  checkPartitionType(errors, spec);
  checkSkippedOperations(errors.at("spec.skipNodeOperations"), spec.skipNodeOperations);
}

const empty = { driver: "", pool: { name: "", generation: 0, resourceSliceCount: 0 } };

export function checkSlice(errors: FieldErrors, slice: ResourceSlice, context: ValidationContext): void {
  checkMetadata(errors.at("metadata"), slice.metadata, dnsSubdomain, false);
  checkFinalizerNames(errors.at("metadata"), slice.metadata);
  checkSpec(errors, slice.spec ?? empty, undefined, context);
}

export function checkSliceUpdate(
  errors: FieldErrors,
  slice: ResourceSlice,
  old: ResourceSlice,
  context: ValidationContext,
): void {
  checkMetadataUpdate(errors.at("metadata"), slice.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), slice.metadata);
  checkSpec(errors, slice.spec ?? empty, old.spec ?? empty, context);
}
