import { quoted, StatusError } from "@dray/api";
import type { Namespace } from "@dray/api/core/v1";
import { forbidden, notFound } from "../errors/status.ts";
import { objectKey } from "../storage/keys.ts";
import type { AdmissionPlugin } from "./admission.ts";
import type { AdmissionContext } from "./context.ts";

/** Namespaces that cannot be deleted. */
const permanent = new Set(["default", "kube-system", "kube-public"]);
/** Resources that can be created in a terminating namespace: reviews, which are not stored. */
const alwaysAllowed = new Set(["localsubjectaccessreviews"]);

/**
 * Rejects creation in a namespace that does not exist or is being deleted, and the deletion of some
 * namespaces.
 */
export function namespaceLifecycle({ storage }: AdmissionContext): AdmissionPlugin {
  return {
    mutate(request) {
      if (request.operation !== "CREATE" || request.namespace === "" || !request.served.namespaced) return;
      if (alwaysAllowed.has(request.served.resource)) return;
      const key = objectKey("namespaces", "", request.namespace);
      const namespace = storage.cache("namespaces").get(key)?.object as Namespace | undefined;
      if (namespace === undefined) throw notFound({ group: "", resource: "namespaces" }, request.namespace);
      if (namespace.metadata.deletionTimestamp === undefined) return;
      throw forbidden(
        request.served,
        request.name,
        `unable to create new content in namespace ${request.namespace} because it is being terminated`,
        {
          causes: [
            {
              reason: "NamespaceTerminating",
              message: `namespace ${request.namespace} is being terminated`,
              field: "metadata.namespace",
            },
          ],
        },
      );
    },
    validate(request) {
      if (request.operation !== "DELETE" || request.served.resource !== "namespaces") return;
      if (!permanent.has(request.name)) return;
      throw StatusError.of(
        "Forbidden",
        `namespaces ${quoted(request.name)} is forbidden: this namespace may not be deleted`,
        { name: request.name, kind: "namespaces" },
      );
    },
  };
}
