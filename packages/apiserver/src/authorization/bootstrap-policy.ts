import type { FeatureGate, Features } from "@dray/api";
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from "@dray/api/rbac/v1";
import policy from "./bootstrap-policy.json" with { type: "json" };

/**
 * A rule in the data file: groups, resources, verbs (each comma-separated), and the feature gate that the
 * rule needs; or a PolicyRule of the API, with its gate.
 */
type RuleRow =
  | readonly [groups: string, resources: string, verbs: string, gate?: FeatureGate]
  | (PolicyRule & { readonly gate?: FeatureGate });

interface RoleRow {
  readonly name: string;
  readonly namespace?: string;
  /** Created only if the server has this group. */
  readonly group?: string;
  /** Required feature gate. */
  readonly gate?: FeatureGate;
  /** Marks the role as part of `admin`, `edit`, `view`. */
  readonly labels?: readonly string[];
  /** Its rules are the union of the roles with this label. */
  readonly aggregate?: readonly string[];
  readonly rules: readonly RuleRow[];
}

interface BindingRow {
  readonly namespace?: string;
  readonly role: string;
  /** Required feature gate. */
  readonly gate?: FeatureGate;
  /** The role's name if absent. */
  readonly name?: string;
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  /** `namespace/name` */
  readonly serviceAccounts?: readonly string[];
}

/**
 * The roles of kube-apiserver 1.37, and with the mark `"upstream": false` those with the additional rights of
 * this project's components. `packages/api/scripts/origin` compares them with upstream's sources. TypeScript
 * infers a type for each row of the JSON.
 *
 * Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy
 */
const data = policy as unknown as {
  readonly clusterRoles: readonly RoleRow[];
  /**
   * Rules of the service accounts of controllers: role and binding have the name of the account in
   * kube-system.
   */
  readonly controllers: Readonly<Record<string, readonly RuleRow[]>>;
  readonly clusterRoleBindings: readonly BindingRow[];
  readonly roles: readonly RoleRow[];
  readonly roleBindings: readonly BindingRow[];
};

const group = "rbac.authorization.k8s.io";
const bootstrapping = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const autoupdate = { "rbac.authorization.kubernetes.io/autoupdate": "true" };
const aggregateLabel = (name: string): string => `${group}/aggregate-to-${name}`;
const controllerName = (name: string): string => `system:controller:${name}`;

type Draft<T> = Omit<T, "metadata"> & {
  metadata: { name: string; namespace?: string; labels: object; annotations: object };
};

function isRow(row: RuleRow): row is Extract<RuleRow, readonly unknown[]> {
  return Array.isArray(row);
}

function ruleOf(row: RuleRow): PolicyRule {
  if (!isRow(row)) {
    const { gate: _, ...rule } = row;
    return rule;
  }
  const [groups, resources, verbs] = row;
  return { verbs: verbs.split(","), apiGroups: groups.split(","), resources: resources.split(",") };
}

function role(row: RoleRow): Draft<ClusterRole | Role> {
  return {
    apiVersion: `${group}/v1`,
    kind: row.namespace === undefined ? "ClusterRole" : "Role",
    metadata: {
      name: row.name,
      ...(row.namespace === undefined ? {} : { namespace: row.namespace }),
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
  };
}

function binding(row: BindingRow): Draft<ClusterRoleBinding | RoleBinding> {
  const { namespace, name = row.role } = row;
  const subjects: Subject[] = [
    ...(row.groups ?? []).map((each) => ({ kind: "Group", apiGroup: group, name: each })),
    ...(row.users ?? []).map((each) => ({ kind: "User", apiGroup: group, name: each })),
    ...(row.serviceAccounts ?? []).map((each) => {
      const [home = "", account = ""] = each.split("/");
      return { kind: "ServiceAccount", name: account, namespace: home };
    }),
  ];
  return {
    apiVersion: `${group}/v1`,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: bootstrapping,
      annotations: autoupdate,
    },
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: {
      apiGroup: group,
      kind: namespace === undefined ? "ClusterRole" : "Role",
      name: row.role,
    },
  };
}

/** Reports whether a feature gate is on. */
type Enabled = Features["enabled"];

/**
 * Returns the roles of a new cluster: cluster roles, then namespaced roles. `groups`: the served API groups.
 */
export function bootstrapRoles(groups: ReadonlySet<string>, enabled: Enabled): Draft<ClusterRole | Role>[] {
  const needed = data.clusterRoles.filter(
    ({ group, gate }) => (group === undefined || groups.has(group)) && (gate === undefined || enabled(gate)),
  );
  return [...needed, ...controllerRoles(enabled), ...data.roles].map((row) =>
    role({ ...row, rules: inForce(row.rules, enabled) }),
  );
}

/** A controller without any enabled rule does not run, and has no role. */
function controllerRoles(enabled: Enabled): RoleRow[] {
  return Object.entries(data.controllers)
    .filter(([, rules]) => inForce(rules, enabled).length > 0)
    .map(([name, rules]) => ({ name: controllerName(name), rules }));
}

function inForce(rules: readonly RuleRow[], enabled: Enabled): RuleRow[] {
  return rules.filter((row) => {
    const gate = isRow(row) ? row[3] : row.gate;
    return gate === undefined || enabled(gate);
  });
}

/** Returns the role bindings of a new cluster. */
export function bootstrapBindings(enabled: Enabled): Draft<ClusterRoleBinding | RoleBinding>[] {
  const controllers = controllerRoles(enabled).map(({ name }) => ({
    role: name,
    serviceAccounts: [`kube-system/${name.slice(controllerName("").length)}`],
  }));
  const needed = data.clusterRoleBindings.filter(({ gate }) => gate === undefined || enabled(gate));
  return [...needed, ...controllers, ...data.roleBindings].map(binding);
}
