import type {
  CapacityRequirements,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from "@dray/api/resource/v1";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { claimName } from "./claim-name.ts";
import type { AttributeConstraint } from "./constraints.ts";
import { type SelectorCache, type SelectorList, selectorList } from "./selectors.ts";

/** Maximum number of devices of a claim. Upstream: resource.k8s.io, AllocationResultsMaxSize. */
export const maxResults = 32;

/** A request, or one of its subrequests, prepared for the search on any node. */
export interface Alternative {
  readonly request: string;
  readonly subrequest: string | undefined;
  readonly deviceClass: DeviceClass;
  /** The selectors of the class, then those of the request. */
  readonly lists: readonly SelectorList[];
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  readonly requirements: CapacityRequirements | undefined;
  /** Derived attributes: expressions by the full name of the attribute (gate DRADerivedAttributes). */
  readonly derived: ReadonlyMap<string, string> | undefined;
  /** Allocation mode All: the number of devices depends on the node. */
  readonly all: boolean;
  /** Number of requested devices; 0 in mode All. */
  readonly count: number;
  /** The count in digits: an int64 may have more than a number holds. */
  readonly countText: string;
  /** For error messages: `claim default/c0, request r0`. */
  readonly where: string;
}

/** Fails the whole attempt, unless an earlier check of upstream ends it. */
export interface Fault {
  readonly fault: string;
}

export interface PreparedRequest {
  readonly name: string;
  /** A single one if the request has `exactly`. */
  readonly alternatives: readonly (Alternative | Fault)[];
  /** The request has `firstAvailable` (KEP-4816). */
  readonly list: boolean;
}

export interface PreparedClaim {
  readonly claim: ResourceClaim;
  readonly name: string;
  readonly requests: readonly PreparedRequest[];
  readonly constraints: readonly (
    | { readonly constraint: DeviceConstraint; readonly kind: AttributeConstraint["kind"] }
    | Fault
  )[];
}

export interface Preparation {
  readonly features: Features;
  readonly policies: Policies;
  readonly classes: ReadonlyMap<string, DeviceClass>;
  readonly selectors: SelectorCache;
}

/** Does the work that is independent of the node: resolves classes, compiles selectors, checks features. */
export function prepareClaim(claim: ResourceClaim, preparation: Preparation): PreparedClaim {
  const name = claimName(claim);
  const devices = claim.spec.devices;
  return {
    claim,
    name,
    requests: (devices?.requests ?? []).map((request) => prepareRequest(request, name, preparation)),
    constraints: (devices?.constraints ?? []).map((constraint, i) => {
      if (constraint.matchAttribute !== undefined) return { constraint, kind: "matchAttribute" as const };
      if (constraint.distinctAttribute !== undefined && preparation.policies.distinctAttribute) {
        return { constraint, kind: "distinctAttribute" as const };
      }
      return { fault: `claim ${name}, constraint #${i}: empty constraint (unsupported constraint type?)` };
    }),
  };
}

function prepareRequest(request: DeviceRequest, claim: string, preparation: Preparation): PreparedRequest {
  const { name } = request;
  const subrequests = request.firstAvailable ?? [];
  const list = subrequests.length > 0;
  const failed = (fault: string): PreparedRequest => ({ name, alternatives: [{ fault }], list });
  if (list && !preparation.features.prioritizedList) {
    return failed(
      `claim ${claim}, request ${name}: has subrequests, but the DRAPrioritizedList feature is disabled`,
    );
  }
  if (!preparation.features.consumableCapacity && preparation.policies.refusesCapacityRequests) {
    const disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled";
    if (request.exactly?.capacity !== undefined)
      return failed(`claim ${claim}, request ${name}: ${disabled}`);
    const sub = subrequests.find(({ capacity }) => capacity !== undefined);
    if (sub !== undefined) return failed(`claim ${claim}, subrequest ${sub.name}: ${disabled}`);
  }
  const prepared = (
    body: ExactDeviceRequest | DeviceSubRequest,
    subrequest: string | undefined,
  ): Alternative | Fault => prepareAlternative(body, { parent: name, subrequest }, claim, preparation);
  if (list) return { name, alternatives: subrequests.map((sub) => prepared(sub, sub.name)), list };
  if (request.exactly === undefined) {
    return failed(`claim ${claim}, request ${name}: missing device class name (unsupported request type?)`);
  }
  return { name, alternatives: [prepared(request.exactly, undefined)], list };
}

function prepareAlternative(
  request: ExactDeviceRequest | DeviceSubRequest,
  { parent, subrequest }: { readonly parent: string; readonly subrequest: string | undefined },
  claim: string,
  preparation: Preparation,
): Alternative | Fault {
  const where = `claim ${claim}, request ${subrequest ?? parent}`;
  const fault = (text: string): Fault => ({ fault: `${where}: ${text}` });
  const { features, classes } = preparation;
  const derived = request.derivedAttributes ?? [];
  if (derived.length > 0 && !features.derivedAttributes) {
    return fault("cannot handle request with derived attributes, the feature is disabled");
  }
  const selectors = request.selectors ?? [];
  const unknown = selectors.findIndex(({ cel }) => cel === undefined);
  if (unknown >= 0) {
    return { fault: `${where}, selector #${unknown}: CEL expression empty (unsupported selector type?)` };
  }
  const adminAccess = "adminAccess" in request ? request.adminAccess : undefined;
  if (adminAccess !== undefined && !features.adminAccess) {
    return fault("admin access is requested, but the feature is disabled");
  }
  const className = request.deviceClassName ?? "";
  if (className === "") return fault("missing device class name (unsupported request type?)");
  const deviceClass = classes.get(className);
  if (deviceClass === undefined) {
    return fault(
      `could not retrieve device class ${className}: deviceclass.resource.k8s.io "${className}" not found`,
    );
  }
  if (request.allocationMode !== "All" && request.allocationMode !== "ExactCount") {
    return fault(`unsupported count mode ${request.allocationMode ?? ""}`);
  }
  const all = request.allocationMode === "All";
  return {
    request: parent,
    subrequest,
    deviceClass,
    lists: [
      selectorList(`class ${className}`, deviceClass.spec.selectors ?? [], preparation.selectors),
      selectorList(`claim ${claim}`, selectors, preparation.selectors),
    ],
    adminAccess: adminAccess === true,
    tolerations: request.tolerations ?? [],
    requirements: request.capacity,
    derived:
      derived.length === 0
        ? undefined
        : new Map(derived.map((attribute) => [attribute.name, attribute.expression] as const)),
    all,
    count: all ? 0 : Math.max(0, Number(request.count ?? 0)),
    countText: String(request.count ?? 0),
    where,
  };
}
