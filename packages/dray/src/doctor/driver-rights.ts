import { StatusError } from "@dray/api";
import { SubjectAccessReview } from "@dray/api/authorization/v1";
import type { PolicyRule } from "@dray/api/rbac/v1";
import { serviceAccountPrefix, subjectKey, uncovered } from "@dray/apiserver/objects";
import type { Connection } from "../connection/connect.ts";
import type { World } from "../manifests/world.ts";

/** A service account of a driver. */
export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/**
 * The rights that a driver on a node needs: it publishes slices that its Node owns, and reads the claims that
 * it prepares. Upstream: k8s.io/dynamic-resource-allocation/kubeletplugin and /resourceslice.
 */
const needed: readonly PolicyRule[] = [
  {
    apiGroups: ["resource.k8s.io"],
    resources: ["resourceslices"],
    verbs: ["get", "list", "watch", "create", "update", "delete"],
  },
  { apiGroups: ["resource.k8s.io"], resources: ["resourceclaims"], verbs: ["get"] },
  { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
];

export const userOf = ({ namespace, name }: Account): string => `${serviceAccountPrefix}${namespace}:${name}`;

/** Returns the needed rights that cluster roles do not give; undefined: roles and bindings are unknown. */
export function lackingByRoles(world: World, account: Account): readonly PolicyRule[] | undefined {
  if (!world.isReadable("ClusterRole") || !world.isReadable("ClusterRoleBinding")) return undefined;
  // A server with RBAC always has roles of its own; another one decides by something else.
  if (world.all("ClusterRole").length === 0) return undefined;
  const { namespace } = account;
  // Upstream: pkg/serviceaccount, MakeGroupNames and UserInfo.
  const keys = [
    `user:${userOf(account)}`,
    "group:system:serviceaccounts",
    `group:system:serviceaccounts:${namespace}`,
    "group:system:authenticated",
  ];
  const held = world.all("ClusterRoleBinding").flatMap(({ object: { subjects, roleRef } }) => {
    if (!(subjects ?? []).some((subject) => keys.includes(subjectKey(subject, "") ?? ""))) return [];
    return world.find("ClusterRole", roleRef.name)?.rules ?? [];
  });
  return uncovered(held, needed);
}

/**
 * Asks the API server which of the needed rights accounts lack, by user name; undefined: the user may not
 * ask.
 */
export async function reviewedRights(
  { client }: Connection,
  accounts: readonly Account[],
): Promise<ReadonlyMap<string, readonly PolicyRule[]> | undefined> {
  const reviews = client.resource(SubjectAccessReview);
  const lacks = async (account: Account, rule: PolicyRule): Promise<PolicyRule[]> => {
    const [[group = ""], [resource = ""], [verb = ""]] = [
      rule.apiGroups ?? [],
      rule.resources ?? [],
      rule.verbs,
    ];
    const groups = ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
    const { status } = await reviews.create({
      metadata: {},
      spec: {
        user: userOf(account),
        groups: [...groups, "system:authenticated"],
        resourceAttributes: { group, resource, verb },
      },
    } as never);
    return status?.allowed === true ? [] : [rule];
  };
  try {
    const found = await Promise.all(
      accounts.map(async (account) => {
        // Without any rule, what is not covered is each needed right on its own.
        const each = await Promise.all(uncovered([], needed).map((rule) => lacks(account, rule)));
        return [userOf(account), each.flat()] as const;
      }),
    );
    return new Map(found);
  } catch (error) {
    if (StatusError.is(error, "Forbidden")) return undefined;
    throw error;
  }
}

/** `create, update resourceslices.resource.k8s.io`, one for each resource. */
export const rightTexts = (rules: readonly PolicyRule[]): string[] =>
  verbsByResource(rules).map(([resource, verbs]) => `${verbs.join(", ")} ${resource}`);

function verbsByResource(rules: readonly PolicyRule[]): [resource: string, verbs: string[]][] {
  const groups = Map.groupBy(rules, ({ apiGroups = [], resources = [] }) => qualified(apiGroups, resources));
  return [...groups].map(([resource, own]) => [resource, [...new Set(own.flatMap(({ verbs }) => verbs))]]);
}

const qualified = ([group = ""]: readonly string[], [resource = ""]: readonly string[]): string =>
  group === "" ? resource : `${resource}.${group}`;

/** Returns the commands that give an account the rights. `name`: of a role that does not exist. */
export function grantCommands(
  lacking: readonly PolicyRule[],
  { namespace, name }: Account,
  role: string,
): string[] {
  const account = `--serviceaccount=${namespace}:${name}`;
  return verbsByResource(lacking).flatMap(([resource, verbs]) => {
    const own = `${role}-${resource.split(".")[0]}`;
    return [
      `kubectl create clusterrole ${own} --verb=${verbs.join(",")} --resource=${resource}`,
      `kubectl create clusterrolebinding ${own} --clusterrole=${own} ${account}`,
    ];
  });
}
