import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newestKubernetesVersion } from "@dray/api";
import { type Client, createClient, type Log, silentLog, systemClock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import type { ImageMapping, Kubelet } from "@dray/kubelet";
import { memoryStore } from "@dray/store";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { type Credentials, ensureCredentials, writeKubeconfigs } from "../credentials/credentials.ts";
import { prepareDataDir, prepareRunDir } from "../data-dir/folders.ts";
import { type Layout, layoutOf } from "../data-dir/layout.ts";
import { cleanUpRun } from "../local.ts";
import { serverAddresses } from "../network/address.ts";
import { nodeNames } from "../nodes/names.ts";

export interface TestClusterOptions {
  /** How many nodes run pods; 1 by default, 0 for the control plane alone. */
  readonly nodes?: number;
  /** A release such as `1.36`; the newest by default. */
  readonly kubernetesVersion?: string;
  /** As `--feature-gates` has them: `A=true,B=false`. */
  readonly featureGates?: string;
  /** As `--runtime-config` has them: `{ "resource.k8s.io/v1alpha3": true }`. */
  readonly runtimeConfig?: Readonly<Record<string, boolean>>;
  /** Commands that stand for images: nodes pull none. */
  readonly images?: readonly ImageMapping[];
  /** Log of the components; silent by default. */
  readonly log?: Log;
}

/** A node of a test cluster, with the folders that a driver under test works in. */
export interface TestNode {
  readonly name: string;
  /** Root of the node's own files. */
  readonly root: string;
  readonly registrarDirectory: string;
  readonly pluginsDirectory: string;
  readonly cdiDirectory: string;
}

/** A whole cluster in this process. */
export interface TestCluster extends AsyncDisposable {
  /** The path of a kubeconfig of the administrator, for kubectl, helm and clients in any language. */
  readonly kubeconfig: string;
  readonly url: string;
  /** As the administrator. */
  readonly client: Client;
  readonly nodes: readonly TestNode[];
  /** Ends pods, nodes and control plane and removes everything. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts API server, scheduler, controllers and nodes in this process, in about half a second, without root.
 * Objects are kept in memory, files below the folder for temporary files; nothing outlives `stop`. Several
 * clusters can run beside each other.
 */
export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { nodes = 1, log = silentLog } = options;
  if (!Number.isSafeInteger(nodes) || nodes < 0)
    throw new RangeError(`nodes: ${nodes} must be a whole number, 0 or more`);
  const folder = mkdtempSync(join(tmpdir(), "dray-test-"));
  const layout = layoutOf(join(folder, "data"));
  const started: (() => Promise<void> | void)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const end of started.splice(0).reverse()) await end();
  };
  try {
    prepareDataDir(layout);
    prepareRunDir(layout);
    started.push(() => cleanUpRun(layout));
    const store = memoryStore(systemClock);
    started.push(() => store.close());
    const names = nodeNames(nodes);
    const addresses = serverAddresses({ bind: "127.0.0.1" });
    const credentials = await ensureCredentials(layout, names, systemClock.now(), { addresses });
    const controlPlane = await startControlPlane({
      store,
      credentials,
      kubernetesVersion: options.kubernetesVersion ?? newestKubernetesVersion,
      // As its nodes do.
      runtime: "host",
      featureGates: options.featureGates ?? "",
      runtimeConfig: options.runtimeConfig ?? {},
      bindAddress: "127.0.0.1",
      addresses,
      port: 0,
      clock: systemClock,
      log,
    });
    started.push(() => controlPlane.stop());
    await writeKubeconfigs(layout, "dray-test", credentials, controlPlane.url);
    const agents = await Promise.all(
      names.map((name, index) =>
        startNode({ name, rootDir: layout.nodeRoot(index) }, controlPlane, credentials, options),
      ),
    );
    started.push(async () => {
      await Promise.all(agents.map((agent) => agent.stop({ leavePods: false })));
    });
    return {
      kubeconfig: layout.kubeconfig,
      url: controlPlane.url,
      client: controlPlane.admin,
      nodes: names.map((name, index) => testNode(name, layout, index)),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As the process of the agents starts one, but in this process and without a connection. */
async function startNode(
  { name, rootDir }: { readonly name: string; readonly rootDir: string },
  { server, port }: ControlPlane,
  credentials: Credentials,
  { images = [], log = silentLog }: TestClusterOptions,
): Promise<Kubelet> {
  const { hostRuntime, nriRuntime, startKubelet } = await import("@dray/kubelet");
  makeFolderSync(rootDir, 0o755);
  const { certificate, key } = credentials.nodes.get(name)!.server;
  return startKubelet({
    client: createClient({
      transport: server.transport({
        name: `system:node:${name}`,
        groups: ["system:nodes", "system:authenticated"],
      }),
      userAgent: "kubelet/dray",
      clock: systemClock,
      log,
    }),
    nodeName: name,
    rootDir,
    apiServer: { host: "127.0.0.1", port },
    serving: { cert: certificate, key, clientCA: credentials.authority.certificate },
    runtime: nriRuntime(hostRuntime({ images })),
    clock: systemClock,
    log,
  });
}

function testNode(name: string, layout: Layout, index: number): TestNode {
  const root = layout.nodeRoot(index);
  return {
    name,
    root,
    registrarDirectory: join(root, "var/lib/kubelet/plugins_registry"),
    pluginsDirectory: join(root, "var/lib/kubelet/plugins"),
    cdiDirectory: join(root, "var/run/cdi"),
  };
}
