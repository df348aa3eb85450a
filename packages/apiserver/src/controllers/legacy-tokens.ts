import { StatusError } from "@dray/api";
import type { Secret } from "@dray/api/core/v1";
import { requiredResource, type ServedResource } from "../kinds/resources.ts";
import { thaw } from "../storage/json.ts";
import type { Registry } from "../write/registry.ts";

const lastUsed = "kubernetes.io/legacy-token-last-used";

/**
 * Records on the secret the day on which its token was last used, so that unused ones can be cleaned up
 * (KEP-2799).
 */
export async function markUsed(
  registry: Registry,
  resources: readonly ServedResource[],
  secret: Secret,
): Promise<void> {
  const today = registry.now().slice(0, 10);
  if (secret.metadata.labels?.[lastUsed] === today) return;
  const served = requiredResource(resources, { group: "", resource: "secrets" });
  const { name, namespace = "" } = secret.metadata;
  try {
    await registry.update(
      {
        served,
        subresource: "",
        namespace,
        name,
        user: { name: "system:apiserver", groups: ["system:masters"] },
        verb: "patch",
        options: {
          dryRun: false,
          fieldManager: "kube-apiserver",
          fieldValidation: "Ignore",
          force: false,
        },
      },
      {
        unchecked: true,
        change(current) {
          const marked = thaw(current) as Secret;
          marked.metadata.labels = { ...marked.metadata.labels, [lastUsed]: today };
          return marked;
        },
      },
    );
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
  }
}
