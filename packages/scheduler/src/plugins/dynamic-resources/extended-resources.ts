/**
 * Extended resources that devices serve (KEP-5004): a container asks for `example.com/gpu: 2`, and a
 * DeviceClass says that its devices are that resource. The scheduler makes one claim for all of a pod.
 */
import { controllerOf, type Draft } from "@dray/api";
import type { Container, ContainerExtendedResourceRequest, Pod } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";
import type { DeviceClass, DeviceRequest, ResourceClaim } from "@dray/api/resource/v1";
import { isExtendedResourceName } from "@dray/api/validation";
import { amountsOf, requestsOf } from "../../framework/resources.ts";
import type { ExtendedResult } from "./claim-state.ts";

/** The class whose devices are an extended resource; undefined if no class has it. */
export type ExtendedClass = (resource: string) => DeviceClass | undefined;

/** Annotation of the claims that the scheduler makes for extended resources. */
const annotation = "resource.kubernetes.io/extended-resource-claim";
/** Prefix under which each class is a resource by its own name. */
const implicit = "deviceclass.resource.kubernetes.io/";
/** Name of such a claim until it is stored; no stored claim can have it. */
const inMemoryName = "<extended-resources>";

/** The names under which containers can ask for devices of the class. */
export function resourcesOf({ metadata, spec }: DeviceClass): readonly string[] {
  const own = spec.extendedResourceName;
  return [`${implicit}${metadata.name}`, ...(own === undefined ? [] : [own])];
}

/** Of several classes of one resource the newest counts, of those the first by name. */
export function preferredClass(classes: readonly DeviceClass[]): DeviceClass | undefined {
  const time = ({ metadata }: DeviceClass): string => metadata.creationTimestamp ?? "";
  return classes.toSorted((a, b) =>
    time(a) === time(b) ? (a.metadata.name < b.metadata.name ? -1 : 1) : time(a) < time(b) ? 1 : -1,
  )[0];
}

/** Reports whether devices may serve the resource: neither cpu nor memory nor another of Kubernetes' own. */
export function isExtended(resource: string): boolean {
  return resource.startsWith(implicit) || isExtendedResourceName(resource);
}

/**
 * The class whose devices serve the resource where a node has none of its own: what a device plugin offers
 * comes first.
 */
function servingClass(
  resource: string,
  allocatable: number,
  extendedClass: ExtendedClass | undefined,
): DeviceClass | undefined {
  return allocatable === 0 && isExtended(resource) ? extendedClass?.(resource) : undefined;
}

/** Reports whether devices serve the resource of the node. */
export function isServedByDevices(...asked: Parameters<typeof servingClass>): boolean {
  return servingClass(...asked) !== undefined;
}

/** Extended resources that the pod asks for and that have a class; undefined without any. */
export function hasServedResources(pod: Pod, extendedClass: ExtendedClass | undefined): boolean {
  if (extendedClass === undefined) return false;
  for (const [resource, amount] of requestsOf(pod))
    if (amount !== 0 && isServedByDevices(resource, 0, extendedClass)) return true;
  return false;
}

/** The extended resources of the pod that the node serves with devices, each with its class. */
export function servedResources(
  pod: Pod,
  allocatable: ReadonlyMap<string, number>,
  extendedClass: ExtendedClass | undefined,
): Map<string, DeviceClass> {
  const served = new Map<string, DeviceClass>();
  for (const [resource, amount] of requestsOf(pod)) {
    if (amount === 0) continue;
    const deviceClass = servingClass(resource, allocatable.get(resource) ?? 0, extendedClass);
    if (deviceClass !== undefined) served.set(resource, deviceClass);
  }
  return served;
}

/** Reports whether the scheduler has made the claim for extended resources of a pod. */
export function isExtendedClaim({ metadata }: ResourceClaim): boolean {
  return metadata.annotations?.[annotation] === "true";
}

/** Index of claims for extended resources, by the uid of their pod. */
export function extendedClaimOwner(claim: ResourceClaim): readonly string[] {
  const owner = isExtendedClaim(claim) ? controllerOf(claim) : undefined;
  return owner === undefined ? [] : [owner.uid];
}

/**
 * Extended resources of a pod as a claim that is not stored yet; it lacks its requests, which depend on the
 * node.
 */
export function extendedClaim({ metadata: { namespace, name, uid } }: Pod, id: string): ResourceClaim {
  const claim: Draft<ResourceClaim> = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      namespace,
      name: inMemoryName,
      generateName: `${name}-extended-resources-`,
      uid: id,
      annotations: { [annotation]: "true" },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name, uid, controller: true }],
    },
    spec: {},
  };
  return claim as ResourceClaim;
}

