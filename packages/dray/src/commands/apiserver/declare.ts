import type { Command } from "commander";
import {
  clusterName,
  dataDir,
  enableAdmissionPlugins,
  example,
  featureGates,
  kubernetesVersion,
  repeated,
  runtimeConfig,
} from "../../options/declarations.ts";

/** `dray apiserver` */
export function declareApiserver(program: Command): void {
  const command = program
    .command("apiserver")
    .description("run the API server alone")
    .addOption(clusterName())
    .addOption(dataDir())
    .option("--port <port>", "port to listen on; 0: a free one", "6443")
    .option("--bind-address <address>", "address to listen on", "127.0.0.1")
    .option(
      "--kubeconfig <file>",
      "add the server to this kubeconfig, and make it the current context (default: in the data directory)",
    )
    .option("--store <store>", "sqlite:PATH, etcd:URL or memory (default: sqlite in the data directory)")
    .addOption(enableAdmissionPlugins())
    .option("--disable-admission-plugins <names>", "comma-separated names of admission plugins to disable");
  addAuthenticationFlags(command);
  addAddressFlags(command);
  addPeerFlags(command);
  command
    .option("--kubelet-timeout <duration>", "accepted, and without effect, as in kube-apiserver")
    .option("--request-timeout <duration>", "timeout of a request: 1m0s, 90s, ... (default: 1m0s)")
    .option(
      "--enable-priority-and-fairness [boolean]",
      "limit requests by FlowSchemas and priority levels (default: true)",
    )
    .option(
      "--max-requests-inflight <count>",
      "with --max-mutating-requests-inflight: the seats that priority levels share; without priority and fairness: reads worked on at a time, 0: any number (default: 400)",
    )
    .option(
      "--max-mutating-requests-inflight <count>",
      "see --max-requests-inflight; without priority and fairness: other requests worked on at a time (default: 200)",
    )
    .addOption(runtimeConfig())
    .addOption(kubernetesVersion())
    .addOption(featureGates())
    .addHelpText("after", example("dray apiserver --data-dir ./state --port 6443"))
    .action(async (options) => (await import("./run.ts")).apiserver(options));
}

/** Adds the flags for credentials of clients and of the server. */
function addAuthenticationFlags(command: Command): void {
  command
    .option(
      "--enable-bootstrap-token-auth [boolean]",
      "accept the bootstrap tokens in Secrets of kube-system (default: false)",
    )
    .option(
      "--anonymous-auth [bool]",
      "accept requests without credentials as system:anonymous (default: true)",
    )
    .option("--token-auth-file <file>", 'lines of token,user,uid,"group1,group2": static tokens')
    .option("--client-ca-file <file>", "authorities of accepted client certificates, in addition to our own")
    .option("--tls-cert-file <file>", "serving certificate, with --tls-private-key-file (default: our own)")
    .option("--tls-private-key-file <file>", "its key")
    .option("--service-account-issuer <issuer>", "issuer of service-account tokens")
    .option(
      "--service-account-jwks-uri <url>",
      "URL at which others read the keys of tokens (default: at this server)",
    )
    .option(
      "--service-account-signing-key-file <file>",
      "private key that signs service-account tokens (default: our own)",
    )
    .addOption(
      repeated(
        "--service-account-key-file <file>",
        "keys of accepted service-account tokens; may be repeated",
        "the one that signs",
      ),
    );
}

/** Adds the flags for the addresses of services and of the server itself. */
function addAddressFlags(command: Command): void {
  command
    .option(
      "--service-cluster-ip-range <cidrs>",
      "CIDR of the services' addresses, or one of each family (default: 10.0.0.0/24)",
    )
    .option("--service-node-port-range <ports>", "range of node ports of services (default: 30000-32767)")
    .option(
      "--loopback-pods [boolean]",
      "pods are processes of this machine (--runtime host): endpoints may have addresses of 127.0.0.0/8 (default: false)",
    )
    .option(
      "--advertise-address <address>",
      "where the service kubernetes finds the server (default: the bind address, or that of this machine)",
    );
}

/** Adds the flags for kubelets, aggregated API servers, and front proxies. */
function addPeerFlags(command: Command): void {
  command
    .option(
      "--kubelet-certificate-authority <file>",
      "authorities of the kubelets' serving certificates (default: these are not verified)",
    )
    .option(
      "--kubelet-client-certificate <file>",
      "client certificate for kubelets, with --kubelet-client-key (default: our own)",
    )
    .option("--kubelet-client-key <file>", "its key")
    .option(
      "--kubelet-preferred-address-types <types>",
      "order in which the addresses of a node are tried (default: InternalIP,ExternalIP,Hostname,InternalDNS,ExternalDNS)",
    )
    .option(
      "--proxy-client-cert-file <file>",
      "client certificate for aggregated API servers, with --proxy-client-key-file (default: our own)",
    )
    .option("--proxy-client-key-file <file>", "its key")
    .option(
      "--requestheader-client-ca-file <file>",
      "authorities of front proxies, which name the user in headers; in addition to our own",
    )
    .option("--requestheader-allowed-names <names>", "common names of front proxies (default: any)")
    .option("--requestheader-username-headers <names>", "headers of the user's name (default: X-Remote-User)")
    .option("--requestheader-uid-headers <names>", "headers of the user's uid (default: X-Remote-Uid)")
    .option("--requestheader-group-headers <names>", "headers of the user's groups (default: X-Remote-Group)")
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "prefix of headers with extra data of the user (default: X-Remote-Extra-)",
    );
}
