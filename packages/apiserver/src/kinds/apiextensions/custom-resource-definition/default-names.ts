import type { Wire } from "@dray/api";
import type { CustomResourceDefinition } from "@dray/api/apiextensions/v1";

/** Names that follow from others, in place (apiextensions.k8s.io/v1 defaults). */
export function withDefaultNames({ spec, status }: Wire<CustomResourceDefinition>): void {
  if (!spec) return;
  const storage = spec.versions?.find((version) => version.storage)?.name;
  // Without a stored version in its status the definition would be invalid forever.
  if (status && !status.storedVersions?.length && storage != null) status.storedVersions = [storage];
  const { names } = spec;
  if (names?.kind) {
    names.singular ||= names.kind.toLowerCase();
    names.listKind ||= `${names.kind}List`;
  }
  spec.conversion ??= { strategy: "None" };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service) service.port ??= 443;
}
