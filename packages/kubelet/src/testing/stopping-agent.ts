/**
 * The agent of a node in a process of its own, which ends at once, as if killed, after a step: `OPTIONS` in
 * JSON. Prints the steps that it comes by, and `started` when it runs.
 */
import { createClient, httpsTransport, silentLog } from "@dray/client";
import { hostRuntime, startKubelet } from "../index.ts";

export interface StoppingAgentOptions {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  readonly node: string;
  readonly rootDir: string;
  readonly cert: string;
  readonly key: string;
  /** Number of the step, from 1 on; 0 for never. */
  readonly stopAt: number;
}

const options = JSON.parse(process.argv[2] ?? "{}") as StoppingAgentOptions;
const { server, ca, token, node, rootDir, cert, key, stopAt } = options;
let count = 0;
await startKubelet({
  client: createClient({ transport: httpsTransport({ server, ca, token }), userAgent: "kubelet/test" }),
  nodeName: node,
  rootDir,
  apiServer: { host: "127.0.0.1", port: 1 },
  serving: { cert, key },
  runtime: hostRuntime({ images: [] }),
  log: silentLog,
  at: (step) => {
    count++;
    process.stdout.write(`${step}\n`);
    if (count === stopAt) process.kill(process.pid, "SIGKILL");
  },
});
process.stdout.write("started\n");
setInterval(() => {}, 1000);
