import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Administrator, readAdministrator } from "./connection.ts";

/** The command line of the server that the answers were recorded with, without its release. */
const flags = [
  "--port",
  "0",
  "--disable-admission-plugins",
  "ServiceAccount,NodeRestriction",
  "--runtime-config",
  "api/all=true",
];

/**
 * The kubeconfig of a server that is there, on which scenarios are played instead of one of our own: with the
 * real kube-apiserver it shows whether a recording is right.
 */
export const otherServer = process.env["DRAY_CONFORMANCE_KUBECONFIG"] || undefined;

/** A `dray apiserver` of its own, on a free port. */
export class TestServer {
  readonly administrator: Administrator;
  readonly #process: ChildProcess | undefined;
  readonly #folder: string | undefined;

  private constructor(administrator: Administrator, process?: ChildProcess, folder?: string) {
    this.administrator = administrator;
    this.#process = process;
    this.#folder = folder;
  }

  static async start(release: string): Promise<TestServer> {
    if (otherServer !== undefined) return new TestServer(readAdministrator(otherServer));
    const folder = mkdtempSync(join(tmpdir(), "dray-conformance-"));
    const kubeconfig = join(folder, "kubeconfig");
    const main = join(import.meta.dirname, "../../packages/dray/src/main.ts");
    const own = ["--data-dir", join(folder, "data"), "--kubeconfig", kubeconfig];
    const child = spawn(
      process.execPath,
      [...process.execArgv, main, "apiserver", ...own, ...flags, "--kubernetes-version", release],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    let output = "";
    await new Promise<void>((resolve, reject) => {
      const take = (chunk: Buffer): void => {
        if (output.length < 100_000) output += chunk.toString();
        if (output.includes("ready at") && existsSync(kubeconfig)) resolve();
      };
      child.stdout.on("data", take);
      child.stderr.on("data", take);
      child.once("exit", (code) => reject(new Error(`dray apiserver has ended with ${code}:\n${output}`)));
    });
    return new TestServer(readAdministrator(kubeconfig), child, folder);
  }

  async close(): Promise<void> {
    const child = this.#process;
    if (child !== undefined && child.exitCode === null) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await ended;
    }
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
