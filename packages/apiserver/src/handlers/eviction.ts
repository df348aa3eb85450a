import { labelSelectorOf, StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { Eviction, PodDisruptionBudget } from "@dray/api/policy/v1";
import type { ApiResponse } from "@dray/client";
import { objectForms, objectResponse } from "../representation.ts";
import { deleteOptions, writeOptions } from "../request/options.ts";
import { statusObject } from "../response.ts";
import { readObject } from "./body.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { writeOf } from "./write.ts";

const evictionKind = { group: "policy", version: "v1", kind: "Eviction" };

/** POST on `pods/eviction`: a DELETE that disruption budgets may refuse with 429. */
export async function evictPod(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, objectForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const eviction = (await readObject(context, evictionKind, options.fieldValidation)) as unknown as Eviction;
  if (eviction.metadata?.name !== info.name) {
    throw StatusError.of("BadRequest", "name in URL does not match name in Eviction object");
  }
  const pod = registry.need(served, info.namespace, info.name).object as Pod;
  checkBudgets(context, pod);
  const wish = deleteOptions(
    new URLSearchParams(),
    (eviction.deleteOptions ?? {}) as Record<string, unknown>,
  );
  const dryRun = options.dryRun || wish.dryRun;
  await registry.delete(writeOf(context, options), { ...wish, dryRun });
  const answer = statusObject({ status: "Success", code: 201 });
  return objectResponse(201, answer, served, wanted, tableOptions(context), headersOf(context));
}

/** A pod that does not run, or no longer, disturbs nobody by going. */
function checkBudgets(context: Context, pod: Pod): void {
  const phase = pod.status?.phase;
  if (phase === "Succeeded" || phase === "Failed" || phase === "Pending" || pod.metadata.deletionTimestamp)
    return;
  const cache = context.registry.storage.cache("poddisruptionbudgets");
  const budgets = [...cache.range(`${cache.prefix}${pod.metadata.namespace}/`)]
    .map(({ object }) => object as PodDisruptionBudget)
    .filter((budget) => labelSelectorOf(budget.spec?.selector).matches(pod.metadata.labels));
  if (budgets.length > 1) {
    throw StatusError.of(
      "InternalError",
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  const budget = budgets[0];
  if (budget === undefined) return;
  const { name, generation = 0 } = budget.metadata;
  if (Number(budget.status?.observedGeneration ?? 0) < Number(generation)) {
    throw StatusError.of(
      "TooManyRequests",
      "Cannot evict pod as it would violate the pod's disruption budget.",
      {
        causes: [
          {
            reason: "DisruptionBudget",
            message: `The disruption budget ${name} is still being processed by the server.`,
          },
        ],
        retryAfterSeconds: 10,
      },
    );
  }
  if ((budget.status?.disruptionsAllowed ?? 0) > 0) return;
  const { desiredHealthy = 0, currentHealthy = 0 } = budget.status ?? {};
  throw StatusError.of(
    "TooManyRequests",
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      causes: [
        {
          reason: "DisruptionBudget",
          message: `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
        },
      ],
    },
  );
}
