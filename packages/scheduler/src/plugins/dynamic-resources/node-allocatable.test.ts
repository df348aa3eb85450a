/** Devices that are, or need, resources of their node (KEP-5517). */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "@dray/api/core/v1";
import { podLimits, podRequests } from "@dray/api/pod";
import type { AllocationResult, Device } from "@dray/api/resource/v1";
import { partial } from "@dray/testing/partial";
import { NodeInfo } from "../../framework/node-info.ts";
import {
  type AllocatedClaim,
  hasMappedDevice,
  nodeAllocatableStatuses,
  shortageOf,
  withStatuses,
} from "./node-allocatable.ts";

const devices: Readonly<Record<string, object>> = {
  // A device that is two cores, and needs memory for each pod and container.
  cores: {
    cpu: { mapping: { deviceMultiplier: "2" } },
    memory: { overhead: { perPod: "1Gi", perContainer: "512Mi" } },
  },
  // Memory of the size of the share, half of it from huge pages.
  memory: {
    memory: { mapping: { capacityKey: "size" } },
    "hugepages-2Mi": { mapping: { capacityKey: "size", capacityMultiplier: "500m" } },
  },
  gpu: { memory: { overhead: { perPod: "1Gi" } } },
};

const find = ({ device }: { readonly device: string }): Device | undefined =>
  device === "gone" ? undefined : ({ name: device, nodeAllocatableResources: devices[device] } as Device);

function claim(name: string, ...results: readonly [device: string, more?: object][]): AllocatedClaim {
  const allocation = partial<AllocationResult>({
    devices: {
      results: results.map(([device, more]) => ({
        request: "r",
        driver: "d",
        pool: "p",
        device,
        ...more,
      })),
    },
  });
  return { name, entries: [name], allocation };
}

/** A pod whose containers use these claims. */
function pod(containers: readonly (readonly string[])[], spec: object = {}, resources: object = {}): Pod {
  return partial<Pod>({
    metadata: { namespace: "ns", name: "pod", uid: "pod" },
    spec: {
      containers: containers.map((names, i) => ({
        name: `c${i}`,
        resources: { ...resources, claims: names.map((name) => ({ name })) },
      })),
      ...spec,
    },
  });
}

test("mapping counts once for a claim, overhead for the pod and for each container that uses it", () => {
  const asked = pod([["a"], ["a"], []]);
  const statuses = nodeAllocatableStatuses(asked, [claim("a", ["cores"], ["cores"])], find);
  assert.deepEqual(statuses, [
    {
      resourceClaimName: "a",
      containers: ["c0", "c1"],
      mapping: [{ name: "cpu", quantity: "4" }],
      overhead: [{ name: "memory", perPod: "2Gi", perContainer: "1Gi" }],
    },
  ]);
  const total = podRequests(withStatuses(asked, statuses), { useClaims: true });
  assert.equal(total.get("cpu")?.toString(), "4");
  assert.equal(total.get("memory")?.toString(), "4Gi");
  assert.equal(podRequests(withStatuses(asked, statuses)).size, 0);
});

test("a share counts by the capacity that it has consumed", () => {
  const share = claim("b", ["memory", { consumedCapacity: { size: "3Gi" } }]);
  const [status] = nodeAllocatableStatuses(pod([["b"]]), [share, claim("a", ["plain"])], find);
  assert.deepEqual(status?.mapping, [
    { name: "hugepages-2Mi", quantity: "1536Mi" },
    { name: "memory", quantity: "3Gi" },
  ]);
  const unrecorded = (): unknown => nodeAllocatableStatuses(pod([]), [claim("b", ["memory"])], find);
  assert.throws(
    unrecorded,
    /^Error: claim ns\/b, device memory: ConsumedCapacity is nil, but Capacity key 'size'/,
  );
  const gone = (): unknown => nodeAllocatableStatuses(pod([]), [claim("b", ["gpu"], ["gone"])], find);
  assert.throws(gone, /^Error: claim ns\/b: device gone not found in pool p for driver d$/);
});

test("only a claim with a mapped device is for one pod alone", () => {
  assert.equal(hasMappedDevice(claim("a", ["plain"], ["cores"]).allocation, find), true);
  assert.equal(hasMappedDevice(claim("a", ["gpu"]).allocation, find), false);
});

test("a limit grows with the claims where there is one, and for huge pages always", () => {
  const share = claim("b", ["memory", { consumedCapacity: { size: "2Gi" } }]);
  const limited = pod([["b"]], {}, { limits: { memory: "1Gi", cpu: "1" } });
  const limits = podLimits(withStatuses(limited, nodeAllocatableStatuses(limited, [share], find)), {
    useClaims: true,
  });
  assert.deepEqual(
    [...limits].map(([name, quantity]) => `${name}=${quantity}`),
    ["memory=3Gi", "cpu=1", "hugepages-2Mi=1Gi"],
  );
});

test("a shortage names the insufficient resources, and whether another pod's end would help", () => {
  const node = { metadata: { name: "n" }, spec: {}, status: { allocatable: { cpu: "4", memory: "2Gi" } } };
  const info = new NodeInfo(partial<Node>(node), "1.37");
  const shortage = (one: Pod, ...claims: AllocatedClaim[]): unknown =>
    shortageOf(withStatuses(one, nodeAllocatableStatuses(one, claims, find)), info);
  const fits = pod([["a"]]);
  assert.equal(shortage(fits, claim("a", ["cores"])), undefined);
  info.add(pod([[]], {}, { requests: { cpu: "3" } }));
  assert.deepEqual(shortage(fits, claim("a", ["cores"])), {
    reasons: ["Insufficient cpu"],
    resolvable: true,
  });
  assert.deepEqual(shortage(pod([["a"], ["a"], ["a"]]), claim("a", ["cores"])), {
    reasons: ["Insufficient cpu", "Insufficient memory"],
    resolvable: false,
  });
});

test("pod-level requests and limits must cover the containers with their claims", () => {
  const node = { metadata: { name: "n" }, spec: {}, status: { allocatable: { cpu: "40", memory: "20Gi" } } };
  const info = new NodeInfo(partial<Node>(node), "1.37");
  const refused = (resources: object, limits: object = {}): unknown => {
    const one = pod([["a"]], { resources }, { limits });
    return shortageOf(withStatuses(one, nodeAllocatableStatuses(one, [claim("a", ["cores"])], find)), info);
  };
  const text = (what: string): object => ({ reasons: [`pod level ${what}`], resolvable: false });
  assert.equal(refused({ requests: { cpu: "2", memory: "1536Mi" } }), undefined);
  assert.deepEqual(
    refused({ requests: { cpu: "1500m" } }),
    text(
      "request for cpu is insufficient to cover the aggregated container and node-allocatable DRA requests",
    ),
  );
  assert.deepEqual(
    refused({ limits: { cpu: "3" } }, { cpu: "2" }),
    text("limit for cpu is insufficient to cover the limit and DRA overhead for container c0"),
  );
});
