import { quoted } from "@dray/api";
import type { DeviceRequest, DeviceSubRequest, ExactDeviceRequest } from "@dray/api/resource/v1";
import { fitsCapacity } from "./capacity.ts";
import {
  type Alternative,
  AttemptError,
  type Candidate,
  candidatesOf,
  isOn,
  maxResults,
  type Pool,
  type PreparedClaim,
  type PreparedRequest,
  type Question,
  variantOf,
} from "./model.ts";
import { isSelectable } from "./selectors.ts";

/** Checks the claims in order and resolves their classes. Throws AttemptError with the first fault. */
export function prepareClaims(question: Question, pools: readonly Pool[]): PreparedClaim[] {
  return question.claims.map((claim, index) => {
    const { namespace, name: plain } = claim.metadata;
    const name = namespace ? `${namespace}/${plain}` : plain;
    let minTotal = 0;
    const requests: PreparedRequest[] = [];
    for (const request of claim.spec.devices?.requests ?? []) {
      const prepared = prepareRequest(question, pools, request, { index, name });
      const count = Math.min(...prepared.alternatives.map((alternative) => alternative.count));
      if (count > maxResults - minTotal) {
        throw new AttemptError(
          `claim ${name}, request ${request.name}: adding ${count} devices exceeds the claim limit of ${maxResults}, with ${minTotal} already accounted for`,
        );
      }
      minTotal += count;
      requests.push(prepared);
    }
    const constraints = claim.spec.devices?.constraints ?? [];
    constraints.forEach((constraint, i) => {
      if (constraint.matchAttribute !== undefined) return;
      if (constraint.distinctAttribute !== undefined && variantOf(question.features) !== "stable") return;
      throw new AttemptError(
        `claim ${name}, constraint #${i}: empty constraint (unsupported constraint type?)`,
      );
    });
    return { claim, name, requests, constraints };
  });
}

function prepareRequest(
  question: Question,
  pools: readonly Pool[],
  request: DeviceRequest,
  { index: claim, name: claimName }: { readonly index: number; readonly name: string },
): PreparedRequest {
  const list = request.firstAvailable ?? [];
  const fail = (text: string): never => {
    throw new AttemptError(`claim ${claimName}, ${text}`);
  };
  if (list.length > 0 && !isOn(question, "PrioritizedList")) {
    fail(`request ${request.name}: has subrequests, but the DRAPrioritizedList feature is disabled`);
  }
  if (!isOn(question, "ConsumableCapacity") && variantOf(question.features) !== "stable") {
    const disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled";
    if (request.exactly?.capacity !== undefined) fail(`request ${request.name}: ${disabled}`);
    for (const sub of list) if (sub.capacity !== undefined) fail(`subrequest ${sub.name}: ${disabled}`);
  }
  if (list.length === 0) {
    // Upstream panics on a request without either; this is its error for a request of an unknown type.
    const exactly =
      request.exactly ??
      fail(`request ${request.name}: missing device class name (unsupported request type?)`);
    const only = prepareAlternative(question, pools, exactly, {
      request: request.name,
      subrequest: undefined,
      claim,
      claimName,
    });
    return { isList: false, alternatives: [only] };
  }
  return {
    isList: true,
    alternatives: list.map((sub) =>
      prepareAlternative(question, pools, sub, {
        request: request.name,
        subrequest: sub.name,
        claim,
        claimName,
      }),
    ),
  };
}

function prepareAlternative(
  question: Question,
  pools: readonly Pool[],
  spec: ExactDeviceRequest | DeviceSubRequest,
  {
    request,
    subrequest,
    claim,
    claimName,
  }: {
    readonly request: string;
    readonly subrequest: string | undefined;
    readonly claim: number;
    readonly claimName: string;
  },
): Alternative {
  const where = `claim ${claimName}, request ${subrequest ?? request}`;
  const fail = (text: string): never => {
    throw new AttemptError(`${where}: ${text}`);
  };
  if ((spec.derivedAttributes ?? []).length > 0 && !isOn(question, "DerivedAttributes")) {
    fail("cannot handle request with derived attributes, the feature is disabled");
  }
  for (const [i, selector] of (spec.selectors ?? []).entries()) {
    if (selector.cel === undefined) {
      throw new AttemptError(`${where}, selector #${i}: CEL expression empty (unsupported selector type?)`);
    }
  }
  const adminAccess = "adminAccess" in spec ? spec.adminAccess : undefined;
  if (adminAccess !== undefined && !isOn(question, "AdminAccess")) {
    fail("admin access is requested, but the feature is disabled");
  }
  const className = spec.deviceClassName;
  if (!className) fail("missing device class name (unsupported request type?)");
  const deviceClass =
    question.classes.find(({ metadata }) => metadata.name === className) ??
    fail(
      `could not retrieve device class ${className}: deviceclass.resource.k8s.io ${quoted(className)} not found`,
    );
  const found = { claim, request, subrequest, spec, adminAccess: adminAccess === true, deviceClass };
  if (spec.allocationMode === "ExactCount")
    return { ...found, count: Number(spec.count ?? 0), all: undefined };
  if (spec.allocationMode !== "All") fail(`unsupported count mode ${spec.allocationMode ?? ""}`);
  const alternative: Alternative = { ...found, count: 0, all: [] };
  const all: Candidate[] = [];
  for (const pool of pools) {
    if (pool.state !== "usable") {
      const state = pool.state === "incomplete" ? "being updated" : "invalid";
      fail(`asks for all devices, but resource pool ${pool.driver}/${pool.name} is currently ${state}`);
    }
    for (const candidate of candidatesOf(pool)) {
      if (!isSelectable(question, candidate, alternative, claimName)) continue;
      // Only the total capacity is checked here: the search refuses used-up capacity.
      if (
        isOn(question, "ConsumableCapacity") &&
        !fitsCapacity(
          question,
          { wanted: spec.capacity, device: candidate.device },
          [],
          `${where}: checking capacity for device ${candidate.device.name}`,
        )
      ) {
        continue;
      }
      all.push(candidate);
    }
  }
  return { ...found, count: all.length, all };
}
