import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cdiRegistry } from "@dray/cdi";
import { eventuallyPasses } from "@dray/testing/eventually";
import { plainSecurity } from "./testing/runtime.ts";
import { ended, options, output, sandboxOf, started, startRuntime, suite } from "./testing/suite.ts";

startRuntime();

test("a program has the user and the capabilities of its configuration", options, async () => {
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
  await suite.runtime.removePodSandbox(pod);
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
  const profile = join(suite.runtimes.folder, "profile.json");
  writeFileSync(
    profile,
    JSON.stringify({
      defaultAction: "SCMP_ACT_ALLOW",
      syscalls: [{ names: ["mkdir", "mkdirat"], action: "SCMP_ACT_ERRNO" }],
    }),
  );
  assert.match(await who({ seccomp: `localhost/${profile}` }, "mkdir /x || echo refused"), /refused/);
});

test("a mount is read-only recursively if requested", options, async (context) => {
  if (!suite.runtime.recursiveReadOnly) return context.skip("runc or the kernel cannot do it");
  const at = mkdtempSync(join(suite.runtimes.folder, "recursive-"));
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
  const at = mkdtempSync(join(suite.runtimes.folder, "mounts-"));
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
    // In the node's root, as NVIDIA's hook in the folder of its plugin.
    hooks: [{ hookName: "createRuntime", path: "/of-node/hook", args: ["hook", join(at, "state")] }],
    netDevices: [{ hostInterfaceName: inner, name: "net7" }],
  };
  writeFileSync(
    join(specs, "a.json"),
    JSON.stringify({ cdiVersion: "1.1.0", kind: "a.b/gpu", devices: [{ name: "0", containerEdits: edits }] }),
  );
  execFileSync("ip", ["addr", "add", "192.0.2.7/24", "dev", inner]);
  mkdirSync(join(at, "of-node"));
  writeFileSync(join(at, "of-node/hook"), '#!/bin/sh\ncat >"$1"\n', { mode: 0o755 });
  const other = await suite.runtimes.open("cdi", cdiRegistry([specs]), (path) =>
    path.startsWith("/of-node/") ? join(at, path) : path,
  );
  const { id: sandbox } = await other.runPodSandbox(suite.runtimes.sandbox());
  const config = suite.runtimes.container(
    "main",
    "echo $GPU $IMAGE; cat /lib/driver; echo; stat -c %t:%T /dev/gpu0; id -G; ip addr show net7",
    { cdiDevices: ["a.b/gpu=0"] },
  );
  const { id, unsupported } = await other.createContainer(sandbox, config);
  assert.deepEqual(unsupported, []);
  await other.startContainer(id);
  await eventuallyPasses(async () => assert.equal((await other.listContainers())[0]?.state, "exited"));
  const log = readFileSync(config.logPath, "utf8");
  assert.match(log, /^7 edited\nfrom the machine\n1:7\n0 4711\n/);
  assert.match(log, /inet 192.0.2.7\/24/);
  assert.equal((JSON.parse(readFileSync(join(at, "state"), "utf8")) as { id: string }).id, id);
  // A later container of the pod finds the interface in place.
  const again = await other.createContainer(sandbox, { ...config, attempt: 1 });
  await other.startContainer(again.id);
  await other.removePodSandbox(sandbox);
});
