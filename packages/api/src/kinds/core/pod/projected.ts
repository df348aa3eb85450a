/** Volumes that are made of other objects: projected ones and those of the downward API. */

import type { FieldErrors } from "../../../checks/field.ts";
import { checkLabelSelector } from "../../../checks/nodeselector.ts";
import type {
  DownwardAPIVolumeFile,
  PodCertificateProjection,
  ProjectedVolumeSource,
  VolumeProjection,
} from "../../../generated/core/v1.ts";
import { checkFieldRef, checkResourceRef } from "./field-refs.ts";
import { checkFreePath, checkMode } from "./paths.ts";
import { checkItems } from "./volume-sources.ts";

const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.labels",
  "metadata.annotations",
  "metadata.uid",
];

export function checkDownwardFile(errors: FieldErrors, file: DownwardAPIVolumeFile): void {
  if (!file.path) errors.at("path").required();
  checkFreePath(errors.at("path"), file.path ?? "");
  if (file.fieldRef) {
    checkFieldRef(errors.at("fieldRef"), file.fieldRef, fieldPaths);
    if (file.resourceFieldRef) {
      errors.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    }
  } else if (file.resourceFieldRef) {
    checkResourceRef(errors.at("resourceFieldRef"), file.resourceFieldRef, true);
  } else errors.required("one of fieldRef and resourceFieldRef is required");
  checkMode(errors.at("mode"), file.mode);
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/** The paths of one volume, none of which may be taken twice. */
class Paths {
  readonly #errors: FieldErrors;
  readonly #taken = new Set<string>();

  constructor(errors: FieldErrors) {
    this.#errors = errors;
  }

  /** `shown` is what the message names. */
  take(path: string | undefined, shown = path): void {
    if (!path) return;
    if (this.#taken.has(path)) this.#errors.invalid(shown, "conflicting duplicate paths");
    this.#taken.add(path);
  }
}

function checkToken(
  errors: FieldErrors,
  volume: FieldErrors,
  token: VolumeProjection["serviceAccountToken"] & object,
): void {
  const seconds = token.expirationSeconds ?? 0;
  const here = errors.at("expirationSeconds");
  if (seconds < 600) here.invalid(seconds, "may not specify a duration less than 10 minutes");
  if (seconds > 2 ** 32) here.invalid(seconds, "may not specify a duration larger than 2^32 seconds");
  // Upstream's path leaves out the source here.
  if (!token.path) volume.at("path").required();
  else checkFreePath(volume.at("path"), token.path);
}

function checkBundle(errors: FieldErrors, bundle: VolumeProjection["clusterTrustBundle"] & object): void {
  const named = bundle.name !== undefined && bundle.name !== null;
  const signed = bundle.signerName !== undefined && bundle.signerName !== null;
  if (named && signed) errors.invalid(bundle, "only one of name and signerName may be used");
  else if (named) {
    if (bundle.name === "") errors.at("name").required("must be a valid object name");
    if (bundle.labelSelector) {
      const detail = "labelSelector must be unset if name is specified";
      errors.at("labelSelector").invalid(bundle.labelSelector, detail);
    }
  } else if (signed) {
    if (bundle.signerName === "") errors.at("signerName").required("must be a valid signer name");
    checkLabelSelector(errors.at("labelSelector"), bundle.labelSelector);
  } else errors.required("either name or signerName must be specified");
  if (!bundle.path) errors.at("path").required();
  checkFreePath(errors.at("path"), bundle.path ?? "");
}

function checkCertificate(errors: FieldErrors, certificate: PodCertificateProjection, paths: Paths): void {
  if (!keyTypes.includes(certificate.keyType ?? "")) {
    errors.at("keyType").notSupported(certificate.keyType ?? "", keyTypes);
  }
  const seconds = certificate.maxExpirationSeconds;
  if (seconds !== undefined && seconds !== null) {
    const here = errors.at("maxExpirationSeconds");
    const most = certificate.signerName?.startsWith("kubernetes.io/") ? 86_400 : 7_862_400;
    if (seconds < 3600) here.invalid(seconds, "if provided, maxExpirationSeconds must be >= 3600");
    if (seconds > most) here.invalid(seconds, `if provided, maxExpirationSeconds must be <= ${most}`);
  }
  const names = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  for (const name of names) {
    const value = certificate[name];
    if (!value) continue;
    checkFreePath(errors.at(name), value);
    paths.take(value);
  }
  if (names.every((name) => !certificate[name])) {
    errors.required("specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
  }
}

export function checkProjected(errors: FieldErrors, volume: ProjectedVolumeSource): void {
  checkMode(errors.at("defaultMode"), volume.defaultMode);
  const paths = new Paths(errors);
  (volume.sources ?? []).forEach((source, index) => {
    const here = errors.at("sources").index(index);
    for (const name of ["secret", "configMap"] as const) {
      const part = source[name];
      if (!part) continue;
      if (!part.name) here.at(name).at("name").required();
      checkItems(here.at(name), part.items);
      for (const item of part.items ?? []) paths.take(item.path, part.name ?? "");
    }
    for (const file of source.downwardAPI?.items ?? []) {
      checkDownwardFile(here.at("downwardAPI"), file);
      paths.take(file.path);
    }
    if (source.serviceAccountToken) {
      checkToken(here.at("serviceAccountToken"), errors, source.serviceAccountToken);
    }
    if (source.clusterTrustBundle) {
      checkBundle(here.at("clusterTrustBundle"), source.clusterTrustBundle);
      paths.take(source.clusterTrustBundle.path);
    }
    if (source.podCertificate) checkCertificate(here.at("podCertificate"), source.podCertificate, paths);
    if (Object.values(source).filter(Boolean).length > 1) {
      here.forbidden("may not specify more than 1 volume type per source");
    }
  });
}
