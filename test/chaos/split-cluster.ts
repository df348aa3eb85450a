import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { featuresOf, newestKubernetesVersion, parseFeatureGates } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { type Certificate, issueCertificate } from "@dray/apiserver/pki";
import {
  type Client,
  createClient,
  httpsTransport,
  loadKubeconfig,
  silentLog,
  systemClock,
  writeKubeconfig,
} from "@dray/client";
import {
  choosePort,
  cleanUpRun,
  ensureCredentials,
  type NodeFiles,
  prepareDataDir,
  prepareRunDir,
  serverAddresses,
  writeKubeconfigs,
} from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { readFleetFile } from "../../packages/dray/src/fleet/file.ts";
import { installFleet, labelNodes } from "../../packages/dray/src/fleet/install.ts";
import { ChaosCluster, realNodes } from "./cluster.ts";
import { type ChaosPart, ProcessPart, type ProcessPartOptions } from "./part.ts";

const clusterName = "chaos";
/** Milliseconds in which another takes the lease of a scheduler or a controller manager that was killed. */
const takeOver = 17_000;
/**
 * Most milliseconds that agents of a crowd's nodes stay away: longer than until their nodes count as
 * unreachable.
 */
const maxAgentsAway = 70_000;
/** Nodes of a crowd whose agents are one process. */
const nodesPerAgents = 9;

/**
 * A cluster whose parts are processes of their own, so that each dies alone: the API server, two schedulers
 * and two controller managers under a lease, the agents in groups, the simulated drivers.
 */
export class SplitCluster extends ChaosCluster {
  override readonly schedulersCompete: boolean;
  #server: ProcessPart | undefined;
  #agents: readonly ProcessPart[] = [];
  #drivers: ProcessPart | undefined;
  #components: readonly ProcessPart[] = [];
  #excusedUntil = 0;
  #turn = 0;
  readonly #ended = new AbortController();

  constructor(nodes: number, schedulersCompete: boolean) {
    super(nodes);
    this.schedulersCompete = schedulersCompete;
  }

  override get parts(): readonly ChaosPart[] {
    const parts = [this.#server, ...this.#components, ...this.#agents.slice(1), this.#drivers];
    return parts.filter((part) => part !== undefined);
  }

  override get excusedUntil(): number {
    return this.#excusedUntil;
  }

  override pid(part: "control plane" | "agents"): number | undefined {
    if (part === "control plane") return this.#server?.pid;
    return this.#agents[this.#turn++ % this.#agents.length]?.pid;
  }

  protected override async start(): Promise<void> {
    if (this.#server !== undefined) return this.answers();
    const { layout, gates, apis, nodes } = this;
    prepareDataDir(layout);
    prepareRunDir(layout);
    mkdirSync(layout.logs, { recursive: true });
    const port = await choosePort("127.0.0.1", 0);
    const addresses = serverAddresses({ bind: "127.0.0.1" });
    const credentials = await ensureCredentials(layout, nodes, systemClock.now(), { addresses });
    const url = `https://127.0.0.1:${port}`;
    await writeKubeconfigs(layout, clusterName, credentials, url);
    const features = ["--feature-gates", gates];
    const server = ["apiserver", "--data-dir", layout.dataDir, "--port", `${port}`];
    // A process that waits for an answer may lose its lease in the meantime.
    const more = { maxAway: 2000, freezes: true, disturbed: this.#excuse };
    this.#server = this.#part({
      ...more,
      name: "the API server",
      args: [...server, ...features, "--runtime-config", apis],
    });
    const { connection } = await loadKubeconfig({ file: layout.kubeconfig });
    const client = createClient({ transport: httpsTransport(connection), userAgent: "chaos-start/1" });
    await eventually(
      "the API server answers",
      async () => (await client.text("GET", "/readyz")) === "ok",
      60_000,
    );
    const as = (user: string): Promise<string> => this.#kubeconfigOf(user, credentials.authority, url);
    await this.#startComponents(features, await as("kube-scheduler"), await as("kube-controller-manager"));
    await this.#startNodes(client, features);
    this.#ended.signal.addEventListener("abort", () => client.close(), { once: true });
  }

  /** Others go on after `milliseconds`, and need a lease for that. */
  readonly #excuse = (milliseconds: number): void => {
    const until = performance.now() + milliseconds + takeOver;
    this.#excusedUntil = Math.max(this.#excusedUntil, until);
  };

