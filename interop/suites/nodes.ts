/**
 * Real nodes on this machine: each has a kubelet and a containerd of its own, in name spaces of its own for
 * processes, mounts, network and host name. All that a node has started and mounted goes with the first
 * process of its process name space. All nodes share one bridge and one cgroup of the machine.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Node } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { program as drayProgram } from "../../scripts/clone.js";
import type { Users } from "../credentials.ts";
import { peer, peersFolder } from "../peers.ts";
import { assertRuns, type Program, start } from "../processes.ts";
import { releaseFlag } from "../release.ts";
import { group, makeCgroups } from "./cgroups.ts";
import { output } from "./commands.ts";
import { packLayout } from "./image-layout.ts";
import type { Images } from "./images.ts";

/** Programs of this machine that nodes are made with. */
export const nodePrograms = ["ip", "mount", "nsenter", "runc", "unshare"] as const;
/** The network plugins that containerd calls; Debian has them in `containernetworking-plugins`. */
export const networkPlugins = ["/usr/lib/cni", "/opt/cni/bin"];

/** Programs that nodes with Services need besides. */
export const servicePrograms = ["iptables", "conntrack"] as const;

const bridge = "dray-interop";
/** Prefix of the names of the nodes' interfaces on this machine; a number follows. */
const outside = "dray-node-";
const network = "172.31.249";

/** Address of the Service of the cluster's DNS. */
export const dnsAddress = "10.0.0.10";

/** Address of this machine that the nodes reach. */
export const gateway = `${network}.1`;

/** The bridge between the nodes and this machine; it goes when this process ends. */
export function addBridge(): () => void {
  if (existsSync(join("/sys/class/net", bridge)))
    throw new Error(
      `the bridge ${bridge} exists: another run uses it, or was killed (then: ip link del ${bridge})`,
    );
  output("ip", ["link", "add", bridge, "type", "bridge"]);
  const remove = (): void => {
    process.off("exit", remove);
    // The kernel removes those of the nodes with their name spaces, which may be much later.
    for (const name of readdirSync("/sys/class/net"))
      if (name === bridge || name.startsWith(outside)) spawnSync("ip", ["link", "del", name]);
  };
  process.once("exit", remove);
  output("ip", ["addr", "add", `${gateway}/24`, "dev", bridge]);
  output("ip", ["link", "set", bridge, "up"]);
  return remove;
}

export interface RealNode {
  readonly name: string;
  /** Words for `nsenter` before those of a command that runs in the node. */
  readonly enter: readonly string[];
  readonly programs: readonly Program[];
  stop(): Promise<void>;
}

/** The agent of a node: upstream's kubelet, or `dray kubelet` with this runtime. */
export type NodeAgent = "kubelet" | "cri" | "oci" | "host";

export interface Cluster {
  readonly folder: string;
  readonly admin: Client;
  readonly users: Users;
  /** The certificate that the API server's client certificate for kubelets is verified with. */
  readonly ca: string;
  readonly images: Images;
  /** URL of the registry that containerd asks first for every image. */
  readonly registry: string;
  readonly agent: NodeAgent;
  readonly gates: readonly string[];
  /**
   * How many nodes there will be whose pods reach each other and this machine, and have Services; absent:
   * they do not.
   */
  readonly connected?: number;
}

/** How many pods a node runs at most: as many as its network has addresses for. */
const maxPods = 250;

