import type { StatusError } from "@dray/api";
import type { TokenRequest } from "@dray/api/authentication/v1";
import type { Pod } from "@dray/api/core/v1";
import type { UserInfo } from "@dray/client";
import { nodeNameOf } from "../authorization/node.ts";
import { forbidden, notFound } from "../response.ts";
import { objectKey } from "../storage/keys.ts";
import type { Storage } from "../storage/storage.ts";

/**
 * A node asks for tokens only on behalf of its pods: the token must be bound to a pod, by name and uid, that runs on
 * that node (NodeRestriction; `spec.boundObjectRef` of TokenRequest). Users that are no node pass. That the pod runs
 * as this service account is checked for everybody where the token is made. Throws 403, or 404 without the pod.
 */
export function checkNodeToken(
  storage: Storage,
  user: UserInfo,
  namespace: string,
  account: string,
  request: TokenRequest,
): void {
  const node = nodeNameOf(user);
  if (node === undefined) return;
  const refused = (why: string): StatusError =>
    forbidden({ group: "", resource: "serviceaccounts" }, account, why);
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
}
