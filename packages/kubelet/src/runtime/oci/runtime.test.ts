import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Duplex, PassThrough, type Readable } from "node:stream";
import { after, before, test } from "node:test";
import { cdiRegistry } from "@dray/cdi";
import { eventually } from "../../testing/eventually.ts";
import type { ContainerConfig, SandboxConfig } from "../config.ts";
import type { ClientStreams, Container } from "../service.ts";
import type { OciRuntime } from "./runtime.ts";
import { lackOfContainers, plainSecurity, type TestRuntimes, testRuntimes } from "./testing/runtime.ts";

const missing = await lackOfContainers();
const options = missing === undefined ? {} : { skip: missing };

let runtimes: TestRuntimes;
let runtime: OciRuntime;
before(async () => {
  if (missing !== undefined) return;
  runtimes = await testRuntimes();
  runtime = await runtimes.open();
});
after(async () => {
  if (missing !== undefined) return;
  const { folder } = runtimes;
  await runtimes.close();
  // Nothing is left on the machine.
  assert.ok(!readFileSync("/proc/mounts", "utf8").includes(folder));
  const commands = execFileSync("ps", ["-eo", "pid,ppid,stat,args"], { encoding: "utf8" }).split("\n");
  assert.deepEqual(
    commands.filter((line) => line.includes(folder)),
    [],
  );
});

const sandboxOf = async (values: Partial<SandboxConfig> = {}): Promise<string> =>
  (await runtime.runPodSandbox(runtimes.sandbox(values))).id;

async function started(
  sandbox: string,
  script: string,
  values: Partial<ContainerConfig> = {},
): Promise<{ id: string; config: ContainerConfig }> {
  const config = runtimes.container("main", script, values);
  const { id } = await runtime.createContainer(sandbox, config);
  await runtime.startContainer(id);
  return { id, config };
}

async function status(id: string): Promise<Container> {
  const found = (await runtime.listContainers()).find((container) => container.id === id);
  assert.ok(found);
  return found;
}

const ended = (id: string): Promise<Container> =>
  eventually(async () => {
    const container = await status(id);
    assert.equal(container.state, "exited");
    return container;
  });

/** Runs a script to its end. Returns its output. */
async function output(
  script: string,
  container: Partial<ContainerConfig> = {},
  sandbox: Partial<SandboxConfig> = {},
): Promise<string> {
  const pod = await sandboxOf(sandbox);
  // Both outputs in one, in order, since runc copies each on its own.
  const { id, config } = await started(pod, `exec 2>&1; ${script}`, container);
  await ended(id);
  const text = readFileSync(config.logPath, "utf8");
  await runtime.removePodSandbox(pod);
  return text;
}

function streams(stdin?: Readable): ClientStreams & { text: () => string } {
  const stdout = new PassThrough();
  let text = "";
  stdout.on("data", (chunk) => {
    text += String(chunk);
  });
  const stderr = new PassThrough().on("data", (chunk) => {
    text += String(chunk);
  });
  return { stdin, stdout, stderr, resize: undefined, text: () => text };
}

test("a container runs its program in an image, and its end is told", options, async () => {
  const sandbox = await sandboxOf({ hostname: "web-0" });
  const changes: string[] = [];
  const [{ config: { uid } = { uid: "" } } = {}] = (await runtime.listPodSandboxes()).filter(
    ({ id }) => id === sandbox,
  );
  runtime.onChange((changed) => changes.push(changed));
  const { id, config } = await started(
    sandbox,
    "hostname; pwd; echo $IMAGE $EXTRA; cat /etc/hostname; echo err >&2; exit 3",
    {
      env: [["EXTRA", "with 'quotes' $and\nlines"]],
      workingDir: "/made/here",
    },
  );
  const over = await ended(id);
  assert.equal(over.exitCode, 3);
  assert.equal(over.reason, "Error");
  assert.ok(over.startedAt! >= over.createdAt && over.finishedAt! >= over.startedAt!);
  const log = readFileSync(config.logPath, "utf8");
  assert.equal(log.replace("err\n", ""), "web-0\n/made/here\nbusybox with 'quotes' $and lines\nweb-0\n");
  assert.match(log, /^err$/m);
  assert.ok(changes.includes(uid));
  const lines = [];
  for await (const { text } of runtime.readLog(config.logPath, undefined)) lines.push(String(text));
  assert.equal(lines.join(""), log);
  assert.deepEqual(
    (await runtime.listContainers(uid)).map((one) => one.id),
    [id],
  );
  assert.deepEqual(await runtime.listContainers("other"), []);
  await runtime.removePodSandbox(sandbox);
  await runtime.removePodSandbox(sandbox);
  assert.deepEqual(await runtime.listContainers(uid), []);
});

