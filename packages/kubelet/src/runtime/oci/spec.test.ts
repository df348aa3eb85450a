import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import type { ContainerConfig, SandboxConfig, SecurityConfig } from "../config.ts";
import { capabilitiesOf, containerCapabilities } from "./capabilities.ts";
import { CgroupTree, oomKills } from "./cgroups.ts";
import { defaultSeccomp } from "./seccomp.ts";
import { containerSpec, type MachineFacts, ociResources, type SpecInput } from "./spec.ts";
import { plainSecurity } from "./testing/runtime.ts";
import { resolveUser } from "./users.ts";

const machine: MachineFacts = {
  cgroupVersion: 2,
  capabilities: capabilitiesOf("1ffffffffff"),
  seccomp: true,
  minOomScoreAdj: -1000,
  swapAccounting: false,
};
const sandbox: SandboxConfig = {
  namespace: "default",
  name: "pod",
  uid: "uid",
  attempt: 0,
  hostname: "pod",
  labels: {},
  annotations: {},
  logDirectory: "/logs",
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
};
const container: ContainerConfig = {
  name: "main",
  attempt: 0,
  hash: "",
  logPath: "/logs/main",
  terminationLog: "",
  image: "a",
  imageRef: "a",
  command: [],
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
};
const image = {
  user: "",
  env: ["PATH=/image", "A=image"],
  entrypoint: ["/entry"],
  cmd: ["cmd"],
  workingDir: "/work",
  stopSignal: "",
  volumes: [],
  diffIds: [],
};

function specOf(
  values: Partial<Omit<SpecInput, "container" | "sandbox">> & {
    container?: Partial<ContainerConfig>;
    sandbox?: Partial<SandboxConfig>;
  } = {},
): ReturnType<typeof containerSpec> {
  return containerSpec({
    image,
    user: { uid: 0, gid: 0, additionalGids: [] },
    root: "/root",
    namespaces: { network: "/ns/net", ipc: "/ns/ipc", uts: "/ns/uts" },
    podMounts: [],
    devices: [],
    seccomp: undefined,
    edits: {},
    cgroupsPath: "/dray/c",
    machine,
    lookUpDevice: () => ({ type: "c", major: 195, minor: 0, fileMode: 0o666 }),
    ...values,
    sandbox: { ...sandbox, ...values.sandbox },
    container: { ...container, ...values.container },
  });
}

test("program, environment and folder are the pod's, else the image's", () => {
  const table: readonly (readonly [Partial<ContainerConfig>, readonly string[]])[] = [
    [{}, ["/entry", "cmd"]],
    [{ args: ["x"] }, ["/entry", "x"]],
    [{ command: ["/own"] }, ["/own"]],
    [{ command: ["/own"], args: ["x"] }, ["/own", "x"]],
  ];
  for (const [values, args] of table)
    assert.deepEqual(specOf({ container: values }).spec.process.args, args, JSON.stringify(values));
  assert.throws(() => specOf({ image: { ...image, entrypoint: [], cmd: [] } }), /no command specified/);
  const { process } = specOf({
    container: {
      env: [
        ["A", "own"],
        ["B", "=x"],
      ],
      workingDir: "rel/../dir",
      tty: true,
    },
  }).spec;
  assert.deepEqual(process.env, ["PATH=/image", "A=own", "TERM=xterm", "HOSTNAME=pod", "B==x"]);
  assert.equal(process.cwd, "/dir");
  assert.equal(specOf().spec.process.cwd, "/work");
  assert.equal(
    specOf({ image: { ...image, env: [] } }).spec.process.env[0]?.startsWith("PATH=/usr/local/sbin:"),
    true,
  );
});

test("name spaces are those of the pod", () => {
  const types = (values: Partial<SandboxConfig>, namespaces: SpecInput["namespaces"] = {}): string[] =>
    specOf({ sandbox: values, namespaces }).spec.linux.namespaces.map(
      ({ type, path = "new" }) => `${type} ${path}`,
    );
  assert.deepEqual(types({}, { network: "/n", ipc: "/i", uts: "/u" }), [
    "mount new",
    "cgroup new",
    "pid new",
    "network /n",
    "ipc /i",
    "uts /u",
  ]);
  assert.deepEqual(types({ hostNetwork: true, hostIPC: true, hostPID: true }), ["mount new", "cgroup new"]);
  assert.deepEqual(types({ shareProcessNamespace: true }, { pid: "/p" }), [
    "mount new",
    "cgroup new",
    "pid /p",
  ]);
  const v1 = specOf({ machine: { ...machine, cgroupVersion: 1 } }).spec.linux.namespaces;
  assert.ok(!v1.some(({ type }) => type === "cgroup"));
});

