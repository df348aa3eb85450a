import { StatusError } from "@dray/api";
import type { Namespace } from "@dray/api/core/v1";
import { isNamespaceTerminating } from "@dray/client";

/** Reports whether the namespace exists and is not being deleted. */
export function isActive(namespace: Namespace | undefined): boolean {
  return namespace !== undefined && namespace.metadata.deletionTimestamp === undefined;
}

/** Calls `create`; ignores an object that exists already and a namespace that is being deleted. */
export async function createUnlessPresent(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (StatusError.is(error, "AlreadyExists") || StatusError.is(error, "NotFound")) return;
    if (!isNamespaceTerminating(error)) throw error;
  }
}