test("what cannot be made or started says why", options, async () => {
  const sandbox = await sandboxOf();
  const create = (values: Partial<ContainerConfig>, script = "true"): Promise<unknown> =>
    runtime.createContainer(sandbox, runtimes.container("main", script, values));
  await assert.rejects(create({ imageRef: "docker.io/library/none:1" }), {
    reason: "CreateContainerError",
    message: /not on this node/,
  });
  await assert.rejects(create({ cdiDevices: ["a.b/c=d"] }), {
    reason: "CreateContainerError",
    message: /unresolvable CDI devices a.b\/c=d/,
  });
  await assert.rejects(
    create({ security: { ...plainSecurity, runAsUserName: "nobody" } }),
    /no user "nobody"/,
  );
  await assert.rejects(
    create({ security: { ...plainSecurity, seccomp: "localhost//none.json" } }),
    /seccomp profile "\/none.json".*ENOENT/,
  );
  await assert.rejects(
    create({ devices: [{ hostPath: "/dev/none", containerPath: "/dev/x", permissions: "r" }] }),
    /\/dev\/none/,
  );
  await assert.rejects(create({ env: [["A=B", "c"]] }), /A=B/);
  const config = runtimes.container("main", "", { command: ["/no/such/program"] });
  const { id } = await runtime.createContainer(sandbox, config);
  await assert.rejects(runtime.startContainer(id), {
    reason: "RunContainerError",
    message: /exec: "\/no\/such\/program": stat .*no such file/,
  });
  const failed = await status(id);
  assert.deepEqual([failed.state, failed.reason, failed.exitCode], ["exited", "StartError", 128]);
  assert.equal(readFileSync(config.logPath, "utf8"), "");
  await assert.rejects(runtime.startContainer(id), /started before/);
  await assert.rejects(runtime.startContainer("none"), { reason: "ContainerNotFound" });
  await assert.rejects(runtime.runPodSandbox(runtimes.sandbox({ runtimeHandler: "kata" })), /"kata"/);
  await assert.rejects(
    runtime.runPodSandbox(runtimes.sandbox({ sysctls: { "kernel.panic": "1" } })),
    /"kernel.panic" does not belong/,
  );
  await assert.rejects(
    runtime.runPodSandbox(runtimes.sandbox({ sysctls: { "net/../kernel/panic": "1" } })),
    /does not belong/,
  );
  await assert.rejects(runtime.runPodSandbox(runtimes.sandbox({ sysctls: { "net.none": "1" } })), {
    reason: "CreatePodSandboxError",
  });
  await runtime.removePodSandbox(sandbox);
  await assert.rejects(create({}), /does not run/);
});

test("what a killed runc has left mounted does not keep a container", options, async () => {
  const sandbox = await sandboxOf();
  const { id } = await started(sandbox, "sleep 1000");
  const folder = join(runtimes.folder, "node/runc", id);
  const left = join(folder, "runc.left");
  writeFileSync(left, "");
  execFileSync("mount", ["--bind", process.execPath, left]);
  await runtime.removeContainer(id);
  assert.ok(!existsSync(folder));
  assert.ok(!(await runtime.listContainers()).some((one) => one.id === id));
  await runtime.removePodSandbox(sandbox);
});

