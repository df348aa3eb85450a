import type { AdmissionRequest } from "./admission.ts";
import { namespaceOf, requestedVersion, type VersionedResource } from "./versions.ts";

/**
 * Returns the request of an AdmissionReview (admission.k8s.io/v1), without uid and objects: webhooks receive
 * it, and expressions have it as `request`. `matched` is the version in the rule of the policy or webhook.
 */
export function requestObject(
  request: AdmissionRequest,
  matched: VersionedResource,
): Record<string, unknown> {
  const asked = requestedVersion(request);
  const { user, subresource, objectName: name } = request;
  const namespace = namespaceOf(request);
  const sub = (field: string): object => (subresource === "" ? {} : { [field]: subresource });
  return {
    kind: kindObject(matched),
    resource: resourceObject(matched),
    ...sub("subResource"),
    requestKind: kindObject(asked),
    requestResource: resourceObject(asked),
    ...sub("requestSubResource"),
    ...(name === "" ? {} : { name }),
    ...(namespace === "" ? {} : { namespace }),
    operation: request.operation,
    userInfo: {
      ...(user.name === "" ? {} : { username: user.name }),
      ...(user.uid ? { uid: user.uid } : {}),
      ...(user.groups.length === 0 ? {} : { groups: user.groups }),
      ...(Object.keys(user.extra ?? {}).length === 0 ? {} : { extra: user.extra }),
    },
    dryRun: request.dryRun,
    options: request.options ?? null,
  };
}

const kindObject = ({ kind }: VersionedResource): object => ({
  group: kind.group,
  version: kind.version,
  kind: kind.kind,
});

const resourceObject = ({ group, version, resource }: VersionedResource): object => ({
  group,
  version,
  resource,
});
