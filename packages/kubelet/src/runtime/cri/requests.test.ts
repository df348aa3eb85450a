import assert from "node:assert/strict";
import { test } from "node:test";
import { ContainerConfig as CriContainerConfig, NamespaceMode, PodSandboxConfig } from "@dray/rpc/cri/v1";
import fc from "fast-check";
import { container, sandbox } from "../../testing/agent.ts";
import { podCgroup } from "./cgroups.ts";
import { containerIdentity, keptSandboxConfig, sandboxIdentity } from "./labels.ts";
import { containerRequest, type RequestContext, sandboxRequest } from "./requests.ts";

const context: RequestContext = {
  node: "node",
  cgroup2: true,
  seccompRoot: "/profiles",
  cgroupParent: (uid) => `/pods/${uid}`,
};
const { config: plain } = sandboxRequest(sandbox, context);

test("identities of sandboxes and containers round-trip through labels and annotations", () => {
  const pod = { ...sandbox, namespace: "ns", name: "a.b", uid: "u-1", attempt: 4, labels: { app: "x" } };
  const { config } = sandboxRequest(pod, context);
  assert.equal(config.labels["app"], "x");
  assert.deepEqual(sandboxIdentity(config.labels, config.metadata?.attempt ?? 0), {
    namespace: "ns",
    name: "a.b",
    uid: "u-1",
    attempt: 4,
  });
  fc.assert(
    fc.property(fc.string(), fc.nat(), fc.string(), (hash, attempt, terminationLog) => {
      const wanted = { name: "c", attempt, hash, terminationLog, logPath: "/tmp/pod/c.log" };
      const made = containerRequest({ ...container("/tmp", []), ...wanted }, config, context).config;
      const sent = CriContainerConfig.decode(CriContainerConfig.encode(made).finish());
      assert.deepEqual(containerIdentity(sent.labels, sent.annotations), wanted);
    }),
  );
});

test("labels of a pod cannot pretend to be another pod", () => {
  const labels = { "io.kubernetes.pod.uid": "other", "dray.dev/node": "other" };
  const { config } = sandboxRequest({ ...sandbox, labels }, context);
  assert.equal(config.labels["io.kubernetes.pod.uid"], sandbox.uid);
  assert.equal(config.labels["dray.dev/node"], "node");
});

test("the configuration of a sandbox comes back whole from its annotations", () => {
  const security = { ...sandbox.security, runAsUser: 2 ** 31, supplementalGroups: [1, 2] };
  const resources = { memoryLimitBytes: 2 ** 40 };
  const more = { annotations: { a: "b" }, sysctls: { x: "1" }, hasOwnLimits: true };
  const pod = { ...sandbox, security, resources, ...more };
  const { config, unsupported } = sandboxRequest(pod, context);
  const sent = PodSandboxConfig.decode(PodSandboxConfig.encode(config).finish());
  assert.deepEqual(keptSandboxConfig(sent.annotations), sent);
  assert.equal(sent.linux?.resources?.memoryLimitInBytes, 2n ** 40n);
  assert.equal(keptSandboxConfig({}), undefined);
  assert.deepEqual(unsupported, ["limit of memory of a whole pod"]);
  // The limits of its containers imply it.
  assert.deepEqual(sandboxRequest({ ...pod, hasOwnLimits: false }, context).unsupported, []);
});

test("name spaces, seccomp and what is hidden of the machine", () => {
  const { POD, CONTAINER, NODE } = NamespaceMode;
  const pod = { ...sandbox, hostPID: true, hostNetwork: true };
  const { config } = sandboxRequest(pod, context);
  assert.deepEqual(config.linux?.securityContext?.namespaceOptions, {
    network: NODE,
    pid: NODE,
    ipc: POD,
    targetId: "",
  });
  assert.equal(config.hostname, "");
  const options = containerRequest(container("/tmp", []), plain, context).config.linux?.securityContext;
  assert.deepEqual(options?.namespaceOptions, { network: POD, pid: CONTAINER, ipc: POD, targetId: "" });
  const debugging = { ...container("/tmp", []), target: { id: "id of app", name: "app" } };
  const joined = containerRequest(debugging, plain, context).config.linux?.securityContext;
  const expected = { network: POD, pid: NamespaceMode.TARGET, ipc: POD, targetId: "id of app" };
  assert.deepEqual(joined?.namespaceOptions, expected);
  assert.ok(options?.maskedPaths.includes("/proc/kcore"));
  assert.ok(options?.readonlyPaths.includes("/proc/sysrq-trigger"));
  const secure = (more: object) => {
    const config = { ...container("/tmp", []), security: { ...sandbox.security, ...more } };
    return containerRequest(config, plain, context).config.linux?.securityContext;
  };
  assert.deepEqual(secure({ privileged: true })?.maskedPaths, []);
  assert.deepEqual(secure({ seccomp: "localhost/a/b.json" })?.seccomp, {
    profileType: 2,
    localhostRef: "/profiles/a/b.json",
  });
  assert.deepEqual(secure({ seccomp: "runtime/default" })?.seccomp, { profileType: 0, localhostRef: "" });
  assert.deepEqual(secure({ seccomp: "unconfined" })?.seccomp, { profileType: 1, localhostRef: "" });
});

test("the limit of processes is sent if the runtime can set it, and reported as unsupported otherwise", () => {
  const limited = { ...container("/tmp", []), resources: { pidsLimit: 100 } };
  const made = containerRequest(limited, plain, context);
  assert.deepEqual(made.config.linux?.resources?.unified, { "pids.max": "100" });
  assert.deepEqual(made.unsupported, []);
  const old = containerRequest(limited, plain, { ...context, cgroup2: false });
  assert.deepEqual(old.config.linux?.resources?.unified, {});
  assert.deepEqual(old.unsupported, ["limit of processes of a container with cgroup v1"]);
});

test("the files of an image are mounted by its reference, and everything else by its path", () => {
  const mounts = [
    { hostPath: "/a", containerPath: "/b", readOnly: false },
    {
      hostPath: "",
      image: { ref: "registry/data@sha256:1", name: "registry/data:v1", subPath: "models" },
      containerPath: "/data",
      readOnly: true,
    },
  ];
  const { config } = containerRequest(
    { ...container("/tmp", []), mounts, logPath: "/tmp/pod/c.log" },
    plain,
    context,
  );
  const sent = CriContainerConfig.decode(CriContainerConfig.encode(config).finish());
  const [path, image] = sent.mounts;
  assert.deepEqual([path?.hostPath, path?.image, path?.imageSubPath], ["/a", undefined, ""]);
  assert.deepEqual([image?.hostPath, image?.containerPath, image?.readonly], ["", "/data", true]);
  assert.deepEqual(
    [image?.image?.image, image?.image?.userSpecifiedImage, image?.imageSubPath],
    ["registry/data@sha256:1", "registry/data:v1", "models"],
  );
});

test("a log outside of the sandbox's directory is refused", () => {
  for (const logPath of ["/etc/passwd", "/tmp", "/tmp/../etc/x", "/tmpx/log"]) {
    assert.throws(
      () => containerRequest({ ...container("/tmp", []), logPath }, plain, context),
      /must lie below its sandbox's log directory \/tmp/,
    );
  }
});

test("the cgroup of a pod in the words of the runtime's driver", () => {
  assert.equal(podCgroup("", "systemd", "u"), "");
  assert.equal(podCgroup("/kubepods/burstable", "cgroupfs", "a-b"), "/kubepods/burstable/poda-b");
  assert.equal(podCgroup("/kubepods/burstable", "systemd", "a-b"), "kubepods-burstable-poda_b.slice");
});
