import { existsSync, readFileSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Log, loadKubeconfig, systemClock } from "@dray/client";
import type { AgentsOrder, AgentsReport, NodeFiles } from "@dray/cluster";
import type { ImageMapping } from "@dray/kubelet";
import { builtInImages } from "../../images/built-in.ts";
import { followMappedImages } from "../../images/mapped.ts";
import { parseImageMapping } from "../../images/mapping.ts";
import { createLog } from "../../log/create.ts";
import { readFlagFile } from "../../options/flag-file.ts";
import {
  defaultOciDir,
  hostNetworkOption,
  openRuntime,
  registryHostsOption,
  runtimeOption,
} from "../../options/runtime.ts";
import { unsafeSysctlsOption } from "../../options/sysctls.ts";
import { bindAddressOption, featuresOption, isOn, nodeIpOption, wholeNumber } from "../../options/values.ts";
import { endRequested } from "../../process/end-requested.ts";
import { keepYoungHeapSmall } from "../../process/heap.ts";
import { UsageError } from "../../terminal/failure.ts";
import type { AgentOptions } from "./node-agent.ts";
import type { NodeAgents } from "./node-agents.ts";
import { type NodeFlags, type NodeSettings, nodeSettings } from "./node-settings.ts";

interface CommonOptions {
  readonly clientCaFile?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly rotateServerCertificates?: string | true;
  readonly runtime: string;
  readonly ociDir?: string;
  readonly registryHosts?: string;
  readonly hostNetwork?: string;
  readonly allowedUnsafeSysctls?: string;
  readonly proxyKubeconfig?: string;
  readonly image: readonly string[];
  readonly logFile?: string;
  /** The file with the states of the nodes. */
  readonly stateFile?: string;
  /** The file with the mappings of `dray image map`, which may change. */
  readonly imagesFile?: string;
}

export interface KubeletOptions extends CommonOptions, NodeFlags {
  readonly nodeName: readonly string[];
  readonly kubeconfig: readonly string[];
  readonly bootstrapKubeconfig?: string;
  readonly rootDir: readonly string[];
  readonly tlsCertFile: readonly string[];
  readonly tlsPrivateKeyFile: readonly string[];
  readonly maxPods?: string;
  readonly podManifestPath: readonly string[];
  readonly nodeIp: readonly string[];
  readonly address: readonly string[];
  readonly port: readonly string[];
  readonly healthzPort: readonly string[];
  readonly readOnlyPort: readonly string[];
}

/** Milliseconds for the clean-up of agents that leave their pods running. */
const leaveTimeout = 500;

/**
 * Runs the agents of the nodes of the flags until a signal. Their pods continue, unless the signal is SIGTERM
 * and a graceful shutdown of the node is configured.
 */
export async function kubelet(options: KubeletOptions): Promise<void> {
  const nodes = nodesOf(options);
  const settings = await nodeSettings(options);
  await checkFiles(options);
  const unwanted = new AbortController();
  const end = endRequested(unwanted.signal);
  if (!(await bootstrap(options, nodes, end))) return;
  const agents = await createAgents(options, settings);
  const started = await Promise.race([agents.run(nodes), end.then(() => undefined)]);
  if (started === undefined) return leave(agents);
  // If some agents run, failed ones are restarted.
  if (started.running.length === 0 && started.failed.length > 0) {
    unwanted.abort();
    await agents.stop(true);
    throw new Error(
      started.failed.map(({ node, reason }) => `node ${node} cannot start: ${reason}`).join("; "),
    );
  }
  keepYoungHeapSmall();
  // SIGINT means that another agent takes over: pods continue even if a graceful shutdown is configured.
  if ((await end) === "SIGTERM") await agents.shutDown();
  await leave(agents);
}

/** Gets the client certificates of the nodes. Returns false if a signal came first. */
async function bootstrap(
  { bootstrapKubeconfig, logFile }: KubeletOptions,
  nodes: readonly AgentOptions[],
  end: Promise<unknown>,
): Promise<boolean> {
  if (bootstrapKubeconfig === undefined) return true;
  const { bootstrapNode } = await import("./certificates/bootstrap.ts");
  const log = createLog("kubelet", logFile);
  const stop = new AbortController();
  const all = Promise.all(
    nodes.map(({ name: nodeName, kubeconfig, rootDir }) =>
      bootstrapNode({
        ...{ nodeName, kubeconfig, rootDir, bootstrapKubeconfig, log },
        clock: systemClock,
        signal: stop.signal,
      }),
    ),
  ).then(() => true);
  const done = await Promise.race([all, end.then(() => false)]);
  if (done) return true;
  stop.abort();
  await all.catch(() => {});
  return false;
}

/**
 * Ends this process without its pods. Does not wait for running work: it may hang on an unreachable API
 * server, and the next agent repeats it, as after a kill.
 */
