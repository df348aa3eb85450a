import type { ResourceSlice } from "@dray/api/resource/v1";
import { forbidden } from "../response.ts";
import type { AdmissionRequest } from "./admission.ts";

/** Where the token of a pod says on which node the pod runs (KEP-4193). */
const nodeNameExtra = "authentication.kubernetes.io/node-name";

/**
 * A driver that runs on a node writes only the slices of that node. This rule is Dray's own (design, section 10,
 * item 6); elsewhere each driver brings a ValidatingAdmissionPolicy for it, as KEP-4381 advises. It looks at who has
 * exactly one node name in the extras, and leaves slices without `spec.nodeName` alone. Throws 403.
 */
export function checkDriverSlice({ served, name, user, operation, object, old }: AdmissionRequest): void {
  const own = user.extra?.[nodeNameExtra];
  if (own?.length !== 1) return;
  for (const slice of [old, object] as (ResourceSlice | undefined)[]) {
    const nodeName = slice?.spec?.nodeName;
    if (!nodeName || nodeName === own[0]) continue;
    throw forbidden(
      served,
      name,
      `user ${JSON.stringify(user.name)} on node ${JSON.stringify(own[0])} cannot ${operation.toLowerCase()} a ResourceSlice with spec.nodeName ${JSON.stringify(nodeName)}, only those of its own node`,
    );
  }
}
