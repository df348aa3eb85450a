import type { Service } from "@dray/api/core/v1";
import type { Clock } from "@dray/client";
import { type Address, readyEndpoint, serviceLabel } from "../proxy/service-address.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";
import { type BackEnds, type Document, type RemoteService, urlOf } from "./back-end.ts";
import type { Availability } from "./condition.ts";
import { identityHeaders } from "./headers.ts";

/** The user as which the aggregator itself requests documents of back ends. */
export const aggregatorUser = { name: "system:kube-aggregator", groups: ["system:masters"] };

/** Milliseconds until a check of a back end fails. */
const checkTimeout = 5_000;

const failed = (reason: string, message: string): Availability => ({ status: "False", reason, message });

/**
 * Checks whether the back end of an APIService can be reached. Never rejects. A service whose pods are ready
 * counts as one with endpoints: an EndpointSlice cannot hold the loopback addresses of pods on the host
 * runtime.
 *
 * Upstream: staging/src/k8s.io/kube-aggregator/pkg/controllers/status/remote, sync
 */
export async function checkAvailability(
  service: RemoteService,
  storage: Storage,
  fetchOptions: FetchOptions,
): Promise<Availability> {
  const wrong = serviceProblem(service, storage);
  if (wrong !== undefined) return wrong;
  let address: Address;
  try {
    address = fetchOptions.backEnds.address(service);
  } catch (error) {
    return failed("FailedDiscoveryCheck", (error as Error).message);
  }
  const { group = "", version = "" } = service.spec;
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const url = urlOf(address, path);
  const missing = `failing or missing response from ${url}`;
  try {
    const { status } = await fetchDocument(service, address, { path }, fetchOptions);
    if (status >= 200 && status < 300)
      return { status: "True", reason: "Passed", message: "all checks passed" };
    return failed("FailedDiscoveryCheck", `${missing}: bad status from ${url}: ${status}`);
  } catch (error) {
    return failed("FailedDiscoveryCheck", `${missing}: ${(error as Error).message}`);
  }
}

/** Returns what is wrong with the Service; undefined if nothing is. */
function serviceProblem({ spec }: RemoteService, storage: Storage): Availability | undefined {
  const { namespace = "", name = "", port = 443 } = spec.service;
  const named = `service/${name} in ${JSON.stringify(namespace)}`;
  const found = storage.cache("services").get(objectKey("services", namespace, name));
  if (found === undefined) return failed("ServiceNotFound", `${named} is not present`);
  const service = found.object as Service;
  if (service.spec?.type !== "ClusterIP") return undefined;
  const servicePort = service.spec.ports?.find((each) => each.port === port);
  if (servicePort === undefined)
    return failed("ServicePortError", `${named} is not listening on port ${port}`);
  if (readyEndpoint(service, servicePort, storage) !== undefined) return undefined;
  if (!hasSlices(namespace, name, storage))
    return failed("EndpointsNotFound", `cannot find endpointslices for ${named}`);
  const portName = JSON.stringify(servicePort.name ?? "");
  return failed(
    "MissingEndpoints",
    `endpointslices for ${named} have no addresses with port name ${portName}`,
  );
}

function hasSlices(namespace: string, name: string, storage: Storage): boolean {
  const cache = storage.cache("endpointslices");
  for (const { object } of cache.range(`${cache.prefix}${namespace}/`))
    if (object.metadata.labels?.[serviceLabel] === name) return true;
  return false;
}

/** A document of a back end, and headers that replace `Accept: application/json` or are added to it. */
export interface DocumentRequest {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Options for requests that the aggregator makes to back ends. */
export interface FetchOptions {
  readonly backEnds: BackEnds;
  readonly clock: Clock;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
  /** Milliseconds; 5000 if absent. */
  readonly timeout?: number;
}

/**
 * Gets a document as the aggregator itself. Rejects with Go's error message if there is no response in time.
 */
export async function fetchDocument(
  service: RemoteService,
  address: Address,
  { path, headers }: DocumentRequest,
  { backEnds, clock, signal, timeout = checkTimeout }: FetchOptions,
): Promise<Document> {
  const late = new AbortController();
  const cancel = clock.after(timeout, () => late.abort());
  try {
    return await backEnds.read(service, address, {
      method: "GET",
      path,
      headers: { accept: "application/json", ...headers, ...identityHeaders(aggregatorUser) },
      signal: AbortSignal.any([signal, late.signal]),
    });
  } finally {
    cancel();
  }
}
