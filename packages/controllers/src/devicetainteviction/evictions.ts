import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceTaintRule,
  DeviceToleration,
  ResourceClaim,
} from "@dray/api/resource/v1";
import type { DeviceTaintSelector as AlphaDeviceTaintSelector } from "@dray/api/resource/v1alpha3";
import type { DevicePools } from "../shared/pools.ts";

/** When the users of a claim have to go. */
export interface Eviction {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The rules that are among the causes, by uid. */
  readonly rules: ReadonlyMap<string, DeviceTaintRule>;
}

/** Sources of device taints: ResourceSlices and DeviceTaintRules. */
export interface TaintSources {
  readonly pools: Pick<DevicePools, "evictingTaints">;
  /** Those with the effect NoExecute. */
  readonly rules: Iterable<DeviceTaintRule>;
}

/**
 * The earliest time at which a taint of a device of the claim is not tolerated any more; undefined if all are
 * tolerated for ever.
 *
 * Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go, claimEvictionTime.
 */
export function claimEviction(claim: ResourceClaim, sources: TaintSources): Eviction | undefined {
  let at: number | undefined;
  const rules = new Map<string, DeviceTaintRule>();
  for (const result of claim.status?.allocation?.devices?.results ?? []) {
    for (const { taint, rule } of taintsOf(result, sources)) {
      const end = toleratedUntil(taint, result.tolerations ?? []);
      if (end === undefined) continue;
      at = at === undefined ? end : Math.min(at, end);
      if (rule !== undefined) rules.set(rule.metadata.uid, rule);
    }
  }
  return at === undefined ? undefined : { at, rules };
}

/** The earlier of two, with the causes of both. */
export function joinEvictions(a: Eviction | undefined, b: Eviction | undefined): Eviction | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { at: Math.min(a.at, b.at), rules: new Map([...a.rules, ...b.rules]) };
}

/**
 * Rules of 1.34 could choose devices by class and by CEL expressions; these are not evaluated, and select
 * nothing.
 */
export function selectsByExpression({ spec }: DeviceTaintRule): boolean {
  const selector = spec.deviceSelector as AlphaDeviceTaintSelector | undefined;
  return selector?.deviceClassName !== undefined || (selector?.selectors ?? []).length > 0;
}

/** An empty selector selects all devices, no selector no device; each field that is set must be equal. */
export function selects(rule: DeviceTaintRule, driver: string, pool: string, device: string): boolean {
  const selector = rule.spec.deviceSelector;
  if (selector === undefined || selectsByExpression(rule)) return false;
  const equal = (wanted: string | undefined, actual: string): boolean =>
    wanted === undefined || wanted === actual;
  return equal(selector.driver, driver) && equal(selector.pool, pool) && equal(selector.device, device);
}

function* taintsOf(
  { driver, pool, device }: DeviceRequestAllocationResult,
  { pools, rules }: TaintSources,
): Generator<{ taint: DeviceTaint; rule?: DeviceTaintRule }> {
  for (const taint of pools.evictingTaints(driver, pool, device)) yield { taint };
  for (const rule of rules)
    if (rule.spec.taint !== undefined && selects(rule, driver, pool, device))
      yield { taint: rule.spec.taint, rule };
}

/**
 * Milliseconds since the epoch at which toleration of a NoExecute taint ends; undefined: never. Of several
 * tolerations that match the shortest counts, one without a limit outdoes all.
 */
function toleratedUntil(taint: DeviceTaint, tolerations: readonly DeviceToleration[]): number | undefined {
  const added = taint.timeAdded === undefined ? 0 : Date.parse(taint.timeAdded);
  // No effect stands for every effect (resource/v1 DeviceToleration.effect), as when devices are allocated.
  // Upstream: from 1.38 on.
  const matching = tolerations.filter(
    (toleration) =>
      (!toleration.effect || toleration.effect === "NoExecute") && toleratesDeviceTaint(toleration, taint),
  );
  let seconds: number | undefined;
  for (const { tolerationSeconds } of matching) {
    if (tolerationSeconds === undefined) return undefined;
    const limit = Math.max(0, Number(tolerationSeconds));
    seconds = seconds === undefined ? limit : Math.min(seconds, limit);
  }
  return added + (seconds ?? 0) * 1000;
}

/** Upstream: k8s.io/dynamic-resource-allocation/resourceclaim, ToleratesTaint. */
function toleratesDeviceTaint({ key, operator, value }: DeviceToleration, taint: DeviceTaint): boolean {
  if (key && key !== taint.key) return false;
  if (operator === "Exists") return true;
  return (!operator || operator === "Equal") && (value ?? "") === (taint.value ?? "");
}
