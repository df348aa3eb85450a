import { X509Certificate } from "node:crypto";
import { type FieldError, quoted } from "@dray/api";
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "@dray/api/certificates/v1";
import { pemBlocks } from "@dray/api/pem";
import { signatureProblem } from "../../../certificates/certificate-request.ts";
import { deepEqual } from "../../../storage/json.ts";
import type { Strategy } from "../../strategy.ts";
import { signerNameProblems } from "../signer-name.ts";

type Condition = CertificateSigningRequestCondition;

const usages = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];
/** Conditions whose only status is True, and which cannot be removed. */
const final = ["Approved", "Denied", "Failed"];
const approval = ["Approved", "Denied"];

/**
 * Requests for certificates: the server sets the requesting user; approval and certificate have writers
 * of their own.
 */
export const certificateSigningRequestStrategy: Strategy<CertificateSigningRequest> = {
  prepareForCreate(request, { user }) {
    const { request: pem, signerName, expirationSeconds, usages: wanted } = request.spec;
    request.spec = {
      request: pem,
      signerName,
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
      ...(wanted === undefined ? {} : { usages: wanted }),
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      ...(user.groups.length === 0 ? {} : { groups: [...user.groups] }),
      ...(user.extra && Object.keys(user.extra).length > 0
        ? { extra: Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]])) }
        : {}),
    };
    request.status = {};
  },

  prepareForUpdate(request, before, { subresource, now }) {
    request.spec = before.spec;
    switch (subresource) {
      case "status":
        keepApproval(request, before);
        setTimes(request, before, now);
        break;
      case "approval": {
        setTimes(request, before, now);
        const { conditions } = request.status ?? {};
        request.status = { ...before.status };
        if (conditions === undefined) delete request.status.conditions;
        else request.status.conditions = conditions;
        break;
      }
      default:
        request.status = before.status ?? {};
    }
  },

  validateCreate: (object) => problems(object),

  validateUpdate(request, before, { subresource }) {
    return [...problems(request), ...changes(request, before, subresource)];
  },
};

/** Resets approvals in a write of `status` to the stored ones: a signer cannot approve. */
function keepApproval({ status }: CertificateSigningRequest, old: CertificateSigningRequest): void {
  for (const type of approval) {
    const before = (old.status?.conditions ?? []).filter((condition) => condition.type === type);
    const after = (status?.conditions ?? []).filter((condition) => condition.type === type);
    if (before.length !== after.length) continue;
    after.forEach((condition, index) => {
      Object.assign(condition, before[index]);
    });
  }
}

function setTimes({ status }: CertificateSigningRequest, old: CertificateSigningRequest, now: string): void {
  const state = ({ type, status }: Condition): string => JSON.stringify([type, status]);
  // The first of equal ones wins.
  const before = new Map((old.status?.conditions ?? []).toReversed().map((each) => [state(each), each]));
  for (const condition of status?.conditions ?? []) {
    condition.lastUpdateTime ??= now;
    condition.lastTransitionTime ??= before.get(state(condition))?.lastTransitionTime ?? now;
  }
}

