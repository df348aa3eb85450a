import { isInRelease, quoted, StatusError } from "@dray/api";
import type { Endpoints, Pod, Service } from "@dray/api/core/v1";
import type { Endpoint, EndpointSlice } from "@dray/api/discovery/v1";
import { notFound } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { ObjectReader } from "../read/objects.ts";
import type { RequestInfo } from "../request/info.ts";
import { objectKey } from "../storage/keys.ts";
import { serviceLabel } from "./service-address.ts";

/** A request to the proxy of a service. */
interface Context {
  readonly info: RequestInfo;
  readonly served: ServedResource;
  readonly registry: ObjectReader;
  readonly random: () => number;
}

/** The target of a request to a service. */
interface ServiceEndpoint {
  readonly host: string;
  readonly port: string;
}

/**
 * Chooses a ready pod behind a service, at random. `port` is the name or the number of a port of the service,
 * or empty for an unnamed port. Throws 503 if no pod is ready.
 *
 * Upstream: pkg/registry/core/service/storage/storage.go, ResourceLocation
 */
export function serviceEndpoint(context: Context, name: string, port: string): ServiceEndpoint {
  const portName = /^[+-]?\d+$/.test(port) ? nameOfPort(context, name, Number(port)) : port;
  const { version } = context.registry.features;
  const choose = isInRelease(version, { since: "1.37" }) ? ofEndpointSlices : ofEndpoints;
  return choose(context, name, portName);
}

const unavailable = (name: string): StatusError =>
  StatusError.of("ServiceUnavailable", `no endpoints available for service ${quoted(name)}`);

/** Before 1.37. Throws 404 if the service has no Endpoints. */
function ofEndpoints(
  { info, served, registry, random }: Context,
  name: string,
  portName: string,
): ServiceEndpoint {
  const stored = registry.storage.cache("endpoints").get(objectKey("endpoints", info.namespace, name));
  if (stored === undefined) throw notFound({ group: "", resource: served.resource }, name);
  const { subsets } = stored.object as Endpoints;
  if (!subsets?.length) throw unavailable(name);
  const behind = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const chosen = ports.find((each) => (each.name ?? "") === portName);
    const pods = addresses.filter(({ targetRef }) => targetRef?.kind === "Pod");
    return chosen === undefined ? [] : pods.map(({ ip }) => ({ host: ip, port: String(chosen.port) }));
  });
  const [one] = fromRandom(behind, random);
  if (one === undefined) throw unavailable(info.name);
  return one;
}

/** Since 1.37. Upstream: k8s.io/apiserver, pkg/util/proxy/proxy.go, RandomEndpoint */
function ofEndpointSlices(context: Context, name: string, portName: string): ServiceEndpoint {
  const { info, registry, random } = context;
  const cache = registry.storage.cache("endpointslices");
  const slices: EndpointSlice[] = [];
  for (const { object } of cache.range(`${cache.prefix}${info.namespace}/`)) {
    if (object.metadata.labels?.[serviceLabel] === name) slices.push(object as EndpointSlice);
  }
  const preferred = primaryFamily(context);
  const others = slices.filter(({ addressType }) => addressType !== preferred);
  const ordered = [
    ...fromRandom(
      slices.filter(({ addressType }) => addressType === preferred),
      random,
    ),
    ...fromRandom(others, random),
  ];
  for (const { ports = [], endpoints = [] } of ordered) {
    const number = ports.find((each) => each.name === portName && each.port !== undefined)?.port;
    if (number === undefined) continue;
    const found = fromRandom(endpoints, random).find(
      (endpoint) => (endpoint.conditions?.ready ?? true) && isPod(context, endpoint),
    );
    if (found !== undefined) return { host: found.addresses[0]!, port: String(number) };
  }
  throw unavailable(name);
}

function nameOfPort({ info, served, registry }: Context, name: string, port: number): string {
  const service = registry.need(served, info.namespace, name).object as Service;
  const found = service.spec?.ports?.find((each) => each.port === port);
  if (found !== undefined) return found.name ?? "";
  throw StatusError.of("ServiceUnavailable", `no service port ${port} found for service ${quoted(name)}`);
}

/**
 * Returns the IP family of the cluster's first service range, which contains the address of the service
 * `kubernetes`.
 */
function primaryFamily({ registry }: Context): string | undefined {
  const stored = registry.storage.cache("services").get(objectKey("services", "default", "kubernetes"));
  return (stored?.object as Service | undefined)?.spec?.ipFamilies?.[0];
}

/** Reports whether an endpoint is a pod of the service's namespace, with the address of the endpoint. */
function isPod({ info, registry }: Context, { targetRef, addresses }: Endpoint): boolean {
  if (targetRef?.name === undefined || targetRef.namespace !== info.namespace) return false;
  const stored = registry.storage.cache("pods").get(objectKey("pods", info.namespace, targetRef.name));
  const { status } = (stored?.object ?? {}) as Pod;
  return status?.podIPs?.some(({ ip }) => ip === addresses[0]) === true;
}

/** Rotates the list to a random start. */
function fromRandom<T>(list: readonly T[], random: () => number): readonly T[] {
  const start = Math.floor(random() * list.length);
  return [...list.slice(start), ...list.slice(0, start)];
}
