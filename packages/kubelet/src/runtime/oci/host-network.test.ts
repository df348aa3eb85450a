import assert from "node:assert/strict";
import { readFileSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { ContainerConfig, SandboxConfig } from "../config.ts";
import { find } from "../host/isolation.ts";
import type { OciRuntime } from "./runtime.ts";
import { lackOfContainers, type TestRuntimes, testRuntimes } from "./testing/runtime.ts";

const missing =
  (await lackOfContainers()) ??
  (find("iptables-restore") === undefined ? "oci: iptables is not installed" : undefined);
const skip = missing === undefined ? {} : { skip: missing };

let runtimes: TestRuntimes;
let nodes: readonly [OciRuntime, OciRuntime];

before(async () => {
  if (missing !== undefined) return;
  runtimes = await testRuntimes("node");
  nodes = [await runtimes.open("one"), await runtimes.open("two")];
});
after(async () => {
  if (missing !== undefined) return;
  const { folder } = runtimes;
  await runtimes.close();
  assert.ok(!readFileSync("/proc/mounts", "utf8").includes(folder));
});

/** Runs a container in a new pod. */
async function run(
  node: OciRuntime,
  script: string,
  sandbox: Partial<SandboxConfig>,
  container: Partial<ContainerConfig> = {},
): Promise<{ readonly pod: string; readonly id: string; readonly ip: string }> {
  const hostname = sandbox.hostNetwork ? { hostname: node === nodes[0] ? "one" : "two" } : {};
  const { id: pod } = await node.runPodSandbox(runtimes.sandbox({ ...sandbox, ...hostname }));
  const { id } = await node.createContainer(pod, runtimes.container("main", script, container));
  await node.startContainer(id);
  const found = (await node.listPodSandboxes()).find((one) => one.id === pod);
  return { pod, id, ip: found?.ips[0] ?? "" };
}

const exec = async (node: OciRuntime, id: string, script: string): Promise<string> =>
  (await node.execSync(id, ["sh", "-c", script], 20_000)).output;

async function ask(host: string, port: number): Promise<string> {
  let text = "";
  for await (const chunk of connect({ host, port }).setTimeout(10_000)) text += String(chunk);
  return text;
}

const host = { hostNetwork: true };
const server = (port: number): string => `while :; do hostname | nc -l -p ${port}; done`;

test(
  "pods with hostNetwork of two nodes have the same port, each its node's address and host name",
  skip,
  async () => {
    const pods = await Promise.all(nodes.map((node) => run(node, server(8080), host)));
    const [one, two] = pods as [(typeof pods)[number], (typeof pods)[number]];
    assert.notEqual(one.ip, two.ip);
    await eventuallyPasses(async () => assert.equal(await ask(one.ip, 8080), "one\n"));
    await eventuallyPasses(async () => assert.equal(await ask(two.ip, 8080), "two\n"));
    // Pods of a node share its network, and others reach it.
    const [node] = nodes;
    const beside = await run(node, "sleep 1000", host);
    await eventuallyPasses(async () =>
      assert.equal(await exec(node, beside.id, "nc 127.0.0.1 8080"), "one\n"),
    );
    const pod = await run(node, "sleep 1000", {});
    await eventuallyPasses(async () => assert.equal(await exec(node, pod.id, `nc ${two.ip} 8080`), "two\n"));
    assert.equal(await exec(node, beside.id, "cat /etc/hostname; echo $HOSTNAME"), "one\none\n");
    assert.match(await exec(node, beside.id, "cat /etc/hosts"), new RegExp(`${one.ip}\tone\n`));
    // The agent connects with and listens on loopback addresses of the node.
    const socket = await node.nodeNetwork?.connect("127.0.0.1", 8080);
    assert.equal(String(await socket?.setEncoding("utf8").toArray()), "one\n");
    const listening = await node.nodeNetwork?.listen(9090);
    listening?.on("connection", (client) => client.end("agent"));
    assert.equal(await exec(node, beside.id, "nc 127.0.0.1 9090 </dev/null"), "agent");
    assert.equal(await ask(one.ip, 9090), "agent");
    listening?.close();
    for (const [i, { pod: id }] of [one, two].entries()) await nodes[i]!.removePodSandbox(id);
    for (const { pod: id } of [beside, pod]) await node.removePodSandbox(id);
  },
);

test("a privileged pod with hostNetwork changes its node's settings, not the machine's", skip, async () => {
  const path = "/proc/sys/net/ipv4/tcp_fin_timeout";
  const before = readFileSync(path, "utf8");
  const security = { ...runtimes.container("x", "").security, privileged: true };
  const { pod, id } = await run(nodes[0], "sleep 1000", host, { security });
  assert.equal(await exec(nodes[0], id, `echo 17 >${path}; cat ${path}`), "17\n");
  assert.equal(readFileSync(path, "utf8"), before);
  await nodes[0].removePodSandbox(pod);
});

test("host ports are the node's, and the machine's lead to the pod of the first node", skip, async () => {
  const ports = [{ protocol: "TCP" as const, containerPort: 80, hostPort: 18080, hostIP: "" }];
  const pods = await Promise.all(
    nodes.map((node, i) => run(node, server(80), { ports, hostname: `pod-${i}` })),
  );
  for (const [i, node] of nodes.entries()) {
    const { pod, id, ip } = await run(node, "sleep 1000", host);
    await eventuallyPasses(async () => assert.equal(await ask(ip, 18080), `pod-${i}\n`));
    await eventuallyPasses(async () =>
      assert.equal(await exec(node, id, "nc 127.0.0.1 18080"), `pod-${i}\n`),
    );
    await node.removePodSandbox(pod);
  }
  await eventuallyPasses(async () => assert.equal(await ask("127.0.0.1", 18080), "pod-0\n"));
  for (const [i, { pod }] of pods.entries()) await nodes[i]!.removePodSandbox(pod);
});

test("pods with hostNetwork outlive the agent; the next one keeps their network", skip, async () => {
  const { pod, ip } = await run(nodes[1], server(8081), host);
  const next = await runtimes.open("two");
  nodes = [nodes[0], next];
  await eventuallyPasses(async () => assert.equal(await ask(ip, 8081), "two\n"));
  assert.deepEqual(
    (await next.listPodSandboxes()).map(({ id, ready }) => [id, ready]),
    [[pod, true]],
  );
  await next.removePodSandbox(pod);
});

test(
  "name spaces of pods lie in a folder that containers see change, with a process in each",
  skip,
  async () => {
    const [node] = nodes;
    const netns = join(runtimes.folder, "netns-one");
    const mounts = [
      {
        hostPath: netns,
        containerPath: "/var/run/netns",
        readOnly: false,
        propagation: "hostToContainer" as const,
      },
    ];
    const plugin = await run(node, "sleep 1000", host, { mounts });
    const { pod } = await run(node, "sleep 1000", {});
    const linux = node.linuxSandbox(pod);
    const of = (type: string): string | undefined => linux?.namespaces.find((one) => one.type === type)?.path;
    assert.equal(of("network"), join(netns, pod));
    assert.match(await exec(node, plugin.id, "grep /var/run/netns/ /proc/mounts"), new RegExp(`${pod} nsfs`));
    const inode = (await exec(node, plugin.id, `stat -Lc %i /var/run/netns/${pod}`)).trim();
    assert.equal(readlinkSync(`/proc/${linux?.pid}/ns/net`), `net:[${inode}]`);
    assert.match(linux?.cgroupParent ?? "", /^\/dray\/.*\/poduid-/);
    // The node's name spaces are not the pod's.
    assert.deepEqual(
      node.linuxSandbox(plugin.pod)?.namespaces.map(({ type }) => type),
      ["ipc", "pid", "mount"],
    );
    await node.removePodSandbox(pod);
    assert.equal(node.linuxSandbox(pod), undefined);
    assert.equal(await exec(node, plugin.id, "ls /var/run/netns"), "");
    await node.removePodSandbox(plugin.pod);
  },
);
