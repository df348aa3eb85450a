import type { Service } from "@dray/api/core/v1";

/** What variables are made from. */
export interface ServiceEnvironmentInput {
  readonly services: readonly Service[];
  /** Of the pod. */
  readonly namespace: string;
  /** The pod's `enableServiceLinks`. */
  readonly links: boolean;
  /** Where pods reach the API server: stands for the Service `kubernetes` of the namespace `default`. */
  readonly apiServer: { readonly host: string; readonly port: number };
}

/**
 * The variables that lead a container to Services: always to the API server, and with `links` to those of the pod's own
 * namespace that have an address.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, getServiceEnvVarMap; pkg/kubelet/envvars/envvars.go, FromServices.
 */
export function serviceEnvironment(input: ServiceEnvironmentInput): Map<string, string> {
  const { services, namespace, links, apiServer } = input;
  const env = new Map<string, string>();
  const own = services
    .filter(({ metadata }) => metadata.namespace === namespace && metadata.name !== "kubernetes")
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const { metadata, spec } of links ? own : [])
    addService(env, metadata.name, spec?.clusterIP ?? "", spec?.ports ?? []);
  addService(env, "kubernetes", apiServer.host, [{ name: "https", port: apiServer.port }]);
  return env;
}

interface Port {
  readonly name?: string;
  readonly port: number;
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
  env.set(`${prefix}_SERVICE_PORT`, String(first.port));
  for (const { name, port } of ports)
    if (name) env.set(`${prefix}_SERVICE_PORT_${variableName(name)}`, String(port));
  const host = address.includes(":") ? `[${address}]` : address;
  // As the links of Docker named them, the first port in short, too.
  for (const [index, { port, protocol = "TCP" }] of ports.entries()) {
    const scheme = protocol.toLowerCase();
    const url = `${scheme}://${host}:${port}`;
    const base = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
    if (index === 0) env.set(`${prefix}_PORT`, url);
    env.set(base, url);
    env.set(`${base}_PROTO`, scheme);
    env.set(`${base}_PORT`, String(port));
    env.set(`${base}_ADDR`, address);
  }
}

function variableName(name: string): string {
  return name.replaceAll("-", "_").toUpperCase();
}
