import type { Command } from "commander";
import { context, example, featureGates, kubeconfig, kubernetesVersion } from "../../options/declarations.ts";

/** `dray controller-manager` */
export function declareControllerManager(program: Command): void {
  program
    .command("controller-manager")
    .description("run the controllers against a cluster")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .option("--leader-elect", "run only while holding the lease kube-system/kube-controller-manager")
    .option("--port <port>", "port of /metrics, /healthz, /livez and /readyz over HTTP (default: none)")
    .option("--bind-address <address>", "where that port listens", "127.0.0.1")
    .option(
      "--controllers <list>",
      "controllers to run: * are those that are on by default, foo adds one, -foo removes one (default: *)",
    )
    .option(
      "--cluster-signing-cert-file <file>",
      "authority that signs CertificateSigningRequests, with --cluster-signing-key-file (default: none are signed)",
    )
    .option("--cluster-signing-key-file <file>", "its key")
    .option("--cluster-signing-duration <duration>", "maximum lifetime of certificates (default: 8760h0m0s)")
    .option(
      "--root-ca-file <file>",
      "authority that pods verify the API server with (default: the kubeconfig's)",
    )
    .option(
      "--service-account-private-key-file <file>",
      "key that signs the tokens in Secrets of service accounts (default: Secrets get no tokens)",
    )
    .option("--allocate-node-cidrs [boolean]", "give each node a network for its pods (default: false)")
    .option(
      "--cluster-cidr <cidrs>",
      "network of all pods, or one of each family; with --allocate-node-cidrs",
    )
    .option("--node-cidr-mask-size <bits>", "prefix length of a node's network (default: 24, IPv6 64)")
    .option("--node-cidr-mask-size-ipv4 <bits>", "the same for IPv4, with two networks")
    .option("--node-cidr-mask-size-ipv6 <bits>", "the same for IPv6, with two networks")
    .option(
      "--service-cluster-ip-range <cidrs>",
      "networks of Services, which nodes must not get (default: none)",
    )
    .option(
      "--terminated-pod-gc-threshold <count>",
      "maximum number of ended pods; 0 keeps all (default: 12500)",
    )
    .addHelpText(
      "after",
      `${example("dray controller-manager --kubeconfig ./state/kubeconfig --cluster-signing-cert-file ./state/pki/ca.crt \\\n  --cluster-signing-key-file ./state/pki/ca.key --service-account-private-key-file ./state/pki/service-account.key")}
The names of controllers are kube-controller-manager's.
`,
    )
    .action(async (options) => (await import("./run.ts")).controllerManager(options));
}
