import type { Node } from "@dray/api/core/v1";
import type { DeviceClass, DeviceRequest, ResourceClaim } from "@dray/api/resource/v1";
import type { Explanation, Features, RefusalGroup, RequestExplanation } from "./allocator.ts";
import {
  AllocationError,
  type Candidate,
  deviceId,
  type Inventory,
  type Pool,
  reachesDevice,
} from "./inventory.ts";
import { untolerated } from "./search.ts";
import type { SelectorCache } from "./selectors.ts";
import { claimName, type Usage } from "./usage.ts";

export interface ExplainOptions {
  readonly features: Features;
  readonly inventory: Inventory;
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly usage: Usage;
  readonly selectors: SelectorCache;
}

type Refusal = Pick<RefusalGroup, "check" | "cause">;

/** Most devices that a group names. */
const mostNames = 5;

/** For every request what became of the devices that a node can reach, by the first check that ruled them out. */
export function explainRefusal(
  node: Node,
  claims: readonly ResourceClaim[],
  options: ExplainOptions,
): Explanation {
  let pools: readonly Pool[] = [];
  let broken: string | undefined;
  try {
    pools = options.inventory.pools(node);
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    broken = error.message;
  }
  return {
    node: node.metadata.name,
    claims: claims.map((claim) => ({
      claim: claimName(claim),
      requests: (claim.spec.devices?.requests ?? []).flatMap((request) =>
        explainRequest(node, claim, request, pools, broken, options),
      ),
    })),
  };
}

function explainRequest(
  node: Node,
  claim: ResourceClaim,
  request: DeviceRequest,
  pools: readonly Pool[],
  broken: string | undefined,
  options: ExplainOptions,
): RequestExplanation[] {
  const alternatives =
    request.exactly === undefined
      ? (request.firstAvailable ?? []).map((sub) => ({ name: `${request.name}/${sub.name}`, body: sub }))
      : [{ name: request.name, body: request.exactly }];
  return alternatives.map(({ name, body }) => {
    const groups = new Map<string, { refusal: Refusal; devices: string[]; count: number }>();
    const refuse = (refusal: Refusal, device: string | undefined): void => {
      const key = `${refusal.check} ${refusal.cause}`;
      const group = groups.get(key) ?? { refusal, devices: [], count: 0 };
      groups.set(key, group);
      if (device === undefined) return;
      group.count++;
      if (group.devices.length < mostNames) group.devices.push(device);
    };
    const deviceClass = options.classes.get(body.deviceClassName);
    if (broken !== undefined) refuse({ check: "error", cause: broken }, undefined);
    if (deviceClass === undefined) {
      refuse({ check: "error", cause: `device class ${body.deviceClassName} does not exist` }, undefined);
    }
    let seen = 0;
    let suitable = 0;
    let selected = 0;
    const all = body.allocationMode === "All";
    const admin = "adminAccess" in body && body.adminAccess === true;
    for (const pool of pools) {
      for (const candidate of pool.candidates) {
        seen++;
        // Mode All evaluates every device, also those in use: it wants them all.
        const held = admin ? undefined : holderRefusal(candidate, options.usage);
        const refusal =
          poolRefusal(pool) ??
          (all ? undefined : held) ??
          gateRefusal(candidate, options.features) ??
          selectorRefusal(
            candidate,
            deviceClass,
            body.selectors ?? [],
            claimName(claim),
            options.selectors,
          ) ??
          (reachesDevice(candidate.slice, candidate.device, node)
            ? undefined
            : { check: "node" as const, cause: "the device is for other nodes" }) ??
          selectedRefusal(candidate, all ? held : undefined, body.tolerations ?? [], options.features);
        if (refusal === undefined || refusal.check === "taint" || refusal === held) selected++;
        if (refusal === undefined) suitable++;
        else refuse(refusal, deviceId(candidate.driver, candidate.pool, candidate.device.name));
      }
    }
    return {
      request: name,
      wanted: all ? selected : Number(body.count ?? 1),
      seen,
      suitable,
      refused: [...groups.values()].map(({ refusal, count, devices }) => ({ ...refusal, count, devices })),
    };
  });
}

/** Why a device that selectors chose cannot be had. */
function selectedRefusal(
  candidate: Candidate,
  held: Refusal | undefined,
  tolerations: Parameters<typeof untolerated>[0],
  features: Features,
): Refusal | undefined {
  return held ?? (features.deviceTaints ? taintRefusal(candidate, tolerations) : undefined);
}

function poolRefusal(pool: Pool): Refusal | undefined {
  if (pool.incomplete) return { check: "pool", cause: `pool ${pool.driver}/${pool.name} is being updated` };
  if (pool.invalid === undefined) return undefined;
  return { check: "pool", cause: `pool ${pool.driver}/${pool.name} is invalid: ${pool.invalid}` };
}

function holderRefusal(candidate: Candidate, usage: Usage): Refusal | undefined {
  const holder = usage.holder(candidate.id);
  return holder === undefined ? undefined : { check: "in-use", cause: `allocated to claim ${holder}` };
}

function gateRefusal({ device }: Candidate, features: Features): Refusal | undefined {
  if (!features.deviceBindingAndStatus && (device.bindingConditions ?? []).length > 0) {
    return {
      check: "gate",
      cause: "the device has binding conditions, and DRADeviceBindingConditions is off",
    };
  }
  if ((device.consumesCounters ?? []).length > 0) {
    return { check: "gate", cause: "the device consumes counters, which this allocator does not give out" };
  }
  return undefined;
}

function selectorRefusal(
  candidate: Candidate,
  deviceClass: DeviceClass | undefined,
  selectors: Parameters<SelectorCache["failing"]>[0],
  claim: string,
  cache: SelectorCache,
): Refusal | undefined {
  if (deviceClass === undefined) return undefined;
  try {
    const name = deviceClass.metadata.name;
    const byClass = cache.failing(deviceClass.spec.selectors ?? [], candidate, `class ${name}`);
    if (byClass !== undefined) return { check: "class-selector", cause: `class ${name}: ${byClass}` };
    const byRequest = cache.failing(selectors, candidate, `claim ${claim}`);
    return byRequest === undefined ? undefined : { check: "request-selector", cause: byRequest };
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
    return { check: "error", cause: error.message };
  }
}

function taintRefusal(
  { device }: Candidate,
  tolerations: Parameters<typeof untolerated>[0],
): Refusal | undefined {
  for (const taint of device.taints ?? []) {
    if (untolerated(tolerations, taint) === undefined) continue;
    const value = taint.value ? `=${taint.value}` : "";
    return { check: "taint", cause: `untolerated taint ${taint.key}${value}:${taint.effect}` };
  }
  return undefined;
}