  /** Writes a kubeconfig of a component's user. */
  async #kubeconfigOf(name: string, authority: Certificate, server: string): Promise<string> {
    const user = `system:${name}`;
    const own = await issueCertificate(
      authority,
      { commonName: user, usages: ["client"] },
      systemClock.now(),
    );
    const file = join(this.layout.pki, `${name}.kubeconfig`);
    await writeKubeconfig(file, {
      name: clusterName,
      server,
      ca: authority.certificate,
      cert: own.certificate,
      key: own.key,
    });
    return file;
  }

  async #startComponents(features: readonly string[], scheduler: string, controllers: string): Promise<void> {
    const pki = (name: string): string => join(this.layout.pki, name);
    const more = { maxAway: 5000, freezes: true, disturbed: this.#excuse };
    const lease = this.schedulersCompete ? [] : ["--leader-elect", "true"];
    const keys = [
      ...["--cluster-signing-cert-file", pki("ca.crt"), "--cluster-signing-key-file", pki("ca.key")],
      ...["--root-ca-file", pki("ca.crt"), "--service-account-private-key-file", pki("service-account.key")],
    ];
    this.#components = [1, 2].flatMap(() => [
      this.#part({
        ...more,
        name: "a scheduler",
        args: ["scheduler", "--kubeconfig", scheduler, ...lease, ...features],
      }),
      this.#part({
        ...more,
        name: "a controller manager",
        args: ["controller-manager", "--kubeconfig", controllers, "--leader-elect", ...keys, ...features],
      }),
    ]);
  }

  async #startNodes(client: Client, features: readonly string[]): Promise<void> {
    const { layout, nodes, gates } = this;
    const file = this.writeFleet();
    copyFileSync(file, layout.fleetFile);
    const { fleet } = readFleetFile(file, {
      features: featuresOf(newestKubernetesVersion, parseFeatureGates(gates)),
    });
    await installFleet(client, fleet);
    labelNodes(client, fleet, silentLog, this.#ended.signal);
    const files = nodes.map(
      (name): NodeFiles => ({
        name,
        capacity: fleet.node(name)?.capacity,
        kubeconfig: layout.nodeKubeconfig(name),
        rootDir: this.root(name),
        tlsCertFile: join(layout.pki, `node-${name}-server.crt`),
        tlsPrivateKeyFile: join(layout.pki, `node-${name}-server.key`),
      }),
    );
    for (const { rootDir } of files) mkdirSync(rootDir, { recursive: true });
    const agents = (own: readonly NodeFiles[], maxAway: number): ProcessPart =>
      this.#part({
        name: "agents",
        args: [
          ...["node-agents", "--client-ca-file", join(layout.pki, "ca.crt")],
          ...["--log-file", join(layout.logs, "agents.log"), ...features],
        ],
        order: { order: "run", nodes: own },
        maxAway,
        freezes: true,
      });
    const groups = [agents(files.slice(0, realNodes), 1)];
    for (let at = realNodes; at < files.length; at += nodesPerAgents)
      groups.push(agents(files.slice(at, at + nodesPerAgents), maxAgentsAway));
    this.#agents = groups;
    this.#drivers = this.#part({
      name: "the simulated drivers",
      args: ["simulated-drivers", "--log-file", join(layout.logs, "drivers.log")],
      order: {
        order: "run",
        file,
        path: layout.fleetFile,
        kubernetesVersion: newestKubernetesVersion,
        featureGates: gates,
        kubeconfig: layout.driversKubeconfig,
        nodes: files.map(({ name, rootDir }) => ({ name, rootDir })),
      },
      maxAway: 10_000,
      freezes: true,
    });
    await eventually(
      "the nodes are ready",
      async () => {
        const { items } = await client.resource(Node).list();
        const ready = items.filter(({ status }) =>
          status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
        );
        return ready.length === nodes.length;
      },
      120_000,
    );
  }

  #part(options: Omit<ProcessPartOptions, "logFile">): ProcessPart {
    return new ProcessPart({ ...options, logFile: join(this.layout.logs, "parts.log") });
  }

  override async stop(): Promise<void> {
    this.#ended.abort();
    const order = { order: "stop" };
    await Promise.all(this.#agents.map((part) => part.stop(order)));
    await this.#drivers?.stop(order);
    await Promise.all(this.#components.map((part) => part.stop()));
    await this.#server?.stop();
    await cleanUpRun(this.layout);
  }

  override async down(): Promise<void> {
    await this.stop();
    this.client.close();
    rmSync(this.layout.dataDir, { recursive: true, force: true });
  }
}
