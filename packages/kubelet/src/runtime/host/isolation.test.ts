import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import { container, isolations, sandbox, security } from "../../testing/agent.ts";
import { type Machine, withRuntime } from "../../testing/runtime.ts";
import type { SecurityConfig } from "../config.ts";

const isRoot = process.getuid?.() === 0;

/** `name: value` lines of /proc/PID/status. */
function field(status: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(status)?.[1]?.trim().replaceAll(/\s+/g, " ");
}

const showStatus = ["/bin/cat", "/proc/self/status"];

/** Runs a test if containers have mount name spaces, and, where only root can do it, as root. */
const isolatedBy =
  (isolation: string) =>
  (context: TestContext, needsRoot: boolean, body: (machine: Machine) => Promise<void>) => {
    if (needsRoot && !isRoot) return context.skip("other users are for root to be");
    return withRuntime(isolation, async (machine) => {
      if (machine.runtime.isolation !== "mounts") return context.skip("no mount name spaces");
      await body(machine);
    });
  };

type Isolated = ReturnType<typeof isolatedBy>;

const statusAs = async (machine: Machine, change: Partial<SecurityConfig>): Promise<string> => {
  const [output, code] = await machine.run({
    command: showStatus,
    security: { ...security, ...change },
  });
  assert.equal(code, 0, output);
  return output;
};

for (const isolation of isolations.filter((one) => one !== "plain"))
  describe(`isolation of containers, ${isolation}`, () => {
    const isolated = isolatedBy(isolation);
    for (const declare of [
      ownUserTests,
      nameTests,
      userTests,
      fileTests,
      mountTests,
      programTests,
      deviceTests,
    ])
      declare(isolated);
  });

function ownUserTests(isolated: Isolated): void {
  test("where the pod names no user, root's containers run as a user of the pod's own", (context) =>
    isolated(context, true, async (machine) => {
      const status = await statusAs(machine, {});
      const [uid = ""] = field(status, "Uid")!.split(" ");
      assert.ok(Number(uid) >= 0x7000_0000, uid);
      assert.equal(field(status, "Uid"), Array(4).fill(uid).join(" "));
      assert.equal(field(status, "Gid"), Array(4).fill(uid).join(" "));
      assert.equal(field(status, "Groups"), "");
      // NET_BIND_SERVICE alone: other container runtimes let every user listen on low ports.
      for (const set of ["CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"])
        assert.equal(field(status, set), "0000000000000400", set);
      assert.equal(field(status, "NoNewPrivs"), "1");
    }));
}

function nameTests(isolated: Isolated): void {
  test("a pod has a host name of its own, in exec too, and the machine keeps its own", (context) =>
    isolated(context, true, async (machine) => {
      const file = "/proc/sys/kernel/hostname";
      const own = readFileSync(file, "utf8");
      const { runtime } = machine;
      if (!runtime.namesHosts) return context.skip("host names cannot be set here");
      const show = ["/bin/cat", file];
      assert.deepEqual(await machine.run({ command: show }), ["pod\n", 0]);
      const id = await machine.start({ command: ["/bin/sleep", "1000"] });
      assert.equal((await runtime.execSync(id, show, 10_000)).output, "pod\n");
      const { id: shared } = await runtime.runPodSandbox({ ...sandbox, hostNetwork: true, hostname: "" });
      const made = await runtime.createContainer(shared, {
        ...container(machine.root, show),
        logPath: join(machine.root, "shared.log"),
      });
      await runtime.startContainer(made.id);
      await eventuallyPasses(() => assert.equal(readFileSync(join(machine.root, "shared.log"), "utf8"), own));
      assert.equal(readFileSync(file, "utf8"), own);
    }));

  test("a pod that says how it resolves names has a resolv.conf of its own", (context) =>
    isolated(context, false, async ({ runtime, root }) => {
      const machine = readFileSync("/etc/resolv.conf", "utf8");
      const dns = { servers: ["192.0.2.7"], searches: ["example.com"], options: ["ndots:2"] };
      const { id: sandboxId, unsupported } = await runtime.runPodSandbox({ ...sandbox, dns });
      assert.deepEqual(unsupported, []);
      for (const [name, change] of [
        ["usual", {}],
        ["privileged", { privileged: true }],
        ["read-only", { readOnlyRootFilesystem: true }],
      ] as const) {
        const logPath = join(root, `${name}.log`);
        const config = container(root, ["/bin/cat", "/etc/resolv.conf"]);
        const made = await runtime.createContainer(sandboxId, {
          ...config,
          logPath,
          security: { ...security, ...change },
        });
        await runtime.startContainer(made.id);
        await eventuallyPasses(() =>
          assert.equal(
            readFileSync(logPath, "utf8"),
            "search example.com\nnameserver 192.0.2.7\noptions ndots:2\n",
            name,
          ),
        );
      }
      assert.equal(readFileSync("/etc/resolv.conf", "utf8"), machine);
    }));
}

