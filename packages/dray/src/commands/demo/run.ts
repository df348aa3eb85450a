import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface, type Interface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import type { Client } from "@dray/client";
import { layoutOf, readConfig } from "@dray/cluster";
import { connect } from "../../connection/connect.ts";
import { examplesFolder } from "../../drivers/examples.ts";
import { ownCommand } from "../../process/own-command.ts";
import { outliveReader } from "../../terminal/guard-output.ts";
import { withProgress } from "../../terminal/progress.ts";
import { shellWord } from "../../text/shell.ts";
import { type Step, tutorial } from "./steps.ts";

const nodes = 2;
/** Maximum time until the effect of one step, in milliseconds. */
const stepTimeout = 60_000;
/** The first minor version of kubectl with all features that the tutorial uses. */
const minKubectlMinor = 27;

/**
 * Runs the tutorial on a separate cluster, prints commands and their real output, and removes the cluster.
 */
export async function demo(options: { pause?: boolean }): Promise<void> {
  const started = performance.now();
  const interruption = new Interruption();
  const folder = mkdtempSync(join(tmpdir(), "dray-demo-"));
  try {
    await play(folder, interruption, options.pause === true);
  } catch (error) {
    // Ctrl-C ends the command of the step, too.
    if (!interruption.signal.aborted) throw error;
  } finally {
    interruption.ignoreFurther();
    try {
      say(`\n${styleText("bold", "Stop the cluster")}\n\n`);
      // In a separate session, so that another Ctrl-C does not end it.
      await withProgress("Stopping the pods and the cluster", () =>
        dray(["down", "--quiet", "--data-dir", join(folder, "data"), "--delete-data"], { detached: true }),
      );
      say("It has stopped, and its data is deleted.\n");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  if (interruption.signal.aborted) process.exitCode = 130;
  else
    say(
      `\nThat was the tutorial in ${((performance.now() - started) / 1000).toFixed(1)} s. \`dray up\` starts a cluster that stays.\n`,
    );
}

const say = (text: string): void => void process.stdout.write(text);

/** Ends the demo at a signal, or when the reader of its output has ended. */
class Interruption {
  readonly #stop = new AbortController();
  #child: ChildProcess | undefined;

  constructor() {
    // The end of a reader (`dray demo | head`) must not end this process, which has a cluster to stop.
    outliveReader();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => this.interrupt());
    process.stdout.on("error", () => this.interrupt());
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  interrupt(): void {
    this.#stop.abort();
    this.#child?.kill("SIGTERM");
  }

  /** Sets the running child. The terminal sends it Ctrl-C, this process forwards other signals. */
  runs(child: ChildProcess): void {
    this.#child = child;
    if (this.signal.aborted) child.kill("SIGTERM");
  }

  ignoreFurther(): void {
    this.#child = undefined;
  }
}

async function play(folder: string, interruption: Interruption, pause: boolean): Promise<void> {
  const dataDir = join(folder, "data");
  let client: Client | undefined;
  let reader: Interface | undefined;
  try {
    say(`${styleText("bold", "Start a cluster of one control plane and two worker nodes")}\n\n`);
    await withProgress("Starting the cluster", () =>
      dray(["up", "--quiet", "--detach", "--data-dir", dataDir, "--nodes", `${nodes}`], { interruption }),
    );
    const layout = layoutOf(dataDir);
    const env = { ...process.env, KUBECONFIG: layout.kubeconfig, HOME: folder, PATH: kubectlPath(folder) };
    const connection = await connect({ kubeconfig: layout.kubeconfig }, "dray-demo");
    client = connection.client;
    const config = readConfig(layout);
    say(
      `Kubernetes ${config?.kubernetesVersion} is ready at ${connection.server}, with ${config?.nodes.join(" and ")}.\n`,
    );
    if (pause) {
      reader = createInterface({ input: process.stdin, output: process.stdout });
      // readline takes Ctrl-C and Ctrl-D from the terminal.
      reader.on("SIGINT", () => interruption.interrupt());
      reader.on("close", () => interruption.interrupt());
    }
    for (const step of tutorial(manifests(), nodes)) {
      await run(step, client, env, interruption);
      const { signal } = interruption;
      signal.throwIfAborted();
      await reader?.question(styleText("dim", "Enter goes on "), { signal });
    }
    reader?.removeAllListeners("close");
  } finally {
    // An open reader or listener would keep this process alive.
    reader?.close();
    client?.close();
  }
}

async function run(
  step: Step,
  client: Client,
  env: NodeJS.ProcessEnv,
  interruption: Interruption,
): Promise<void> {
  if (step.heading !== undefined) say(`\n${styleText("bold", step.heading)}\n`);
  if (step.words !== "") say(`\n${step.words}\n`);
  say(`${styleText("cyan", `$ ${step.command}`)}\n`);
  const child = spawn("sh", ["-c", step.command], { env, stdio: ["ignore", "inherit", "inherit"] });
  interruption.runs(child);
  const code = await exitCode(child);
  // Ctrl-C goes to the command and to this process, which may receive it later.
  if (code === null) await sleep(signalDelay, undefined, { signal: interruption.signal }).catch(() => {});
  interruption.signal.throwIfAborted();
  if (code !== 0) throw new Error(`the command ended with exit code ${code}: ${step.command}`);
  const { until } = step;
  if (until === undefined) return;
  await withProgress("Waiting for its effect", async () => {
    const deadline = performance.now() + stepTimeout;
    while (!(await until(client))) {
      if (performance.now() > deadline)
        throw new Error(`its effect did not come within ${stepTimeout / 1000} s: ${step.command}`);
      await sleep(25, undefined, { signal: interruption.signal });
    }
  });
}

const exitCode = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });

