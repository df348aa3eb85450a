import type { Command } from "commander";
import {
  allowedUnsafeSysctls,
  example,
  featureGates,
  image,
  joined,
  kubernetesVersion,
  ociDir,
  proxyKubeconfig,
  registryHosts,
  repeated,
  runtime,
} from "../../options/declarations.ts";

/** `dray kubelet` */
export function declareKubelet(program: Command): void {
  const command = program
    .command("kubelet")
    .description("run the agent of one node, or of several in one process");
  addNodeOptions(command);
  addLimitOptions(command);
  command
    .addHelpText(
      "after",
      example("dray kubelet --node-name n1 --kubeconfig n1.kubeconfig --root-dir /run/n1"),
    )
    .action(async (options) => (await import("./run.ts")).kubelet(options));
}

/** Adds the options for the nodes, their addresses, and their runtime. */
function addNodeOptions(command: Command): void {
  command
    .addOption(repeated("--node-name <name>", "name of the node; may be repeated"))
    .addOption(repeated("--kubeconfig <file>", "kubeconfig of the node; the n-th belongs to the n-th node"))
    .addOption(
      repeated(
        "--root-dir <dir>",
        "folder that is the node's `/`; a short path; the n-th belongs to the n-th node",
      ),
    )
    .addOption(repeated("--tls-cert-file <file>", "serving certificate; n-th as above", "self-signed"))
    .addOption(
      repeated("--tls-private-key-file <file>", "its key; n-th as above", "that of the self-signed one"),
    )
    .option(
      "--rotate-server-certificates [boolean]",
      "nodes without a serving certificate ask the cluster for one, and again before it ends (default: false)",
    )
    .option(
      "--bootstrap-kubeconfig <file>",
      "with what nodes whose kubeconfig is missing ask for it, such as a bootstrap token (default: none)",
    )
    .addOption(
      repeated(
        "--pod-manifest-path <dir>",
        "folder of manifests of static pods; n-th as above",
        "etc/kubernetes/manifests in the root",
      ),
    )
    .addOption(repeated("--node-ip <address>", "address of the node; n-th as above", "127.0.0.1"))
    .addOption(
      repeated("--address <address>", "where its endpoints listen; n-th as above", "that of the node"),
    )
    .addOption(repeated("--port <port>", "port of the node's HTTPS endpoints; n-th as above", "any free one"))
    .addOption(
      repeated("--healthz-port <port>", "port of /healthz over HTTP on 127.0.0.1; n-th as above", "none"),
    )
    .addOption(
      repeated(
        "--read-only-port <port>",
        "port of metrics over HTTP, without authentication; n-th as above",
        "none",
      ),
    )
    .option("--max-pods <count>", "how many pods a node runs at most (default: 110)")
    .option("--log-file <file>", "where to log (default: standard error)")
    .option("--state-file <file>", "where to write how each node's agent fares, as JSON (default: nowhere)")
    .option(
      "--client-ca-file <file>",
      "CA of clients that may call the agents (default: that of the kubeconfig)",
    )
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtime().default("host"))
    .addOption(ociDir())
    .addOption(registryHosts())
    .addOption(proxyKubeconfig())
    .addOption(image());
}

/** Adds the flags for reservations, eviction, clean-up and the environment of pods. */
function addLimitOptions(command: Command): void {
  command
    .option(
      "--shutdown-grace-period <duration>",
      "on SIGTERM end the pods, within this time, since the machine goes down (default: 0s, pods go on)",
    )
    .option(
      "--shutdown-grace-period-critical-pods <duration>",
      "the last part of it, for pods of priority 2000000000 and above (default: 0s)",
    )
    .option(
      "--eviction-hard <thresholds>",
      "evict pods when less is left; '' for never (default: memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%)",
      joined,
    )
    .option(
      "--eviction-soft <thresholds>",
      "evict pods when less is left for a grace period, as in memory.available<1Gi (default: none)",
      joined,
    )
    .option(
      "--eviction-soft-grace-period <periods>",
      "grace periods of soft thresholds, as in memory.available=1m30s (default: none)",
      joined,
    )
    .option(
      "--eviction-minimum-reclaim <amounts>",
      "how much more than a threshold has to be free again, as in nodefs.available=500Mi (default: none)",
      joined,
    )
    .option(
      "--eviction-pressure-transition-period <duration>",
      "how long the Node says that it is under pressure after it was (default: 5m)",
    )
    .option(
      "--eviction-max-pod-grace-period <seconds>",
      "how long pods may take to end because of a soft threshold (default: 0)",
    )
    .option(
      "--image-gc-high-threshold <percent>",
      "remove unused images when so much of their disk is used; 100: never (default: 85)",
    )
    .option("--image-gc-low-threshold <percent>", "until so much is used (default: 80)")
    .option("--minimum-image-ttl-duration <duration>", "younger images stay (default: 2m)")
    .option(
      "--image-maximum-gc-age <duration>",
      "remove images that were not used for so long; 0s: never (default: 0s)",
    )
    .addOption(allowedUnsafeSysctls().default(undefined, "none"))
    .option("--pod-max-pids <count>", "how many processes a pod may have; -1: any number (default: -1)")
    .option("--node-labels <labels>", "labels of the Node, as in zone=a,disk=ssd (default: none)", joined)
    .option(
      "--register-with-taints <taints>",
      "taints of a Node that is new, as in gpu=yes:NoSchedule (default: none)",
      joined,
    )
    .option("--container-log-max-size <bytes>", "size from which on a log is rotated (default: 10Mi)")
    .option("--container-log-max-files <count>", "files of logs that a container has at most (default: 5)")
    .option(
      "--topology-manager-policy <policy>",
      "none, or best-effort: devices of device plugins from one NUMA node (default: none)",
    )
    .option(
      "--cluster-dns <addresses>",
      "DNS servers of pods, as in 10.96.0.10 (default: with --proxy-kubeconfig the agent's own, else the machine's)",
      joined,
    )
    .option("--cluster-domain <domain>", "domain of Services and pods (default: cluster.local)")
    .option(
      "--resolv-conf <file>",
      "names the DNS servers of the machine, for pods and for what is not the cluster's (default: /etc/resolv.conf)",
    )
    .option(
      "--dra-wipe-delay <duration>",
      "how long a DRA driver may be away before its ResourceSlices go (default: 30s)",
    );
}

/** Declares the command that `dray up` runs for the agents of its cluster. */
export function declareNodeAgents(program: Command): void {
  program
    .command("node-agents", { hidden: true })
    .description("run the agents of the nodes that `dray up` names")
    .requiredOption("--client-ca-file <file>", "CA of clients that may call the agents")
    .requiredOption("--log-file <file>", "where to log")
    .option("--state-file <file>", "where to write how each node's agent fares, as JSON")
    .option("--images-file <file>", "the images that `dray image map` has mapped")
    .addOption(ociDir())
    .addOption(registryHosts())
    .addOption(allowedUnsafeSysctls())
    .addOption(proxyKubeconfig())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtime().default("host"))
    .addOption(image())
    .addHelpText("after", example("dray node-agents --client-ca-file ca.crt --log-file agents.log"))
    .action(async (options) => (await import("./run.ts")).nodeAgents(options));
}
