import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Outcome } from "./play.ts";
import { release } from "./release.ts";

const sources = join(import.meta.dirname, "clients");
const programs = ["client-go", "controller-runtime"] as const;
const built = [...programs, "load", "churn", "scheduling"];

/**
 * The folder with the programs built from `clients/`; undefined where Go is missing. Throws if they do not
 * build.
 */
export function buildClients(): string | undefined {
  if (spawnSync("go", ["version"]).status !== 0) return undefined;
  const folder = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "dray", "interop-clients");
  mkdirSync(folder, { recursive: true });
  const packages = built.map((name) => `./${name}`);
  const { status, stderr } = spawnSync("go", ["build", "-o", folder, ...packages], {
    cwd: sources,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`go build in ${sources} failed:\n${stderr}`);
  return folder;
}

interface Step {
  readonly name: string;
  readonly seconds: number;
  readonly error?: string;
}

/**
 * Runs the programs one after the other against a cluster; each line that they print is the end of one step.
 */
export async function runClients(
  folder: string,
  kubeconfig: string,
  ended: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const program of programs) {
    const child = spawn(join(folder, program), [], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, KUBECONFIG: kubeconfig, KUBERNETES_RELEASE: release },
    });
    let trouble = "";
    child.stderr.on("data", (chunk: Buffer) => {
      trouble = (trouble + chunk.toString()).slice(-1000);
    });
    const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
    for await (const line of createInterface({ input: child.stdout })) {
      const { name, seconds, error } = JSON.parse(line) as Step;
      const outcome = {
        name: `${program}: ${name}`,
        seconds,
        ...(error === undefined ? {} : { failure: error }),
      };
      outcomes.push(outcome);
      ended(outcome);
    }
    const code = await exited;
    if (code !== 0 && !outcomes.some(({ failure }) => failure !== undefined)) {
      const outcome = { name: program, seconds: 0, failure: `ended with ${code}: ${trouble}` };
      outcomes.push(outcome);
      ended(outcome);
    }
  }
  return outcomes;
}
