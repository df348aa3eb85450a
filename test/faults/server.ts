import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { httpsTransport, loadKubeconfig, type Transport } from "@dray/client";
import { drayArguments } from "../harness.ts";

/** A `dray apiserver` that is killed and started again on the same port and data. */
export class Server {
  readonly #folder: string;
  readonly #store: string;
  #child: ChildProcess | undefined;
  #port = 0;

  constructor(folder: string, store: string) {
    this.#folder = folder;
    this.#store = store;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const flags = [
      "--data-dir",
      join(this.#folder, "data"),
      "--port",
      `${this.#port}`,
      "--store",
      this.#store,
    ];
    const child = spawn(process.execPath, [...drayArguments, "apiserver", ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let output = "";
    await new Promise<void>((resolve, reject) => {
      const take = (chunk: Buffer): void => {
        if (output.length < 20_000) output += chunk.toString();
        if (/ready at https:\S+\n/.test(output)) resolve();
      };
      child.stdout.on("data", take);
      child.stderr.on("data", take);
      child.once("exit", (code) => reject(new Error(`dray apiserver has ended with ${code}:\n${output}`)));
    });
    this.#port = Number(/ready at https:\S+:(\d+)/.exec(output)?.[1]);
  }

  /** A connection that comes back by itself. */
  async transport(): Promise<Transport> {
    const { connection } = await loadKubeconfig({ file: join(this.#folder, "data", "kubeconfig") });
    return httpsTransport(connection);
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }
}
