import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CdiRegistry, cdiRegistry } from "@dray/cdi";
import { silentLog, systemClock } from "@dray/client";
import type { ContainerConfig, SandboxConfig, SecurityConfig } from "../../config.ts";
import { find } from "../../host/isolation.ts";
import { OciImages } from "../images/service.ts";
import { OciRuntime } from "../runtime.ts";
import { dockerArchive, type LayerEntry, testImage } from "./image.ts";

/** The image of the tests, made of the machine's busybox-static. */
const testImageName = "docker.io/library/test:1";

export const plainSecurity: SecurityConfig = {
  privileged: false,
  supplementalGroups: [],
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
  addCapabilities: [],
  dropCapabilities: [],
  seccomp: "runtime/default",
};

/** Runtimes of the nodes of one cluster on this machine, which are removed with the test. */
export interface TestRuntimes {
  readonly folder: string;
  readonly images: OciImages;
  /** Starts a runtime; another one of the same name is the node's next agent. */
  open(name?: string, cdi?: CdiRegistry, hostPath?: (path: string) => string): Promise<OciRuntime>;
  sandbox(values?: Partial<SandboxConfig>): SandboxConfig;
  container(name: string, script: string, values?: Partial<ContainerConfig>): ContainerConfig;
  close(): Promise<void>;
}

/** `hostNetwork`: the network of pods that have the node's. */
export async function testRuntimes(hostNetwork: "node" | "machine" = "machine"): Promise<TestRuntimes> {
  const busybox = find("busybox");
  if (busybox === undefined) throw new Error("busybox is not installed (package busybox-static of Debian)");
  const folder = mkdtempSync(join(tmpdir(), "dray-oci-"));
  const images = await OciImages.open({ directory: join(folder, "images"), now: Date.now });
  const archive = join(folder, "test.tar");
  writeFileSync(archive, dockerArchive(busyboxImage(readFileSync(busybox)), [testImageName]));
  await images.importImages(archive);
  const runtimes = new Map<string, OciRuntime>();
  // The runtime's timers keep no process alive.
  const alive = setInterval(() => {}, 1000);
  let made = 0;
  return {
    folder,
    images,
    async open(name = "node", cdi = cdiRegistry([]), hostPath = (path) => path) {
      await runtimes.get(name)?.close();
      const runtime = new OciRuntime({
        directory: join(folder, name),
        networkDirectory: join(folder, "network"),
        nodeName: name,
        nodeAddress: "127.0.0.1",
        hostNetwork,
        networkNamespaces: join(folder, `netns-${name}`),
        nodePath: (path) => path,
        images,
        cdi,
        hostPath,
        clock: systemClock,
        newId: randomUUID,
        log: silentLog,
      });
      await runtime.start();
      runtimes.set(name, runtime);
      return runtime;
    },
    sandbox: (values = {}) => ({
      namespace: "default",
      name: "pod",
      uid: `uid-${made++}`,
      attempt: 0,
      hostname: "pod",
      labels: {},
      annotations: {},
      logDirectory: join(folder, "logs"),
      dns: undefined,
      ports: [],
      hostNetwork: false,
      hostPID: false,
      hostIPC: false,
      shareProcessNamespace: false,
      sysctls: {},
      security: plainSecurity,
      resources: undefined,
      runtimeHandler: "",
      ...values,
    }),
    container: (name, script, values = {}) => ({
      name,
      attempt: 0,
      hash: "",
      logPath: join(folder, "logs", `${name}-${made++}.log`),
      terminationLog: "",
      image: testImageName,
      imageRef: testImageName,
      command: ["sh", "-c", script],
      args: [],
      workingDir: undefined,
      env: [],
      mounts: [],
      devices: [],
      cdiDevices: [],
      annotations: {},
      security: plainSecurity,
      resources: {},
      stdin: false,
      stdinOnce: false,
      tty: false,
      ...values,
    }),
    async close() {
      for (const runtime of runtimes.values()) await runtime.destroy();
      await images.removeImage(testImageName);
      images.close();
      clearInterval(alive);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const applets =
  "sh cat echo sleep id ls mount nc touch stat grep hostname wget kill ps true false env pwd stty dd tail head trap wc mkdir rm tr sed chmod sysctl ulimit yes test ip mknod readlink nproc mkfifo seq cut";

function busyboxImage(busybox: Buffer): ReturnType<typeof testImage> {
  const files: LayerEntry[] = [
    { name: "bin/busybox", type: "file", content: busybox, mode: 0o755 },
    ...applets
      .split(" ")
      .map((name): LayerEntry => ({ name: `bin/${name}`, type: "symlink", linkName: "busybox" })),
    { name: "tmp", type: "directory", mode: 0o1777 },
    { name: "root", type: "directory", mode: 0o700 },
    { name: "proc", type: "directory" },
    {
      name: "etc/passwd",
      type: "file",
      content: "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1001:user:/tmp:/bin/sh\n",
    },
    { name: "etc/group", type: "file", content: "root:x:0:\nusers:x:1001:\nextra:x:1002:other,user\n" },
  ];
  return testImage(
    [files],
    { Env: ["IMAGE=busybox", "PATH=/bin"], Cmd: ["sleep", "1000"], StopSignal: "SIGTERM" },
    "none",
  );
}

/** Why containers cannot run here; undefined if they can. */
export async function lackOfContainers(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "oci: real containers need root";
  for (const program of ["runc", "busybox", "ip"])
    if (find(program) === undefined) return `oci: ${program} is not installed`;
  let runtimes: TestRuntimes | undefined;
  try {
    runtimes = await testRuntimes();
    const runtime = await runtimes.open();
    const { id } = await runtime.runPodSandbox(runtimes.sandbox());
    const container = await runtime.createContainer(id, runtimes.container("probe", "true"));
    await runtime.startContainer(container.id);
    return undefined;
  } catch (error) {
    return `oci: no real containers here: ${(error as Error).message}`;
  } finally {
    await runtimes?.close();
  }
}
