import { createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { dnsSubdomain, type FieldError, quoted } from "@dray/api";
import type { PodCertificateRequest } from "@dray/api/certificates/v1";
import { pemBlocks } from "@dray/api/pem";
import { checkAnnotations, checkConditions, FieldErrors, sameValue } from "@dray/api/validation";
import { resourceAttributes } from "../../../authorization/attributes.ts";
import { parseCertificateRequest, signatureProblem } from "../../../certificates/certificate-request.ts";
import type { Strategy, StrategyContext } from "../../strategy.ts";
import { signerNameProblems } from "../signer-name.ts";

type Spec = PodCertificateRequest["spec"];
type Status = NonNullable<PodCertificateRequest["status"]>;

/** Upstream: pkg/apis/certificates/types.go. In bytes, and in seconds. */
const limits = { request: 10 * 1024, chain: 100 * 1024, uid: 128 };
const expiration = { min: 3600, max: 91 * 86_400, maxOfKubernetes: 86_400 };
const hour = 3_600_000;
const minute = 60_000;

const requestPath = "spec.stubPKCS10Request";
const chainPath = "status.certificateChain";
const outcomes = ["Issued", "Denied", "Failed"];

/**
 * Upstream: pkg/apis/certificates/validation/validation.go, ValidatePodCertificateRequestCreate and the two
 * after it
 */
export const podCertificateRequestStrategy: Strategy<PodCertificateRequest> = {
  validateCreate(object, { features }) {
    const { spec } = object;
    const errors = new FieldErrors({ release: features.version });
    checkNames(errors, spec);
    const expires = checkExpiration(errors, spec);
    const key = expires ? checkRequest(errors.detached(), spec.stubPKCS10Request ?? "") : [];
    return [...signerNameProblems("spec.signerName", spec.signerName ?? ""), ...errors.list, ...key];
  },

  validateUpdate(request, before, context) {
    const errors = new FieldErrors({ release: context.features.version });
    if (context.subresource !== "status") {
      if (!sameValue(request.spec, before.spec))
        errors.at("spec").invalid(request.spec, "field is immutable");
      return errors.list;
    }
    checkStatus(errors, request, before, Date.parse(context.now));
    const same = sameValue(request.status ?? {}, before.status ?? {});
    if (errors.list.length > 0 || same || maySign(context, before.spec.signerName)) return errors.list;
    const who = `User ${quoted(context.user.name)} is not permitted`;
    errors.at("spec.signerName").forbidden(`${who} to "sign" for signer ${quoted(before.spec.signerName)}`);
    return errors.list;
  },
};

/** Writing the outcome takes the verb `sign` on the signer, or on all signers of its domain. */
function maySign({ authorize, user }: StrategyContext, signer: string): boolean {
  const [group, resource] = ["certificates.k8s.io", "signers"];
  return [signer, `${signer.split("/")[0]}/*`].some(
    (name) => authorize(resourceAttributes({ user, verb: "sign", group, resource, name })).allowed,
  );
}

function checkNames(errors: FieldErrors, spec: Spec): void {
  const annotations = spec.unverifiedUserAnnotations;
  if (annotations !== undefined) checkAnnotations(errors.at("spec.unverifiedUserAnnotations"), annotations);
  for (const owner of ["pod", "serviceAccount", "node"] as const) {
    const [name, uid] = [spec[`${owner}Name`] ?? "", spec[`${owner}UID`] ?? ""];
    errors.at(`spec.${owner}Name`).check(dnsSubdomain, name);
    if (uid === "") errors.at(`spec.${owner}UID`).invalid(uid, "must not be empty");
    if (Buffer.byteLength(uid) > limits.uid) errors.at(`spec.${owner}UID`).tooLong(limits.uid);
  }
}

/** False where the time is missing: then nothing more is checked. */
function checkExpiration(
  errors: FieldErrors,
  { maxExpirationSeconds: seconds, signerName = "" }: Spec,
): boolean {
  const here = errors.at("spec.maxExpirationSeconds");
  if (seconds === undefined) {
    here.required("must be set");
    return false;
  }
  const domain = signerName.split("/")[0]!;
  const ofKubernetes = domain === "kubernetes.io" || domain.endsWith(".kubernetes.io");
  const max = ofKubernetes ? expiration.maxOfKubernetes : expiration.max;
  if (seconds < expiration.min || seconds > max)
    here.invalid(seconds, `must be in the range [${expiration.min}, ${max}]`);
  return true;
}

function checkRequest(errors: FieldErrors, request: string): FieldError[] {
  if (request === "")
    errors
      .at("spec")
      .wrong("exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set");
  else if (Buffer.byteLength(request, "base64") > limits.request)
    errors.at(requestPath).tooLong(limits.request);
  else {
    const key = keyOf(request);
    if (key === undefined) errors.at(requestPath).wrong("must be a valid PKCS#10 CSR");
    else if (checkKey(errors, key) && signatureProblem(inPEM(request)) !== undefined)
      errors.at(requestPath).wrong("invalid signature");
  }
  return [...errors.list];
}

const curves: readonly (string | undefined)[] = ["prime256v1", "secp384r1", "secp521r1"];

function checkKey(errors: FieldErrors, key: KeyObject): boolean {
  const { namedCurve, modulusLength } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "ed25519":
      return true;
    case "ec":
      if (curves.includes(namedCurve)) return true;
      errors
        .at(requestPath)
        .invalid(`curve ${namedCurve}`, "elliptic public keys must use curve P256, P384, or P521");
      return false;
    case "rsa":
      if (modulusLength === 3072 || modulusLength === 4096) return true;
      errors
        .at(requestPath)
        .invalid(`${modulusLength}-bit modulus`, "RSA keys must have modulus size 3072 or 4096");
      return false;
    default:
      errors.at(requestPath).wrong("unknown public key type; supported types are Ed25519, ECDSA, and RSA");
      return false;
  }
}

