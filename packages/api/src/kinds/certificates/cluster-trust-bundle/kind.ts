import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { ClusterTrustBundle } from "../../../generated/certificates/v1.ts";
import { dnsSubdomain, type NameRule } from "../../../values/names.ts";
import { defineKind } from "../../define.ts";

/** Upstream: pkg/apis/core/validation/validation.go, ValidateClusterTrustBundleName. */
function nameRule(signerName: string): NameRule {
  return (name) => {
    if (signerName === "")
      return name.includes(":")
        ? ['ClusterTrustBundle without signer name must not have ":" in its name']
        : dnsSubdomain(name);
    const prefix = `${signerName.replaceAll("/", ":")}:`;
    return name.startsWith(prefix)
      ? dnsSubdomain(name.slice(prefix.length))
      : [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
  };
}

/**
 * ClusterTrustBundles: names, and that the signer stays; the API server reads the certificates, which takes
 * X.509.
 */
const clusterTrustBundleValidation = {
  create(errors: FieldErrors, { metadata, spec }: ClusterTrustBundle): void {
    checkMetadata(errors.at("metadata"), metadata, nameRule(spec.signerName ?? ""), false);
    checkFinalizerNames(errors.at("metadata"), metadata);
  },

  update(errors: FieldErrors, { metadata, spec }: ClusterTrustBundle, old: ClusterTrustBundle): void {
    checkMetadata(errors.at("metadata"), metadata, nameRule(spec.signerName ?? ""), false);
    checkMetadataUpdate(errors.at("metadata"), metadata, old.metadata);
    checkFinalizerNames(errors.at("metadata"), metadata);
    checkImmutable(errors.at("spec.signerName"), spec.signerName ?? "", old.spec?.signerName ?? "");
  },
};

export const clusterTrustBundle = defineKind(ClusterTrustBundle, {
  validation: clusterTrustBundleValidation,
});
