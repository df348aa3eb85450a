import type {
  DeviceClass,
  DeviceRequest,
  DeviceSelector,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from "@dray/api/resource/v1";
import type { Features } from "./allocator.ts";
import { AttributeConstraint, type Constraint } from "./constraints.ts";
import { AllocationError, type Candidate, type Pool } from "./inventory.ts";
import type { Policies } from "./policies.ts";
import { claimName } from "./usage.ts";

/** Most devices of one claim (resource.k8s.io AllocationResultsMaxSize). */
export const resultsLimit = 32;

/** A request, or one alternative of it, ready for the search. */
export interface Alternative {
  readonly request: string;
  readonly subrequest: string | undefined;
  readonly deviceClass: DeviceClass;
  readonly selectors: readonly DeviceSelector[];
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /** Devices that are wanted. */
  readonly count: number;
  /** Mode All: exactly these. */
  readonly all: readonly Candidate[] | undefined;
}

/** What chooses devices by themselves. */
export type Selecting = Pick<Alternative, "deviceClass" | "selectors">;

export interface PreparedClaim {
  readonly claim: ResourceClaim;
  readonly name: string;
  /** For each request its alternatives; a plain request is its only one. */
  readonly requests: readonly (readonly Alternative[])[];
  readonly constraints: readonly Constraint[];
}

export interface Preparation {
  readonly features: Features;
  readonly policies: Policies;
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly pools: readonly Pool[];
  /** Whether a device passes everything that does not change during the search. Throws AllocationError. */
  selectable(candidate: Candidate, alternative: Selecting, claim: string): boolean;
}

/** Checks claims in upstream's order, before anything is searched. Throws AllocationError with the first fault. */
export function prepareClaims(claims: readonly ResourceClaim[], preparation: Preparation): PreparedClaim[] {
  return claims.map((claim) => prepareClaim(claim, preparation));
}

function prepareClaim(claim: ResourceClaim, preparation: Preparation): PreparedClaim {
  const name = claimName(claim);
  const devices = claim.spec.devices;
  let least = 0;
  const requests = (devices?.requests ?? []).map((request) => {
    const alternatives = prepareRequest(request, name, preparation);
    const count = Math.min(...alternatives.map((alternative) => alternative.count));
    if (least + count > resultsLimit) {
      throw new AllocationError(
        `claim ${name}, request ${request.name}: adding ${count} devices exceeds the claim limit of ${resultsLimit}, with ${least} already accounted for`,
      );
    }
    least += count;
    return alternatives;
  });
  const constraints = (devices?.constraints ?? []).map((constraint, i) => {
    if (constraint.matchAttribute !== undefined) {
      return new AttributeConstraint(constraint, constraint.matchAttribute, false);
    }
    if (constraint.distinctAttribute !== undefined && preparation.policies.distinctAttribute) {
      return new AttributeConstraint(constraint, constraint.distinctAttribute, true);
    }
    throw new AllocationError(
      `claim ${name}, constraint #${i}: empty constraint (unsupported constraint type?)`,
    );
  });
  return { claim, name, requests, constraints };
}

function prepareRequest(request: DeviceRequest, claim: string, preparation: Preparation): Alternative[] {
  const { features } = preparation;
  const fail = (text: string): never => {
    throw new AllocationError(`claim ${claim}, request ${request.name}: ${text}`);
  };
  if (request.firstAvailable !== undefined && request.firstAvailable.length > 0) {
    if (!features.prioritizedList) fail("has subrequests, but the DRAPrioritizedList feature is disabled");
    return request.firstAvailable.map((sub) =>
      prepareAlternative(sub, request.name, sub.name, claim, preparation),
    );
  }
  const exactly = request.exactly ?? fail("missing device class name (unsupported request type?)");
  return [prepareAlternative(exactly, request.name, undefined, claim, preparation)];
}

function prepareAlternative(
  request: ExactDeviceRequest | DeviceSubRequest,
  parent: string,
  subrequest: string | undefined,
  claim: string,
  preparation: Preparation,
): Alternative {
  const name = subrequest ?? parent;
  const at = `claim ${claim}, request ${name}`;
  const fail = (text: string): never => {
    throw new AllocationError(`${at}: ${text}`);
  };
  const { features, policies } = preparation;
  if (request.capacity !== undefined && !features.consumableCapacity && policies.refusesCapacityRequests) {
    const kind = subrequest === undefined ? "request" : "subrequest";
    throw new AllocationError(
      `claim ${claim}, ${kind} ${name}: has capacity requests, but the DRAConsumableCapacity feature is disabled`,
    );
  }
  if ((request.derivedAttributes ?? []).length > 0) {
    fail("cannot handle request with derived attributes, the feature is disabled");
  }
  const selectors = request.selectors ?? [];
  selectors.forEach((selector, i) => {
    if (selector.cel === undefined) {
      throw new AllocationError(`${at}, selector #${i}: CEL expression empty (unsupported selector type?)`);
    }
  });
  const adminAccess = "adminAccess" in request ? request.adminAccess : undefined;
  if (adminAccess !== undefined && !features.adminAccess) {
    fail("admin access is requested, but the feature is disabled");
  }
  if (request.deviceClassName === "") fail("missing device class name (unsupported request type?)");
  const deviceClass =
    preparation.classes.get(request.deviceClassName) ??
    fail(
      `could not retrieve device class ${request.deviceClassName}: deviceclass.resource.k8s.io "${request.deviceClassName}" not found`,
    );
  const found = { deviceClass, selectors };
  let all: Candidate[] | undefined;
  if (request.allocationMode === "All") all = allDevices(found, at, claim, preparation);
  else if (request.allocationMode !== "ExactCount")
    fail(`unsupported count mode ${request.allocationMode ?? ""}`);
  return {
    request: parent,
    subrequest,
    ...found,
    adminAccess: adminAccess === true,
    tolerations: request.tolerations ?? [],
    count: all?.length ?? Number(request.count ?? 0),
    all,
  };
}

function allDevices(found: Selecting, at: string, claim: string, preparation: Preparation): Candidate[] {
  const devices: Candidate[] = [];
  for (const pool of preparation.pools) {
    const state = pool.incomplete ? "being updated" : pool.invalid === undefined ? undefined : "invalid";
    if (state !== undefined) {
      throw new AllocationError(
        `${at}: asks for all devices, but resource pool ${pool.driver}/${pool.name} is currently ${state}`,
      );
    }
    for (const candidate of pool.candidates) {
      if (preparation.selectable(candidate, found, claim)) devices.push(candidate);
    }
  }
  return devices;
}