/** Returns the request in the form of a CertificateSigningRequest: PEM in base64. */
function inPEM(request: string): string {
  const [begin, end] = ["BEGIN", "END"].map((word) => `-----${word} CERTIFICATE REQUEST-----`);
  return Buffer.from(`${begin}\n${request}\n${end}\n`).toString("base64");
}

/** Returns the public key of a PKCS#10 request, DER in base64. Undefined if the request is invalid. */
function keyOf(request: string): KeyObject | undefined {
  const parsed = parseCertificateRequest(inPEM(request));
  if ("error" in parsed) return undefined;
  try {
    return createPublicKey({ key: parsed.publicKey, format: "der", type: "spki" });
  } catch {
    return undefined;
  }
}

const has = ({ conditions = [] }: Status, types: readonly string[]): boolean =>
  conditions.some(({ type, status }) => types.includes(type) && status === "True");

function checkStatus(
  errors: FieldErrors,
  { spec, status = {} }: PodCertificateRequest,
  { status: before = {} }: PodCertificateRequest,
  now: number,
): void {
  checkOutcome(errors, status);
  checkConditions(errors.at("status.conditions"), status.conditions);
  if (errors.list.length > 0) return;
  if (has(before, outcomes)) {
    const detail = "immutable after PodCertificateRequest is issued, denied, or failed";
    if (!sameValue(status, before)) errors.at("status").wrong(detail);
  } else if (has(status, ["Denied", "Failed"])) {
    const { conditions: _, ...rest } = status;
    const detail =
      "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
    if (!sameValue(rest, {})) errors.at("status").wrong(detail);
  } else if (has(status, ["Issued"])) checkIssued(errors, spec, status, now);
  else if (!sameValue(status, before)) {
    const detail = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"';
    errors.at("status").wrong(detail);
  }
}