function problems({ spec, status }: CertificateSigningRequest): FieldError[] {
  const errors: FieldError[] = [];
  const wrong = signatureProblem(spec.request ?? "");
  if (wrong !== undefined) {
    errors.push({
      type: "Invalid",
      path: "spec.request",
      value: bytesText(spec.request ?? ""),
      detail: wrong,
    });
  }
  const wanted = spec.usages ?? [];
  if (wanted.length === 0) errors.push({ type: "Required", path: "spec.usages", detail: "" });
  const supported = `supported values: ${usages.map(quoted).join(", ")}`;
  wanted.forEach((usage, index) => {
    if (usages.includes(usage)) return;
    errors.push({
      type: "NotSupported",
      path: `spec.usages[${index}]`,
      value: quoted(usage),
      detail: supported,
    });
  });
  const seen = new Set<string>();
  wanted.forEach((usage, index) => {
    if (seen.has(usage))
      errors.push({ type: "Duplicate", path: `spec.usages[${index}]`, value: quoted(usage), detail: "" });
    seen.add(usage);
  });
  const signer = spec.signerName ?? "";
  if (signer === "kubernetes.io/legacy-unknown") {
    const detail = "the legacy signerName is not allowed via this API version";
    errors.push({ type: "Invalid", path: "spec.signerName", value: quoted(signer), detail });
  } else for (const each of signerNameProblems("spec.signerName", signer)) errors.push(each);
  if (spec.expirationSeconds !== undefined && spec.expirationSeconds < 600) {
    const detail = "may not specify a duration less than 600 seconds (10 minutes)";
    const value = String(spec.expirationSeconds);
    errors.push({ type: "Invalid", path: "spec.expirationSeconds", value, detail });
  }
  for (const each of conditionProblems(status?.conditions ?? [])) errors.push(each);
  const unreadable = certificateProblem(status?.certificate ?? "");
  if (unreadable !== undefined) {
    const value = quoted("<certificate data>");
    errors.push({ type: "Invalid", path: "status.certificate", value, detail: unreadable });
  }
  return errors;
}

/** Go prints bytes in an error as it prints them in JSON. */
const bytesText = (base64: string): string => quoted(base64);

function conditionProblems(conditions: readonly Condition[]): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  conditions.forEach(({ type = "", status = "" }, index) => {
    const path = `status.conditions[${index}]`;
    if (type === "") errors.push({ type: "Required", path: `${path}.type`, detail: "" });
    const allowed = final.includes(type) ? ["True"] : ["False", "True", "Unknown"];
    if (status === "") errors.push({ type: "Required", path: `${path}.status`, detail: "" });
    else if (!allowed.includes(status)) {
      const detail = `supported values: ${allowed.map(quoted).join(", ")}`;
      errors.push({ type: "NotSupported", path: `${path}.status`, value: quoted(status), detail });
    }
    const opposite = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (opposite !== undefined && seen.has(opposite)) {
      const detail = "Approved and Denied conditions are mutually exclusive";
      errors.push({ type: "Invalid", path: "status.conditions", value: quoted(type), detail });
    }
    if (seen.has(type))
      errors.push({ type: "Duplicate", path: `${path}.type`, value: quoted(type), detail: "" });
    seen.add(type);
  });
  return errors;
}

function certificateProblem(base64: string): string | undefined {
  if (base64 === "") return undefined;
  const pem = Buffer.from(base64, "base64").toString("latin1");
  let found = false;
  for (const { type, body, block } of pemBlocks(pem)) {
    found = true;
    if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${quoted(type)}`;
    if (/^[^\n]*:/.test(body)) return "no PEM block headers are permitted";
    try {
      new X509Certificate(block);
    } catch {
      return "x509: malformed certificate";
    }
  }
  return found ? undefined : "must contain at least one CERTIFICATE PEM block";
}

function changes(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  subresource: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const forbid = (path: string, detail: string): void => {
    errors.push({ type: "Forbidden", path, detail });
  };
  const of = (one: CertificateSigningRequest, type: string): Condition[] =>
    (one.status?.conditions ?? []).filter((condition) => condition.type === type);
  for (const type of final) {
    if (of(request, type).length < of(old, type).length)
      forbid("status.conditions", `updates may not remove a condition of type ${quoted(type)}`);
  }
  for (const type of subresource === "approval" ? [] : approval) {
    const [after, before] = [of(request, type), of(old, type)];
    if (after.length > before.length)
      forbid("status.conditions", `updates may not add a condition of type ${quoted(type)}`);
    else if (after.length === before.length && !deepEqual(after, before))
      forbid("status.conditions", `updates may not modify a condition of type ${quoted(type)}`);
  }
  const [after, before] = [request.status?.certificate ?? "", old.status?.certificate ?? ""];
  if (after === before) return errors;
  if (subresource !== "status") forbid("status.certificate", "updates may not set certificate content");
  else if (before !== "") forbid("status.certificate", "updates may not modify existing certificate content");
  return errors;
}