test("mounts come in the order of their depth, and the pod's own win", () => {
  const mount = (containerPath: string, rest = {}) => ({
    hostPath: `/host${containerPath}`,
    containerPath,
    readOnly: false,
    ...rest,
  });
  const { spec } = specOf({
    podMounts: [mount("/etc/hosts"), mount("/etc/hostname"), mount("/dev/shm")],
    container: {
      security: { ...plainSecurity, readOnlyRootFilesystem: true },
      mounts: [
        mount("/a/b/c"),
        mount("/a", { propagation: "hostToContainer" }),
        mount("/etc/hosts/", { readOnly: true }),
        mount("/sys", { propagation: "bidirectional" }),
      ],
    },
  });
  const bound = spec.mounts
    .filter(({ type }) => type === "bind")
    .map(({ destination, options = [] }) => `${destination} ${options.slice(1).join(" ")}`);
  assert.deepEqual(bound, [
    "/a rslave rw",
    "/sys rshared rw",
    "/etc/hostname rprivate ro",
    "/dev/shm rprivate rw",
    "/etc/hosts rprivate ro",
    "/a/b/c rprivate rw",
  ]);
  assert.equal(spec.mounts.filter(({ destination }) => destination === "/sys").length, 1);
  assert.equal(spec.linux.rootfsPropagation, "rshared");
  assert.equal(spec.root.readonly, true);
});

test("devices, their rules and CDI edits", () => {
  const device = {
    type: "c",
    major: 10,
    minor: 200,
    fileMode: 0o600,
    path: "/dev/tun",
    permissions: "rw",
  } as const;
  const { spec } = specOf({
    devices: [device],
    user: { uid: 7, gid: 8, additionalGids: [8] },
    edits: { env: ["GPU=1"], deviceNodes: [{ path: "/dev/gpu", permissions: "r" }], additionalGids: [44] },
  });
  assert.deepEqual(spec.linux.resources.devices, [
    { allow: false, access: "rwm" },
    { allow: true, type: "c", major: 10, minor: 200, access: "rw" },
    { allow: true, type: "c", major: 195, minor: 0, access: "r" },
  ]);
  assert.deepEqual(
    spec.linux.devices.map(({ path, uid }) => [path, uid]),
    [
      ["/dev/tun", 7],
      ["/dev/gpu", 7],
    ],
  );
  assert.deepEqual(spec.process.user.additionalGids, [8, 44]);
  assert.ok(spec.process.env.includes("GPU=1"));
});

test("a privileged container has it all, another what it may", () => {
  const security = (values: Partial<SecurityConfig>) =>
    specOf({ container: { security: { ...plainSecurity, ...values } } });
  const privileged = security({ privileged: true, noNewPrivileges: true }).spec;
  assert.equal(privileged.process.capabilities.bounding.length, 41);
  assert.deepEqual(
    [privileged.linux.maskedPaths, privileged.linux.seccomp, privileged.process.noNewPrivileges],
    [undefined, undefined, false],
  );
  const plain = security({}).spec;
  assert.ok(plain.linux.maskedPaths?.includes("/proc/kcore"));
  assert.equal(plain.linux.seccomp?.defaultAction, "SCMP_ACT_ERRNO");
  assert.equal(security({ seccomp: "unconfined" }).spec.linux.seccomp, undefined);
  const without = specOf({ machine: { ...machine, seccomp: false } });
  assert.deepEqual(without.unsupported, ["seccomp profile runtime/default"]);
  assert.equal(without.spec.linux.seccomp, undefined);
});

test("capabilities: drops come first, and unknown ones are reported", () => {
  const of = (add: string[], drop: string[], available = machine.capabilities) =>
    containerCapabilities({ ...plainSecurity, addCapabilities: add, dropCapabilities: drop }, available);
  assert.deepEqual(of(["NET_RAW", "cap_kill"], ["ALL"]).given, ["CAP_NET_RAW", "CAP_KILL"]);
  assert.deepEqual(of(["KILL"], ["KILL"]).given.includes("CAP_KILL"), true);
  assert.equal(of(["ALL"], []).given.length, 41);
  assert.equal(of(["ALL"], ["SYS_ADMIN"]).given.includes("CAP_SYS_ADMIN"), false);
  assert.deepEqual(of(["SYS_TIME", "NONSENSE"], [], new Set(["KILL"])), {
    given: ["CAP_KILL"],
    missing: ["SYS_TIME", "NONSENSE"],
  });
});

test("the default seccomp profile opens calls with the capabilities they come with", () => {
  const names = (capabilities: string[]): string[] =>
    defaultSeccomp(capabilities).syscalls?.[0]?.names as string[];
  assert.ok(names([]).includes("openat") && !names([]).includes("mount") && !names([]).includes("keyctl"));
  assert.ok(names(["CAP_SYS_ADMIN"]).includes("mount"));
  assert.ok(!names(["CAP_SYS_ADMIN"]).includes("keyctl"));
  const clone3 = defaultSeccomp([]).syscalls?.find(({ names: [name] }) => name === "clone3");
  assert.equal(clone3?.errnoRet, 38);
  assert.equal(
    defaultSeccomp(["CAP_SYS_ADMIN"]).syscalls?.some(({ names: [name] }) => name === "clone3"),
    false,
  );
});

