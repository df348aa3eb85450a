import { StatusError } from "@dray/api";

/** The server makes nothing any more in a namespace that is being deleted: there is nothing to try again. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
  );
}