test("a program is who it should be, and may what it should", options, async () => {
  const who = (security: Partial<typeof plainSecurity>, script = "id"): Promise<string> =>
    output(script, { security: { ...plainSecurity, ...security } });
  assert.equal(
    await who({ runAsUser: 1000 }),
    "uid=1000(user) gid=1001(users) groups=1001(users),1002(extra)\n",
  );
  assert.equal(
    await who({ runAsUserName: "user", runAsGroup: 7, supplementalGroups: [9] }, "id -u; id -g; id -G"),
    "1000\n7\n7 9 1002\n",
  );
  assert.match(await who({ runAsUser: 4242 }), /uid=4242 gid=0/);
  const pod = await sandboxOf({});
  const { id } = await started(pod, "true", {
    security: { ...plainSecurity, runAsUser: 4242, supplementalGroups: [9] },
  });
  assert.deepEqual((await ended(id)).user, { uid: 4242, gid: 0, groups: [0, 9] });
  await runtime.removePodSandbox(pod);
  assert.match(
    await who({ readOnlyRootFilesystem: true }, "touch /x; touch /etc/hosts; touch /dev/shm/x && echo shm"),
    /Read-only.*\n.*Read-only.*\nshm\n/,
  );
  const status = "grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status | tr -d '\\n\\t'";
  assert.equal(
    await who({ noNewPrivileges: true, dropCapabilities: ["ALL"], addCapabilities: ["NET_RAW"] }, status),
    "CapEff:0000000000002000NoNewPrivs:1Seccomp:2",
  );
  assert.equal(
    await who({ seccomp: "unconfined", dropCapabilities: ["all"] }, status),
    "CapEff:0000000000000000NoNewPrivs:0Seccomp:0",
  );
  assert.match(await who({}, status), /CapEff:00000000a80425fbNoNewPrivs:0Seccomp:2/);
  // The profile has an effect: a mount needs a capability that the container lacks, this one the profile.
  assert.match(
    await who({ addCapabilities: ["SYS_ADMIN"] }, "mount -t tmpfs x /tmp && echo mounted"),
    /mounted/,
  );
  assert.match(
    await who(
      { privileged: true },
      "ls /dev/vda /dev/kmsg /dev/loop-control 2>/dev/null | wc -l; echo 1 >/proc/sys/net/ipv4/ip_forward && echo free",
    ),
    /[1-9]\nfree\n/,
  );
  const profile = join(runtimes.folder, "profile.json");
  writeFileSync(
    profile,
    JSON.stringify({
      defaultAction: "SCMP_ACT_ALLOW",
      syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
    }),
  );
  assert.match(await who({ seccomp: `localhost/${profile}` }, "mkdir /x || echo refused"), /refused/);
});

test("a mount is read-only with what is mounted below it, if that is asked for", options, async (context) => {
  if (!runtime.recursiveReadOnly) return context.skip("runc or the kernel cannot do it");
  const at = mkdtempSync(join(runtimes.folder, "recursive-"));
  const below = join(at, "below");
  mkdirSync(below);
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", below]);
  context.after(() => void spawnSync("umount", ["-l", below]));
  const script = "touch /data/x || echo no; touch /data/below/x && echo yes || echo no";
  for (const [recursiveReadOnly, expected] of [
    [true, ["no", "no"]],
    [false, ["no", "yes"]],
  ] as const) {
    const mounts = [{ hostPath: at, containerPath: "/data", readOnly: true, recursiveReadOnly }];
    const lines = (await output(script, { mounts })).split("\n");
    assert.deepEqual(
      lines.filter((line) => ["yes", "no"].includes(line)),
      expected,
    );
  }
});