async function leave(agents: NodeAgents): Promise<never> {
  await Promise.race([agents.stop(true), sleep(leaveTimeout)]);
  process.exit(0);
}

/** Runs the agents of the nodes that the parent process names, until the parent stops it or ends. */
export async function nodeAgents(options: CommonOptions): Promise<void> {
  const parent = new Parent();
  // Loads code while it waits for the parent.
  const allowedUnsafeSysctls = await unsafeSysctlsOption(options.allowedUnsafeSysctls);
  const agents = await createAgents(options, { allowedUnsafeSysctls }, (name) =>
    parent.report({ registered: name }),
  );
  const ordered = parent.firstOrder.then(() => true);
  if (!(await Promise.race([ordered, parent.leavePods.then(() => false)]))) process.exit(0);
  parent.obey(agents);
  const leavePods = await Promise.race([endRequested().then(() => true), parent.leavePods]);
  if (leavePods) await leave(agents);
  await agents.stop(false);
  process.exit(0);
}

async function createAgents(
  options: CommonOptions,
  settings: NodeSettings,
  registered?: (name: string) => void,
): Promise<NodeAgents> {
  const { NodeAgents } = await import("./node-agents.ts");
  const { clientLimits } = await import("@dray/kubelet");
  const log = createLog("kubelet", options.logFile);
  await isolateNodes(log);
  const { StatesFile } = await import("./states-file.ts");
  const shared = {
    states: options.stateFile === undefined ? undefined : new StatesFile(options.stateFile, log),
    features: featuresOption(options),
    runtime: await openRuntime(runtimeOption(options.runtime), {
      images: imagesOf(options, log),
      ociDir: options.ociDir ?? defaultOciDir,
      registryHosts:
        options.registryHosts === undefined
          ? undefined
          : registryHostsOption(options.registryHosts, options.runtime),
      hostNetwork: hostNetworkOf(options),
    }),
    proxyKubeconfig: options.runtime.startsWith("cri:") ? undefined : options.proxyKubeconfig,
    clientLimits: clientLimits(),
    clientCA: options.clientCaFile === undefined ? undefined : readFileSync(options.clientCaFile, "utf8"),
    log,
    settings,
    rotateServerCertificates: isOn("--rotate-server-certificates", options.rotateServerCertificates),
  };
  return new NodeAgents(shared, registered);
}

/**
 * The network of pods with `hostNetwork`. A node whose address is one of the machine has the machine's
 * network, and so has one without Services, on whose own network pods would not reach an API server of the
 * machine.
 */
function hostNetworkOf(options: CommonOptions & Partial<KubeletOptions>): "node" | "machine" {
  const { hostNetwork, runtime, nodeIp = [], address = [], proxyKubeconfig } = options;
  const [flag] = [...(nodeIp.length > 0 ? ["--node-ip"] : []), ...(address.length > 0 ? ["--address"] : [])];
  if (hostNetwork === undefined)
    return runtime === "oci" && flag === undefined && proxyKubeconfig !== undefined ? "node" : "machine";
  const chosen = hostNetworkOption(hostNetwork, runtime);
  if (chosen === "node" && flag !== undefined)
    throw new UsageError(
      `--host-network node: the node has an address of its own, and ${flag} names one of the machine: leave one of the two out`,
    );
  return chosen;
}

/** The table of images: `dray image map` first, then the flags, then the built-in rows. */
function imagesOf({ image, imagesFile }: CommonOptions, log: Log): () => readonly ImageMapping[] {
  const fixed = [...image.map(parseImageMapping), ...builtInImages()];
  if (imagesFile === undefined) return () => fixed;
  const mapped = followMappedImages(imagesFile, log);
  return () => [...mapped(), ...fixed];
}

/** Restarts a node whose code threw an uncaught error. An error of unknown origin ends the process. */
async function isolateNodes(log: Log): Promise<void> {
  const { failNodeOf } = await import("@dray/kubelet");
  const handle = (error: unknown): void => {
    if (failNodeOf(error)) return;
    log.error(
      { err: error },
      "an error was not handled: the process of the agents ends, and is started again",
    );
    process.exit(1);
  };
  process.on("uncaughtException", handle);
  process.on("unhandledRejection", handle);
}

