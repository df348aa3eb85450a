/**
 * An agent's runtime as a process of its own, for tests that kill it: `DIRECTORY ISOLATION COMMAND...`
 * starts a container. `ISOLATION`: `auto`, `plain` without mount name spaces, `pids` or `+uncounted` without
 * cgroups.
 * `ISOLATION+stdin`: with an input that the first client closes; `+exec`: with a command in it.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import type { ContainerConfig, SandboxConfig, SecurityConfig } from "../runtime/config.ts";
import { HostRuntime } from "../runtime/host/host.ts";
import { type ImageMapping, ImageTable } from "../runtime/host/images.ts";

const [directory = "", isolation = "", ...command] = process.argv.slice(2);

/** Isolations that the tests run under. For another user only `auto`, which is `pids` there. */
export const isolations = process.env["DRAY_TEST_ISOLATIONS"]?.split(",") ?? ["auto", "plain", "pids"];

export function testRuntime(
  root: string,
  isolation: string,
  images: readonly ImageMapping[] = [],
): HostRuntime {
  return new HostRuntime({
    directory: `${root}/runtime`,
    rootDir: root,
    podsDirectory: `${root}/pods`,
    nodeAddress: "127.0.0.1",
    images: new ImageTable(images),
    isolation: isolation.startsWith("plain") ? "plain" : "auto",
    cgroups: /^pids|\+uncounted$/.test(isolation) ? "none" : "auto",
    cdi: cdiRegistry([]),
    hostPath: (path) => path,
    clock: systemClock,
    newId: randomUUID,
    log: silentLog,
  });
}

export const security: SecurityConfig = {
  privileged: false,
  supplementalGroups: [],
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: "unconfined",
};

export const sandbox: SandboxConfig = {
  namespace: "default",
  name: "pod",
  uid: "uid",
  attempt: 0,
  hostname: "pod",
  labels: {},
  annotations: {},
  logDirectory: "/tmp",
  dns: undefined,
  ports: [],
  hostNetwork: false,
  hostPID: false,
  hostIPC: false,
  shareProcessNamespace: false,
  sysctls: {},
  security,
  resources: undefined,
  runtimeHandler: "",
};

export const container = (root: string, argv: readonly string[]): ContainerConfig => ({
  name: "main",
  attempt: 0,
  image: "any",
  imageRef: "host://any",
  command: argv,
  args: [],
  workingDir: undefined,
  env: [],
  mounts: [],
  cdiDevices: [],
  logPath: `${root}/main.log`,
  terminationLog: "",
  devices: [],
  annotations: {},
  security,
  resources: {},
  hash: "",
  stdin: false,
  stdinOnce: false,
  tty: false,
});

if (command.length > 0) {
  setInterval(() => {}, 1000);
  const runtime = testRuntime(directory, isolation);
  await runtime.start();
  const { id } = await runtime.runPodSandbox(sandbox);
  const { id: containerId } = await runtime.createContainer(id, {
    ...container(directory, command),
    stdin: isolation.endsWith("+stdin"),
    stdinOnce: isolation.endsWith("+stdin"),
  });
  await runtime.startContainer(containerId);
  if (isolation.endsWith("+exec")) {
    const stdout = new PassThrough();
    const streams = { stdin: undefined, stdout, stderr: undefined, resize: undefined };
    const script = "echo here; sleep 1000; echo there";
    void runtime.exec(
      { id: containerId, command: ["sh", "-c", script], tty: false },
      streams,
      new AbortController().signal,
    );
    await once(stdout, "data");
  }
  process.stdout.write("started\n");
}