/** Starts a node and waits until it is ready. */
export async function startNode(cluster: Cluster, index: number): Promise<RealNode> {
  const name = `node-${index}`;
  const folder = join(cluster.folder, name);
  for (const part of ["kubelet", "containerd", "cni"]) mkdirSync(join(folder, part), { recursive: true });
  const removeCgroups = makeCgroups(name);
  const programs: Program[] = [];
  const stop = async (): Promise<void> => {
    for (const program of programs) await program.stop(); // The first of them is that which ends all others.
    removeCgroups();
  };
  try {
    const enter = await enterNode(folder, name, index, programs);
    const env = { ...process.env, PATH: `${peersFolder()}:${process.env["PATH"]}` };
    const run = (program: string, command: readonly string[]): Program => {
      const log = join(folder, `${program}.log`);
      const started = start(`${name}: ${program}`, ["nsenter", ...enter, ...command], log, env);
      programs.push(started);
      return started;
    };
    const { agent, users, ca, images } = cluster;
    if (agent === "kubelet" || agent === "cri")
      await startContainerd(cluster, { folder, name, index, enter, run });
    else if (agent === "oci") await loadImages(enter, packLayout(images.layout));
    const kubeconfig = await users.kubeconfig(`system:node:${name}`, ["system:nodes"]);
    const serving = await users.serving(name, nodeAddress(index));
    const settings = { folder, name, index, kubeconfig, ca, serving };
    const command =
      agent === "kubelet"
        ? kubeletCommand(settings, cluster.gates)
        : await drayCommand({ ...settings, agent }, ...cluster.gates);
    const kubelet = run("kubelet", command);
    if (cluster.connected !== undefined) {
      connectPods(index, enter, cluster.connected);
      run("kube-proxy", await proxyCommand(users, name));
    }
    await eventually(
      `${name} is ready`,
      async () => {
        assertRuns(kubelet);
        const { spec, status } = await cluster.admin.resource(Node).get({ name });
        const condition = status?.conditions?.find(({ type }) => type === "Ready");
        return condition?.status === "True" && (spec.taints ?? []).length === 0;
      },
      180_000,
    );
    return { name, enter, programs, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Makes the name spaces of a node, which end with the program that this adds. Resolves to the words that
 * enter them.
 */
export async function enterNode(
  folder: string,
  name: string,
  index: number,
  programs: Program[],
): Promise<readonly string[]> {
  const init = join(folder, "init");
  writeFileSync(init, initScript(folder, name));
  const holder = start(
    `${name}: name spaces`,
    [
      "unshare",
      "-m",
      "-n",
      "-u",
      "-p",
      "-f",
      "--kill-child",
      "--mount-proc",
      "--propagation=private",
      "sh",
      init,
    ],
    join(folder, "init.log"),
  );
  programs.push(holder);
  const ready = join(folder, "ready");
  await eventually(`${name} has its name spaces`, async () => {
    assertRuns(holder);
    return existsSync(ready);
  });
  const pid = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8").trim();
  const enter = ["-t", pid, "-m", "-n", "-u", "-p", "--"];
  connectNetwork(index, pid, enter);
  return enter;
}

interface AgentSettings {
  readonly folder: string;
  readonly name: string;
  readonly index: number;
  readonly kubeconfig: string;
  readonly ca: string;
  readonly serving: { readonly certificate: string; readonly key: string };
}

interface Place {
  readonly folder: string;
  readonly name: string;
  readonly index: number;
  /** Words that enter the node. */
  readonly enter: readonly string[];
  run(program: string, command: readonly string[]): Program;
}

/** Resolves when containerd responds. */
async function startContainerd(cluster: Cluster, { folder, name, index, enter, run }: Place): Promise<void> {
  writeFileSync(join(folder, "cni", "10-interop.conflist"), networkConfig(index));
  writeFileSync(join(folder, "containerd.toml"), containerdConfig(folder, cluster.images.pause));
  const hosts = join(folder, "registries", "_default");
  mkdirSync(hosts, { recursive: true });
  // Asked first; what it does not have is asked of the registry that the image names, which may be a pod of
  // the suite.
  writeFileSync(join(hosts, "hosts.toml"), `[host.${JSON.stringify(cluster.registry)}]\n`);
  const containerd = run("containerd", [peer("containerd"), `--config=${join(folder, "containerd.toml")}`]);
  const ctr = [...enter, peer("ctr"), "--namespace=k8s.io"];
  await eventually(`${name}: containerd is ready`, async () => {
    assertRuns(containerd);
    return spawnSync("nsenter", [...ctr, "version"]).status === 0;
  });
}

function kubeletCommand(
  { folder, name, index, kubeconfig, ca, serving }: AgentSettings,
  gates: readonly string[],
): string[] {
  writeFileSync(join(folder, "resolv.conf"), "nameserver 127.0.0.1\n");
  const config = join(folder, "kubelet.yaml");
  writeFileSync(config, JSON.stringify(kubeletConfig({ folder, name, ca, serving }), null, 2));
  return [
    peer("kubelet"),
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${name}`,
    `--node-ip=${nodeAddress(index)}`,
    ...gates,
  ];
}

const podNetwork = "10.244";

async function proxyCommand(users: Users, name: string): Promise<string[]> {
  return [
    peer("kube-proxy"),
    `--kubeconfig=${await users.kubeconfig("system:kube-proxy")}`,
    `--hostname-override=${name}`,
    "--proxy-mode=iptables",
    `--cluster-cidr=${podNetwork}.0.0/16`,
    "--conntrack-max-per-core=0", // Its limit is the machine's.
  ];
}

/**
 * Leads the pods of the node to those of the others, and this machine, where the API server is, to the node's
 * pods.
 */
function connectPods(index: number, enter: readonly string[], count: number): void {
  const route = (node: number): string[] => [
    ...["route", "replace", `${podNetwork}.${node}.0/24`],
    ...["via", nodeAddress(node)],
  ];
  output("ip", route(index));
  for (let other = 0; other < count; other++)
    if (other !== index) output("nsenter", [...enter, "ip", ...route(other)]);
}

/** Where our agent keeps images, in a node. */
const ociDir = "/var/lib/dray/oci";

/** Gives the images of an archive to our agent of a node. */
export async function loadImages(enter: readonly string[], images: string): Promise<void> {
  output("nsenter", [...enter, ...(await dray("image", "load", images, `--oci-dir=${ociDir}`))]);
}

interface DraySettings extends AgentSettings {
  readonly agent: "cri" | "oci" | "host";
}

/** The command of our agent for a node, with more flags. */
export function drayCommand(
  { name, index, kubeconfig, ca, agent, serving }: DraySettings,
  ...more: readonly string[]
): Promise<string[]> {
  return dray(
    "kubelet",
    `--node-name=${name}`,
    `--kubeconfig=${kubeconfig}`,
    "--root-dir=/",
    `--runtime=${agent === "cri" ? "cri:/run/containerd/containerd.sock" : agent}`,
    `--node-ip=${nodeAddress(index)}`,
    `--max-pods=${maxPods}`,
    `--client-ca-file=${ca}`,
    `--tls-cert-file=${serving.certificate}`,
    `--tls-private-key-file=${serving.key}`,
    releaseFlag,
    ...more,
  );
}

async function dray(...args: string[]): Promise<string[]> {
  return [process.execPath, ...process.execArgv, ...(await drayProgram(args))];
}

export function nodeAddress(index: number): string {
  return `${network}.${10 + index}`;
}

/**
 * The first process of a node. Folders that only exist in its mount name space stand at the paths of a real
 * node; sh waits, so that it takes in the processes that have lost their parent.
 */
function initScript(folder: string, name: string): string {
  const quoted = `'${folder.replaceAll("'", "'\\''")}'`;
  return `set -e
folder=${quoted}
hostname ${name}
for path in /run /var/lib /var/log; do mount -t tmpfs -o mode=755 tmpfs $path; done
mkdir -p /run/netns /run/cdi /run/lock /var/lib/cni /var/log/pods /var/log/containers
for part in kubelet containerd; do
  mkdir -p /var/lib/$part
  mount --bind "$folder/$part" /var/lib/$part
done
mount --make-rshared /
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
: >"$folder/ready"
while :; do sleep 3600 & wait $!; done
`;
}

/** A pair of interfaces: one end is the node's, the other is on the bridge. */
function connectNetwork(index: number, pid: string, enter: readonly string[]): void {
  const end = `${outside}${index}`;
  spawnSync("ip", ["link", "del", end]); // Left by a run that was killed.
  output("ip", ["link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", pid]);
  output("ip", ["link", "set", end, "master", bridge, "up"]);
  const inside = (...args: string[]): string => output("nsenter", [...enter, "ip", ...args]);
  inside("addr", "add", `${nodeAddress(index)}/24`, "dev", "eth0");
  inside("link", "set", "eth0", "up");
  inside("route", "add", "default", "via", gateway);
}

function networkConfig(index: number): string {
  const subnet = `${podNetwork}.${index}.0/24`;
  const ipam = { type: "host-local", ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }] };
  const plugins = [
    { type: "bridge", bridge: "cni0", isGateway: true, hairpinMode: true, ipam },
    { type: "portmap", capabilities: { portMappings: true } },
  ];
  return JSON.stringify({ cniVersion: "1.0.0", name: "interop", plugins });
}

/** Lowering the oom_score_adj of a process needs CAP_SYS_RESOURCE, which machines of CI lack. */
function containerdConfig(folder: string, pause: string): string {
  return `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = ${JSON.stringify(pause)}
[plugins."io.containerd.cri.v1.images".registry]
config_path = ${JSON.stringify(join(folder, "registries"))}
[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ${JSON.stringify(networkPlugins)}
conf_dir = ${JSON.stringify(join(folder, "cni"))}
`;
}

function kubeletConfig({
  folder,
  name,
  ca,
  serving,
}: Pick<AgentSettings, "folder" | "name" | "ca" | "serving">): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: ca } },
    authorization: { mode: "Webhook" },
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${group}/${name}`,
    clusterDNS: [dnsAddress],
    clusterDomain: "cluster.local",
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    evictionHard: {
      "memory.available": "100Mi",
      "nodefs.available": "1%",
      "imagefs.available": "1%",
      "nodefs.inodesFree": "1%",
    },
    failCgroupV1: false,
    failSwapOn: false,
    maxPods,
    oomScoreAdj: 0,
    readOnlyPort: 0,
    tlsCertFile: serving.certificate,
    tlsPrivateKeyFile: serving.key,
    resolvConf: join(folder, "resolv.conf"),
    volumePluginDir: join(folder, "volume-plugins"),
  };
}
