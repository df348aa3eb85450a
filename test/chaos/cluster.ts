import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kind, StatusError } from "@dray/api";
import { Event, Node, Pod, type PodSpec } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, createClient, createRestMapper, httpsTransport, loadKubeconfig } from "@dray/client";
import { layoutOf, runningProcess } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { parseAllDocuments } from "yaml";
import { dray, drayArguments, manifests, processesOf } from "../harness.ts";
import { crowdFleet, driverLabel } from "./crowd-fleet.ts";
import { type ChaosPart, killQuietly } from "./part.ts";
import { namespace } from "./pods.ts";

/** Nodes with the example driver. */
export const realNodes = 3;

/** A cluster as a person starts it, whose processes may be killed at any time. */
export class ChaosCluster {
  readonly folder = mkdtempSync(join(tmpdir(), "dray-chaos-"));
  readonly layout = layoutOf(join(this.folder, "data"));
  readonly nodes: readonly string[];
  /** Feature gates of the cluster and all that runs beside it. */
  readonly gates: string;
  /** APIs to serve in addition to the default. */
  readonly apis: string;
  /** Whether schedulers of one name work at once, without a lease. */
  readonly schedulersCompete: boolean = false;
  readonly #env = { ...process.env, HOME: this.folder, KUBECONFIG: join(this.folder, "kubeconfig") };
  #client: Client | undefined;

  constructor(nodes: number) {
    this.nodes = Array.from({ length: nodes }, (_, i) => `worker-${i + 1}`);
    const hasCrowd = nodes > realNodes;
    this.gates = hasCrowd
      ? "GenericWorkload=true,DRAWorkloadResourceClaims=true,DRAResourcePoolStatus=true"
      : "";
    this.apis = hasCrowd ? "scheduling.k8s.io/v1beta1=true,resource.k8s.io/v1alpha3=true" : "";
  }

  /** Parts beside the control plane and the agents. */
  get parts(): readonly ChaosPart[] {
    const drivers = processesOf(join(this.layout.logs, "drivers.log"));
    return drivers.map((line) => ({
      name: "the simulated drivers",
      disturb: () => {
        killQuietly(Number.parseInt(line, 10), "SIGKILL");
        return "kills";
      },
    }));
  }

  /**
   * Until then (`performance.now()`) no pod need start: a part waits for the lease of the one that was
   * killed.
   */
  get excusedUntil(): number {
    return 0;
  }

