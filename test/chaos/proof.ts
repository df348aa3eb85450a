import { setTimeout as sleep } from "node:timers/promises";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import type { ChaosCluster } from "./cluster.ts";
import { exactly, secondScheduler } from "./crowd.ts";
import { networkDriver } from "./crowd-fleet.ts";
import { exampleClass, namespace } from "./pods.ts";

/** Requests that take all devices of a node of a crowd; of the network too. */
const wholeNode = (withNetwork: boolean): object[] =>
  [
    exactly("gpu", { allocationMode: "All" }),
    exactly("slow", { allocationMode: "All" }),
    exactly("flaky", { allocationMode: "All" }),
    ...["0", "1"].map(() => exactly("link", { capacity: { requests: { bandwidth: "10" } } })),
    ...(withNetwork
      ? [
          exactly("port", { allocationMode: "All" }, networkDriver),
          exactly("uplink", { capacity: { requests: { bandwidth: "40" } } }, networkDriver),
        ]
      : []),
  ].map((request, i) => ({ ...request, name: `r${i}` }));

const wholeExample: object[] = [
  { name: "r0", exactly: { deviceClassName: exampleClass, allocationMode: "All" } },
];

interface Taker {
  readonly name: string;
  readonly node: string;
  readonly requests: readonly object[];
}

function pod({ name, node }: Taker, schedulerName: string | undefined): object {
  return {
    metadata: { name, namespace },
    spec: {
      nodeSelector: { "kubernetes.io/hostname": node },
      terminationGracePeriodSeconds: 1,
      ...(schedulerName !== undefined && { schedulerName }),
      resourceClaims: [{ name: "all", resourceClaimName: name }],
      containers: [
        {
          name: "main",
          image: "host",
          command: ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 99999 & wait"],
          resources: { claims: [{ name: "all" }] },
        },
      ],
    },
  };
}

/**
 * Takes all devices of every node at once: what the API says is free, a scheduler that counts wrongly may
 * hold. Returns what does not run in time. The pods stay.
 */
export async function takeAllDevices(
  { client, nodes }: ChaosCluster,
  realNodes: number,
  scheduler: "default" | "second",
  seconds: number,
): Promise<string[]> {
  const takers = nodes.flatMap((node, i): Taker[] => {
    const name = `all-${scheduler}-${node}`;
    if (i < realNodes) return scheduler === "second" ? [] : [{ name, node, requests: wholeExample }];
    return [{ name, node, requests: wholeNode(i === realNodes) }];
  });
  for (const { name, requests } of takers)
    await client
      .resource(ResourceClaim)
      .create({ metadata: { name, namespace }, spec: { devices: { requests } } } as never);
  const schedulerName = scheduler === "second" ? secondScheduler : undefined;
  for (const taker of takers) await client.resource(Pod).create(pod(taker, schedulerName) as never);
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const { items } = await client.resource(Pod).list({ namespace });
    const waiting = items.filter(({ status }) => status?.phase !== "Running");
    if (waiting.length === 0) return [];
    if (performance.now() > deadline)
      return waiting.map(
        ({ metadata, status }) =>
          `${metadata.name} does not get all devices of its node after ${seconds} s: ${JSON.stringify(status).slice(0, 1500)}`,
      );
    await sleep(200);
  }
}

/** Deletes the pods and claims of `takeAllDevices`. */
export async function giveAllBack(cluster: ChaosCluster): Promise<void> {
  await cluster.deletePods();
  const claims = cluster.client.resource(ResourceClaim);
  const { items } = await claims.list({ namespace });
  for (const { metadata } of items)
    if (metadata.name.startsWith("all-")) await claims.delete({ namespace, name: metadata.name });
}