/** Throws for unusable files: an agent that fails because of them would be restarted for ever. */
async function checkFiles(options: KubeletOptions): Promise<void> {
  for (const [flag, files] of [
    ["--tls-cert-file", options.tlsCertFile],
    ["--tls-private-key-file", options.tlsPrivateKeyFile],
    ["--client-ca-file", options.clientCaFile === undefined ? [] : [options.clientCaFile]],
  ] as const) {
    for (const file of files) readFlagFile(flag, file);
  }
  const { proxyKubeconfig, bootstrapKubeconfig } = options;
  const given = [proxyKubeconfig, bootstrapKubeconfig].filter((file) => file !== undefined);
  // The kubeconfigs of nodes can be made by the bootstrap.
  const own = options.kubeconfig.filter((file) => bootstrapKubeconfig === undefined || existsSync(file));
  for (const file of [...own, ...given]) await loadKubeconfig({ file });
  for (const [flag, folders] of [
    ["--root-dir", options.rootDir],
    ["--pod-manifest-path", options.podManifestPath],
  ] as const)
    for (const folder of folders)
      if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false)
        throw new UsageError(`${flag} ${folder}: must be a folder, and is a file`);
}

/** More than the addresses of a node's network. */
const maxPodsOfNode = 100_000;

/** Returns the nodes of the flags; the n-th values belong together. */
function nodesOf(options: KubeletOptions): AgentOptions[] {
  const count = options.nodeName.length;
  for (const [flag, values] of [
    ["--kubeconfig", options.kubeconfig],
    ["--root-dir", options.rootDir],
  ] as const) {
    if (values.length !== count)
      throw new UsageError(`${flag} is given ${values.length} times for ${count} nodes`);
  }
  for (const [flag, values] of [
    ["--tls-cert-file", options.tlsCertFile],
    ["--tls-private-key-file", options.tlsPrivateKeyFile],
    ["--pod-manifest-path", options.podManifestPath],
    ["--node-ip", options.nodeIp],
    ["--address", options.address],
    ["--port", options.port],
    ["--healthz-port", options.healthzPort],
    ["--read-only-port", options.readOnlyPort],
  ] as const) {
    if (values.length > count)
      throw new UsageError(`${flag} is given ${values.length} times for ${count} nodes`);
  }
  for (const dir of options.rootDir)
    if (!isAbsolute(dir)) throw new UsageError(`--root-dir ${dir}: must be an absolute path`);
  const { maxPods } = options;
  const pods = maxPods === undefined ? undefined : wholeNumber("--max-pods", maxPods, 0, maxPodsOfNode);
  for (const path of options.podManifestPath)
    if (!isAbsolute(path)) throw new UsageError(`--pod-manifest-path ${path}: must be an absolute path`);
  return options.nodeName.map((name, i) => ({
    name,
    capacity: pods === undefined ? undefined : { pods: `${pods}` },
    kubeconfig: options.kubeconfig[i]!,
    rootDir: options.rootDir[i]!,
    tlsCertFile: options.tlsCertFile[i],
    tlsPrivateKeyFile: options.tlsPrivateKeyFile[i],
    staticPodPath: options.podManifestPath[i],
    nodeAddress: options.nodeIp[i] === undefined ? undefined : nodeIpOption(options.nodeIp[i]),
    address:
      options.address[i] === undefined ? undefined : bindAddressOption(options.address[i], "--address"),
    port: portOption("--port", options.port[i]),
    healthzPort: portOption("--healthz-port", options.healthzPort[i]),
    readOnlyPort: portOption("--read-only-port", options.readOnlyPort[i]),
  }));
}

/** Undefined if absent. 0 disables it, as upstream; the node's HTTPS port is any free one then. */
function portOption(flag: string, value: string | undefined): number | undefined {
  const port = value === undefined ? 0 : wholeNumber(flag, value, 0, 65535);
  return port === 0 ? undefined : port;
}

/**
 * The `dray up` process, which sends orders over IPC: the nodes to run, and the end of pods. If it ends, pods
 * continue.
 */
class Parent {
  /** Resolves when the API server listens. */
  readonly firstOrder: Promise<void>;
  /** Resolves when this process must end, to whether its pods continue. */
  readonly leavePods: Promise<boolean>;
  #run: (nodes: readonly NodeFiles[]) => void;
  #latest: readonly NodeFiles[] = [];

  constructor() {
    const first = Promise.withResolvers<void>();
    const end = Promise.withResolvers<boolean>();
    this.firstOrder = first.promise;
    this.leavePods = end.promise;
    this.#run = () => {};
    process.on("message", (message: AgentsOrder) => {
      if (message.order === "stop") return end.resolve(false);
      this.#latest = message.nodes;
      first.resolve();
      this.#run(message.nodes);
    });
    process.once("disconnect", () => end.resolve(true));
  }

  /** Applies all further orders to these agents. */
  obey(agents: NodeAgents): void {
    this.#run = (nodes) =>
      void agents.run(nodes).then((outcome) => {
        this.report(outcome);
        // All code is loaded now.
        keepYoungHeapSmall();
      });
    this.#run(this.#latest);
  }

  report(report: AgentsReport): void {
    if (process.connected) process.send?.(report);
  }
}
