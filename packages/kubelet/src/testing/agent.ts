/** An agent's runtime as a process of its own, for tests that kill it: `DIRECTORY COMMAND...` starts a container. */
import { cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import { HostRuntime } from "../runtime/host/host.ts";

const [directory = "", isolation = "", ...command] = process.argv.slice(2);

export function testRuntime(root: string, isolation: string): HostRuntime {
  return new HostRuntime({
    directory: `${root}/runtime`,
    rootDir: root,
    nodeAddress: "127.0.0.1",
    images: [],
    isolation: isolation === "plain" ? "plain" : "auto",
    cdi: cdiRegistry([]),
    hostPath: (path) => path,
    clock: systemClock,
    log: silentLog,
  });
}

export const sandbox = {
  namespace: "default",
  name: "pod",
  uid: "uid",
  attempt: 0,
  hostname: "pod",
  hostNetwork: false,
};

export const container = (root: string, argv: readonly string[]) => ({
  name: "main",
  attempt: 0,
  image: "any",
  command: argv,
  args: [],
  workingDir: undefined,
  env: [],
  mounts: [],
  cdiDevices: [],
  logPath: `${root}/main.log`,
  terminationMessagePath: undefined,
  hash: "",
  init: false,
});

if (command.length > 0) {
  setInterval(() => {}, 1000);
  const runtime = testRuntime(directory, isolation);
  await runtime.start();
  const { id } = await runtime.runPodSandbox(sandbox);
  const { id: containerId } = await runtime.createContainer(id, container(directory, command));
  await runtime.startContainer(containerId);
  process.stdout.write("started\n");
}
