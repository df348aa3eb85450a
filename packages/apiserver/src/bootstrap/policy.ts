import type { ClusterRole, ClusterRoleBinding, PolicyRule } from "@dray/api/rbac/v1";
import policy from "./policy.json" with { type: "json" };

/** A rule in the data file: groups, resources, verbs (each separated by commas), or as the API has it. */
type RuleRow = readonly [groups: string, resources: string, verbs: string] | PolicyRule;

interface RoleRow {
  readonly name: string;
  /** Marks the role as part of `admin`, `edit`, `view`. */
  readonly labels?: readonly string[];
  /** Its rules are those of the roles so marked. */
  readonly aggregate?: readonly string[];
  readonly rules: readonly RuleRow[];
}

const group = "rbac.authorization.k8s.io";
const bootstrapping = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const autoupdate = { "rbac.authorization.kubernetes.io/autoupdate": "true" };
export const aggregateLabel = (name: string): string => `${group}/aggregate-to-${name}`;

type Draft<T> = Omit<T, "metadata"> & { metadata: { name: string; labels: object; annotations: object } };

function ruleOf(row: RuleRow): PolicyRule {
  if (!Array.isArray(row)) return row as PolicyRule;
  const [groups, resources, verbs] = row as readonly [string, string, string];
  return { verbs: verbs.split(","), apiGroups: groups.split(","), resources: resources.split(",") };
}

/** The cluster roles that every cluster begins with. */
export function bootstrapRoles(): Draft<ClusterRole>[] {
  const rows: RoleRow[] = [
    ...(policy.clusterRoles as unknown as RoleRow[]),
    ...Object.entries(policy.controllers as unknown as Record<string, RuleRow[]>).map(([name, rules]) => ({
      name: `system:controller:${name}`,
      rules: [...rules, ["events.k8s.io,", "events", "create,patch,update"] as const],
    })),
  ];
  return rows.map((row) => ({
    apiVersion: `${group}/v1`,
    kind: "ClusterRole",
    metadata: {
      name: row.name,
      labels: {
        ...bootstrapping,
        ...Object.fromEntries((row.labels ?? []).map((name) => [aggregateLabel(name), "true"])),
      },
      annotations: autoupdate,
    },
    rules: row.rules.map(ruleOf),
    ...(row.aggregate === undefined
      ? {}
      : {
          aggregationRule: {
            clusterRoleSelectors: row.aggregate.map((name) => ({
              matchLabels: { [aggregateLabel(name)]: "true" },
            })),
          },
        }),
  }));
}

/** The cluster role bindings that every cluster begins with. */
export function bootstrapBindings(): Draft<ClusterRoleBinding>[] {
  const rows = policy.clusterRoleBindings as unknown as {
    role: string;
    name?: string;
    groups?: string[];
    users?: string[];
  }[];
  const bindings = rows.map((row) =>
    binding(row.name ?? row.role, row.role, [
      ...(row.groups ?? []).map((name) => ({ kind: "Group", apiGroup: group, name })),
      ...(row.users ?? []).map((name) => ({ kind: "User", apiGroup: group, name })),
    ]),
  );
  const controllers = Object.keys(policy.controllers).map((name) =>
    binding(`system:controller:${name}`, `system:controller:${name}`, [
      { kind: "ServiceAccount", name, namespace: "kube-system" },
    ]),
  );
  return [...bindings, ...controllers];
}

function binding(
  name: string,
  role: string,
  subjects: NonNullable<ClusterRoleBinding["subjects"]>,
): Draft<ClusterRoleBinding> {
  return {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: bootstrapping, annotations: autoupdate },
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: { apiGroup: group, kind: "ClusterRole", name: role },
  };
}
