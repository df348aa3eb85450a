/** For tests: FlowSchemas and priority levels, and a store that delays requests. */
import { systemClock } from "@dray/client";
import { memoryStore, type Store } from "@dray/store";
import type { TestServer } from "../testing/server.ts";

export const flowcontrol = "/apis/flowcontrol.apiserver.k8s.io/v1";

/** A store whose writes wait between `hold` and `release`. */
export function slowStore(): { store: Store; hold: () => void; release: () => void } {
  const store = memoryStore(systemClock);
  const write = store.txn.bind(store);
  let gate: PromiseWithResolvers<void> | undefined;
  store.txn = async (...args) => {
    await gate?.promise;
    return write(...args);
  };
  return {
    store,
    hold: () => {
      gate = Promise.withResolvers();
    },
    release: () => gate?.resolve(),
  };
}

/** Without queues unless `queuing` is given. */
export const priorityLevel = (name: string, shares: number, queuing?: object): object => ({
  metadata: { name },
  spec: {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: shares,
      borrowingLimitPercent: 0,
      limitResponse: queuing === undefined ? { type: "Reject" } : { type: "Queue", queuing },
    },
  },
});

/** Matches all requests of these users; each user is a flow. */
export const flowSchema = (name: string, level: string, users: readonly string[]): object => ({
  metadata: { name },
  spec: {
    matchingPrecedence: 1000,
    priorityLevelConfiguration: { name: level },
    distinguisherMethod: { type: "ByUser" },
    rules: [
      {
        subjects: users.map((user) => ({ kind: "User", user: { name: user } })),
        resourceRules: [
          { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] },
        ],
        nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      },
    ],
  },
});

/** Allows all authenticated users everything. */
export async function allowAll({ call }: TestServer): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const apiGroup = "rbac.authorization.k8s.io";
  await call("POST", `${rbac}/clusterrolebindings`, {
    body: {
      metadata: { name: "all" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "Group", apiGroup, name: "system:authenticated" }],
    },
  });
}
