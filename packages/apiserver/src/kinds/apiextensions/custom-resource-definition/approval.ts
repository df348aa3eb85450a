import { quoted } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import type { Definition } from "./types.ts";

const annotation = "api-approved.kubernetes.io";
const link = "see https://github.com/kubernetes/enhancements/pull/1111";

/** Reports whether a definition in a group of the community names its approval. */
export interface Approval {
  readonly state: "Approved" | "Bypassed" | "Missing" | "Invalid";
  readonly reason: string;
}

/** Undefined for groups that need no approval. */
export function approvalOf({ spec, metadata }: Definition): Approval | undefined {
  const guarded = /(^|\.)(k8s\.io|kubernetes\.io)$/.test(spec.group);
  if (!guarded) return undefined;
  const text = metadata.annotations?.[annotation] ?? "";
  if (text === "") {
    return {
      state: "Missing",
      reason: `protected groups must have approval annotation "${annotation}", ${link}`,
    };
  }
  if (text.startsWith("unapproved")) return { state: "Bypassed", reason: `not approved: ${quoted(text)}` };
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/\s]+/.test(text))
    return { state: "Approved", reason: `approved in ${text}` };
  const requirement = `with either a URL or a reason starting with "unapproved"`;
  return {
    state: "Invalid",
    reason: `protected groups must have approval annotation "${annotation}" ${requirement}, ${link}`,
  };
}

/** An unchanged approval is not validated again. */
export function checkApproval(
  errors: FieldErrors,
  definition: Definition,
  old: Definition | undefined,
): void {
  const approval = approvalOf(definition);
  if (approval === undefined || (old && approvalOf(old)?.state === approval.state)) return;
  const here = errors.at("metadata.annotations").key(annotation);
  if (approval.state === "Missing") here.required(approval.reason);
  if (approval.state === "Invalid") {
    here.invalid(definition.metadata.annotations?.[annotation] ?? "", approval.reason);
  }
}
