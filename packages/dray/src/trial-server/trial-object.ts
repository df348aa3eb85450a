import type { Draft } from "../manifests/documents.ts";

/** Returns a manifest as a new object. */
export function trialObject({ tree, apiVersion, kind }: Draft, namespace?: string): object {
  const {
    uid: _u,
    resourceVersion: _r,
    creationTimestamp: _c,
    managedFields: _m,
    selfLink: _s,
    ...metadata
  } = (tree["metadata"] ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...tree,
    apiVersion,
    kind,
    metadata: { ...metadata, ...(namespace !== undefined && { namespace }) },
  };
}
