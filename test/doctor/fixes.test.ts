import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Finding } from "../../packages/dray/src/doctor/finding.ts";
import { labelOfName } from "../../packages/dray/src/doctor/finding.ts";
import type { RuleId } from "../../packages/dray/src/doctor/rules.ts";
import {
  brief,
  cluster,
  driverSet,
  held,
  protection,
  running,
  two,
  uidOfPod,
} from "../../packages/dray/src/doctor/testing.ts";
import {
  allocation,
  claim,
  gpuClass,
  type Manifest,
  node,
  pod,
  slice,
  usesClaim,
} from "../../packages/dray/src/plan/testing.ts";
import { withoutKubectl } from "../harness.ts";
import { faultyCluster } from "./cluster.ts";

interface Case {
  readonly rule: RuleId;
  readonly title?: string;
  readonly objects: readonly Manifest[];
  /** The controllers of claims did not run: they are what is broken. */
  readonly withoutControllers?: true;
}

const without = ["Pod p", "ResourceClaim c"];
const gone = (name: string, devices: readonly string[] = ["gpu-0"]): Manifest =>
  held(name, allocation("a", ...devices), ["gone"]);
const deleted = { deletionTimestamp: "2026-01-01T11:00:00Z" };
const ownedBy = (uid: string): object => ({
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
});

