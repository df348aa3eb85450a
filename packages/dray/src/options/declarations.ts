import { Option } from "commander";
import { LateOption } from "./late-option.ts";

/** An option that may be repeated. `otherwise` is the default in the help; absent: the option is required. */
export const repeated = (flags: string, description: string, otherwise?: string): Option => {
  const option = new Option(flags, description).argParser((value: string, previous: string[] = []) => [
    ...previous,
    value,
  ]);
  return otherwise === undefined ? option.makeOptionMandatory() : option.default([] as string[], otherwise);
};

export const clusterName = (): Option =>
  new Option(
    "--name <name>",
    'name of the cluster (default: "dray", or that of the cluster in the data directory)',
  );

export const dataDir = (): Option =>
  new Option(
    "--data-dir <dir>",
    "where the cluster keeps its data (default: $DRAY_DATA_DIR, or the folder dray/NAME of $XDG_DATA_HOME or ~/.local/share)",
  );

export const kubeconfig = (
  description = "kubeconfig to connect with (default: $KUBECONFIG, ~/.kube/config)",
): Option => new Option("--kubeconfig <file>", description);

export const context = (description = "context of the kubeconfig"): Option =>
  new Option("--context <name>", description);

export const kubernetesVersion = (otherwise = "the newest"): Option =>
  new Option(
    "--kubernetes-version <version>",
    `Kubernetes release to behave as: 1.34 to 1.37 (default: ${otherwise})`,
  );

export const featureGates = (otherwise = "the release's defaults"): Option =>
  new Option("--feature-gates <gates>", `A=true,B=false: gates to set (default: ${otherwise})`);

export const runtimeConfig = (): Option =>
  new Option(
    "--runtime-config <config>",
    "api/all=true, resource.k8s.io/v1beta1=true, ...: API versions to serve",
  );

export const enableAdmissionPlugins = (): Option =>
  new LateOption(
    "--enable-admission-plugins <names>",
    "comma-separated names of admission plugins to enable in addition",
    async () => (await import("./admission-plugins.ts")).admissionPluginHelp(),
  );

export const runtime = (): Option =>
  new Option(
    "--runtime <runtime>",
    "what runs containers: host (processes of this machine), oci (runc), or cri:SOCKET (containerd, CRI-O)",
  );

export const proxyKubeconfig = (): Option =>
  new Option(
    "--proxy-kubeconfig <file>",
    "kubeconfig of system:kube-proxy: with it and the runtime oci, addresses and names of Services lead to their endpoints",
  );

export const ociDir = (): Option =>
  new Option(
    "--oci-dir <folder>",
    "where the runtime oci keeps images and networks; nodes may share it (default: /var/lib/dray/oci)",
  );

export const registryHosts = (): Option =>
  new Option(
    "--registry-hosts <folder>",
    "mirrors of registries for the runtime oci, as containerd has them: FOLDER/docker.io/hosts.toml, FOLDER/_default/hosts.toml",
  );

/** Joins the lists of a repeated option. */
export const joined = (value: string, before: string | undefined): string =>
  before === undefined ? value : `${before},${value}`;

export const allowedUnsafeSysctls = (): Option =>
  new Option(
    "--allowed-unsafe-sysctls <sysctls>",
    "comma-separated sysctls that pods may set in addition to the safe ones, as in kernel.msg*,net.core.somaxconn",
  ).argParser(joined);

export const hostNetworkFlag = (): Option =>
  new Option(
    "--host-network <network>",
    "what pods with hostNetwork have on the runtime oci: node (a network and a host name of their node's own) or machine (the network of this machine)",
  );

export const image = (): Option =>
  repeated(
    "--image <pattern=command>",
    "run COMMAND for images that match PATTERN (* matches anything); may be repeated",
    "none",
  );

/** `-A`, as kubectl has it: it has precedence over `-n`. */
export const allNamespaces = (description = "all namespaces (the default without -n)"): Option =>
  new Option("-A, --all-namespaces", description);

/** `-l`, as kubectl has it. */
export const labels = (description: string): Option => new Option("-l, --selector <labels>", description);

export const noHeaders = (): Option => new Option("--no-headers", "print rows without a header");

/** `-o` of commands that print data. */
export const dataOutput = (): Option =>
  new Option("-o, --output <format>", "output format").choices(["json", "yaml"]);

export const example = (text: string): string => `\nExample:\n${text.replace(/^/gm, "  ")}\n`;
