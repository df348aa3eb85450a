import { type FieldError, invalid, quoted } from "@dray/api";
import type { Service, ServiceSpec } from "@dray/api/core/v1";
import { deepEqual } from "../../../storage/json.ts";
import { type Family, familyOf } from "./ranges.ts";

const other = (family: string): Family => (family === "IPv4" ? "IPv6" : "IPv4");
const policyPath = "spec.ipFamilyPolicy";

/**
 * Reports whether a service keeps PreferDualStack: then a change of the cluster does not change the service.
 */
function staysPreferred(spec: ServiceSpec, old: ServiceSpec | undefined): boolean {
  return (
    old !== undefined &&
    spec.ipFamilyPolicy === "PreferDualStack" &&
    (old.ipFamilyPolicy ?? "PreferDualStack") === "PreferDualStack" &&
    old.type === spec.type &&
    deepEqual(spec.clusterIPs ?? [], old.clusterIPs ?? []) &&
    deepEqual(spec.ipFamilies ?? [], old.ipFamilies ?? [])
  );
}

function defaultPolicy(spec: ServiceSpec, old: ServiceSpec | undefined): string {
  if (old?.ipFamilyPolicy) return old.ipFamilyPolicy;
  return spec.clusterIP === "None" && !hasSelector(spec) ? "RequireDualStack" : "SingleStack";
}

const hasSelector = ({ selector }: ServiceSpec): boolean => Object.keys(selector ?? {}).length > 0;

/**
 * Applies a change of the policy: drops unchanged secondary families and addresses for SingleStack, and
 * rejects their removal under other policies.
 */
function reduce(spec: ServiceSpec, old: ServiceSpec, refuse: (detail: string) => void): void {
  const [addresses, families] = [spec.clusterIPs ?? [], spec.ipFamilies ?? []];
  const [addressesBefore, familiesBefore] = [old.clusterIPs ?? [], old.ipFamilies ?? []];
  if (spec.ipFamilyPolicy === "SingleStack") {
    if (deepEqual(addresses, addressesBefore) && addresses.length > 1)
      spec.clusterIPs = addresses.slice(0, 1);
    if (deepEqual(families, familiesBefore) && families.length > 1) spec.ipFamilies = families.slice(0, 1);
    return;
  }
  const fewer = (now: readonly string[], before: readonly string[]): boolean =>
    now.length > 0 && now.length < before.length;
  if (fewer(addresses, addressesBefore)) refuse("must be 'SingleStack' to release the secondary cluster IP");
  if (fewer(families, familiesBefore)) refuse("must be 'SingleStack' to release the secondary IP family");
}

/**
 * Sets the missing policy and families of a service with addresses, by those of the cluster (its default
 * first), and rejects combinations that do not match. Throws 422.
 *
 * Upstream: pkg/registry/core/service/storage/alloc.go, initIPFamilyFields
 */
export function settleFamilies(
  service: Service,
  old: ServiceSpec | undefined,
  configured: readonly Family[],
): void {
  const spec = service.spec;
  if (staysPreferred(spec, old)) return;
  spec.ipFamilyPolicy ??= defaultPolicy(spec, old);
  const policy = spec.ipFamilyPolicy;
  const errors: FieldError[] = [];
  const refusePolicy = (detail: string): void => {
    errors.push({ type: "Invalid", path: policyPath, value: quoted(policy), detail });
  };
  const settled = (): void => {
    if (errors.length > 0) throw invalid({ group: "", kind: "Service" }, service.metadata.name, errors);
  };
  if (old) reduce(spec, old, refusePolicy);
  const needed = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  if (policy === "SingleStack" && spec.clusterIPs?.length === 2)
    refusePolicy(`${needed} cluster IPs are specified`);
  if (policy === "SingleStack" && spec.ipFamilies?.length === 2)
    refusePolicy(`${needed} IP families are specified`);
  const families = [...(spec.ipFamilies ?? [])];
  for (const [index, address] of (spec.clusterIPs ?? []).entries()) {
    if (address === "None") break;
    if (index < families.length) continue;
    const family = familyOf(address);
    if (configured.includes(family)) families.push(family);
    else
      errors.push({
        type: "Invalid",
        path: `spec.clusterIPs[${index}]`,
        value: JSON.stringify(spec.clusterIPs),
        detail: `${family} is not configured on this cluster`,
      });
  }
  settled();
  const dual = policy !== "SingleStack";
  // A service without a selector may have families that the cluster does not have.
  if (spec.clusterIP === "None" && !hasSelector(spec)) {
    if (families.length === 0) families.push(configured[0]!);
    if (families.length < 2 && dual) families.push(other(families[0]!));
    spec.ipFamilies = families;
    return;
  }
  if (policy === "RequireDualStack" && configured.length < 2)
    refusePolicy("this cluster is not configured for dual-stack services");
  for (const [index, family] of families.entries()) {
    if (configured.some((known) => known === family)) continue;
    errors.push({
      type: "Invalid",
      path: `spec.ipFamilies[${index}]`,
      value: quoted(family),
      detail: "not configured on this cluster",
    });
  }
  settled();
  if (families.length === 0) families.push(configured[0]!);
  if (dual && families.length === 1 && configured.length === 2) families.push(other(families[0]!));
  spec.ipFamilies = families;
}
