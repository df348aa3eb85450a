import type { PersistentVolumeClaim, ScopedResourceSelectorRequirement } from "../../../generated/core/v1.ts";
import { type Amounts, one } from "../../../values/amounts.ts";
import { Quantity } from "../../../values/quantity.ts";
import { countName, type QuotaEvaluator, selectsValue } from "../../quota-evaluator.ts";

const claimCount = countName("", "persistentvolumeclaims");
const count = "persistentvolumeclaims";
const storage = "requests.storage";
const classSuffix = ".storageclass.storage.k8s.io/";

/** Charges volume claims and the storage that they ask for, in total and by storage class. */
export const volumeClaimEvaluator: QuotaEvaluator = {
  handles({ operation, subresource, object, old }) {
    if (subresource === "") return operation === "CREATE" || operation === "UPDATE";
    if (subresource !== "status" || old === undefined) return false;
    return changesCharge(object as PersistentVolumeClaim, old as PersistentVolumeClaim);
  },
  matching: (wanted) =>
    wanted.filter(
      (name) =>
        name === claimCount ||
        [count, storage].some((kind) => name === kind || name.endsWith(`${classSuffix}${kind}`)),
    ),
  usage: (object) => usage(object as PersistentVolumeClaim),
  inScope: (requirement, object) => inScope(requirement, object as PersistentVolumeClaim),
};

function usage(claim: PersistentVolumeClaim): Amounts {
  const amounts: Amounts = new Map([
    [count, one],
    [claimCount, one],
  ]);
  const className =
    claim.metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ??
    claim.spec?.storageClassName ??
    "";
  if (className !== "") amounts.set(`${className}${classSuffix}${count}`, one);
  const size = requestedStorage(claim);
  if (size === undefined) return amounts;
  amounts.set(storage, size);
  if (className !== "") amounts.set(`${className}${classSuffix}${storage}`, size);
  return amounts;
}

/** The requested storage, or the larger amount that a canceled expansion still holds (KEP-1790). */
function requestedStorage({ spec, status }: PersistentVolumeClaim): Quantity | undefined {
  const asked = spec?.resources?.requests?.["storage"];
  if (asked === undefined) return undefined;
  const wanted = Quantity.parse(asked);
  const held = status?.allocatedResources?.["storage"];
  const allocated = held === undefined ? wanted : Quantity.parse(held);
  return (allocated.compare(wanted) > 0 ? allocated : wanted).roundUp(0);
}

function changesCharge(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const held = ({ status }: PersistentVolumeClaim): string => status?.allocatedResources?.["storage"] ?? "";
  return held(claim) !== held(old) || classNames(claim).join() !== classNames(old).join();
}

function classNames({ spec, status }: PersistentVolumeClaim): string[] {
  const named = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(named.filter((name) => !!name) as string[])].sort();
}

function inScope(requirement: ScopedResourceSelectorRequirement, claim: PersistentVolumeClaim): boolean {
  if (requirement.scopeName !== "VolumeAttributesClass") return false;
  const named = classNames(claim);
  return (named.length === 0 ? [""] : named).some((name) => selectsValue(requirement, name));
}