/** Milliseconds in which a signal for the whole terminal reaches this process. */
const signalDelay = 1000;

/** Maximum number of tries of a command that must not be interrupted. */
const maxTries = 5;

/** Runs `dray` in a child process. */
async function dray(
  args: readonly string[],
  { interruption, detached = false }: { interruption?: Interruption; detached?: boolean },
): Promise<void> {
  const [command, all] = ownCommand(args);
  // The user's kubeconfig must not get a temporary cluster.
  const env = { ...process.env, KUBECONFIG: "" };
  let code: number | null;
  let tries = 0;
  do {
    const child = spawn(command, all, { env, detached, stdio: ["ignore", "inherit", "inherit"] });
    interruption?.runs(child);
    code = await exitCode(child);
    // A Ctrl-C between the fork of a process and the start of its own session still ends it.
  } while (code === null && detached && ++tries < maxTries);
  if (code !== 0) throw new Error(`dray ${args[0]} ended with exit code ${code}`);
}

/** Returns a PATH with `kubectl`: the installed one if it is new enough, otherwise Dray's. */
function kubectlPath(folder: string): string {
  const path = process.env["PATH"] ?? "";
  const found = spawnSync("kubectl", ["version", "--client", "-o", "json"], { encoding: "utf8" });
  const minor = /"minor": "(\d+)/.exec(found.stdout ?? "")?.[1];
  if (found.status === 0 && Number(minor) >= minKubectlMinor) return path;
  const bin = mkdtempSync(join(folder, "bin-"));
  const [command, args] = ownCommand(["kubectl"]);
  const quoted = [command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  writeFileSync(join(bin, "kubectl"), `#!/bin/sh\nexec ${quoted} "$@"\n`);
  chmodSync(join(bin, "kubectl"), 0o755);
  return `${bin}:${path}`;
}

/** Returns the folder of the tutorial's manifests, as a short path. */
function manifests(): string {
  const found = join(examplesFolder(), "dra", "driver-install");
  const short = relative(process.cwd(), found);
  return shellWord(short.startsWith("..") ? found : short);
}
