import type { DeviceClass, ResourceClaim } from "../../../generated/resource/v1.ts";
import { controllerOf } from "../../../objects/object.ts";
import { type Amounts, addTo, one, raiseTo } from "../../../values/amounts.ts";
import { Quantity } from "../../../values/quantity.ts";
import { isExtendedQuotaName, podUsage } from "../../core/pod/quota.ts";
import {
  countName,
  type QuotaEvaluator,
  type QuotaLookup,
  type QuotaOptions,
} from "../../quota-evaluator.ts";
import { deviceDemands, maxDevices } from "./requested-devices.ts";

const claimCount = countName("resource.k8s.io", "resourceclaims");
const classSuffix = ".deviceclass.resource.k8s.io/devices";
const requests = "requests.";
const deviceClassPrefix = "deviceclass.resource.kubernetes.io/";
/** The scheduler marks so the claims that it makes for extended resources of a pod (KEP-5004). */
const extendedMark = "resource.kubernetes.io/extended-resource-claim";

/**
 * Charges claims: each as one, and the devices that it may get at most by device class (KEP-4840), also under
 * the extended resource names of the class where quotas restrict those (KEP-5004).
 */
export function claimEvaluator(lookup: QuotaLookup, { extendedResources }: QuotaOptions): QuotaEvaluator {
  return {
    handles: ({ operation, subresource }) =>
      subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    matching: (wanted) =>
      wanted.filter(
        (name) =>
          name === claimCount ||
          name.endsWith(classSuffix) ||
          (extendedResources &&
            isExtendedQuotaName(name) &&
            standsForClass(name.slice(requests.length), lookup)),
      ),
    usage(object) {
      const claim = object as ResourceClaim;
      const devices = devicesByClass(claim);
      const usage: Amounts = new Map([[claimCount, one]]);
      for (const [className, quantity] of devices) usage.set(`${className}${classSuffix}`, quantity);
      if (extendedResources) addExtended(usage, devices, claim, lookup);
      return usage;
    },
  };
}

function standsForClass(resource: string, lookup: QuotaLookup): boolean {
  for (const { metadata, spec } of lookup.deviceClasses()) {
    if (spec.extendedResourceName === resource || `${deviceClassPrefix}${metadata.name}` === resource)
      return true;
  }
  return false;
}

/** The most devices of each class that a claim can be given. */
function devicesByClass(claim: ResourceClaim): Amounts {
  const total: Amounts = new Map();
  for (const { isPrioritized, alternatives } of deviceDemands(claim.spec)) {
    const most: Amounts = new Map();
    // One of several alternatives is allocated: the largest is charged for each class.
    for (const { deviceClass, count } of alternatives)
      raiseTo(most, new Map([[deviceClass, Quantity.of(count === "All" ? maxDevices : count)]]));
    for (const [name, quantity] of most) if (isPrioritized && quantity.sign === 0) most.delete(name);
    addTo(total, most);
  }
  return total;
}

/** Adds extended resources to the usage, less the amounts that are charged to the owner pod already. */
function addExtended(usage: Amounts, devices: Amounts, claim: ResourceClaim, lookup: QuotaLookup): void {
  const extended: Amounts = new Map();
  const named = new Map<string, string | undefined>();
  for (const { metadata, spec } of lookup.deviceClasses()) {
    named.set(metadata.name, (spec as DeviceClass["spec"]).extendedResourceName);
  }
  for (const [className, quantity] of devices) {
    extended.set(`${requests}${deviceClassPrefix}${className}`, quantity);
    const name = named.get(className);
    if (name) extended.set(`${requests}${name}`, quantity);
  }
  const charged = usageOfOwner(claim, lookup);
  for (const [name, quantity] of extended) {
    const before = charged.get(name);
    const left = before === undefined ? quantity : quantity.sub(before);
    if (left.sign > 0) usage.set(name, left);
  }
}

/** Usage of the pod for whose extended resources the scheduler created this claim; else empty. */
function usageOfOwner(claim: ResourceClaim, lookup: QuotaLookup): Amounts {
  const nothing: Amounts = new Map();
  const owner = extendedOwner(claim);
  const namespace = claim.metadata.namespace ?? "";
  const pod = owner === undefined ? undefined : lookup.pod(namespace, owner.name);
  if (owner === undefined || pod === undefined || pod.metadata.uid !== owner.uid) return nothing;
  const status = pod.status?.extendedResourceClaimStatus;
  if (status !== undefined) {
    if (status.resourceClaimName !== claim.metadata.name) return nothing;
  } else if (!isFirst(claim, owner.uid, lookup.claims(namespace))) return nothing;
  return podUsage(pod, lookup);
}

/** True for the oldest claim of a pod, which counts as its own until the pod's status names one. */
function isFirst(claim: ResourceClaim, podUid: string, others: Iterable<ResourceClaim>): boolean {
  const created = Date.parse(claim.metadata.creationTimestamp);
  for (const other of others) {
    if (extendedOwner(other)?.uid !== podUid) continue;
    const before = Date.parse(other.metadata.creationTimestamp);
    if (before < created || (before === created && other.metadata.name < claim.metadata.name)) return false;
  }
  return true;
}

function extendedOwner({ metadata }: ResourceClaim): { name: string; uid: string } | undefined {
  if (metadata.annotations?.[extendedMark] !== "true") return undefined;
  const owner = controllerOf({ metadata });
  return owner?.kind === "Pod" && owner.apiVersion === "v1" ? owner : undefined;
}
