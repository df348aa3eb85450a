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

export function checkDownwardFile(errors: FieldErrors, path: string, file: DownwardAPIVolumeFile): void {
  if (!file.path) errors.required(`${path}.path`);
  checkFreePath(errors, `${path}.path`, file.path ?? "");
  if (file.fieldRef) {
    checkFieldRef(errors, `${path}.fieldRef`, file.fieldRef, fieldPaths);
    if (file.resourceFieldRef) {
      errors.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
    }
  } else if (file.resourceFieldRef) {
    checkResourceRef(errors, `${path}.resourceFieldRef`, file.resourceFieldRef, true);
  } else errors.required(path, "one of fieldRef and resourceFieldRef is required");
  checkMode(errors, `${path}.mode`, file.mode);
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/** The paths of one volume, none of which may be taken twice. */
class Paths {
  readonly #errors: FieldErrors;
  readonly #at: string;
  readonly #taken = new Set<string>();

  constructor(errors: FieldErrors, at: string) {
    this.#errors = errors;
    this.#at = at;
  }

  /** `shown` is what the message names. */
  take(path: string | undefined, shown = path): void {
    if (!path) return;
    if (this.#taken.has(path)) this.#errors.invalid(this.#at, shown, "conflicting duplicate paths");
    this.#taken.add(path);
  }
}

function checkToken(
  errors: FieldErrors,
  path: string,
  volume: string,
  token: VolumeProjection["serviceAccountToken"] & object,
): void {
  const seconds = token.expirationSeconds ?? 0;
  const at = `${path}.expirationSeconds`;
  if (seconds < 600) errors.invalid(at, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > 2 ** 32) errors.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds");
  // Upstream's path leaves out the source here.
  if (!token.path) errors.required(`${volume}.path`);
  else checkFreePath(errors, `${volume}.path`, token.path);
}

function checkBundle(
  errors: FieldErrors,
  path: string,
  bundle: VolumeProjection["clusterTrustBundle"] & object,
): void {
  const named = bundle.name !== undefined && bundle.name !== null;
  const signed = bundle.signerName !== undefined && bundle.signerName !== null;
  if (named && signed) errors.invalid(path, bundle, "only one of name and signerName may be used");
  else if (named) {
    if (bundle.name === "") errors.required(`${path}.name`, "must be a valid object name");
    if (bundle.labelSelector) {
      const detail = "labelSelector must be unset if name is specified";
      errors.invalid(`${path}.labelSelector`, bundle.labelSelector, detail);
    }
  } else if (signed) {
    if (bundle.signerName === "") errors.required(`${path}.signerName`, "must be a valid signer name");
    checkLabelSelector(errors, `${path}.labelSelector`, bundle.labelSelector);
  } else errors.required(path, "either name or signerName must be specified");
  if (!bundle.path) errors.required(`${path}.path`);
  checkFreePath(errors, `${path}.path`, bundle.path ?? "");
}

function checkCertificate(
  errors: FieldErrors,
  path: string,
  certificate: PodCertificateProjection,
  paths: Paths,
): void {
  if (!keyTypes.includes(certificate.keyType ?? "")) {
    errors.notSupported(`${path}.keyType`, certificate.keyType ?? "", keyTypes);
  }
  const seconds = certificate.maxExpirationSeconds;
  if (seconds !== undefined && seconds !== null) {
    const at = `${path}.maxExpirationSeconds`;
    const most = certificate.signerName?.startsWith("kubernetes.io/") ? 86_400 : 7_862_400;
    if (seconds < 3600) errors.invalid(at, seconds, "if provided, maxExpirationSeconds must be >= 3600");
    if (seconds > most) errors.invalid(at, seconds, `if provided, maxExpirationSeconds must be <= ${most}`);
  }
  const names = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  for (const name of names) {
    const value = certificate[name];
    if (!value) continue;
    checkFreePath(errors, `${path}.${name}`, value);
    paths.take(value);
  }
  if (names.every((name) => !certificate[name])) {
    errors.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
  }
}

export function checkProjected(errors: FieldErrors, path: string, volume: ProjectedVolumeSource): void {
  checkMode(errors, `${path}.defaultMode`, volume.defaultMode);
  const paths = new Paths(errors, path);
  (volume.sources ?? []).forEach((source, index) => {
    const at = `${path}.sources[${index}]`;
    for (const name of ["secret", "configMap"] as const) {
      const part = source[name];
      if (!part) continue;
      if (!part.name) errors.required(`${at}.${name}.name`);
      checkItems(errors, `${at}.${name}`, part.items);
      for (const item of part.items ?? []) paths.take(item.path, part.name ?? "");
    }
    for (const file of source.downwardAPI?.items ?? []) {
      checkDownwardFile(errors, `${at}.downwardAPI`, file);
      paths.take(file.path);
    }
    if (source.serviceAccountToken) {
      checkToken(errors, `${at}.serviceAccountToken`, path, source.serviceAccountToken);
    }
    if (source.clusterTrustBundle) {
      checkBundle(errors, `${at}.clusterTrustBundle`, source.clusterTrustBundle);
      paths.take(source.clusterTrustBundle.path);
    }
    if (source.podCertificate) checkCertificate(errors, `${at}.podCertificate`, source.podCertificate, paths);
    if (Object.values(source).filter(Boolean).length > 1) {
      errors.forbidden(at, "may not specify more than 1 volume type per source");
    }
  });
}
