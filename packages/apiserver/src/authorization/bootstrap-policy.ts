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
 * A rule in the data file: groups, resources, verbs (each separated by commas), and the feature gate that the rule needs;
 * or a PolicyRule of the API, with its gate.
 */
type RuleRow =
  | readonly [groups: string, resources: string, verbs: string, gate?: FeatureGate]
  | (PolicyRule & { readonly gate?: FeatureGate });

interface RoleRow {
  readonly name: string;
  readonly namespace?: string;
  /** Only a server that has this group needs it. */
  readonly group?: string;
  /** The feature gate that it needs. */
  readonly gate?: FeatureGate;
  /** Marks the role as part of `admin`, `edit`, `view`. */
  readonly labels?: readonly string[];
  /** Its rules are those of the roles so marked. */
  readonly aggregate?: readonly string[];
  readonly rules: readonly RuleRow[];
}

interface BindingRow {
  readonly namespace?: string;
  readonly role: string;
  /** The feature gate that it needs. */
  readonly gate?: FeatureGate;
  /** That of the role if absent. */
  readonly name?: string;
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  /** `namespace/name` */
  readonly serviceAccounts?: readonly string[];
}

/**
 * What kube-apiserver 1.37 creates (plugin/pkg/auth/authorizer/rbac/bootstrappolicy), and the roles `dray:*` with what the
 * components of this project need beside that.
 */
const data = policy as unknown as {
  readonly clusterRoles: readonly RoleRow[];
  /** Rules of the service accounts of controllers: role and binding are named after the account in kube-system. */
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

/** Says which feature gates are on. */
type Enabled = Features["enabled"];

/** The roles that every cluster begins with: of the cluster, then of namespaces. `groups` are those that are served. */
export function bootstrapRoles(groups: ReadonlySet<string>, enabled: Enabled): Draft<ClusterRole | Role>[] {
  const needed = data.clusterRoles.filter(
    ({ group, gate }) => (group === undefined || groups.has(group)) && (gate === undefined || enabled(gate)),
  );
  return [...needed, ...controllerRoles(enabled), ...data.roles].map((row) =>
    role({ ...row, rules: inForce(row.rules, enabled) }),
  );
}

/** A controller none of whose rules is in force does not run, and has no role. */
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

/** The bindings that every cluster begins with. */
export function bootstrapBindings(enabled: Enabled): Draft<ClusterRoleBinding | RoleBinding>[] {
  const controllers = controllerRoles(enabled).map(({ name }) => ({
    role: name,
    serviceAccounts: [`kube-system/${name.slice(controllerName("").length)}`],
  }));
  const needed = data.clusterRoleBindings.filter(({ gate }) => gate === undefined || enabled(gate));
  return [...needed, ...controllers, ...data.roleBindings].map(binding);
}
