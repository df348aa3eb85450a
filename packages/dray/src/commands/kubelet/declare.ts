import type { Command } from "commander";
import {
  allowedUnsafeSysctls,
  example,
  featureGates,
  hostNetworkFlag,
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
      "request serving certificates from the cluster, and renew them (default: false)",
    )
    .option(
      "--bootstrap-kubeconfig <file>",
      "kubeconfig with which nodes without a kubeconfig request theirs, such as one with a bootstrap token (default: none)",
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
    .addOption(
      repeated(
        "--port <port>",
        "port of the node's HTTPS endpoints; n-th as above",
        "10250, or any free one",
      ),
    )
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
    .option("--max-pods <count>", "maximum number of pods of a node (default: 110)")
    .option("--log-file <file>", "where to log (default: standard error)")
    .option("--state-file <file>", "file for the states of the nodes' agents, as JSON (default: none)")
    .option(
      "--client-ca-file <file>",
      "CA of clients that may call the agents (default: that of the kubeconfig)",
    )
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtime().default("host"))
    .addOption(ociDir())
    .addOption(registryHosts())
    .addOption(
      hostNetworkFlag().default(
        undefined,
        "node with --proxy-kubeconfig and without --node-ip and --address, else machine",
      ),
    )
    .addOption(proxyKubeconfig())
    .addOption(image());
}

/** Adds the flags for reservations, eviction, clean-up and the environment of pods. */
function addLimitOptions(command: Command): void {
  command
    .option(
      "--shutdown-grace-period <duration>",
      "on SIGTERM end the pods, within this time, as the machine shuts down (default: 0s, pods go on)",
    )
    .option(
      "--shutdown-grace-period-critical-pods <duration>",
      "the last part of it, for pods of priority 2000000000 and above (default: 0s)",
    )
    .option(
      "--eviction-hard <thresholds>",
      "evict pods when less is available; '' for never (default: memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%)",
      joined,
    )
    .option(
      "--eviction-soft <thresholds>",
      "evict pods when less is available for a grace period, as in memory.available<1Gi (default: none)",
      joined,
    )
    .option(
      "--eviction-soft-grace-period <periods>",
      "grace periods of soft thresholds, as in memory.available=1m30s (default: none)",
      joined,
    )
    .option(
      "--eviction-minimum-reclaim <amounts>",
      "how much more than a threshold must be free after an eviction, as in nodefs.available=500Mi (default: none)",
      joined,
    )
    .option(
      "--eviction-pressure-transition-period <duration>",
      "how long the Node reports pressure after its end (default: 5m)",
    )
    .option(
      "--eviction-max-pod-grace-period <seconds>",
      "maximum grace period of pods that a soft threshold evicts (default: 0)",
    )
    .option(
      "--image-gc-high-threshold <percent>",
      "percentage of used disk space above which unused images are removed; 100: never (default: 85)",
    )
    .option("--image-gc-low-threshold <percent>", "percentage at which the removal stops (default: 80)")
    .option("--minimum-image-ttl-duration <duration>", "minimum age of removed images (default: 2m)")
    .option(
      "--image-maximum-gc-age <duration>",
      "remove images that were unused for this time; 0s: never (default: 0s)",
    )
    .addOption(allowedUnsafeSysctls().default(undefined, "none"))
    .option("--pod-max-pids <count>", "maximum number of processes of a pod; -1: no limit (default: -1)")
    .option("--node-labels <labels>", "labels of the Node, as in zone=a,disk=ssd (default: none)", joined)
    .option(
      "--register-with-taints <taints>",
      "taints of a Node that is new, as in gpu=yes:NoSchedule (default: none)",
      joined,
    )
    .option("--container-log-max-size <bytes>", "maximum size of a log before it is rotated (default: 10Mi)")
    .option("--container-log-max-files <count>", "maximum number of log files of a container (default: 5)")
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
      "file with the DNS servers of the machine, for pods with dnsPolicy Default and for names outside of the cluster (default: /etc/resolv.conf)",
    )
    .option(
      "--dra-wipe-delay <duration>",
      "how long a DRA driver may be disconnected before its ResourceSlices are deleted (default: 30s)",
    );
}

/** Declares the command that `dray up` runs for the agents of its cluster. */
export function declareNodeAgents(program: Command): void {
  program
    .command("node-agents", { hidden: true })
    .description("run the agents of the nodes that `dray up` names")
    .requiredOption("--client-ca-file <file>", "CA of clients that may call the agents")
    .requiredOption("--log-file <file>", "where to log")
    .option("--state-file <file>", "file for the states of the nodes' agents, as JSON")
    .option("--images-file <file>", "the images that `dray image map` has mapped")
    .addOption(ociDir())
    .addOption(registryHosts())
    .addOption(hostNetworkFlag())
    .addOption(allowedUnsafeSysctls())
    .addOption(proxyKubeconfig())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addOption(runtime().default("host"))
    .addOption(image())
    .addHelpText("after", example("dray node-agents --client-ca-file ca.crt --log-file agents.log"))
    .action(async (options) => (await import("./run.ts")).nodeAgents(options));
}
