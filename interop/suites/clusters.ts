/** The clusters that upstream's suites run on. */
import { join } from "node:path";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { program as drayProgram } from "../../scripts/clone.js";
import { startComponents } from "../control-plane.ts";
import { connect, Users } from "../credentials.ts";
import { type Program, start } from "../processes.ts";
import { gatesFlag, releaseFlag, versionsFlag } from "../release.ts";
import { type Server, type Side, startServer } from "../server.ts";
import { startDns } from "./dns.ts";
import type { Images } from "./images.ts";
import { addBridge, gateway, type NodeAgent, type RealNode, startNode } from "./nodes.ts";
import { type Registry, serveImages } from "./registry.ts";

export interface SuiteClusterOptions {
  readonly folder: string;
  readonly images: Images;
  readonly nodes: number;
}

export interface SuiteCluster {
  readonly kubeconfig: string;
  /** The API server, with its etcd; absent where it is not a process of its own. */
  readonly server?: readonly Program[];
  readonly programs: readonly Program[];
  stop(): Promise<void>;
}

/** Which components a cluster runs, Dray's or the real ones, and whether pods have Services. */
export interface Parts {
  readonly server: Side;
  /** Whose scheduler and controllers run: Dray's, or kube-scheduler and kube-controller-manager. */
  readonly components: Side;
  readonly agent: NodeAgent;
  /** Flags of the API server, and those with gates for every component. */
  readonly serverFlags?: readonly string[];
  readonly gates?: readonly string[];
  /** Pods of all nodes reach each other, and there are Services and a DNS. */
  readonly services?: boolean;
}

/** Dray's control plane with all gates that specs of DRA need. */
export const draParts = (agent: NodeAgent): Parts => ({
  server: "dray",
  components: "dray",
  agent,
  serverFlags: [versionsFlag],
  gates: [gatesFlag],
});

/** Each component is a process of its own; every node has name spaces of its own. */
export async function startCluster(
  { server: side, components, agent, serverFlags = [], gates = [], services = false }: Parts,
  { folder, images, nodes: count }: SuiteClusterOptions,
): Promise<SuiteCluster & { readonly nodes: readonly RealNode[] }> {
  const nodes: RealNode[] = [];
  const programs: Program[] = [];
  let registry: Registry | undefined;
  const removeBridge = addBridge();
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node.stop();
    for (const program of programs.toReversed()) await program.stop();
    registry?.close();
    removeBridge();
  };
  try {
    registry = await serveImages(images.layout, gateway);
    const server = await startServer(side, folder, { flags: [...gates, ...serverFlags], address: gateway });
    programs.push(...server.programs);
    const users = new Users(folder, server.url, server.authority);
    const kubeconfig = await users.kubeconfig("interop-admin", ["system:masters"]);
    const admin = await connect(kubeconfig);
    try {
      await eventually("the API server is ready", () => admin.text("GET", "/readyz").catch(() => undefined));
      const started = { folder, users, gates };
      programs.push(
        ...(components === "dray" ? await startOurs(started) : await startTheirs(started, server)),
      );
      const cluster = {
        ...{ folder, admin, users, ca: server.files.ca, images, agent, gates },
        registry: registry.url,
        ...(services && { connected: count }),
      };
      for (let index = 0; index < count; index++) nodes.push(await startNode(cluster, index));
      if (services) programs.push(await startDns({ folder, admin, kubeconfig, enter: nodes[0]!.enter }));
      await waitForAccount(admin);
    } finally {
      admin.close();
    }
    const all = [...programs, ...nodes.flatMap((node) => node.programs)];
    return { kubeconfig, server: server.programs, programs: all, nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Started {
  readonly folder: string;
  readonly users: Users;
  readonly gates: readonly string[];
}

async function startOurs({ folder, users, gates }: Started): Promise<Program[]> {
  const programs: Program[] = [];
  for (const component of ["scheduler", "controller-manager"]) {
    const kubeconfig = await users.kubeconfig(`system:kube-${component}`);
    const flags = [`--kubeconfig=${kubeconfig}`, releaseFlag, ...gates];
    const words = [...process.execArgv, ...(await drayProgram([component, ...flags]))];
    programs.push(start(component, [process.execPath, ...words], join(folder, `${component}.log`)));
  }
  return programs;
}

const startTheirs = ({ folder, users }: Started, server: Server): Promise<Program[]> =>
  startComponents(folder, server, users, { unlimited: true });

/** Pods are refused until the controllers have made the service account of their namespace. */
async function waitForAccount(admin: Client): Promise<void> {
  const path = "/api/v1/namespaces/default/serviceaccounts/default";
  await eventually("the controllers work", () => admin.text("GET", path).catch(() => undefined));
}
