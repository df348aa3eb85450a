import type { Service } from "@dray/api/core/v1";
import { clusterIPv4 } from "../services/routes.ts";

export interface ApiServerAddress {
  readonly host: string;
  readonly port: number;
}

export interface ApiServerAddressInput {
  /** Address of the API server for the agent itself. */
  readonly direct: ApiServerAddress;
  /** Addresses of Services lead to their endpoints. */
  readonly leadsServices: boolean;
  /** Pods cannot reach the machine's loopback address; see `RuntimeService.isolatesNetwork`. */
  readonly isolatesNetwork: boolean;
  /** The pod has the machine's network. */
  readonly machineNetwork: boolean;
  /** The Service `kubernetes` of the namespace `default`, if it is known. */
  readonly service: Service | undefined;
}

/**
 * Returns the address of the API server for a pod: the Service `kubernetes` if its address leads there, as
 * upstream, else the direct address. Pods with the machine's network always use the direct address, since
 * several clusters of one machine may have the same addresses of Services.
 */
export function apiServerAddress(input: ApiServerAddressInput): ApiServerAddress {
  const { direct, leadsServices, isolatesNetwork, machineNetwork, service } = input;
  const host = service === undefined ? undefined : clusterIPv4(service);
  const unreachable = isolatesNetwork && isLoopback(direct.host);
  if (machineNetwork || host === undefined || !(leadsServices || unreachable)) return direct;
  const [first] = service?.spec?.ports ?? [];
  return first === undefined ? direct : { host, port: first.port };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host);
}

/** Input of the variables of Services. */
export interface ServiceEnvironmentInput {
  readonly services: readonly Service[];
  /** Namespace of the pod. */
  readonly namespace: string;
  /** The pod's `enableServiceLinks`. */
  readonly links: boolean;
  /** Port at which a port of a Service is served; the port itself by default. */
  servedPort?(port: number): number;
  /** Address of the API server for pods: stands for the Service `kubernetes` of the namespace `default`. */
  readonly apiServer: ApiServerAddress;
}

/**
 * Returns the variables of Services: of the API server always, and with `links` of all in the pod's namespace
 * that have an address.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, getServiceEnvVarMap; pkg/kubelet/envvars/envvars.go, FromServices.
 */
export function serviceEnvironment(input: ServiceEnvironmentInput): Map<string, string> {
  const { services, namespace, links, apiServer, servedPort = (port) => port } = input;
  const env = new Map<string, string>();
  const own = services
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.name !== "kubernetes")
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const { metadata, spec } of links ? own : [])
    addService(
      env,
      metadata.name,
      spec?.clusterIP ?? "",
      (spec?.ports ?? []).map((port) => ({ ...port, served: servedPort(port.port) })),
    );
  addService(env, "kubernetes", apiServer.host, [{ name: "https", port: apiServer.port }]);
  return env;
}

interface Port {
  readonly name?: string;
  readonly port: number;
  /** Port in the values of variables; their names have the Service's. */
  readonly served?: number;
  readonly protocol?: string;
}

function addService(
  env: Map<string, string>,
  service: string,
  address: string,
  ports: readonly Port[],
): void {
  const [first] = ports;
  if (address === "" || address === "None" || first === undefined) return;
  const prefix = variableName(service);
  env.set(`${prefix}_SERVICE_HOST`, address);
  env.set(`${prefix}_SERVICE_PORT`, String(first.served ?? first.port));
  for (const { name, port, served = port } of ports)
    if (name) env.set(`${prefix}_SERVICE_PORT_${variableName(name)}`, String(served));
  const host = address.includes(":") ? `[${address}]` : address;
  // Variables of Docker links; the first port has a short form too.
  for (const [index, { port, served = port, protocol = "TCP" }] of ports.entries()) {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${host}:${served}`;
    const base = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) env.set(`${prefix}_PORT`, url);
    env.set(base, url);
    env.set(`${base}_PROTO`, scheme);
    env.set(`${base}_PORT`, String(served));
    env.set(`${base}_ADDR`, address);
  }
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
