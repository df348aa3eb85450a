/** Shared by the end-to-end tests: a cluster as a user starts one, the real kubectl, and waiting. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "@dray/testing/eventually";
import { program } from "../scripts/clone.js";

export const repository = dirname(import.meta.dirname);
export const manifests = join(repository, "examples", "dra", "driver-install");

/** Oldest kubectl whose output the tests know, by minor version. */
const oldestKubectl = 27;

/** Why tests that need kubectl are skipped; false where it is there. */
export const withoutKubectl: string | false = (() => {
  const found = spawnSync("kubectl", ["version", "--client", "-o", "json"], { encoding: "utf8" });
  const minor = Number(/"minor": "(\d+)/.exec(found.stdout ?? "")?.[1] ?? 0);
  return minor >= oldestKubectl ? false : `kubectl 1.${oldestKubectl} or later is not on PATH`;
})();

export interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; does not block, so that several can run. */
export async function command(
  file: string,
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Output> {
  const child = spawn(file, args, { env: options.env ?? process.env, cwd: repository });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.end(options.input ?? "");
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, stdout, stderr };
}

/** The arguments with which this Node runs the command line: its bundle, as in every clone. */
const { DRAY_TEST_PROGRAM: bundle } = process.env;
export const drayArguments = ["--conditions=dray-source", bundle ?? (await program([])).at(-1)!];

export async function dray(args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Output> {
  // A test changes no kubeconfig of the person who runs it.
  return command(process.execPath, [...drayArguments, ...args], {
    env: env ?? { ...process.env, KUBECONFIG: "" },
  });
}

export interface TestCluster {
  readonly folder: string;
  readonly dataDir: string;
  readonly kubeconfig: string;
  readonly env: NodeJS.ProcessEnv;
  /** kubectl that must succeed; its standard output. */
  kubectl(...args: string[]): Promise<string>;
  /** kubectl that may fail. */
  tryKubectl(args: readonly string[], input?: string): Promise<Output>;
  /** A shell line with kubectl in it; standard output and error together. */
  shell(line: string): Promise<string>;
  down(): Promise<void>;
}

/** Starts a cluster with `dray up --detach` in a folder of its own. */
export async function startCluster(...flags: string[]): Promise<TestCluster> {
  const folder = mkdtempSync(join(tmpdir(), "dray-e2e-"));
  const dataDir = join(folder, "data");
  const kubeconfig = join(dataDir, "kubeconfig");
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder };
  const up = await dray(["up", "--detach", "--data-dir", dataDir, ...flags]);
  if (up.code !== 0) {
    const logs = logsOf(dataDir);
    // It may run all the same: without the driver that it was to install.
    await dray(["down", "--data-dir", dataDir, "--delete-data"]);
    throw new Error(`dray up failed: ${up.stderr}${up.stdout}\n${logs}`);
  }
  return {
    folder,
    dataDir,
    kubeconfig,
    env,
    async kubectl(...args) {
      const output = await command("kubectl", args, { env });
      if (output.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${output.stderr}`);
      return output.stdout;
    },
    tryKubectl: (args, input) => command("kubectl", args, { env, ...(input === undefined ? {} : { input }) }),
    async shell(line) {
      const output = await command("sh", ["-c", `(${line}) 2>&1`], { env });
      if (output.code !== 0) throw new Error(`${line}: exit code ${output.code}: ${output.stdout}`);
      return output.stdout;
    },
    async down() {
      const down = await dray(["down", "--data-dir", dataDir, "--delete-data"]);
      if (down.code !== 0) throw new Error(`dray down failed: ${down.stderr}`);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The ends of a cluster's logs, for messages. */
export function logsOf(dataDir: string): string {
  try {
    const folder = join(dataDir, "logs");
    return readdirSync(folder)
      .map(
        (name) =>
          `--- ${name}\n${readFileSync(join(folder, name), "utf8").split("\n").slice(-30).join("\n")}`,
      )
      .join("\n");
  } catch {
    return "";
  }
}

/** Processes whose command line or environment mentions `text`: what a cluster has left running. */
export function processesOf(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        const env = readFileSync(`/proc/${pid}/environ`, "utf8");
        return line.includes(text) || env.includes(text) ? [`${pid} ${line}`] : [];
      } catch {
        return [];
      }
    });
}

export function mounts(): string {
  return execFileSync("cat", ["/proc/self/mounts"], { encoding: "utf8" });
}

/** Installs the example driver as the tutorial does, and waits for a slice of each node. */
export async function installDriver(cluster: TestCluster, nodes = 2): Promise<void> {
  await cluster.kubectl("create", "namespace", "dra-tutorial");
  for (const name of [
    "deviceclass",
    "serviceaccount",
    "clusterrole",
    "clusterrolebinding",
    "priorityclass",
    "validatingadmissionpolicy",
    "daemonset",
  ]) {
    await cluster.kubectl("apply", "--server-side", "-f", join(manifests, `${name}.yaml`));
  }
  await eventually("every node advertises its devices", async () => {
    const slices = await cluster.kubectl("get", "resourceslices", "-o", "name");
    return slices.trim().split("\n").length === nodes;
  });
}

/** An object or list as kubectl gives it in JSON. */
// biome-ignore lint/suspicious/noExplicitAny: kubectl's output has the shape that the test asked for
export async function getJSON(cluster: TestCluster, ...args: string[]): Promise<any> {
  return JSON.parse(await cluster.kubectl("get", ...args, "-o", "json"));
}

/** The GPU that a pod has printed. */
export async function gpuOf(cluster: TestCluster, pod: string, namespace = "default"): Promise<string> {
  return eventually(`${pod} has printed its GPU`, async () => {
    const log = await cluster.kubectl("logs", pod, "-n", namespace);
    return /^(?:declare -x )?GPU_DEVICE_\d+="?([^"\n]+)"?$/m.exec(log)?.[1];
  });
}
