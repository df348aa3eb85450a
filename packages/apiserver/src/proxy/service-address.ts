import { matchLabels, quoted } from "@dray/api";
import type { ServiceReference } from "@dray/api/admissionregistration/v1";
import type { Pod, Service, ServicePort } from "@dray/api/core/v1";
import type { EndpointSlice } from "@dray/api/discovery/v1";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { type LoopbackPods, podAddress } from "./loopback-pods.ts";

/** The target of a connection. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Sources of the addresses of services. */
export interface ServiceSources {
  readonly storage: Storage;
  readonly loopbackPods: LoopbackPods | undefined;
}

/** Label of EndpointSlices with the name of their service. */
export const serviceLabel = "kubernetes.io/service-name";

/**
 * Returns the address of a service as reachable from the server's own machine: one of its ready endpoints,
 * because there may be no proxy for cluster addresses here; otherwise one of its ready pods, because an
 * EndpointSlice cannot contain loopback addresses without `loopbackPods`; otherwise its cluster address.
 * Throws an Error with Kubernetes' message.
 */
export function resolveService(
  { namespace, name, port = 443 }: ServiceReference,
  { storage, loopbackPods }: ServiceSources,
): Address {
  const stored = storage.cache("services").get(objectKey("services", namespace, name));
  if (stored === undefined) throw new Error(`service ${quoted(name)} not found`);
  const { spec = {} } = stored.object as Service;
  if (spec.type === "ExternalName") return { host: spec.externalName ?? "", port };
  const servicePort = spec.ports?.find((candidate) => candidate.port === port);
  if (servicePort === undefined) throw new Error(`no service port ${port} found for service ${quoted(name)}`);
  const ready = readyEndpoint(stored.object as Service, servicePort, storage);
  if (ready !== undefined) return podAddress(ready, loopbackPods);
  if (!spec.clusterIP || spec.clusterIP === "None")
    throw new Error(`no endpoints available for service ${quoted(name)}`);
  return { host: spec.clusterIP, port };
}

/** Returns the address of a ready endpoint or pod for a port of the service; undefined if none is ready. */
export function readyEndpoint(
  { metadata, spec }: Service,
  port: ServicePort,
  storage: Storage,
): Address | undefined {
  const { namespace, name } = metadata;
  return (
    endpoint(namespace, name, port.name ?? "", storage) ?? readyPod(namespace, spec?.selector, port, storage)
  );
}

function endpoint(namespace: string, name: string, portName: string, storage: Storage): Address | undefined {
  const cache = storage.cache("endpointslices");
  for (const { object } of cache.range(`${cache.prefix}${namespace}/`)) {
    if (object.metadata.labels?.[serviceLabel] !== name) continue;
    const slice = object as EndpointSlice;
    const port = slice.ports?.find((candidate) => (candidate.name ?? "") === portName)?.port;
    const ready = slice.endpoints?.find(({ conditions }) => conditions?.ready ?? true);
    const host = ready?.addresses?.[0];
    if (port !== undefined && host !== undefined) return { host, port: Number(port) };
  }
  return undefined;
}

/**
 * Returns a pod that the EndpointSlice controller would count as ready, at the target port of the service.
 */
function readyPod(
  namespace: string,
  selector: Readonly<Record<string, string>> | undefined,
  { port, targetPort = port }: ServicePort,
  storage: Storage,
): Address | undefined {
  if (selector === undefined || Object.keys(selector).length === 0) return undefined;
  const cache = storage.cache("pods");
  for (const { object } of cache.range(`${cache.prefix}${namespace}/`)) {
    const { metadata, spec, status } = object as Pod;
    const ready = status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
    if (ready !== true || metadata.deletionTimestamp !== undefined) continue;
    if (status?.podIP === undefined || !matchLabels(selector, metadata.labels)) continue;
    const number =
      typeof targetPort === "number"
        ? targetPort
        : spec?.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === targetPort)
            ?.containerPort;
    if (number !== undefined) return { host: status.podIP, port: number };
  }
  return undefined;
}