/**
 * The claim, with requests for what a node has to serve with devices; undefined: nothing. A text: the node
 * cannot serve the pod.
 */
export function extendedOn(
  claim: ResourceClaim,
  pod: Pod,
  allocatable: ReadonlyMap<string, number>,
  extendedClass: ExtendedClass | undefined,
): ExtendedResult | string | undefined {
  const served = servedResources(pod, allocatable, extendedClass);
  for (const [resource, amount] of requestsOf(pod)) {
    if (amount === 0 || !isExtended(resource) || served.has(resource)) continue;
    if (allocatable.get(resource) === undefined) return "cannot fit resource";
  }
  if (served.size === 0) return undefined;
  const { requests, mappings } = extendedRequests(pod, served);
  return { claim: { ...claim, spec: { devices: { requests } } } as ResourceClaim, mappings };
}

/**
 * The claim that the scheduler makes for the extended resources of a pod which devices serve, on a node that
 * has none of its own; undefined if devices serve none of them.
 */
export function extendedClaimOf(
  pod: Pod,
  classes: readonly DeviceClass[],
  id: string,
): ResourceClaim | undefined {
  const extendedClass: ExtendedClass = (resource) =>
    preferredClass(classes.filter((each) => resourcesOf(each).includes(resource)));
  const served = servedResources(pod, new Map(), extendedClass);
  if (served.size === 0) return undefined;
  const { requests } = extendedRequests(pod, served);
  return { ...extendedClaim(pod, id), spec: { devices: { requests } } } as ResourceClaim;
}

export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[];
  /** Which container has which of them. */
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** Request of one container for one resource; the name is `container-INDEX-request-INDEX`. */
interface Request {
  readonly name: string;
  readonly count: number;
}

/**
 * The requests and mappings for the resources that a node serves with devices. Containers and sidecars have
 * requests of their own; an init container that ends uses those of the containers after it, and what is
 * missing then is asked for once.
 * Upstream: dynamicresources/extendeddynamicresources.go, createRequestsAndMappings.
 */
export function extendedRequests(pod: Pod, resources: ReadonlyMap<string, DeviceClass>): ExtendedRequests {
  const initContainers = pod.spec.initContainers ?? [];
  const containers: readonly Container[] = [...initContainers, ...pod.spec.containers];
  const ends = (index: number): boolean => index < initContainers.length && !isSidecar(containers[index]!);
  const indexes = [...containers.keys()];
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const [resourceName, deviceClass] of [...resources].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const made: Request[] = [];
    const mapping = (containerName: string, { name }: Request) => ({
      containerName,
      resourceName,
      requestName: name,
    });
    const staying: (Request | undefined)[] = containers.map((container, i) =>
      ends(i) ? undefined : requestOf(container, i, resourceName),
    );
    for (const [i, request] of staying.entries()) {
      if (request === undefined) continue;
      made.push(request);
      mappings.push(mapping(containers[i]!.name, request));
    }
    // Additional needs of init containers; they run one after the other, so that the largest suffices for
    // all.
    const used: {
      readonly container: string;
      readonly reused: Request[];
      readonly missing: Request | undefined;
    }[] = [];
    for (const i of indexes.filter(ends)) {
      const wanted = requestOf(containers[i]!, i, resourceName);
      if (wanted === undefined) continue;
      const reused: Request[] = [];
      let missing = wanted.count;
      for (const request of staying.slice(i)) {
        if (request === undefined || missing <= 0) continue;
        reused.push(request);
        missing -= request.count;
      }
      const more = missing > 0 ? { ...wanted, count: missing } : undefined;
      used.push({ container: containers[i]!.name, reused, missing: more });
    }
    const largest = used
      .flatMap(({ missing }) => missing ?? [])
      .reduce<Request | undefined>((a, b) => (a === undefined || b.count > a.count ? b : a), undefined);
    if (largest !== undefined) made.push(largest);
    for (const { container, reused, missing } of used) {
      for (const request of reused) mappings.push(mapping(container, request));
      if (missing !== undefined && largest !== undefined) mappings.push(mapping(container, largest));
    }
    for (const { name, count } of made)
      requests.push({
        name,
        exactly: { deviceClassName: deviceClass.metadata.name, allocationMode: "ExactCount", count },
      });
  }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

function requestOf(container: Container, index: number, resource: string): Request | undefined {
  const wanted = container.resources?.requests;
  const count = amountsOf(wanted).get(resource) ?? 0;
  if (count === 0) return undefined;
  const position = Object.keys(wanted ?? {})
    .sort()
    .indexOf(resource);
  return { name: `container-${index}-request-${position}`, count };
}
