import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from "@dray/api/rbac/v1";
import policy from "./policy.json" with { type: "json" };

/** A rule in the data file: groups, resources, verbs (each separated by commas), or as the API has it. */
type RuleRow = readonly [groups: string, resources: string, verbs: string] | PolicyRule;

interface RoleRow {
  readonly name: string;
  readonly namespace?: string;
  /** Only a server that has this group needs it. */
  readonly group?: string;
  /** Marks the role as part of `admin`, `edit`, `view`. */
  readonly labels?: readonly string[];
  /** Its rules are those of the roles so marked. */
  readonly aggregate?: readonly string[];
  readonly rules: readonly RuleRow[];
}

interface BindingRow {
  readonly namespace?: string;
  readonly role: string;
  /** That of the role if absent. */
  readonly name?: string;
  readonly groups?: readonly string[];
  readonly users?: readonly string[];
  /** `namespace/name` */
  readonly serviceAccounts?: readonly string[];
}

/**
 * What kube-apiserver 1.36 creates (plugin/pkg/auth/authorizer/rbac/bootstrappolicy), and the roles `dray:*` with what
 * the components of this project need beside that.
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

function ruleOf(row: RuleRow): PolicyRule {
  if (!Array.isArray(row)) return row as PolicyRule;
  const [groups, resources, verbs] = row as readonly [string, string, string];
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

/** The roles that every cluster begins with: of the cluster, then of namespaces. `groups` are those that are served. */
export function bootstrapRoles(groups: ReadonlySet<string>): Draft<ClusterRole | Role>[] {
  const controllers = Object.entries(data.controllers).map(([name, rules]) => ({
    name: controllerName(name),
    rules,
  }));
  const needed = data.clusterRoles.filter(({ group }) => group === undefined || groups.has(group));
  return [...needed, ...controllers, ...data.roles].map(role);
}

/** The bindings that every cluster begins with. */
export function bootstrapBindings(): Draft<ClusterRoleBinding | RoleBinding>[] {
  const controllers = Object.keys(data.controllers).map((name) => ({
    role: controllerName(name),
    serviceAccounts: [`kube-system/${name}`],
  }));
  return [...data.clusterRoleBindings, ...controllers, ...data.roleBindings].map(binding);
}
