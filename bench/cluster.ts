/**
 * Measures how long a user waits for a cluster and which resources it takes: starts clusters as a user does.
 * Bare Node is measured too, so that figures of different machines can be compared.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Namespace, Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type Client, createClient, httpsTransport, loadKubeconfig } from "@dray/client";
import { parseAllDocuments } from "yaml";
import { kindByApiVersion } from "../packages/dray/src/manifests/kinds.ts";
import { machine, median } from "./allocator/clock.ts";

const repository = join(import.meta.dirname, "..");
const main = [...process.execArgv, join(repository, "packages", "dray", "src", "main.ts")];
const pods = 30;

const range = (values: readonly number[], digits: number, unit: string): string => {
  const text = (value: number): string => value.toFixed(digits);
  return `${text(median(values))} ${unit} (${text(Math.min(...values))} to ${text(Math.max(...values))})`;
};

async function run(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [...main, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, KUBECONFIG: "" },
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`dray ${args.join(" ")} ended with ${code}`);
}

/** Milliseconds from the call of `dray up --detach` until it returns: all nodes are ready then. */
async function timed(args: readonly string[]): Promise<number> {
  const start = performance.now();
  await run(args);
  return performance.now() - start;
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(name), parent, command }];
      } catch {
        return [];
      }
    });
}

/** Proportional set size in MiB (smaps_rollup of proc(5)). */
function pss(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) / 1024;
}

async function bareNode(): Promise<number> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await sleep(500);
  const size = pss(child.pid!);
  child.kill();
  return size;
}

async function connect(dataDir: string): Promise<Client> {
  const { connection } = await loadKubeconfig({ file: join(dataDir, "kubeconfig") });
  return createClient({ transport: httpsTransport(connection), userAgent: "dray-bench" });
}

async function installDriver(client: Client, nodes: number): Promise<void> {
  await client.resource(Namespace).create({ metadata: { name: "dra-tutorial" }, spec: {} });
  for (const name of [
    "deviceclass",
    "serviceaccount",
    "clusterrole",
    "clusterrolebinding",
    "priorityclass",
    "validatingadmissionpolicy",
    "daemonset",
  ]) {
    const file = join(repository, "examples", "dra", "driver-install", `${name}.yaml`);
    for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
      const object = document.toJS();
      await client
        .resource(kindByApiVersion(object.apiVersion, object.kind))
        .apply(object, { fieldManager: "bench" });
    }
  }
  while ((await client.resource(ResourceSlice).list()).items.length < nodes) await sleep(20);
}

/** Milliseconds from the first create request to the container running. */
interface Starts {
  readonly withClaim: number[];
  /** The same pod without a claim, as the baseline. */
  readonly withoutClaim: number[];
}

/** Starts pods with and without a claim in turn, one after the other. */
async function measureStarts(client: Client): Promise<Starts> {
  const starts: Starts = { withClaim: [], withoutClaim: [] };
  for (let i = 0; i < pods; i++) {
    starts.withClaim.push(await timedStart(client, `claim-${i}`, true));
    starts.withoutClaim.push(await timedStart(client, `plain-${i}`, false));
  }
  return starts;
}

async function timedStart(client: Client, name: string, claims: boolean): Promise<number> {
  const metadata = { name, namespace: "default" };
  const stop = new AbortController();
  const informer = client.informer(Pod, { namespace: "default", fieldSelector: `metadata.name=${name}` });
  const running = new Promise<void>((resolve) => {
    const see = (pod: Pod): void => {
      if (pod.status?.containerStatuses?.[0]?.state?.running !== undefined) resolve();
    };
    informer.handle({ add: see, update: see });
  });
  await informer.start(stop.signal);
  const container = { name: "c", image: "host", command: ["sleep", "1000"] };
  const start = performance.now();
  if (claims)
    await client.resource(ResourceClaim).create({
      metadata,
      spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu.example.com" } }] } },
    });
  await client.resource(Pod).create({
    metadata,
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [claims ? { ...container, resources: { claims: [{ name: "gpu" }] } } : container],
      ...(claims && { resourceClaims: [{ name: "gpu", resourceClaimName: name }] }),
    },
  });
  await running;
  const milliseconds = performance.now() - start;
  stop.abort();
  await client.resource(Pod).delete(metadata);
  if (claims) await client.resource(ResourceClaim).delete(metadata);
  return milliseconds;
}

/** Starts clusters in `rounds`, and returns a table in Markdown. */
export async function clusterBench(rounds = 3): Promise<string> {
  const first: number[] = [];
  const second: number[] = [];
  const starts: Starts = { withClaim: [], withoutClaim: [] };
  const memory = {
    control: [] as number[],
    agents: [] as number[],
    driver: [] as number[],
    node: [] as number[],
  };

  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
    const dataDir = join(folder, "data");
    try {
      first.push(await timed(["up", "--detach", "--data-dir", dataDir]));
      await run(["down", "--data-dir", dataDir]);
      second.push(await timed(["up", "--detach", "--data-dir", dataDir]));
      const client = await connect(dataDir);
      await installDriver(client, 2);
      const { withClaim, withoutClaim } = await measureStarts(client);
      starts.withClaim.push(...withClaim);
      starts.withoutClaim.push(...withoutClaim);
      await sleep(2000);
      const all = processes();
      const control = all.find((p) => p.command.includes(" up ") && p.command.includes(dataDir));
      const agents = all.find((p) => p.parent === control?.pid && p.command.includes(" node-agents "));
      memory.control.push(pss(control!.pid));
      memory.agents.push(pss(agents!.pid));
      for (const driver of all.filter(
        (p) => /driver example|drivers\/example/.test(p.command) && p.command.includes("node"),
      )) {
        if (!driver.command.startsWith("/bin/sh") && !driver.command.startsWith("sh "))
          memory.driver.push(pss(driver.pid));
      }
      memory.node.push(await bareNode());
      client.close();
    } finally {
      await run(["down", "--data-dir", dataDir, "--delete-data"]);
      rmSync(folder, { recursive: true, force: true });
    }
  }

  const share = median(starts.withClaim) - median(starts.withoutClaim);
  return `Measured on ${machine}; median (least to most) of ${rounds} clusters, ${rounds * pods} pods of each kind.

| | figure |
|---|---|
| \`dray up\`, first start, until both nodes are ready | ${range(first, 0, "ms")} |
| \`dray up\`, second start | ${range(second, 0, "ms")} |
| claim and pod created to container running | ${range(starts.withClaim, 0, "ms")} |
| the same pod without a claim | ${range(starts.withoutClaim, 0, "ms")} |
| the claim's share of a start (medians) | ${share.toFixed(0)} ms |
| memory (PSS): control plane | ${range(memory.control, 0, "MiB")} |
| memory (PSS): the agents of both nodes | ${range(memory.agents, 0, "MiB")} |
| memory (PSS): one driver | ${range(memory.driver, 0, "MiB")} |
| memory (PSS): Node that does nothing | ${range(memory.node, 0, "MiB")} |
`;
}