test("mounts, devices and CDI edits are there", options, async (t) => {
  const at = mkdtempSync(join(runtimes.folder, "mounts-"));
  mkdirSync(join(at, "data"));
  writeFileSync(join(at, "file"), "from the machine");
  const text = await output(
    "cat /a/file; touch /a/file || echo ro; echo x >/a/data/x; ls /new; stat -c %t:%T /dev/zz; head -c 2 /dev/zz | wc -c; echo x >/dev/zz || echo dev-ro",
    {
      mounts: [
        { hostPath: join(at, "data"), containerPath: "/a/data", readOnly: false },
        { hostPath: join(at, "file"), containerPath: "/a/file", readOnly: true },
        { hostPath: join(at, "new"), containerPath: "/new", readOnly: false },
      ],
      devices: [{ hostPath: "/dev/zero", containerPath: "/dev/zz", permissions: "r" }],
    },
  );
  assert.match(text, /^from the machine.*Read-only.*\nro\n1:5\n2\n/s);
  assert.equal(readFileSync(join(at, "data/x"), "utf8"), "x\n");
  const specs = join(at, "cdi");
  mkdirSync(specs);
  const [inner, outer] = ["i", "o"].map((end) => `dt${process.pid}${end}`) as [string, string];
  execFileSync("ip", ["link", "add", inner, "type", "veth", "peer", "name", outer]);
  t.after(() => void spawnSync("ip", ["link", "delete", outer]));
  const edits = {
    env: ["GPU=7", "IMAGE=edited"],
    mounts: [{ hostPath: join(at, "file"), containerPath: "/lib/driver", options: ["ro", "bind"] }],
    deviceNodes: [{ path: "/dev/gpu0", hostPath: "/dev/full" }],
    additionalGids: [4711],
    hooks: [{ hookName: "createRuntime", path: "/bin/sh", args: ["sh", "-c", `cat >${join(at, "state")}`] }],
    netDevices: [{ hostInterfaceName: inner, name: "net7" }],
  };
  writeFileSync(
    join(specs, "a.json"),
    JSON.stringify({ cdiVersion: "1.1.0", kind: "a.b/gpu", devices: [{ name: "0", containerEdits: edits }] }),
  );
  execFileSync("ip", ["addr", "add", "192.0.2.7/24", "dev", inner]);
  const other = await runtimes.open("cdi", cdiRegistry([specs]));
  const { id: sandbox } = await other.runPodSandbox(runtimes.sandbox());
  const config = runtimes.container(
    "main",
    "echo $GPU $IMAGE; cat /lib/driver; echo; stat -c %t:%T /dev/gpu0; id -G; ip addr show net7",
    { cdiDevices: ["a.b/gpu=0"] },
  );
  const { id, unsupported } = await other.createContainer(sandbox, config);
  assert.deepEqual(unsupported, []);
  await other.startContainer(id);
  await eventually(async () => assert.equal((await other.listContainers())[0]?.state, "exited"));
  const log = readFileSync(config.logPath, "utf8");
  assert.match(log, /^7 edited\nfrom the machine\n1:7\n0 4711\n/);
  assert.match(log, /inet 192.0.2.7\/24/);
  assert.equal((JSON.parse(readFileSync(join(at, "state"), "utf8")) as { id: string }).id, id);
  // A later container of the pod finds the interface in place.
  const again = await other.createContainer(sandbox, { ...config, attempt: 1 });
  await other.startContainer(again.id);
  await other.removePodSandbox(sandbox);
});