test("bounds in the terms of both cgroup versions", () => {
  const all = {
    cpuShares: 512,
    cpuQuota: 50_000,
    cpuPeriod: 100_000,
    cpusetCpus: "0-1",
    memoryLimitBytes: 1000,
    pidsLimit: 5,
  };
  assert.deepEqual(ociResources(all, machine), {
    cpu: { shares: 512, quota: 50_000, period: 100_000, cpus: "0-1" },
    memory: { limit: 1000 },
    pids: { limit: 5 },
    unified: { "memory.oom.group": "1" },
  });
  assert.deepEqual(ociResources({ memoryLimitBytes: 7 }, { cgroupVersion: 1, swapAccounting: true }), {
    memory: { limit: 7, swap: 7 },
  });
  assert.deepEqual(ociResources({}, machine), {});
  assert.equal(
    specOf({ container: { resources: { oomScoreAdj: -998 } }, machine: { ...machine, minOomScoreAdj: 0 } })
      .spec.process.oomScoreAdj,
    0,
  );
});

test("users are found in the image, or refused by their name", () => {
  const files = {
    passwd: "root:x:0:0::/:\nweb:x:33:44::/:\ndamaged\n",
    group: "root:x:0:\nweb:x:44:\nlog:x:55:web,other\n",
  };
  const of = (security: Partial<SecurityConfig>, imageUser = "") =>
    resolveUser({ ...plainSecurity, ...security }, imageUser, files);
  assert.deepEqual(of({}), { uid: 0, gid: 0, additionalGids: [0] });
  assert.deepEqual(of({}, "web"), { uid: 33, gid: 44, additionalGids: [44, 55] });
  assert.deepEqual(of({}, "33:log"), { uid: 33, gid: 55, additionalGids: [55] });
  assert.deepEqual(of({}, "9:8"), { uid: 9, gid: 8, additionalGids: [8] });
  assert.deepEqual(of({ runAsUser: 33 }, "root:log").gid, 44);
  assert.deepEqual(of({ runAsUser: 77, supplementalGroups: [5] }), {
    uid: 77,
    gid: 0,
    additionalGids: [0, 5],
  });
  assert.deepEqual(of({ runAsUserName: "web", runAsGroup: 1 }), { uid: 33, gid: 1, additionalGids: [1, 55] });
  assert.throws(() => of({}, "nobody"), /no user "nobody"/);
  assert.throws(() => of({}, "web:none"), /no group "none"/);
  assert.throws(() => of({}, "4294967295"), /no user "4294967295"/);
});

test("cgroups are removed in all hierarchies, on a hybrid machine in the unified one too", (context) => {
  const folder = temporaryFolder(context);
  const mounts = [
    ["memory", "cgroup", "rw,memory"],
    ["systemd", "cgroup", "rw,name=systemd"],
    ["unified", "cgroup2", "rw"],
  ].map(([name, type, options]) => `1 2 0:3 / ${folder}/${name} rw - ${type} ${type} ${options}`);
  const tree = CgroupTree.find(mounts.join("\n"));
  const make = (path: string): void => {
    for (const name of ["memory", "systemd", "unified"])
      mkdirSync(join(folder, name, path), { recursive: true });
  };
  const left = (): string[] =>
    (readdirSync(folder, { recursive: true }) as string[]).filter((path) => path.includes("/"));
  for (const path of ["dray/n/pod1/c", "dray/n/pod2"]) make(path);
  tree.keep("/dray/n", new Set(["/dray/n/pod2"]));
  assert.equal(left().filter((path) => path.includes("pod")).length, 3);
  tree.remove("/dray/n");
  tree.removeEmpty("/dray");
  assert.deepEqual(left(), []);
});

test("cgroups are found where they are mounted", () => {
  const line = (point: string, type: string, options: string): string =>
    `1 2 0:3 / ${point} rw - ${type} ${type} ${options}`;
  assert.equal(CgroupTree.find(line("/sys/fs/cgroup", "cgroup2", "rw")).version, 2);
  const hybrid = [
    line("/sys/fs/cgroup/memory", "cgroup", "rw,memory"),
    line("/sys/fs/cgroup/unified", "cgroup2", "rw"),
  ];
  assert.equal(CgroupTree.find(hybrid.join("\n")).version, 1);
  assert.equal(
    CgroupTree.find(hybrid.join("\n")).oomFile("/a"),
    "/sys/fs/cgroup/memory/a/memory.oom_control",
  );
  assert.equal(CgroupTree.find(line("/cg", "cgroup2", "rw")).oomFile("/a"), "/cg/a/memory.events");
  assert.throws(() => CgroupTree.find(""), /no cgroup file system/);
  assert.equal(oomKills("low 0\noom 1\noom_kill 3\n"), 3);
  assert.equal(oomKills("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"), 1);
  assert.equal(oomKills(""), 0);
});