  get client(): Client {
    if (this.#client === undefined) throw new Error("the cluster has not been started");
    return this.#client;
  }

  /** Starts the cluster, or what of it has been killed. */
  async up(): Promise<void> {
    if (this.#client !== undefined && this.pid("control plane") !== undefined) return;
    await this.start();
    if (this.#client !== undefined) return;
    const { connection } = await loadKubeconfig({ file: this.layout.kubeconfig });
    this.#client = createClient({ transport: httpsTransport(connection), userAgent: "chaos/1" });
  }

  /** Starts what does not run. */
  protected async start(): Promise<void> {
    const flags = ["--data-dir", this.layout.dataDir, ...this.#nodeFlags()];
    const { code, stdout, stderr } = await dray(["up", "--detach", ...flags], this.#env);
    if (code !== 0) throw new Error(`dray up ended with ${code}: ${stderr}${stdout}`);
  }

  /** Nodes of a crowd are those of a fleet, which `dray up` continues with by itself. */
  #nodeFlags(): string[] {
    if (this.nodes.length === realNodes) return ["--nodes", `${realNodes}`];
    const flags = ["--feature-gates", this.gates, "--runtime-config", this.apis];
    return this.#client === undefined ? [...flags, "--fleet", this.writeFleet()] : flags;
  }

  /** Returns the file. */
  protected writeFleet(): string {
    const file = join(this.folder, "fleet.yaml");
    const fleet = crowdFleet(this.nodes.slice(0, realNodes), this.nodes.slice(realNodes));
    writeFileSync(file, JSON.stringify(fleet));
    return file;
  }

  /** Installs the example driver from its manifests. */
  async installDriver(): Promise<void> {
    const mapper = createRestMapper(this.client);
    const objects = readdirSync(manifests)
      .filter((name) => name.endsWith(".yaml"))
      .flatMap((name) => parseAllDocuments(readFileSync(join(manifests, name), "utf8")))
      .map((document) => document.toJS() as { kind: string; apiVersion: string; metadata: { name: string } });
    for (const namespace of ["dra-tutorial", "chaos"])
      await this.client.resource(await mapper.find({ group: "", version: "v1", kind: "Namespace" })).create({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      } as never);
    for (const object of objects.filter(({ kind }) => kind !== "Namespace")) {
      const [group, version] = object.apiVersion.includes("/")
        ? object.apiVersion.split("/")
        : ["", object.apiVersion];
      if (object.kind === "DaemonSet" && this.nodes.length > realNodes)
        (object as { spec?: { template: { spec: PodSpec } } }).spec!.template.spec.nodeSelector = {
          [driverLabel]: "true",
        };
      const kind = await mapper.find({ group: group!, version: version!, kind: object.kind });
      await this.client.resource(kind).create(object as never);
    }
  }

  root(node: string): string {
    return this.layout.nodeRoot(this.nodes.indexOf(node));
  }

  pid(part: "control plane" | "agents"): number | undefined {
    const { processFile, agentsFile } = this.layout;
    return runningProcess(part === "agents" ? agentsFile : processFile)?.pid;
  }

  /** Resident memory of a part in MiB; undefined while it does not run. */
  memory(part: "control plane" | "agents"): number | undefined {
    const pid = this.pid(part);
    if (pid === undefined) return undefined;
    try {
      const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
      return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024);
    } catch {
      return undefined;
    }
  }

  memoryText(): string {
    return `control plane ${this.memory("control plane")} MiB, agents ${this.memory("agents")} MiB`;
  }

  /** Every line of the logs that the processes of the cluster have kept. */
  logLines(): string[] {
    return readdirSync(this.layout.logs).flatMap((name) =>
      readFileSync(join(this.layout.logs, name), "utf8").split("\n").filter(Boolean),
    );
  }

  /** Writes what there is beside the logs, for a person. */
  async writeObjects(): Promise<void> {
    const kinds = [Pod, ResourceClaim, ResourceSlice, Node, Event, DeviceTaintRule] as unknown as Kind[];
    const lists = await Promise.all(kinds.map((kind) => this.client.resource(kind).list()));
    const items = lists.flatMap((list) => list.items);
    writeFileSync(join(this.layout.logs, "objects.json"), JSON.stringify({ items }, undefined, 1));
  }

  async answers(): Promise<void> {
    await eventually(
      "the API server answers",
      async () => (await this.client.text("GET", "/readyz")) === "ok",
      60_000,
    );
  }

  /** Asks to delete all pods of the run, again where a loaded machine takes longer than a request may. */
  async deletePods(): Promise<void> {
    for (;;) {
      try {
        await this.client.resource(Pod).deleteCollection({ namespace });
        return;
      } catch (error) {
        if (!StatusError.is(error, "Timeout")) throw error;
      }
    }
  }

  startHostileDriver(node: string, seed: number, mode: "hostile" | "calm"): ChildProcess {
    const file = join(import.meta.dirname, "hostile-driver.ts");
    const conditions = drayArguments.filter((argument) => argument.startsWith("--"));
    const child = spawn(
      process.execPath,
      [...conditions, file, this.root(node), node, this.layout.kubeconfig, `${seed}`, mode],
      { stdio: ["ignore", "ignore", "ignore"] },
    );
    child.unref();
    return child;
  }

  /** Ends all processes and keeps the data, the logs among it. */
  async stop(): Promise<void> {
    await dray(["down", "--data-dir", this.layout.dataDir], this.#env);
  }

  async down(): Promise<void> {
    this.#client?.close();
    const { code, stderr } = await dray(
      ["down", "--data-dir", this.layout.dataDir, "--delete-data"],
      this.#env,
    );
    if (code !== 0) throw new Error(`dray down ended with ${code}: ${stderr}`);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