test("containers of a pod share its network, its shared memory and what it asks for", options, async () => {
  const sandbox = await sandboxOf({
    shareProcessNamespace: true,
    sysctls: { "net.ipv4.ip_local_port_range": "2000 3000", "kernel.shm_rmid_forced": "1" },
    dns: { servers: ["10.0.0.10"], searches: ["a.svc", "svc"], options: ["ndots:5"] },
  });
  const first = await started(
    sandbox,
    "touch /dev/shm/mine; (sleep 1 & ) ; while :; do echo hello | nc -l -p 8080; done",
  );
  const second = await started(
    sandbox,
    "until nc 127.0.0.1 8080; do sleep 0.1; done; ls /dev/shm; cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/kernel/shm_rmid_forced; ps; cat /etc/resolv.conf",
  );
  await ended(second.id);
  const text = readFileSync(second.config.logPath, "utf8");
  assert.match(text, /^hello\nmine\n2000\t3000\n1\n/m);
  assert.match(text, /while :; do echo hello/);
  assert.match(text, /search a.svc svc\nnameserver 10.0.0.10\noptions ndots:5\n$/);
  const [ready] = (await runtime.listPodSandboxes()).filter(({ id }) => id === sandbox);
  assert.equal(ready?.ready, true);
  assert.match(ready.ips[0] ?? "", /^10\./);
  await runtime.stopContainer(first.id, 0);
  await runtime.stopPodSandbox(sandbox);
  await runtime.stopPodSandbox(sandbox);
  assert.equal((await runtime.listPodSandboxes()).find(({ id }) => id === sandbox)?.ready, false);
  await runtime.removePodSandbox(sandbox);
  // Without sharing, a container sees only itself; with the machine's, everything.
  assert.equal((await output("ps | grep -v PID | wc -l")).trim() <= "4", true);
  assert.match(
    await output("ps; hostname", {}, { hostPID: true, hostNetwork: true, hostIPC: true }),
    new RegExp(`^ *${process.pid} `, "m"),
  );
});

test("bounds are kept, changed and told", options, async () => {
  const sandbox = await sandboxOf({ resources: { memoryLimitBytes: 256 << 20, pidsLimit: 200 } });
  const eater = await started(sandbox, "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo survived", {
    resources: { memoryLimitBytes: 32 << 20 },
  });
  const over = await ended(eater.id);
  assert.equal(over.reason, "OOMKilled", JSON.stringify(over));
  assert.notEqual(over.exitCode, 0);
  const pids = await started(sandbox, "for i in $(seq 30); do sleep 60 & done; echo done; wait", {
    resources: { pidsLimit: 12 },
  });
  await eventually(() =>
    assert.match(readFileSync(pids.config.logPath, "utf8"), /fork|Resource temporarily/),
  );
  const busy = await started(sandbox, "while :; do :; done", {
    resources: { cpuShares: 2, cpuQuota: 20_000, cpuPeriod: 100_000 },
  });
  await eventually(async () => {
    const stats = (await runtime.listContainerStats()).find(({ containerId }) => containerId === busy.id);
    assert.ok((stats?.cpuNanoseconds ?? 0) > 20_000_000 && (stats?.memoryWorkingSetBytes ?? 0) > 0);
  });
  await runtime.updateContainerResources(busy.id, { memoryLimitBytes: 64 << 20, cpuShares: 512 });
  const read = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
  assert.equal((await runtime.execSync(busy.id, ["sh", "-c", read], 10_000)).output.trim(), String(64 << 20));
  const { uid } = (await runtime.listPodSandboxes()).find(({ id }) => id === sandbox)!.config;
  const [bound = ""] = globSync(
    `/sys/fs/cgroup/{memory/,}dray/*/pod${uid}/{memory.max,memory.limit_in_bytes}`,
  );
  assert.equal(readFileSync(bound, "utf8").trim(), String(256 << 20));
  await runtime.updatePodSandboxResources(sandbox, { memoryLimitBytes: 128 << 20 });
  assert.equal(readFileSync(bound, "utf8").trim(), String(128 << 20));
  await assert.rejects(runtime.updatePodSandboxResources(sandbox, { pidsLimit: -7 }), {
    reason: "UpdatePodSandboxError",
    message: /pids\.max does not take -7: /,
  });
  await runtime.removePodSandbox(sandbox);
  await assert.rejects(runtime.updateContainerResources(busy.id, {}), { reason: "ContainerNotFound" });
  await assert.rejects(runtime.updatePodSandboxResources(sandbox, {}), { reason: "UpdatePodSandboxError" });
});

