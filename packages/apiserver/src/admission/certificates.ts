import { quoted } from "@dray/api";
import type { CertificateSigningRequest } from "@dray/api/certificates/v1";
import { resourceAttributes } from "../authorization/attributes.ts";
import { parseCertificateRequest } from "../certificates/certificate-request.ts";
import { forbidden } from "../errors/status.ts";
import { deepEqual } from "../storage/json.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

const group = "certificates.k8s.io";

function concerns({ served, operation }: AdmissionRequest): boolean {
  return served.group === group && served.resource === "certificatesigningrequests" && operation !== "DELETE";
}

/** Reports whether a user has a verb for a signer, by its name or for its domain (`kubernetes.io/*`). */
function mayForSigner(
  { authorize }: AdmissionContext,
  { user }: AdmissionRequest,
  verb: string,
  signer: string,
): boolean {
  return [signer, `${signer.split("/")[0]}/*`].some(
    (name) => authorize(resourceAttributes({ user, verb, group, resource: "signers", name })).allowed,
  );
}

/** Requires the verb `approve` on the signer for the approval or denial of a request. */
export function certificateApproval(context: AdmissionContext): AdmissionPlugin {
  return {
    validate(request) {
      if (!concerns(request) || request.subresource !== "approval") return;
      const { signerName } = (request.old as CertificateSigningRequest).spec;
      if (mayForSigner(context, request, "approve", signerName)) return;
      const why = `user not permitted to approve requests with signerName ${quoted(signerName)}`;
      throw forbidden(request.served, request.name, why);
    },
  };
}

/** Requires the verb `sign` on the signer for the status of a request. */
export function certificateSigning(context: AdmissionContext): AdmissionPlugin {
  return {
    validate(request) {
      if (!concerns(request) || request.subresource !== "status") return;
      const old = request.old as CertificateSigningRequest;
      const { status } = request.object as CertificateSigningRequest;
      const same =
        status?.certificate === old.status?.certificate &&
        deepEqual(status?.conditions ?? [], old.status?.conditions ?? []);
      const { signerName } = old.spec;
      if (same || mayForSigner(context, request, "sign", signerName)) return;
      const why = `user not permitted to sign requests with signerName ${quoted(signerName)}`;
      throw forbidden(request.served, request.name, why);
    },
  };
}

const clientSigner = "kubernetes.io/kube-apiserver-client";

/** Rejects requests for client certificates with the group system:masters. */
export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    validate(request) {
      if (!concerns(request) || request.subresource !== "" || request.operation !== "CREATE") return;
      const { spec } = request.object as CertificateSigningRequest;
      if (spec.signerName !== clientSigner) return;
      const parsed = parseCertificateRequest(spec.request);
      if ("error" in parsed)
        throw forbidden(request.served, request.name, `failed to parse CSR: ${parsed.error}`);
      if (!parsed.organizations.includes("system:masters")) return;
      const why = `use of ${clientSigner} signer with system:masters group is not allowed`;
      throw forbidden(request.served, request.name, why);
    },
  };
}

/** Requires the verb `attest` on the signer for writes of its ClusterTrustBundles. */
export function clusterTrustBundleAttest(context: AdmissionContext): AdmissionPlugin {
  return {
    validate(request) {
      const { served, operation, object, old } = request;
      if (served.group !== group || served.resource !== "clustertrustbundles" || operation === "DELETE")
        return;
      const signerOf = (bundle: object | undefined): string =>
        (bundle as { spec?: { signerName?: string } } | undefined)?.spec?.signerName ?? "";
      const signer = signerOf(object);
      if (signer === "" || (old !== undefined && deepEqual(withoutMeta(object), withoutMeta(old)))) return;
      if (mayForSigner(context, request, "attest", signer)) return;
      const why = `user not permitted to attest for signerName ${quoted(signer)}`;
      throw forbidden(served, request.name, why);
    },
  };
}

function withoutMeta(object: object | undefined): object {
  const { metadata: _, ...rest } = (object ?? {}) as { metadata?: object };
  return rest;
}