function userTests(isolated: Isolated): void {
  test("exec runs as the container does", (context) =>
    isolated(context, true, async ({ start, runtime }) => {
      const id = await start({
        command: ["/bin/sleep", "1000"],
        security: { ...security, runAsUser: 4711, runAsGroup: 4712, supplementalGroups: [4713] },
      });
      const { output } = await runtime.execSync(id, showStatus, 10_000);
      assert.equal(field(output, "Uid"), "4711 4711 4711 4711");
      assert.equal(field(output, "Gid"), "4712 4712 4712 4712");
      assert.equal(field(output, "Groups"), "4713");
      const [found] = await runtime.listContainers();
      assert.deepEqual(found?.user, { uid: 4711, gid: 4712, groups: [4712, 4713] });
      assert.equal(field(output, "NoNewPrivs"), "1");
    }));

  test("a pod that asks for root has the capabilities of a container, as its adds and drops say", (context) =>
    isolated(context, true, async (machine) => {
      const own = BigInt(`0x${field(await statusAs(machine, { privileged: true }), "CapEff")}`);
      const mask = (hex: string): string => (BigInt(`0x${hex}`) & own).toString(16).padStart(16, "0");
      for (const [change, wanted, noNewPrivileges] of [
        // containerd's default, without MKNOD.
        [{}, mask("a00425fb"), "0"],
        [{ dropCapabilities: ["ALL"], noNewPrivileges: true }, mask("0"), "1"],
        [{ dropCapabilities: ["ALL"], addCapabilities: ["KILL"] }, mask("20"), "0"],
        [{ addCapabilities: ["ALL"] }, own.toString(16).padStart(16, "0"), "0"],
      ] as const) {
        const status = await statusAs(machine, { runAsUser: 0, ...change });
        assert.equal(field(status, "Uid"), "0 0 0 0");
        assert.equal(field(status, "CapEff"), wanted, JSON.stringify(change));
        assert.equal(field(status, "NoNewPrivs"), noNewPrivileges);
      }
    }));

  test("a privileged container is as root as the agent, and sees the machine", (context) =>
    isolated(context, true, async (machine) => {
      const status = await statusAs(machine, { privileged: true });
      assert.equal(field(status, "Uid"), "0 0 0 0");
      const mark = join(machine.root, "mark");
      const [output, code] = await machine.run({
        command: ["/bin/sh", "-c", `echo written >${mark} && ls /dev/kmsg`],
        security: { ...security, privileged: true },
      });
      assert.equal(code, 0, output);
      assert.ok(existsSync(mark));
    }));

  test("a container whose volume is the machine's runs as root, one with volumes of its pod does not", (context) =>
    isolated(context, true, async ({ root, run }) => {
      const [own, machines] = [join(root, "pods/volume"), join(root, "elsewhere")];
      for (const path of [own, machines]) mkdirSync(path, { recursive: true });
      chmodSync(own, 0o777);
      const uidWith = async (hostPath: string): Promise<string> => {
        const mounts = [{ hostPath, containerPath: "/volume", readOnly: false }];
        const [output, code] = await run({ command: ["/bin/sh", "-c", "id -u; echo >/volume/x"], mounts });
        assert.equal(code, 0, output);
        assert.ok(existsSync(join(hostPath, "x")));
        return output.trim();
      };
      assert.notEqual(await uidWith(own), "0");
      assert.equal(await uidWith(machines), "0");
    }));
}

function fileTests(isolated: Isolated): void {
  test("the machine's files are read-only, and a container has writable places of its own", (context) =>
    isolated(context, false, async ({ root, run }) => {
      const secret = join(root, "file");
      writeFileSync(secret, "");
      const places = ["/tmp", "/var/tmp", "/run", "$HOME", "/dev/shm", "."];
      const write = places.map((place) => `echo x >"${place}/x" || exit 1`).join("; ");
      const script = `${write}; ls ${secret}; for d in /etc /usr /var /sys; do touch $d/x && echo wrote $d; done; :`;
      for (const runAsUser of isRoot ? [undefined, 0] : [undefined]) {
        const [output, code] = await run({
          command: ["/bin/sh", "-c", script],
          workingDir: "/no/such/folder",
          security: { ...security, ...(runAsUser === undefined ? {} : { runAsUser }) },
        });
        assert.equal(code, 0, output);
        assert.doesNotMatch(output, /wrote/);
        // The machine's /tmp is not visible.
        assert.match(output, /cannot access/);
      }
      for (const path of ["/tmp/x", "/var/tmp/x", "/run/x", "/etc/x"]) assert.equal(existsSync(path), false);
    }));

  test("root in a container can neither change the kernel's settings nor use the machine's devices", (context) =>
    isolated(context, true, async ({ run }) => {
      const script =
        "echo x >/proc/sys/kernel/domainname; echo h >/proc/sysrq-trigger; ls /dev; head -c 1 /proc/kcore | wc -c; " +
        "mkdir /sys/fs/cgroup/x /sys/fs/cgroup/*/x; mknod /tmp/disk b 254 0; grep -c . /proc/mounts";
      const [output] = await run({
        command: ["/bin/sh", "-c", script],
        security: { ...security, runAsUser: 0 },
      });
      assert.match(output, /domainname: Read-only file system/);
      if (existsSync("/proc/sysrq-trigger")) assert.match(output, /sysrq-trigger: Read-only file system/);
      assert.doesNotMatch(output, /^(?:kmsg|mem|[sv]da)$/m);
      assert.match(output, /^null$/m);
      assert.match(output, /mknod: .*Operation not permitted/);
      assert.doesNotMatch(output, /^1$/m);
      assert.equal(existsSync("/sys/fs/cgroup/x"), false);
    }));
}