test("stopping asks first, and waits as long as it may", options, async () => {
  const sandbox = await sandboxOf();
  const polite = await started(sandbox, "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.1; done");
  const deaf = await started(sandbox, "trap '' TERM; echo up; while :; do sleep 0.1; done");
  for (const { config } of [polite, deaf])
    await eventually(() => assert.equal(readFileSync(config.logPath, "utf8"), "up\n"));
  await Promise.all([runtime.stopContainer(polite.id, 20_000), runtime.stopContainer(deaf.id, 300)]);
  assert.deepEqual([(await status(polite.id)).exitCode, (await status(deaf.id)).exitCode], [5, 137]);
  assert.equal(readFileSync(polite.config.logPath, "utf8"), "up\nbye\n");
  await runtime.stopContainer(polite.id, 1000);
  await runtime.removePodSandbox(sandbox);
});

test("commands run beside the program", options, async () => {
  const sandbox = await sandboxOf();
  const { id } = await started(sandbox, "sleep 1000", {
    env: [["A", "b"]],
    security: { ...plainSecurity, runAsUser: 1000 },
  });
  const exec = (script: string): ReturnType<OciRuntime["execSync"]> =>
    runtime.execSync(id, ["sh", "-c", script], 20_000);
  assert.deepEqual(await exec("echo $A; id -u; hostname; exit 4"), { exitCode: 4, output: "b\n1000\npod\n" });
  await assert.rejects(runtime.execSync(id, ["/none"], 20_000), {
    reason: "ExecError",
    message: /"\/none".*no such file/,
  });
  await assert.rejects(runtime.execSync(id, ["sleep", "77"], 300), { reason: "ExecTimeout" });
  await eventually(async () => assert.doesNotMatch((await exec("ps")).output, /sleep 77/));
  const input = new PassThrough();
  const both = streams(input);
  const code = runtime.exec(
    id,
    ["sh", "-c", "cat; echo bad >&2; exit 9"],
    false,
    both,
    new AbortController().signal,
  );
  input.end("typed");
  assert.equal(await code, 9);
  assert.match(both.text(), /typed/);
  assert.match(both.text(), /bad/);
  const controller = new AbortController();
  const gone = runtime.exec(id, ["sleep", "88"], false, streams(), controller.signal);
  await eventually(async () => assert.match((await exec("ps")).output, /sleep 88/));
  controller.abort();
  await assert.rejects(gone);
  await eventually(async () => assert.doesNotMatch((await exec("ps")).output, /sleep 88/));
  await runtime.stopContainer(id, 0);
  await assert.rejects(exec("true"), { reason: "ContainerNotRunning" });
  await runtime.removePodSandbox(sandbox);
});

test("a container whose shell is killed counts as ended when nothing of it runs", options, async () => {
  const sandbox = await sandboxOf();
  const { id } = await started(sandbox, "trap '' TERM; while :; do sleep 31337; done", { stdin: true });
  const folder = join(runtimes.folder, "node/containers", id);
  process.kill(Number.parseInt(readFileSync(join(folder, "wrapper"), "utf8"), 10), "SIGKILL");
  const over = await ended(id);
  assert.deepEqual([over.exitCode, over.reason], [137, "ContainerStatusUnknown"]);
  assert.doesNotMatch(execFileSync("ps", ["-eo", "args"], { encoding: "utf8" }), new RegExp(`31337|${id}`));
  await runtime.removePodSandbox(sandbox);
});

test("terminals have a size and an input", options, async () => {
  const sandbox = await sandboxOf();
  const { id, config } = await started(
    sandbox,
    "test -t 0 && echo terminal; read line; echo got $line; sleep 1000",
    { tty: true, stdin: true },
  );
  await eventually(() => assert.match(readFileSync(config.logPath, "utf8"), /terminal/));
  const input = new PassThrough();
  const attached = streams(input);
  const over = new AbortController();
  const attach = runtime.attach(id, attached, over.signal);
  input.write("words\n");
  await eventually(() => assert.match(attached.text(), /got words/));
  over.abort();
  await assert.rejects(attach);
  async function* sizes() {
    yield { width: 101, height: 37 };
    await new Promise(() => {});
  }
  const typed = new PassThrough();
  const shell = { ...streams(typed), stderr: undefined, resize: sizes() };
  const exit = runtime.exec(id, ["sh"], true, shell, new AbortController().signal);
  await eventually(() => {
    typed.write("stty size; echo $TERM\n");
    assert.match(shell.text(), /37 101\r\nxterm/);
  });
  typed.write("exit 3\n");
  assert.equal(await exit, 3);
  await runtime.removePodSandbox(sandbox);
});

