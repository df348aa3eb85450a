import { StatusError } from "@dray/api";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { type Client, hasReached, type Informer, isNamespaceTerminating } from "@dray/client";
import { refTo } from "../shared/status.ts";
import { triggerTimeAnnotation } from "./pod-endpoint.ts";
import type { SliceChanges, WantedSlice } from "./slices.ts";

export interface WriteSlicesOptions {
  readonly client: Client;
  readonly slices: Informer<EndpointSlice>;
  /** The owner is there and not being deleted: else its slices are the garbage collector's. */
  readonly mayCreate: boolean;
  /** When the change happened; undefined removes what is said about an earlier one. */
  readonly triggerTime?: string | undefined;
}

/** Writes the changes and resolves when the cache has them, so that the next plan begins with them. */
export async function writeSlices(changes: SliceChanges, options: WriteSlicesOptions): Promise<void> {
  const { client, slices, mayCreate, triggerTime } = options;
  const resource = client.resource(EndpointSlice);
  const seen = (written: EndpointSlice): Promise<void> => slices.until(() => hasReached(slices, written));
  if (mayCreate) {
    for (const slice of changes.create) {
      const { name: _, ...metadata } = withTriggerTime(slice, triggerTime).metadata;
      try {
        await seen(await resource.create({ ...slice, metadata }));
      } catch (error) {
        if (isNamespaceTerminating(error)) return;
        throw error;
      }
    }
  }
  for (const slice of changes.update)
    await seen(await resource.update(withTriggerTime(slice, triggerTime) as EndpointSlice));
  await deleteSlices(client, slices, changes.delete);
}

/** Resolves when the cache has seen that they are gone. */
export async function deleteSlices(
  client: Client,
  slices: Informer<EndpointSlice>,
  slicesToDelete: readonly EndpointSlice[],
): Promise<void> {
  for (const slice of slicesToDelete) {
    const { uid } = slice.metadata;
    try {
      await client.resource(EndpointSlice).delete(refTo(slice), { preconditions: { uid } });
    } catch (error) {
      // Gone, or another one under the same name: what was wanted.
      if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
    }
    await slices.until(() => {
      const now = slices.get(refTo(slice));
      return now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined;
    });
  }
}

function withTriggerTime(slice: WantedSlice, time: string | undefined): WantedSlice {
  const { [triggerTimeAnnotation]: _, ...annotations } = slice.metadata.annotations ?? {};
  const next = time === undefined ? annotations : { ...annotations, [triggerTimeAnnotation]: time };
  return { ...slice, metadata: { ...slice.metadata, annotations: next } };
}
