import { X509Certificate } from "node:crypto";
import type { FieldError } from "@dray/api";
import type { ClusterTrustBundle } from "@dray/api/certificates/v1";
import { pemBlocks } from "@dray/api/pem";
import { extensionOf } from "../../../certificates/x509.ts";
import type { Strategy } from "../../strategy.ts";
import { signerNameProblems } from "../signer-name.ts";

/** In bytes. Upstream: MaxTrustBundleSize */
const maxSize = 1024 * 1024;

/** Upstream: pkg/apis/certificates/validation/validation.go, ValidateClusterTrustBundle. */
export const clusterTrustBundleStrategy: Strategy<ClusterTrustBundle> = {
  validateCreate(object) {
    return [...signerProblems(object), ...bundleProblems(textOf(object))];
  },
  /** Certificates that are stored are not read again. */
  validateUpdate(object, old) {
    const same = textOf(object) === textOf(old);
    return [...signerProblems(object), ...(same ? [] : bundleProblems(textOf(object)))];
  },
};

function textOf({ spec }: ClusterTrustBundle): string {
  return spec?.trustBundle ?? "";
}

function signerProblems({ spec }: ClusterTrustBundle): FieldError[] {
  const { signerName = "" } = spec;
  return signerName === "" ? [] : signerNameProblems("spec.signerName", signerName);
}

/** Returns why the text is not a list of distinct authorities. */
function bundleProblems(text: string): FieldError[] {
  const path = "spec.trustBundle";
  if (Buffer.byteLength(text) > maxSize)
    return [{ type: "TooLong", path, detail: `may not be more than ${maxSize} bytes` }];
  const problems: string[] = [];
  const entries = new Map<string, number[]>();
  let index = -1;
  for (const { type, body, block } of pemBlocks(text)) {
    const headers = /^[^\n]*:/.test(body);
    // Go's decoder passes over a block that is not base64.
    if (!headers && !/^[A-Za-z0-9+/=\s]*$/.test(body)) continue;
    index++;
    const problem =
      type !== "CERTIFICATE"
        ? `has bad block type: ${type}`
        : headers
          ? "has PEM block headers"
          : authorityProblem(block);
    if (problem !== undefined) {
      problems.push(`entry ${index} ${problem}`);
      continue;
    }
    const content = body.replace(/\s/g, "");
    entries.set(content, [...(entries.get(content) ?? []), index]);
  }
  if (problems.length === 0) {
    if (entries.size === 0) problems.push("at least one trust anchor must be provided");
    for (const indices of entries.values())
      if (indices.length > 1) problems.push(`duplicate trust anchor (indices [${indices.join(" ")}])`);
  }
  return problems.map((detail) => ({ type: "Invalid", path, value: '"<value omitted>"', detail }));
}

const basicConstraints = "2.5.29.19";

function authorityProblem(pem: string): string | undefined {
  let constraints: Buffer | undefined;
  try {
    constraints = extensionOf(new X509Certificate(pem).toString(), basicConstraints);
  } catch {
    return "does not parse as X.509";
  }
  // SEQUENCE { cA BOOLEAN DEFAULT FALSE, ... }
  const isAuthority = constraints?.subarray(2, 5).equals(Buffer.from([0x01, 0x01, 0xff])) === true;
  return isAuthority ? undefined : "does not have the CA bit set";
}
