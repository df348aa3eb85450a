import { quoted, type StatusError, type Wire } from "@dray/api";
import type { TokenRequest } from "@dray/api/authentication/v1";
import type { PersistentVolume, PersistentVolumeClaim, Pod, Volume } from "@dray/api/core/v1";
import type { CSIDriver } from "@dray/api/storage/v1";
import type { UserInfo } from "@dray/client";
import { type Attributes, type Decision, resourceAttributes } from "../authorization/attributes.ts";
import { nodeNameOf } from "../authorization/node.ts";
import { forbidden, notFound } from "../errors/status.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

/** A request of a user for a token of a service account. */
export interface WantedToken {
  readonly storage: Storage;
  readonly user: UserInfo;
  readonly namespace: string;
  /** Name of the service account. */
  readonly account: string;
  readonly request: Wire<TokenRequest>;
  readonly authorize: (attributes: Attributes) => Decision;
}

const refusal = (account: string, why: string): StatusError =>
  forbidden({ group: "", resource: "serviceaccounts" }, account, why);

/**
 * A node asks for tokens only on behalf of its pods: the token must be bound to a pod, by name and uid, that
 * runs on that node (NodeRestriction; `spec.boundObjectRef` of TokenRequest). Users that are not nodes pass.
 * The token handler checks for all users that the pod runs as this service account. Throws 403, or 404 if the
 * pod does not exist.
 */
export function checkNodeToken(wanted: WantedToken): void {
  const { storage, user, namespace, account, request } = wanted;
  const node = nodeNameOf(user);
  if (node === undefined) return;
  const refused = (why: string): StatusError => refusal(account, why);
  const ref = request.spec?.boundObjectRef;
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || !ref.name) {
    throw refused("node requested token not bound to a pod");
  }
  if (!ref.uid) throw refused("node requested token with a pod binding without a uid");
  const pod = storage.cache("pods").get(objectKey("pods", namespace, ref.name))?.object as Pod | undefined;
  if (pod === undefined) throw notFound({ group: "", resource: "pods" }, ref.name);
  if (ref.uid !== pod.metadata.uid) {
    throw refused(
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (node === "" || pod.spec?.nodeName !== node) {
    throw refused("node requested token bound to a pod scheduled on a different node");
  }
  checkAudience(wanted, pod);
}

/**
 * Limits a node to the audiences of the pod's volumes and of their drivers, unless RBAC permits others
 * (KEP-4412).
 */
function checkAudience(
  { storage, user, namespace, account, request, authorize }: WantedToken,
  pod: Pod,
): void {
  const [audience = "", ...more] = request.spec?.audiences ?? [];
  if (more.length > 0) throw refusal(account, "node may only request 0 or 1 audiences");
  const named = (pod.spec?.volumes ?? []).some((volume) => {
    const sources = volume.projected?.sources ?? [];
    if (
      sources.some(
        (source) => source.serviceAccountToken && (source.serviceAccountToken.audience ?? "") === audience,
      )
    )
      return true;
    const driver = driverOf(storage, pod, volume);
    return driver?.spec?.tokenRequests?.some((each) => (each.audience ?? "") === audience) ?? false;
  });
  if (named) return;
  const question = resourceAttributes({
    user,
    verb: "request-serviceaccounts-token-audience",
    group: "",
    version: "v1",
    resource: audience,
    namespace,
    name: account,
  });
  if (authorize(question).allowed) return;
  throw refusal(
    account,
    `audience ${quoted(audience)} not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
  );
}

/** Returns the CSI driver of a volume, inline or through its claim. */
function driverOf(storage: Storage, pod: Pod, volume: Volume): CSIDriver | undefined {
  const get = <T>(resource: string, where: string, name: string | undefined): T | undefined =>
    storage.cache(resource).get(objectKey(resource, where, name ?? ""))?.object as T | undefined;
  const claimName = volume.ephemeral
    ? `${pod.metadata.name}-${volume.name}`
    : volume.persistentVolumeClaim?.claimName;
  const claim = get<PersistentVolumeClaim>("persistentvolumeclaims", pod.metadata.namespace, claimName);
  const mounted = get<PersistentVolume>("persistentvolumes", "", claim?.spec?.volumeName);
  return get<CSIDriver>("csidrivers", "", volume.csi?.driver ?? mounted?.spec?.csi?.driver);
}
