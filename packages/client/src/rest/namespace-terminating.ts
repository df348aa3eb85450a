import { StatusError } from "@dray/api";

/**
 * Reports whether the server refused a create because the namespace is being deleted: a retry is pointless.
 */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
  );
}
