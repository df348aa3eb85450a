import { StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { RuntimeClass } from "@dray/api/node/v1";
import type { Client } from "@dray/client";
import { RuntimeError } from "../runtime/error.ts";

/**
 * Returns the handler that the pod's RuntimeClass names, "" without a class. Throws RuntimeError if the class
 * is missing; other errors of the API server are passed through, and the start is retried.
 *
 * Upstream: pkg/kubelet/runtimeclass/runtimeclass_manager.go, LookupRuntimeHandler.
 */
export async function runtimeHandlerOf({ spec }: Pod, client: Client): Promise<string> {
  const name = spec.runtimeClassName;
  if (!name) return "";
  try {
    return (await client.resource(RuntimeClass).get({ name })).handler;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    throw new RuntimeError("CreatePodSandboxError", error.message);
  }
}
