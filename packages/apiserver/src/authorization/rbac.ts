import { quoted } from "@dray/api";
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from "@dray/api/rbac/v1";
import type { UserInfo } from "@dray/client";
import type { Storage } from "../storage/storage.ts";
import type { Attributes, Decision } from "./attributes.ts";
import { ruleAllows } from "./rules.ts";

const group = "rbac.authorization.k8s.io";

type Binding = ClusterRoleBinding | RoleBinding;

interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  /** "" for the whole cluster. */
  readonly namespace: string;
}

/** Evaluates the roles and bindings that are stored now. */
export class Rbac {
  readonly #storage: Storage;
  /** Grants by subject: `user:<name>` or `group:<name>`. Rebuilt after a change of a binding. */
  #grants: Map<string, Grant[]> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
    const forget = (): void => {
      this.#grants = undefined;
    };
    storage.cache("clusterrolebindings").subscribe(forget);
    storage.cache("rolebindings").subscribe(forget);
  }

  readonly authorize = (attributes: Attributes): Decision | undefined => {
    const missing = new Set<string>();
    for (const grant of this.#grantsOf(attributes.user, attributes.isResource ? attributes.namespace : "")) {
      const { roleRef } = grant.binding;
      const rules = this.rulesOfRef(roleRef, grant.namespace);
      if (rules === undefined)
        missing.add(`${roleRef.kind.toLowerCase()}.${group} "${roleRef.name}" not found`);
      for (const rule of rules ?? []) {
        if (ruleAllows(rule, attributes)) return { allowed: true, reason: reasonOf(grant) };
      }
    }
    if (missing.size === 0) return undefined;
    const texts = [...missing];
    return { allowed: false, reason: `RBAC: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}` };
  };

  /** Returns all rules of a user in a namespace ("": cluster-wide rules only). */
  rulesFor(user: UserInfo, namespace: string): PolicyRule[] {
    const rules: PolicyRule[] = [];
    for (const grant of this.#grantsOf(user, namespace))
      for (const each of this.#rules(grant)) rules.push(each);
    return rules;
  }

  /** Returns the rules of the role that a binding refers to; undefined if the role does not exist. */
  rulesOfRef(ref: Binding["roleRef"], namespace: string): readonly PolicyRule[] | undefined {
    const key =
      ref.kind === "ClusterRole"
        ? `/registry/clusterroles/${ref.name}`
        : `/registry/roles/${namespace}/${ref.name}`;
    const cache = this.#storage.cache(ref.kind === "ClusterRole" ? "clusterroles" : "roles");
    const role = cache.get(key)?.object as ClusterRole | Role | undefined;
    return role === undefined ? undefined : (role.rules ?? []);
  }

  #rules(grant: Grant): readonly PolicyRule[] {
    return this.rulesOfRef(grant.binding.roleRef, grant.namespace) ?? [];
  }

  /** Cluster-wide grants first, in upstream's order. */
  #grantsOf(user: UserInfo, namespace: string): Grant[] {
    const grants = this.#index();
    const found: Grant[] = [];
    for (const key of [`user:${user.name}`, ...user.groups.map((group) => `group:${group}`)]) {
      for (const each of grants.get(key) ?? []) found.push(each);
    }
    const cluster = found.filter((grant) => grant.namespace === "");
    if (namespace === "") return cluster;
    return [...cluster, ...found.filter((grant) => grant.namespace === namespace)];
  }

  #index(): Map<string, Grant[]> {
    if (this.#grants) return this.#grants;
    const grants = new Map<string, Grant[]>();
    for (const resource of ["clusterrolebindings", "rolebindings"]) {
      const cache = this.#storage.cache(resource);
      for (const { object } of cache.range(cache.prefix)) {
        const binding = object as Binding;
        const namespace = binding.metadata.namespace ?? "";
        for (const subject of binding.subjects ?? []) {
          const key = subjectKey(subject, namespace);
          if (key === undefined) continue;
          const list = grants.get(key);
          if (list) list.push({ binding, subject, namespace });
          else grants.set(key, [{ binding, subject, namespace }]);
        }
      }
    }
    this.#grants = grants;
    return grants;
  }
}

/**
 * Returns the key of a subject, `user:<name>` or `group:<name>`; undefined for one without a user or group.
 */
export function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  switch (subject.kind) {
    case "User":
      return `user:${subject.name}`;
    case "Group":
      return `group:${subject.name}`;
    case "ServiceAccount": {
      const namespace = subject.namespace || bindingNamespace;
      return namespace === "" ? undefined : `user:system:serviceaccount:${namespace}:${subject.name}`;
    }
    default:
      return undefined;
  }
}

function reasonOf({ binding, subject, namespace }: Grant): string {
  const kind = namespace === "" ? "ClusterRoleBinding" : "RoleBinding";
  const name = namespace === "" ? binding.metadata.name : `${binding.metadata.name}/${namespace}`;
  const who =
    subject.kind === "ServiceAccount"
      ? `ServiceAccount ${quoted(`${subject.name}/${subject.namespace || namespace}`)}`
      : `${subject.kind} ${quoted(subject.name)}`;
  return `RBAC: allowed by ${kind} ${quoted(name)} of ${binding.roleRef.kind} ${quoted(binding.roleRef.name)} to ${who}`;
}
