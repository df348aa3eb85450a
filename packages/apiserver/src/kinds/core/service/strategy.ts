import type { Service, ServiceSpec } from "@dray/api/core/v1";
import { serviceAddressErrors } from "@dray/api/validation";
import { deepEqual } from "../../../storage/json.ts";
import type { Strategy, StrategyContext } from "../../strategy.ts";
import type { ServiceAllocator } from "./allocator.ts";
import { settleFamilies } from "./families.ts";
import { getsNodePorts, needsHealthCheck } from "./ports.ts";
import type { Family } from "./ranges.ts";
import { dropOldTypeFields } from "./type.ts";

/**
 * Gives services their cluster addresses and node ports, in the order of upstream: what is given is settled
 * before it is validated (registry/core/service/storage).
 */
export function serviceStrategy(allocator: ServiceAllocator): Strategy<Service> {
  return {
    prepareForCreate(service, context) {
      service.status = { loadBalancer: {} };
      const { spec } = service;
      if (!spec) return;
      if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP];
      allocate(service, undefined, allocator, context);
    },

    prepareForUpdate(service, before, context) {
      if (context.subresource !== "") return;
      if (service.spec && before.spec) {
        keepGiven(service.spec, before.spec);
        followAddress(service.spec, before.spec);
        allocate(service, before.spec, allocator, context);
      }
      dropOldTypeFields(service, before);
    },

    // A former default of all types (defaultOnReadInternalTrafficPolicy).
    complete(object) {
      const { spec } = object;
      if (spec?.type === "ExternalName") delete spec.internalTrafficPolicy;
    },

    reserve: (key, object, { chosen }) => allocator.reserve(key, object, chosen),
    afterDelete: (object) => allocator.afterDelete(object),
  };
}

/** Keeps allocated values that a client does not send in an update (patchAllocatedValues). */
function keepGiven(spec: ServiceSpec, old: ServiceSpec): void {
  if (hasAddress(spec) && hasAddress(old)) {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP;
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  }
  if (getsNodePorts(spec) && getsNodePorts(old)) {
    const own = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort));
    const known = new Map((old.ports ?? []).map(({ name = "", nodePort }) => [name, nodePort]));
    for (const port of spec.ports ?? []) {
      const given = known.get(port.name ?? "");
      if (!port.nodePort && given && !own.has(given)) port.nodePort = given;
    }
  }
  if (needsHealthCheck(spec) && needsHealthCheck(old) && !spec.healthCheckNodePort && old.healthCheckNodePort)
    spec.healthCheckNodePort = old.healthCheckNodePort;
}

const hasAddress = ({ type }: ServiceSpec): boolean => type !== "ExternalName";

/** Clients that know only `clusterIP` mean both fields (normalizeClusterIPs). */
function followAddress(spec: ServiceSpec, old: ServiceSpec): void {
  const same = (): boolean => deepEqual(spec.clusterIPs ?? [], old.clusterIPs ?? []);
  if ((spec.clusterIP ?? "") === (old.clusterIP ?? "")) {
    if (!spec.clusterIPs?.length && old.clusterIPs?.length) spec.clusterIPs = [...old.clusterIPs];
  } else if (!spec.clusterIP) {
    if (same()) delete spec.clusterIPs;
  } else if (same()) spec.clusterIPs = [spec.clusterIP];
}

function allocate(
  service: Service,
  old: ServiceSpec | undefined,
  allocator: ServiceAllocator,
  context: StrategyContext,
): void {
  const spec = service.spec;
  if (hasAddress(spec)) {
    // Validation refuses these fields, and reports nothing else.
    if (serviceAddressErrors(spec, old, context.features.version).length > 0) return;
    settleFamilies(service, old, allocator.families);
    giveAddresses(service, old, allocator, context);
  }
  allocator.ports.assign(service, old, context);
}

function giveAddresses(
  service: Service,
  old: ServiceSpec | undefined,
  { addresses }: ServiceAllocator,
  { dryRun, chosen }: StrategyContext,
): void {
  const spec = service.spec;
  if (spec.clusterIPs?.[0] === "None") return;
  const before = old && hasAddress(old) ? (old.clusterIPs ?? []) : [];
  // Validation rejects a changed address; a headless service stays headless.
  if (before[0] === "None" || (before.length > 0 && before[0] !== spec.clusterIPs?.[0])) return;
  const given = [...(spec.clusterIPs ?? [])];
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const asked = given[index];
    if (asked !== undefined && before.includes(asked)) continue;
    if (dryRun) given[index] = addresses.pretend(service, family as Family, asked);
    else if (asked === undefined) given[index] = addresses.choose(service, family as Family, chosen);
    else addresses.check(service, asked);
  }
  spec.clusterIPs = given;
  if (given[0] !== undefined) spec.clusterIP = given[0];
}
