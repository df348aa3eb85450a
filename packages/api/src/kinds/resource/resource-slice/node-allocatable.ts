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

function checkMapping(
  errors: FieldErrors,
  path: string,
  mapping: NodeAllocatableMapping,
  device: Device,
): void {
  const { capacityKey, capacityMultiplier, deviceMultiplier } = mapping;
  if (capacityKey !== undefined) {
    if (capacityKey === "")
      errors.invalid(`${path}.capacityKey`, "", "capacityKey must not be an empty string");
    else if (!Object.hasOwn(device.capacity ?? {}, capacityKey)) {
      errors.notFound(`${path}.capacityKey`, capacityKey);
    }
    if (capacityMultiplier === undefined) {
      errors.required(`${path}.capacityMultiplier`, "capacityMultiplier is required when capacityKey is set");
    } else checkPositive(errors, `${path}.capacityMultiplier`, capacityMultiplier);
  }
  if (deviceMultiplier !== undefined) checkPositive(errors, `${path}.deviceMultiplier`, deviceMultiplier);
  if (capacityMultiplier !== undefined && capacityKey === undefined) {
    errors.required(`${path}.capacityKey`, "capacityKey is required when capacityMultiplier is set");
  }
}

function checkPositive(errors: FieldErrors, path: string, text: string): void {
  if (Quantity.parse(text).sign <= 0) errors.invalid(path, text, "must be positive");
}

function checkOverhead(errors: FieldErrors, path: string, overhead: NodeAllocatableOverhead): void {
  if (overhead.perPod === undefined && overhead.perContainer === undefined) {
    errors.invalid(path, "", "at least one of perPod or perContainer must be set");
  }
  for (const name of ["perPod", "perContainer"] as const) {
    const text = overhead[name];
    if (text !== undefined && Quantity.parse(text).sign < 0) {
      errors.invalid(`${path}.${name}`, text, "must be non-negative");
    }
  }
}

/** Checks the resources of the node itself that a device uses (KEP-5517). */
export function checkNodeAllocatable(errors: FieldErrors, path: string, device: Device): void {
  for (const [name, { mapping, overhead }] of Object.entries(device.nodeAllocatableResources ?? {})) {
    const at = `${path}[${name}]`;
    if (!isNodeResource(name)) errors.invalid(at, name, "must be a node allocatable resource name");
    if (!mapping && !overhead) errors.required(at, "at least one of mapping or overhead must be set");
    if (mapping) checkMapping(errors, `${at}.mapping`, mapping, device);
    if (overhead) checkOverhead(errors, `${at}.overhead`, overhead);
  }
}