test("an input that is attached once ends with its client", options, async () => {
  const sandbox = await sandboxOf();
  const { id, config } = await started(sandbox, "cat; echo end", { stdin: true, stdinOnce: true });
  const input = new PassThrough();
  const attached = streams(input);
  const attach = runtime.attach(id, attached, new AbortController().signal);
  input.end("line\n");
  await attach;
  assert.equal((await ended(id)).exitCode, 0);
  assert.equal(readFileSync(config.logPath, "utf8"), "line\nend\n");
  await runtime.removePodSandbox(sandbox);
});

test("twenty connections to a port of a pod take one process", options, async () => {
  const sandbox = await sandboxOf();
  await started(sandbox, "nc -lk -p 8081 -e cat || nc -ll -p 8081 -e cat");
  const dialers = (): number =>
    readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .filter((pid) => {
        try {
          const parent = / (\d+) /.exec(
            readFileSync(`/proc/${pid}/stat`, "utf8").replace(/.*\) \S/, ""),
          )?.[1];
          return (
            Number(parent) === process.pid &&
            readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("input-type=commonjs")
          );
        } catch {
          return false;
        }
      }).length;
  const ask = async (): Promise<Duplex> => {
    const [mine, theirs] = pair();
    runtime.portForward(sandbox, 8081, theirs).catch((error: Error) => mine.destroy(error));
    mine.write("question\n");
    const [text] = (await once(mine, "data")) as [Buffer];
    assert.equal(text.toString(), "question\n");
    return mine;
  };
  let first: Duplex | undefined;
  await eventually(async () => {
    first = await ask();
  });
  const all = await Promise.all(Array.from({ length: 19 }, ask));
  assert.equal(dialers(), 1);
  for (const stream of [first!, ...all]) stream.end();
  await runtime.removePodSandbox(sandbox);
});

