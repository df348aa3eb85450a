import type {
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from "@dray/api/flowcontrol/v1";
import type { UserInfo } from "@dray/client";
import type { RequestInfo } from "../request/info.ts";
import type { Flow } from "./flow.ts";

const any = "*";
/** Maximum number of users whose rules are cached. */
const maxUsers = 1000;

/** Rules of a FlowSchema whose subjects match a user. */
interface UserRule {
  readonly flow: Flow;
  readonly rule: PolicyRulesWithSubjects;
}

/**
 * Finds the first FlowSchema that matches a request. The match of subjects and users is cached, so that few
 * rules remain to be checked.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/rule.go
 */
export class Classifier {
  readonly #flows: readonly Flow[];
  readonly #fallback: Flow;
  readonly #users = new Map<string, readonly UserRule[]>();

  /** `flows` in the order of matching; `fallback` is used if none of them matches. */
  constructor(flows: readonly Flow[], fallback: Flow) {
    this.#flows = flows;
    this.#fallback = fallback;
  }

  classify(info: RequestInfo, user: UserInfo): Flow {
    for (const { flow, rule } of this.#rulesOf(user)) {
      const matches = info.isResource
        ? rule.resourceRules?.some((each) => matchesResource(each, info))
        : rule.nonResourceRules?.some((each) => matchesPath(each, info));
      if (matches === true) return flow;
    }
    return this.#fallback;
  }

  #rulesOf(user: UserInfo): readonly UserRule[] {
    // Names and groups contain no NUL.
    const key = `${user.name}\0${user.groups.join("\0")}`;
    let rules = this.#users.get(key);
    if (rules === undefined) {
      if (this.#users.size >= maxUsers) this.#users.clear();
      rules = this.#flows.flatMap((flow) =>
        flow.rules
          .filter(({ subjects }) => (subjects ?? []).some((subject) => matchesSubject(subject, user)))
          .map((rule) => ({ flow, rule })),
      );
      this.#users.set(key, rules);
    }
    return rules;
  }
}

function matchesSubject(subject: Subject, { name, groups }: UserInfo): boolean {
  switch (subject.kind) {
    case "User":
      return subject.user?.name === any || subject.user?.name === name;
    case "Group":
      return subject.group?.name === any || groups.includes(subject.group?.name ?? "");
    case "ServiceAccount": {
      const account = subject.serviceAccount;
      if (!account) return false;
      const prefix = `system:serviceaccount:${account.namespace}:`;
      return account.name === any ? name.startsWith(prefix) : name === prefix + account.name;
    }
    default:
      return false;
  }
}

/** A wildcard counts only if it is the only value, as validation requires. */
const includes = (list: readonly string[] | null | undefined, value: string): boolean =>
  // A list that is always serialized is null if unset.
  !!list && ((list.length === 1 && list[0] === any) || list.includes(value));

function matchesResource(rule: ResourcePolicyRule, info: RequestInfo): boolean {
  const { verb, group, resource, subresource, namespace } = info;
  if (!includes(rule.verbs, verb) || !includes(rule.apiGroups, group)) return false;
  const name = subresource === "" ? resource : `${resource}/${subresource}`;
  if (!includes(rule.resources, name)) return false;
  return namespace === "" ? rule.clusterScope === true : includes(rule.namespaces, namespace);
}

function matchesPath(rule: NonResourcePolicyRule, { verb, path }: RequestInfo): boolean {
  if (!includes(rule.verbs, verb)) return false;
  return (rule.nonResourceURLs ?? []).some((url) => {
    if (url === any || url === path) return true;
    const start = url.endsWith(any) ? url.slice(0, -1) : url;
    return path.startsWith(start.endsWith("/") ? start : `${start}/`);
  });
}
