import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface, type Interface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import type { Client } from "@dray/client";
import { layoutOf } from "@dray/cluster";
import { connect } from "../connect.ts";
import { type Step, tutorial } from "../demo/steps.ts";
import { examplesFolder } from "../examples.ts";
import { ourselves } from "../ourselves.ts";

const nodes = 2;
/** How long the effect of one step may take. */
const patience = 60_000;
/** kubectl before this minor version lacks things that the tutorial uses. */
const oldestKubectl = 27;

/** Runs the tutorial on a cluster of its own, shows commands and their real output, and leaves nothing behind. */
export async function demo(options: { pause?: boolean }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "dray-demo-"));
  const dataDir = join(folder, "data");
  const say = (text: string): void => void process.stdout.write(text);
  const started = performance.now();
  let interrupted = false;
  let client: Client | undefined;
  let reader: Interface | undefined;
  const interrupt = (): void => {
    interrupted = true;
  };
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  try {
    say(`${styleText("bold", "Start a cluster of one control plane and two worker nodes")}\n\n`);
    await dray(["up", "--detach", "--data-dir", dataDir, "--nodes", `${nodes}`]);
    const layout = layoutOf(dataDir);
    const env = { ...process.env, KUBECONFIG: layout.kubeconfig, HOME: folder, PATH: kubectlPath(folder) };
    client = (await connect({ kubeconfig: layout.kubeconfig }, "dray-demo")).client;
    reader = options.pause ? createInterface({ input: process.stdin, output: process.stdout }) : undefined;
    for (const step of tutorial(manifests(), nodes)) {
      if (interrupted) break;
      await run(step, client, env, say);
      await reader?.question(styleText("dim", "Enter goes on "));
    }
  } catch (error) {
    // Ctrl-C ends the command of the step too.
    if (!interrupted) throw error;
  } finally {
    // Each of them would keep this process alive.
    reader?.close();
    client?.close();
    say(`\n${styleText("bold", "Stop the cluster")}\n\n`);
    await dray(["down", "--data-dir", dataDir, "--delete-data"]);
    rmSync(folder, { recursive: true, force: true });
    process.off("SIGINT", interrupt);
    process.off("SIGTERM", interrupt);
  }
  if (interrupted) {
    process.exitCode = 130;
    return;
  }
  say(
    `\nThat was the tutorial in ${((performance.now() - started) / 1000).toFixed(1)} s. \`npx dray up\` starts a cluster that stays.\n`,
  );
}

async function run(
  step: Step,
  client: Client,
  env: NodeJS.ProcessEnv,
  say: (text: string) => void,
): Promise<void> {
  if (step.heading !== undefined) say(`\n${styleText("bold", step.heading)}\n`);
  if (step.words !== "") say(`\n${step.words}\n`);
  say(`${styleText("cyan", `$ ${step.command}`)}\n`);
  const child = spawn("sh", ["-c", step.command], { env, stdio: ["ignore", "inherit", "inherit"] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`the command ended with exit code ${code}: ${step.command}`);
  if (step.until === undefined) return;
  const deadline = performance.now() + patience;
  while (!(await step.until(client))) {
    if (performance.now() > deadline)
      throw new Error(`its effect did not come within ${patience / 1000} s: ${step.command}`);
    await sleep(25);
  }
}

/** Runs `dray` in a process of its own, as a person would. */
async function dray(args: readonly string[]): Promise<void> {
  const [command, all] = ourselves(args);
  // The person's own kubeconfig is not for clusters that end with the demo.
  const env = { ...process.env, KUBECONFIG: "" };
  const child = spawn(command, all, { env, stdio: ["ignore", "inherit", "inherit"] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`dray ${args[0]} ended with exit code ${code}`);
}

/** A PATH on which `kubectl` is found: the real one if it is new enough, else ours. */
function kubectlPath(folder: string): string {
  const path = process.env["PATH"] ?? "";
  const found = spawnSync("kubectl", ["version", "--client", "-o", "json"], { encoding: "utf8" });
  const minor = /"minor": "(\d+)/.exec(found.stdout ?? "")?.[1];
  if (found.status === 0 && Number(minor) >= oldestKubectl) return path;
  const bin = mkdtempSync(join(folder, "bin-"));
  const [command, args] = ourselves(["kubectl"]);
  const quoted = [command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  writeFileSync(join(bin, "kubectl"), `#!/bin/sh\nexec ${quoted} "$@"\n`);
  chmodSync(join(bin, "kubectl"), 0o755);
  return `${bin}:${path}`;
}

/** The tutorial's manifests, as a path that is short to read. */
function manifests(): string {
  const found = join(examplesFolder(), "dra", "driver-install");
  const short = relative(process.cwd(), found);
  return short.startsWith("..") ? found : short;
}
