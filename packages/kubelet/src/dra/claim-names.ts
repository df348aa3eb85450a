import { Quantity } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import { podClaims } from "@dray/api/pod";

/** A claim of a pod by its name in the API. */
export interface ClaimName {
  /** The entry of `spec.resourceClaims`; "" for the claim of the pod's extended resources. */
  readonly podClaim: string;
  readonly name: string;
  /** The claim was made for the pod or its group, and must be owned by it. */
  readonly owned: boolean;
}

/** Returns the claims of a pod. Throws while one has not been created. */
export function claimNames(pod: Pod): readonly ClaimName[] {
  return podClaims(pod).flatMap(({ entry, name, owned }): ClaimName[] => {
    if (name === undefined) throw new Error(`claim "${entry?.name}": ResourceClaim not created yet`);
    return name === null ? [] : [{ podClaim: entry?.name ?? "", name, owned }];
  });
}

/** A claim of a container, with the request that the container gets; undefined for all requests. */
export interface ContainerClaim {
  /** The entry of `spec.resourceClaims`; "" for the claim of the pod's extended resources. */
  readonly podClaim: string;
  readonly name: string;
  readonly request: string | undefined;
}

/**
 * Returns the claims that a container lists, then those of its extended resources. Throws while one has not
 * been created.
 *
 * Upstream: pkg/kubelet/cm/dra/manager.go, GetResources.
 */
export function containerClaims(pod: Pod, container: Container): readonly ContainerClaim[] {
  const names = claimNames(pod);
  const listed = (container.resources?.claims ?? []).flatMap(({ name, request }): ContainerClaim[] => {
    const claim = names.find(({ podClaim }) => podClaim === name && name !== "");
    return claim === undefined ? [] : [{ podClaim: name, name: claim.name, request: request || undefined }];
  });
  const extended = pod.status?.extendedResourceClaimStatus;
  const mapped = (extended?.requestMappings ?? [])
    .filter(
      ({ containerName, resourceName }) =>
        containerName === container.name && asksFor(container, resourceName),
    )
    .map(({ requestName }) => ({
      podClaim: "",
      name: extended?.resourceClaimName ?? "",
      request: requestName,
    }));
  return [...listed, ...mapped];
}

/** As `containerClaims`, but empty while a claim has not been created: nothing is prepared then. */
export function claimsIfCreated(pod: Pod, container: Container): readonly ContainerClaim[] {
  try {
    return containerClaims(pod, container);
  } catch {
    return [];
  }
}

function asksFor({ resources }: Container, resource: string): boolean {
  const requests = resources?.requests ?? {};
  const amount = Object.hasOwn(requests, resource) ? requests[resource] : undefined;
  return amount !== undefined && Quantity.parse(amount).compare(Quantity.of(0)) !== 0;
}

/**
 * Reports whether a device that was prepared for these requests belongs to the request of a container. One
 * without requests belongs to all. Drivers name main requests; a subrequest (`main/sub`) is part of its main
 * request.
 */
export function isForRequest(names: readonly string[] | null, request: string | undefined): boolean {
  if (request === undefined || names === null || names.length === 0) return true;
  return names.some((name) => name === request || mainOf(name) === request || name === mainOf(request));
}

function mainOf(request: string): string {
  return request.split("/", 1)[0] ?? request;
}
