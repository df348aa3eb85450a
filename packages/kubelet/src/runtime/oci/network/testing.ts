import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import { find } from "../../host/isolation.ts";
import { PodNetwork } from "./network.ts";

/** Why this machine has no networks of pods; undefined if it has. */
async function lack(): Promise<string | undefined> {
  const directory = mkdtempSync(join(tmpdir(), "dray-net-"));
  try {
    const network = await PodNetwork.open({ directory, nodeName: "probe" });
    await network.destroy();
    network.close();
    return undefined;
  } catch (error) {
    return `oci: no pod networks here: ${(error as Error).message}`;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
export const missing = await lack();
export const busybox = find("busybox");

export const opened = new Map<string, PodNetwork[]>();

/** A folder that is removed with its networks, even after a failed test. */
export function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "dray-net-"));
  opened.set(path, []);
  t.after(async () => {
    for (const network of opened.get(path) ?? []) {
      try {
        await network.collect(new Set(), (sandbox) => join(path, sandbox));
        await network.destroy();
      } catch (error) {
        if (!/database is not open/.test((error as Error).message)) throw error;
      }
      network.close();
    }
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

export async function open(directory: string, nodeName: string): Promise<PodNetwork> {
  const network = await PodNetwork.open({ directory, nodeName });
  opened.get(directory)?.push(network);
  return network;
}

const run = promisify(execFile);

/** Runs a line of shell in a name space. */
export const inside = async (namespace: string, line: string): Promise<string> =>
  (await run("nsenter", [`--net=${namespace}`, "sh", "-c", line], { timeout: 20_000 })).stdout;

/** A server in a name space that sends one word to each client, until the test ends. */
export async function serve(t: TestContext, namespace: string, port: number, word: string): Promise<void> {
  const script = `require("net").createServer((s) => { s.on("error", () => {}); s.end(process.argv[2] + " " + s.remoteAddress); }).listen(+process.argv[1], "0.0.0.0", () => console.log("up")); process.stdin.resume().on("end", () => process.exit())`;
  const child = spawn("nsenter", [`--net=${namespace}`, process.execPath, "-e", script, String(port), word], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  await once(child.stdout, "data");
}

export async function ask(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  socket.setTimeout(10_000, () => socket.destroy(new Error(`no answer from ${host}:${port}`)));
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