function mountTests(isolated: Isolated): void {
  test("with readOnlyRootFilesystem only volumes can be written", (context) =>
    isolated(context, false, async ({ root, run }) => {
      const volume = join(root, "pods/volume");
      mkdirSync(volume, { recursive: true });
      chmodSync(volume, 0o777);
      const script =
        "for d in / /tmp /root /run /etc /new; do touch $d/x && echo wrote $d; done; touch /data/x /dev/shm/x && echo volume";
      const [output] = await run({
        command: ["/bin/sh", "-c", script],
        mounts: [
          { hostPath: volume, containerPath: "/data", readOnly: false },
          { hostPath: volume, containerPath: "/new/below", readOnly: false },
        ],
        security: { ...security, readOnlyRootFilesystem: true, ...(isRoot ? { runAsUser: 0 } : {}) },
      });
      assert.doesNotMatch(output, /wrote/);
      assert.match(output, /^volume$/m);
      assert.ok(existsSync(join(volume, "x")));
    }));

  test("a mount opens no folder of the machine that is closed to the container's user", (context) =>
    isolated(context, true, async ({ root, run }) => {
      const volume = join(root, "pods/volume");
      mkdirSync(volume, { recursive: true });
      const closed = "/etc/ssl/private";
      if (!existsSync(closed)) return context.skip(`no ${closed}`);
      const [output] = await run({
        command: ["/bin/ls", closed],
        mounts: [{ hostPath: volume, containerPath: `${closed}/new`, readOnly: false }],
      });
      assert.match(output, /Permission denied/);
    }));
}

function programTests(isolated: Isolated): void {
  test("a program of an image is found where other users could not go", (context) =>
    isolated(context, true, async ({ root, run, images }) => {
      const folder = join(root, "closed/program");
      mkdirSync(folder, { recursive: true });
      chmodSync(join(root, "closed"), 0o700);
      const program = join(folder, "run.sh");
      writeFileSync(join(folder, "text"), "beside\n");
      writeFileSync(program, '#!/bin/sh\ncat "$(dirname "$0")/text"; id -u\n', { mode: 0o755 });
      images.push({ pattern: "mapped", command: [program] });
      const [output, code] = await run({ command: [], image: "mapped" });
      assert.equal(code, 0, output);
      assert.match(output, /^beside\n[1-9]/);
    }));

  test("a folder of programs stands for an image: the pod's command is one of them", (context) =>
    isolated(context, true, async ({ root, run, images }) => {
      const folder = join(root, "closed/programs");
      mkdirSync(folder, { recursive: true });
      chmodSync(join(root, "closed"), 0o700);
      // The first has the name of a program of the machine, the second runs it by that name.
      writeFileSync(join(folder, "true"), '#!/bin/sh\necho ours "$@"; id -u\n', { mode: 0o755 });
      writeFileSync(join(folder, "calls"), '#!/bin/sh\nexec true "$@"\n', { mode: 0o755 });
      images.push({ pattern: "programs:*", command: [`${folder}/`] });
      for (const name of ["true", "calls"]) {
        const [output, code] = await run({ command: [name], args: ["a"], image: "programs:1" });
        assert.equal(code, 0, output);
        assert.match(output, /^ours a\n[1-9]/);
      }
    }));
}

function deviceTests(isolated: Isolated): void {
  test("a device of the container is there under its name, and may be used", (context) =>
    isolated(context, true, async ({ root, run, runtime }) => {
      const command = ["/bin/sh", "-c", "id -u; ls /dev; head -c 3 /dev/of-mine | od -An -c"];
      const devices = [{ hostPath: "/dev/zero", containerPath: "/dev/of-mine", permissions: "rw" }];
      const [output, code] = await run({ command, devices });
      assert.equal(code, 0, output);
      assert.match(output, /^[1-9]\d+$/m);
      assert.match(output, /\\0 +\\0 +\\0/);
      assert.equal(existsSync("/dev/of-mine"), false);
      const { id } = await runtime.runPodSandbox(sandbox);
      const made = await runtime.createContainer(id, {
        ...container(root, ["true"]),
        devices: [{ hostPath: "/dev/nowhere", containerPath: "/dev/nowhere", permissions: "rw" }],
      });
      assert.deepEqual(made.unsupported, ["device /dev/nowhere, which the machine lacks"]);
    }));

  test("the terminal of a container is known by its name", (context) =>
    isolated(context, false, async ({ run }) => {
      const [output, code] = await run({ command: ["/usr/bin/tty"], tty: true });
      assert.equal(code, 0, output);
      assert.match(output, /^\/dev\/pts\/\d+\r?\n/);
    }));
}