const webhook: Manifest = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "check" },
  webhooks: [
    {
      name: "check.example.com",
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      clientConfig: { service: { namespace: "default", name: "gone" } },
      // It sees none of the requests of the test.
      rules: [
        { apiGroups: ["x.example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["x"] },
      ],
    },
  ],
};

const other = (expression: string): Manifest => ({
  ...gpuClass,
  metadata: { name: "other" },
  spec: { selectors: [{ cel: { expression } }] },
});

/** The status of a running pod whose kubelet reports its device as unhealthy. */
const reportsUnhealthy = {
  phase: "Running",
  containerStatuses: [
    {
      ...{ name: "main", image: "main:v1", imageID: "", ready: true, restartCount: 0 },
      allocatedResourcesStatus: [
        {
          name: "claim:gpu",
          resources: [{ resourceID: "gpu.example.com/a/gpu-0", health: "Unhealthy" }],
        },
      ],
    },
  ],
};

/** The devices of node a, the first of which has this taint. */
const tainted = (taint: object): Manifest =>
  slice("a", [{ name: "gpu-0", taints: [taint] }, { name: "gpu-1" }]);

const cases: readonly Case[] = [
  { rule: "leaked-reservation", objects: cluster([gone("c")], ["Pod p"]), withoutControllers: true },
  {
    rule: "orphaned-claim",
    objects: cluster([held("c", allocation("a", "gpu-0"), [], { metadata: ownedBy("gone") })], ["Pod p"]),
    withoutControllers: true,
  },
  {
    rule: "unused-allocation",
    objects: cluster([held("c", allocation("a", "gpu-0"), [])], ["Pod p"]),
    withoutControllers: true,
  },
  {
    rule: "unprotected-allocation",
    objects: cluster([
      held("c", allocation("a", "gpu-0"), ["p"], { metadata: { finalizers: ["example.com/own"] } }),
    ]),
  },
  {
    rule: "finalizer-without-allocation",
    objects: cluster([claim("open", {}, { metadata: { name: "open", finalizers: [protection] } })]),
  },
  {
    rule: "claim-stuck-deleting",
    objects: cluster([held("c", allocation("a", "gpu-0"), [], { metadata: deleted })], ["Pod p"]),
    withoutControllers: true,
  },
  {
    rule: "pod-stuck-terminating",
    objects: cluster([running("p", "lost", "c", deleted)]),
  },
  { rule: "stale-slice", objects: cluster([slice("lost", 1)]) },
  {
    rule: "outdated-slice",
    objects: cluster([slice("a", 2, { generation: 2 }, "new"), slice("a", 2, { generation: 1 })]),
  },
  {
    rule: "device-given-twice",
    objects: cluster([running("q", "a", "d"), held("d", allocation("a", "gpu-0"), ["q"])]),
  },
  {
    rule: "device-given-twice",
    title: "to a claim without pods",
    objects: cluster([held("d", allocation("a", "gpu-0"), [])]),
    withoutControllers: true,
  },
  {
    rule: "device-not-published",
    objects: cluster([held("c", allocation("a", "gpu-7"), ["p"])]),
  },
  {
    rule: "wrong-allocation",
    objects: cluster([held("c", two("gpu-0", "gpu-1"), ["p"])]),
  },
  {
    rule: "pod-without-devices",
    objects: cluster([pod("unallocated", usesClaim("open", { nodeName: "a" }))]),
  },
  {
    rule: "unhealthy-device-in-use",
    objects: cluster([tainted({ key: "gpu.example.com/unhealthy", effect: "NoSchedule" })]),
  },
  {
    rule: "unhealthy-device-in-use",
    title: "that nobody has tainted",
    objects: cluster([
      pod("p", usesClaim("c", { nodeName: "a" }), { uid: uidOfPod("p") }, { status: reportsUnhealthy }),
    ]),
  },
  { rule: "tainted-device-in-use", objects: cluster([tainted({ key: "repair", effect: "NoExecute" })]) },
  {
    rule: "class-selector-failing",
    objects: cluster(
      [
        other('device.attributes["gpu.example.com"].model == "a100"'),
        slice("a", [{ name: "gpu-0", attributes: { model: { string: "a100" } } }, { name: "gpu-1" }]),
      ],
      without,
    ),
  },
  { rule: "class-without-devices", objects: cluster([other('device.driver == "gpu.example.org"')]) },
  { rule: "webhook-down", objects: cluster([webhook]) },
];

const keyOf = ({ rule, object }: Finding): string => `${rule} ${labelOfName(object)}`;

describe("doctor's commands", { skip: withoutKubectl }, () => {
  for (const { rule, title = "", objects, withoutControllers } of cases)
    test(`mend ${rule} ${title}`.trimEnd(), async () => {
      const faulty = await faultyCluster(objects);
      try {
        const before = await faulty.findings();
        const found = before.find((each) => each.rule === rule);
        assert.ok(found !== undefined, `${rule} is found: ${brief(before).join("\n")}`);
        if (withoutControllers !== true)
          await faulty.startControllers("resourceclaim-controller", "garbage-collector-controller");
        for (const line of found.fix) {
          const { code, stderr } = await faulty.shell(line);
          assert.equal(code, 0, `${line}: ${stderr}`);
        }
        const known = new Set(before.map(keyOf));
        await eventuallyPasses(async () => {
          const after = await faulty.findings();
          assert.deepEqual(brief(after.filter((each) => keyOf(each) === keyOf(found))), []);
          // Nor do the commands make another finding.
          assert.deepEqual(brief(after.filter((each) => !known.has(keyOf(each)))), []);
        });
      } finally {
        await faulty.close();
      }
    });

  test("give a driver the rights that it lacks", async () => {
    const faulty = await faultyCluster(cluster([node("d"), ...driverSet(["d"])]));
    const silent = async (): Promise<Finding> => {
      const found = (await faulty.findings()).find((each) => each.rule === "driver-without-devices");
      assert.ok(found !== undefined);
      return found;
    };
    try {
      const before = await silent();
      assert.match(
        before.evidence.join("\n"),
        /lacks the right to get, list, watch, create, update, delete resourceslices/,
      );
      for (const line of before.fix) {
        const { code, stderr } = await faulty.shell(line);
        assert.equal(code, 0, `${line}: ${stderr}`);
      }
      // It still publishes nothing: the pod is not a driver.
      assert.match((await silent()).evidence.join("\n"), /has the rights that a driver needs/);
    } finally {
      await faulty.close();
    }
  });
});
