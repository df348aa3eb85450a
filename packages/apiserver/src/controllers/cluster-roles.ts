import { labelSelectorOf, StatusError } from "@dray/api";
import type { ClusterRole, PolicyRule } from "@dray/api/rbac/v1";
import type { Log } from "@dray/client";
import { requiredResource, type ServedResource } from "../kinds/resources.ts";
import { deepEqual, thaw } from "../storage/json.ts";
import type { Registry } from "../write/registry.ts";

/**
 * Keeps the rules of cluster roles with an aggregationRule equal to the union of the selected roles. Upstream
 * does this in a controller; here it follows the cache of the server itself, so that `admin`, `edit` and
 * `view` are complete as soon as the server accepts requests.
 */
export function aggregateRoles(registry: Registry, resources: readonly ServedResource[], log: Log): void {
  const served = requiredResource(resources, {
    group: "rbac.authorization.k8s.io",
    resource: "clusterroles",
  });
  const cache = registry.cache(served);
  let scheduled = false;
  const run = async (): Promise<void> => {
    scheduled = false;
    const roles = [...cache.range(cache.prefix)].map(({ object }) => object as ClusterRole);
    for (const role of roles) {
      if (!role.aggregationRule) continue;
      const rules = aggregated(role, roles);
      if (deepEqual(rules, role.rules ?? [])) continue;
      await update(registry, served, { name: role.metadata.name, rules }, log);
    }
  };
  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      run().catch((error: unknown) =>
        log.error({ error }, "aggregated cluster roles could not be brought up to date"),
      );
    }).unref();
  };
  cache.subscribe(schedule);
  schedule();
}

function aggregated(role: ClusterRole, roles: readonly ClusterRole[]): PolicyRule[] {
  const rules: PolicyRule[] = [];
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selection = labelSelectorOf(selector);
    for (const other of roles) {
      if (other.metadata.name === role.metadata.name || !selection.matches(other.metadata.labels)) continue;
      for (const rule of other.rules ?? []) {
        if (!rules.some((present) => deepEqual(present, rule))) rules.push(rule);
      }
    }
  }
  return rules;
}

async function update(
  registry: Registry,
  served: ServedResource,
  { name, rules }: { readonly name: string; readonly rules: PolicyRule[] },
  log: Log,
): Promise<void> {
  try {
    await registry.update(
      {
        served,
        subresource: "",
        namespace: "",
        name,
        user: { name: "system:apiserver", groups: ["system:masters"] },
        verb: "update",
        options: {
          dryRun: false,
          fieldManager: "clusterrole-aggregation-controller",
          fieldValidation: "Ignore",
          force: false,
        },
      },
      {
        unchecked: true,
        change(current) {
          const role = thaw(current) as ClusterRole;
          role.rules = rules;
          return role;
        },
      },
    );
  } catch (error) {
    if (!StatusError.is(error, "NotFound"))
      log.warn({ error, role: name }, "a cluster role could not be aggregated");
  }
}
