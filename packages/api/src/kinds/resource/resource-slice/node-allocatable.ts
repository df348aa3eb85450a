import type { FieldErrors } from "../../../checks/field.ts";
import type {
  Device,
  NodeAllocatableMapping,
  NodeAllocatableOverhead,
} from "../../../generated/resource/v1.ts";
import { Quantity } from "../../../values/quantity.ts";

function isNodeResource(name: string): boolean {
  return ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
}

function checkMapping(errors: FieldErrors, mapping: NodeAllocatableMapping, device: Device): void {
  const { capacityKey, capacityMultiplier, deviceMultiplier } = mapping;
  if (capacityKey !== undefined) {
    if (capacityKey === "") errors.at("capacityKey").invalid("", "capacityKey must not be an empty string");
    else if (!Object.hasOwn(device.capacity ?? {}, capacityKey)) {
      errors.at("capacityKey").notFound(capacityKey);
    }
    if (capacityMultiplier === undefined) {
      errors.at("capacityMultiplier").required("capacityMultiplier is required when capacityKey is set");
    } else checkPositive(errors.at("capacityMultiplier"), capacityMultiplier);
  }
  if (deviceMultiplier !== undefined) checkPositive(errors.at("deviceMultiplier"), deviceMultiplier);
  if (capacityMultiplier !== undefined && capacityKey === undefined) {
    errors.at("capacityKey").required("capacityKey is required when capacityMultiplier is set");
  }
}

function checkPositive(errors: FieldErrors, text: string): void {
  if (Quantity.parse(text).sign <= 0) errors.invalid(text, "must be positive");
}

function checkOverhead(errors: FieldErrors, overhead: NodeAllocatableOverhead): void {
  if (overhead.perPod === undefined && overhead.perContainer === undefined) {
    errors.invalid("", "at least one of perPod or perContainer must be set");
  }
  for (const name of ["perPod", "perContainer"] as const) {
    const text = overhead[name];
    if (text !== undefined && Quantity.parse(text).sign < 0) {
      errors.at(name).invalid(text, "must be non-negative");
    }
  }
}

/** Checks the resources of the node itself that a device uses (KEP-5517). */
export function checkNodeAllocatable(errors: FieldErrors, device: Device): void {
  for (const [name, { mapping, overhead }] of Object.entries(device.nodeAllocatableResources ?? {})) {
    const here = errors.key(name);
    if (!isNodeResource(name)) here.invalid(name, "must be a node allocatable resource name");
    if (!mapping && !overhead) here.required("at least one of mapping or overhead must be set");
    if (mapping) checkMapping(here.at("mapping"), mapping, device);
    if (overhead) checkOverhead(here.at("overhead"), overhead);
  }
}
