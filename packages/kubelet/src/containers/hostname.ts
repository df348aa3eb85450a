import type { Pod } from "@dray/api/core/v1";
import { RuntimeError } from "../runtime/error.ts";

const maxHostnameLength = 63;
/** Maximum length of a host name in the kernel. */
const maxFqdnLength = 64;

/** Name of a pod in its network. */
export interface PodHostname {
  readonly hostname: string;
  /** `SUBDOMAIN.NAMESPACE.svc.DOMAIN` for a pod with a subdomain, else "". */
  readonly domain: string;
}

/** Upstream: pkg/kubelet/kubelet_pods.go, GeneratePodHostNameAndDomain. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  const { hostnameOverride, hostname, subdomain } = spec;
  if (hostnameOverride !== undefined) return { hostname: truncated(hostnameOverride), domain: "" };
  return {
    hostname: truncated(hostname || metadata.name),
    domain: subdomain ? `${subdomain}.${metadata.namespace}.svc.${clusterDomain}` : "",
  };
}

/**
 * Host name in the pod's kernel name space; "" for the node's own. Throws RuntimeError if `setHostnameAsFQDN`
 * gives a name that is too long.
 *
 * Upstream: pkg/kubelet/util/util.go, GetNodenameForKernel.
 */
export function kernelHostname(pod: Pod, clusterDomain: string): string {
  if (pod.spec.hostNetwork) return "";
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (!pod.spec.setHostnameAsFQDN || domain === "") return hostname;
  const full = `${hostname}.${domain}`;
  if (full.length <= maxFqdnLength) return full;
  throw new RuntimeError(
    "FailedCreatePodSandBox",
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${full} is too long (${maxFqdnLength} characters is the max, ${full.length} characters requested)`,
  );
}

function truncated(name: string): string {
  return name.length <= maxHostnameLength ? name : name.slice(0, maxHostnameLength).replace(/[-.]+$/, "");
}
