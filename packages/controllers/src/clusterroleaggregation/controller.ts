import { isDeepStrictEqual } from "node:util";
import { labelSelectorOf, StatusError } from "@dray/api";
import { ClusterRole, type PolicyRule } from "@dray/api/rbac/v1";
import { type Controller, type ControllerContext, controllerQueues, synced } from "../shared/context.ts";

/**
 * Gives ClusterRoles with an `aggregationRule` the rules of the roles that it selects. Our API server does so
 * itself; others leave it to this controller.
 *
 * Upstream: pkg/controller/clusterroleaggregation.
 */
export async function startClusterRoleAggregation(context: ControllerContext): Promise<Controller> {
  const { client, informers } = context;
  const roles = informers.of(ClusterRole);
  await synced(context, [roles]);
  const queues = controllerQueues(context);
  const queue = queues.queue("ClusterRoleAggregator", reconcile);
  // Any role may be selected by any other; there are few.
  const changed = (): void => {
    for (const { metadata, aggregationRule } of roles.list())
      if (aggregationRule !== undefined) queue.add(metadata.name);
  };
  roles.handle({ add: changed, update: changed, delete: changed });

  async function reconcile(name: string): Promise<void> {
    const role = roles.get({ name });
    if (role?.aggregationRule === undefined) return;
    const rules = aggregated(role, roles.list());
    if (isDeepStrictEqual(rules, role.rules ?? [])) return;
    try {
      await client
        .resource(ClusterRole)
        .apply(
          { metadata: { name }, rules },
          { fieldManager: "clusterrole-aggregation-controller", force: true },
        );
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }

  return queues.controller;
}

/** The rules of the roles that are selected, each once, in the order of the roles' names. */
function aggregated(role: ClusterRole, all: readonly ClusterRole[]): PolicyRule[] {
  const others = all
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules: PolicyRule[] = [];
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selection = labelSelectorOf(selector);
    for (const other of others) {
      if (!selection.matches(other.metadata.labels)) continue;
      for (const rule of other.rules ?? [])
        if (!rules.some((present) => isDeepStrictEqual(present, rule))) rules.push(rule);
    }
  }
  return rules;
}
