/** API servers in processes of their own, for benchmarks: one round on a new store. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Users } from "../interop/credentials.ts";
import type { Program } from "../interop/processes.ts";
import { type Side, startServer } from "../interop/server.ts";

export interface RunningServer {
  readonly kubeconfig: string;
  /** The API server is the last of them. */
  readonly programs: readonly Program[];
  /** Milliseconds from the start of its process until /readyz answered ok. */
  readonly ready: number;
}

/**
 * Plays with a server until the promise is settled. `DRAY_PROFILE` names a folder for CPU profiles of Dray's.
 */
export async function withServer<T>(side: Side, run: (server: RunningServer) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "dray-bench-"));
  const profile = process.env["DRAY_PROFILE"];
  const flags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  try {
    const { programs, url, authority } = await startServer(side, folder, { nodeFlags: flags });
    try {
      const api = programs.at(-1)!;
      const users = new Users(folder, url, authority);
      const kubeconfig = await users.kubeconfig("bench", ["system:masters"]);
      const client = await users.client("bench", ["system:masters"]);
      while ((await client.text("GET", "/readyz").catch(() => "")) !== "ok") {
        if (api.ended !== undefined) throw new Error(`${api.name} ${api.ended}`);
        await sleep(5);
      }
      const ready = performance.now() - api.started;
      client.close();
      return await run({ kubeconfig, programs, ready });
    } finally {
      for (const program of programs.toReversed()) await program.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a load program. Calls `paused` for each line that names a pause, after which the program goes on with
 * a line of input; returns the last line.
 */
export async function playLoad(
  program: string,
  args: readonly string[],
  kubeconfig: string,
  paused: (line: string) => void,
): Promise<string> {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "inherit"] });
  // It reads one line; others it need not wait for.
  child.stdin.on("error", () => {});
  let last = "";
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    if (!/^[a-z]+$/.test(line)) continue;
    paused(line);
    child.stdin.write("\n");
  }
  return last;
}
