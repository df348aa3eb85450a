/**
 * Runs commands in a container as a process of its own, and cuts them off: `DIRECTORY ISOLATION`. Prints
 * `removed` when the container has gone all the same.
 */
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { container, sandbox, testRuntime } from "./agent.ts";

const [, , directory = "", isolation = "auto"] = process.argv;
const alive = setInterval(() => {}, 1000);
const runtime = testRuntime(directory, isolation);
await runtime.start();
const { id: sandboxId } = await runtime.runPodSandbox(sandbox);
const { id } = await runtime.createContainer(sandboxId, container(directory, ["sleep", "1000"]));
await runtime.startContainer(id);
for (const tty of [false, true]) {
  const stdout = new PassThrough();
  const streams = { stdin: undefined, stdout, stderr: undefined, resize: undefined };
  const client = new AbortController();
  const command = { id, command: ["sh", "-c", "echo here; sleep 1000; echo there"], tty };
  const running = runtime.exec(command, streams, client.signal).catch(({ reason }) => reason as string);
  await once(stdout, "data");
  client.abort();
  await running;
}
const stopped = ["sh", "-c", "kill -STOP $$"];
await runtime.execSync(id, stopped, 300).catch(({ reason }) => reason as string);
await runtime.removePodSandbox(sandboxId);
await runtime.close();
clearInterval(alive);
process.stdout.write("removed\n");