test("ports of a pod are reached from within", options, async () => {
  const sandbox = await sandboxOf();
  await started(sandbox, "while :; do echo inside | nc -l -p 8080; done");
  const ask = async (pod: string, port: number): Promise<string> => {
    const [mine, theirs] = pair();
    const forward = runtime.portForward(pod, port, theirs);
    mine.end("question\n");
    let text = "";
    const read = (async () => {
      for await (const chunk of mine) text += String(chunk);
    })();
    await forward;
    await read;
    return text;
  };
  await eventually(async () => assert.equal(await ask(sandbox, 8080), "inside\n"));
  await assert.rejects(ask(sandbox, 9), {
    reason: "PortForwardError",
    message: /localhost:9 inside the pod.*connection refused/,
  });
  await assert.rejects(ask("none", 9), { reason: "SandboxNotFound" });
  await runtime.removePodSandbox(sandbox);
  const server = createServer((socket) => socket.end("machine")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = await sandboxOf({ hostNetwork: true });
  assert.equal(await ask(host, (server.address() as { port: number }).port), "machine");
  server.close();
  await runtime.removePodSandbox(host);
});

/** Two ends of a connection. */
function pair(): [Duplex, Duplex] {
  const [one, two] = [new PassThrough(), new PassThrough()];
  return [Duplex.from({ readable: one, writable: two }), Duplex.from({ readable: two, writable: one })];
}

test("a log that is rotated loses no line", options, async () => {
  const sandbox = await sandboxOf();
  const { id, config } = await started(
    sandbox,
    "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done",
  );
  const parts: string[] = [];
  for (let n = 0; (await status(id)).state === "running" && n < 20; n++) {
    parts.push(`${config.logPath}.${n}`);
    await runtime.rotateContainerLog(id, `${config.logPath}.${n}`);
  }
  await ended(id);
  const all = [...parts, config.logPath].map((path) => readFileSync(path, "utf8")).join("");
  assert.equal(all, Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join(""));
  await runtime.removePodSandbox(sandbox);
});

test("containers outlive the agent, and the next one knows all of them", options, async () => {
  const script = `
    import { testRuntimes } from ${JSON.stringify(import.meta.resolve("./testing/runtime.ts"))};
    const runtimes = await testRuntimes();
    const runtime = await runtimes.open();
    const { id: sandbox } = await runtime.runPodSandbox(runtimes.sandbox());
    const ids = [];
    for (const line of ["trap 'exit 0' TERM; while :; do echo tick; sleep 0.1; done", "sleep 0.5; echo last; exit 6", "sleep 1000", "sleep 1000"]) {
      const { id } = await runtime.createContainer(sandbox, runtimes.container("c", line, { stdin: true }));
      await runtime.startContainer(id);
      ids.push(id);
    }
    console.log(JSON.stringify({ folder: runtimes.folder, sandbox, ids }));
    setInterval(() => {}, 1000);`;
  const agent = spawn(
    process.execPath,
    [
      "--conditions=dray-source",
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
      "-e",
      script,
    ],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const [line] = await once(agent.stdout, "data");
  agent.kill("SIGKILL");
  await once(agent, "exit");
  const { folder, sandbox, ids } = JSON.parse(String(line)) as {
    folder: string;
    sandbox: string;
    ids: string[];
  };
  const [ticking = "", ending = "", orphan = "", killed = ""] = ids;
  const wrapper = (id: string): number =>
    Number.parseInt(readFileSync(join(folder, "node/containers", id, "wrapper"), "utf8"), 10);
  // One loses its shell, one the process that the shell runs.
  process.kill(wrapper(orphan), "SIGKILL");
  process.kill(
    Number.parseInt(readFileSync(join(folder, "node/containers", killed, "runner"), "utf8"), 10),
    "SIGKILL",
  );
  await eventually(() =>
    assert.match(readFileSync(join(folder, "node/containers", ending, "exit"), "utf8"), /6/),
  );
  const { OciRuntime } = await import("./runtime.ts");
  const { OciImages } = await import("./images/service.ts");
  const { silentLog, systemClock } = await import("@dray/client");
  const images = await OciImages.open({ directory: join(folder, "images"), now: Date.now });
  const next = new OciRuntime({
    directory: join(folder, "node"),
    networkDirectory: join(folder, "network"),
    nodeName: "node",
    nodeAddress: "127.0.0.1",
    images,
    cdi: cdiRegistry([]),
    hostPath: (path) => path,
    clock: systemClock,
    log: silentLog,
  });
  await next.start();
  const of = async (id: string): Promise<Container> =>
    (await next.listContainers()).find((one) => one.id === id)!;
  assert.equal((await of(ticking)).state, "running");
  assert.deepEqual([(await of(ending)).exitCode, (await of(ending)).reason], [6, "Error"]);
  assert.deepEqual([(await of(orphan)).exitCode, (await of(orphan)).reason], [137, "ContainerStatusUnknown"]);
  await eventually(async () => assert.equal((await of(killed)).exitCode, 137));
  const [pod] = await next.listPodSandboxes();
  assert.deepEqual([pod?.id, pod?.ready], [sandbox, true]);
  assert.equal((await next.execSync(ticking, ["echo", "hi"], 20_000)).output, "hi\n");
  await next.stopContainer(ticking, 20_000);
  assert.equal((await of(ticking)).exitCode, 0);
  // Nothing of the container whose shell was killed still runs.
  const commands = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
  assert.doesNotMatch(commands, new RegExp(orphan));
  await next.destroy();
  assert.deepEqual(readdirSync(join(folder, "node/containers")), []);
  images.close();
  assert.ok(!readFileSync("/proc/mounts", "utf8").includes(folder));
  rmSync(folder, { recursive: true });
});
