import { readFileSync } from "node:fs";
import type { Features } from "@dray/api";
import { type Client, ClientMetrics, type Log, systemClock } from "@dray/client";
import type { ClientLimits, KubeletOptions, Serving } from "@dray/kubelet";
import { connect } from "../../connection/connect.ts";
import type { OpenRuntime } from "../../options/runtime.ts";
import type { NodeSettings } from "./node-settings.ts";
import type { StatesFile } from "./states-file.ts";

/** A node and the addresses and paths of its agent. */
export interface AgentOptions {
  readonly name: string;
  readonly kubeconfig: string;
  /** The folder that is the node's `/`. */
  readonly rootDir: string;
  /** The certificate of the node's endpoints; self-signed if absent. */
  readonly tlsCertFile?: string | undefined;
  readonly tlsPrivateKeyFile?: string | undefined;
  /** The folder of manifests of static pods; one below the root if absent. */
  readonly staticPodPath?: string | undefined;
  /** 127.0.0.1 if absent. */
  readonly nodeAddress?: string | undefined;
  /** The address of the endpoints; default: that of the node. */
  readonly address?: string | undefined;
  /**
   * The ports of the HTTPS endpoints, of health over HTTP on 127.0.0.1, and of the read-only endpoints over
   * HTTP.
   */
  readonly port?: number | undefined;
  readonly healthzPort?: number | undefined;
  readonly readOnlyPort?: number | undefined;
  /** Replaces the capacity of the machine, by resource. */
  readonly capacity?: Readonly<Record<string, string>> | undefined;
}

/** Options of all agents of a process. */
export interface SharedOptions {
  readonly features: Features;
  readonly runtime: OpenRuntime;
  /** Nodes without a serving certificate request one from the cluster. */
  readonly rotateServerCertificates?: boolean;
  /** PEM of the authority of the agents' clients; default: that of the kubeconfig. */
  readonly clientCA: string | undefined;
  /** The kubeconfig of `system:kube-proxy`; undefined if the runtime does not set up the network of pods. */
  readonly proxyKubeconfig: string | undefined;
  /** Limits of the clients of all these agents together. */
  readonly clientLimits: ClientLimits;
  readonly log: Log;
  /** Options of the flags, for every node. */
  readonly settings?: NodeSettings;
  /** The file with the states of the agents. */
  readonly states: StatesFile | undefined;
}

/** Returns the options of a node's agent, with its own connection. */
export async function agentOptions(wanted: AgentOptions, shared: SharedOptions): Promise<KubeletOptions> {
  const { log } = shared;
  const node = {
    ...wanted,
    nodeAddress: wanted.nodeAddress ?? (await shared.runtime.nodeAddress(wanted.name)),
  };
  const metrics = new ClientMetrics(() => performance.now());
  const from = { kubeconfig: node.kubeconfig };
  const { client, server, ca, cert } = await connect(from, "kubelet/dray", log, metrics);
  let servicesClient: Client | undefined;
  try {
    const url = new URL(server);
    const { proxyKubeconfig } = shared;
    if (proxyKubeconfig !== undefined)
      servicesClient = (await connect({ kubeconfig: proxyKubeconfig }, "kube-proxy/dray", log)).client;
    return {
      client,
      ...(cert !== undefined && { clientCertificate: cert }),
      clientMetrics: metrics,
      ...(servicesClient && { servicesClient }),
      nodeName: node.name,
      rootDir: node.rootDir,
      ...(node.capacity && { capacity: node.capacity }),
      ...(node.staticPodPath !== undefined && { staticPodPath: node.staticPodPath }),
      ...(node.nodeAddress !== undefined && { nodeAddress: node.nodeAddress }),
      ...(node.address !== undefined && { address: node.address }),
      ...(node.port !== undefined && { port: node.port }),
      ...(node.healthzPort !== undefined && { healthzPort: node.healthzPort }),
      ...(node.readOnlyPort !== undefined && { readOnlyPort: node.readOnlyPort }),
      // Without the brackets of an IPv6 address, for the environment of pods.
      apiServer: { host: url.hostname.replace(/^\[(.*)\]$/, "$1"), port: Number(url.port || 443) },
      ...shared.settings,
      features: shared.features,
      runtime: shared.runtime.factory,
      clientLimits: shared.clientLimits,
      clock: systemClock,
      log,
      serving: await serving(node, shared, client, shared.clientCA ?? ca),
    };
  } catch (error) {
    client.close();
    servicesClient?.close();
    throw error;
  }
}

async function serving(
  node: AgentOptions,
  { rotateServerCertificates, log }: SharedOptions,
  client: Client,
  clientCA: string | undefined,
): Promise<Serving> {
  const { name, tlsCertFile, tlsPrivateKeyFile, rootDir } = node;
  const trusted = clientCA === undefined ? {} : { clientCA };
  if (tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined) {
    const [cert, key] = [readFileSync(tlsCertFile, "utf8"), readFileSync(tlsPrivateKeyFile, "utf8")];
    return { cert, key, ...trusted };
  }
  const { createAuthority, issueCertificate } = await import("@dray/apiserver/pki");
  const now = systemClock.now();
  const authority = await createAuthority(`${name}-ca`, now);
  const names = {
    dnsNames: [name, "localhost"],
    ipAddresses: [node.nodeAddress ?? "127.0.0.1"],
    usages: ["server"] as const,
  };
  const { certificate, key } = await issueCertificate(authority, { commonName: name, ...names }, now);
  const own = { cert: certificate, key, ...trusted };
  if (!rotateServerCertificates) return own;
  const { rotateServingCertificate } = await import("./certificates/serving.ts");
  const options = { client, clock: systemClock, log, random: Math.random, nodeName: name, rootDir };
  return { ...own, renew: (use, signal) => void rotateServingCertificate(options, use, signal) };
}
