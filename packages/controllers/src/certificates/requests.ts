import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "@dray/api/certificates/v1";
import type { CertificateRequest } from "@dray/apiserver/pki";

export const signers = {
  client: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
  legacy: "kubernetes.io/legacy-unknown",
} as const;

export function conditionOf(
  { status }: CertificateSigningRequest,
  type: "Approved" | "Denied" | "Failed",
): CertificateSigningRequestCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

export const nodePrefix = "system:node:";

/**
 * Returns why the request is not for the client certificate of a kubelet; undefined if it is.
 * Upstream: pkg/apis/certificates/helpers.go, ValidateKubeletClientCSR.
 */
export function kubeletClientProblem(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  return (
    organizationProblem(request) ??
    nameProblem(request, ["dns", "email", "ip", "uri"]) ??
    commonNameProblem(request) ??
    usageProblem(usages, "client auth")
  );
}

/**
 * Returns why the request is not for the serving certificate of a kubelet; undefined if it is.
 * Upstream: pkg/apis/certificates/helpers.go, ValidateKubeletServingCSR.
 */
export function kubeletServingProblem(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  const named = request.alternativeNames.some(({ type }) => type === "dns" || type === "ip");
  return (
    organizationProblem(request) ??
    (named ? undefined : "DNS or IP subjectAltName is required") ??
    nameProblem(request, ["email", "uri"]) ??
    usageProblem(usages, "server auth") ??
    commonNameProblem(request)
  );
}

/** Upstream: pkg/controller/certificates/signer/signer.go, validAPIServerClientUsages. */
export function clientUsageProblem(usages: readonly string[]): string | undefined {
  const allowed = ["digital signature", "key encipherment", "client auth"];
  const wrong = usages.find((usage) => !allowed.includes(usage));
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`;
  return usages.includes("client auth")
    ? undefined
    : "missing required usage for client certificate: client auth";
}

function organizationProblem({ organizations }: CertificateRequest): string | undefined {
  return organizations.length === 1 && organizations[0] === "system:nodes"
    ? undefined
    : "subject organization is not system:nodes";
}

function commonNameProblem({ commonName }: CertificateRequest): string | undefined {
  return commonName.startsWith(nodePrefix)
    ? undefined
    : `subject common name does not begin with ${nodePrefix}`;
}

const nameWords = { dns: "DNS", email: "Email", ip: "IP", uri: "URI" } as const;

function nameProblem(
  { alternativeNames }: CertificateRequest,
  forbidden: readonly (keyof typeof nameWords)[],
): string | undefined {
  const found = forbidden.find((type) => alternativeNames.some((name) => name.type === type));
  return found === undefined ? undefined : `${nameWords[found]} subjectAltNames are not allowed`;
}

/** A key that is not RSA enciphers nothing. */
function usageProblem(usages: readonly string[], purpose: "client auth" | "server auth"): string | undefined {
  const required = ["digital signature", "key encipherment", purpose];
  const given = new Set(usages);
  const right =
    given.has("digital signature") && given.has(purpose) && usages.every((usage) => required.includes(usage));
  return right ? undefined : `usages did not match [${required.toSorted().join(" ")}]`;
}