function checkOutcome(errors: FieldErrors, { conditions = [] }: Status): void {
  let known = 0;
  for (const [index, { type, status }] of conditions.entries()) {
    // Upstream writes the path so.
    const here = errors.at("status.conditions.").index(index);
    if (!outcomes.includes(type)) {
      here.at("type").notSupported(type, outcomes);
      continue;
    }
    known++;
    const detail = 'There may be at most one condition with type "Issued", "Denied", or "Failed"';
    if (known > 1) here.at("type").invalid(type, detail);
    if (status !== "True") here.at("status").notSupported(status, ["True"]);
  }
}

function checkIssued(errors: FieldErrors, spec: Spec, status: Status, now: number): void {
  const chain = status.certificateChain ?? "";
  if (Buffer.byteLength(chain) > limits.chain) {
    errors.at(chainPath).tooLong(limits.chain);
    return;
  }
  const refuse = (detail: string): void => errors.at(chainPath).invalid(chain, detail);
  const [first, ...others] = pemBlocks(chain);
  if (first === undefined) {
    refuse("issued certificate chain must contain at least one certificate");
    return;
  }
  if ([first, ...others].some(({ type }) => type !== "CERTIFICATE")) {
    refuse("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
    return;
  }
  const leaf = certificateOf(first.block);
  if (leaf === undefined) refuse("leaf certificate does not parse as valid X.509");
  else if (keyOf(spec.stubPKCS10Request)?.equals(leaf.publicKey) !== true)
    refuse("leaf certificate was not issued to the requested public key");
  else if (
    checkTimes(errors, { spec, status }, leaf, now) &&
    others.some(({ block }) => !certificateOf(block))
  )
    refuse("intermediate certificate does not parse as valid X.509");
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** Validates that the times of the status are those of the certificate, and within the limits. */
function checkTimes(
  errors: FieldErrors,
  { spec, status }: { readonly spec: Spec; readonly status: Status },
  leaf: X509Certificate,
  now: number,
): boolean {
  const { maxExpirationSeconds = 0 } = spec;
  const { notBefore = "", notAfter = "", beginRefreshAt = "" } = status;
  const consistent = "must be present and consistent with the issued certificate";
  if (!notBefore) errors.at("status.notBefore").required(consistent);
  if (!notAfter) errors.at("status.notAfter").required(consistent);
  if (!beginRefreshAt)
    errors
      .at("status.beginRefreshAt")
      .required("must be present and in the range [notbefore+10min, notafter-10min]");
  if (errors.list.length > 0) return false;
  const [from, to, refresh] = [Date.parse(notBefore), Date.parse(notAfter), Date.parse(beginRefreshAt)];
  const [validFrom, validTo] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  const lifetime = validTo - validFrom;
  const shown = `${lifetime / 1000}s`;
  const rules: readonly (readonly [ok: boolean, path: string, value: string, detail: string])[] = [
    [
      from === validFrom,
      "status.notBefore",
      notBefore,
      "must be set to the NotBefore time encoded in the leaf certificate",
    ],
    [
      Math.abs(from - now) < 5 * minute,
      "status.notBefore",
      notBefore,
      "must be set to within 5 minutes of kube-apiserver's current time",
    ],
    [
      to === validTo,
      "status.notAfter",
      notAfter,
      "must be set to the NotAfter time encoded in the leaf certificate",
    ],
    [lifetime >= hour, chainPath, shown, "leaf certificate lifetime must be >= 1 hour"],
    [
      lifetime <= maxExpirationSeconds * 1000,
      chainPath,
      shown,
      `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${maxExpirationSeconds})`,
    ],
    [
      refresh >= from + 10 * minute,
      "status.beginRefreshAt",
      beginRefreshAt,
      "must be at least 10 minutes after status.notBefore",
    ],
    [
      refresh <= to - 10 * minute,
      "status.beginRefreshAt",
      beginRefreshAt,
      "must be at least 10 minutes before status.notAfter",
    ],
  ];
  const broken = rules.find(([ok]) => !ok);
  if (broken === undefined) return true;
  const [, path, value, detail] = broken;
  errors.at(path).invalid(value, detail);
  return false;
}
