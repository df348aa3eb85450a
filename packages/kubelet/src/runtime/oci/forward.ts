import { spawn } from "node:child_process";
import type { Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RuntimeError } from "../service.ts";
import { tool } from "./tools.ts";

/** Runs in the pod's network: connects, says so on descriptor 3, and passes bytes on until both directions have ended. */
const script = `
const { closeSync, writeSync } = require("node:fs");
const { connect } = require("node:net");
const socket = connect({ host: "localhost", port: Number(process.argv[1]), allowHalfOpen: true, noDelay: true });
const fail = (error) => { try { writeSync(3, error.code || error.message); } catch {} process.exit(1); };
socket.once("error", fail);
socket.once("connect", () => {
  writeSync(3, "connected");
  closeSync(3);
  process.stdin.pipe(socket);
  socket.pipe(process.stdout);
  process.stdout.on("error", () => socket.destroy());
});
`;

/**
 * Connects a stream with a port of a pod, as seen from within: \`namespace\` holds its network. A process of its own
 * joins it: Node cannot.
 */
export async function forwardIntoNamespace(namespace: string, port: number, stream: Duplex): Promise<void> {
  const child = spawn(
    tool("nsenter"),
    [`--net=${namespace}`, "--", process.execPath, "--input-type=commonjs", "-e", script, String(port)],
    { cwd: "/", env: {}, stdio: ["pipe", "pipe", "ignore", "pipe"] },
  );
  const exited = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
  try {
    let said = "";
    const report = child.stdio[3] as Readable;
    for await (const text of report.setEncoding("utf8")) said += text;
    if (said !== "connected") {
      const reason = said === "ECONNREFUSED" || said === "" ? "connection refused" : said;
      throw new RuntimeError(
        "PortForwardError",
        `failed to connect to localhost:${port} inside the pod: dial tcp4 127.0.0.1:${port}: connect: ${reason}`,
      );
    }
    await Promise.all([pipeline(stream, child.stdin!), pipeline(child.stdout!, stream)]).catch(() => {});
  } finally {
    child.kill("SIGKILL");
    await exited;
  }
}
